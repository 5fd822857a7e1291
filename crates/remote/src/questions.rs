//! Asks a running deltic, on its own port or through the cluster's API.

use std::collections::BTreeMap;

use cluster::connect::describe;
use document::Value;
use explanation::{Content, Explanation, Node, SUBRESOURCE, Wanted};
use http::Request;
use kube::Client;
use object::{VIEW_SUFFIX, VIEW_VERSION};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters of a segment of a path that need not be escaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A question about what Operators derive.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The object.
    pub wanted: &'a Wanted,
    /// Whether it is asked where the object ends.
    pub not: bool,
    /// How many members of each group are followed.
    pub members: usize,
    /// Whether the documents after each stage are wanted.
    pub documents: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The server does not answer at all.
    #[error("cannot reach the server: {}", describe(.0))]
    Unreachable(#[source] Box<kube::Error>),
    /// The login is not valid.
    #[error("the server does not accept the login: {0}")]
    Login(String),
    /// The user may not ask this, or may not read what the answer shows.
    #[error("{0}")]
    Forbidden(String),
    /// Nobody answers questions about the Operator here.
    #[error("Operator {0} is not served here")]
    NotServed(String),
    /// The Operator neither derives nor reads the object.
    #[error("{0}")]
    NotDerived(String),
    /// There is no answer at the moment.
    #[error("{0}")]
    Unavailable(String),
    /// Another error.
    #[error("{0}")]
    Other(String),
}

impl AskError {
    /// How much it says about why there is no answer: of several errors, the last is reported.
    pub fn weight(&self) -> u8 {
        match self {
            Self::NotServed(_) => 0,
            Self::NotDerived(_) => 1,
            Self::Unavailable(_) => 2,
            Self::Other(_) => 3,
            Self::Forbidden(_) => 4,
            Self::Login(_) => 5,
            Self::Unreachable(_) => 6,
        }
    }
}

/// The Operators whose views are served.
pub async fn operators(client: &Client) -> Result<Vec<String>, AskError> {
    let groups = get(client, "/apis", "").await?;
    let names = groups.get("groups").as_list().into_iter().flatten();
    let names = names.filter_map(|group| group.get("name").as_str()?.strip_suffix(VIEW_SUFFIX));
    Ok(names.map(str::to_owned).collect())
}

/// Asks about an Operator.
pub async fn ask(
    client: &Client,
    operator: &str,
    question: &Question<'_>,
) -> Result<Explanation, AskError> {
    let mut error = AskError::NotServed(operator.to_owned());
    // A name with a dot may have its namespace behind it.
    for (namespace, name) in question.wanted.places() {
        let path = path(operator, question, namespace, name);
        match get(client, &path, operator).await {
            Ok(answer) => {
                return Explanation::from_value(&answer)
                    .ok_or_else(|| AskError::Other("the answer is no explanation".to_owned()));
            }
            Err(other) if other.weight() > error.weight() => error = other,
            Err(_) => {}
        }
    }
    Err(error)
}

/// How many views of other Operators are followed.
const MOST_FOLLOWED: usize = 20;
/// How often an answer is searched for them.
const MOST_ROUNDS: usize = 50;

/// Continues the ways back in an answer behind the views of other Operators, as far as these answer.
pub async fn follow(client: &Client, answer: &mut Explanation, question: &Question<'_>) {
    let Content::WayBack(trees) = &mut answer.content else {
        return;
    };
    let mut known: BTreeMap<(String, String), Option<Node>> = BTreeMap::new();
    for _ in 0..MOST_ROUNDS {
        let (mut open, mut continued) = (None, false);
        for tree in &mut *trees {
            tree.views_of_others(&mut |view| {
                let at = (view.operator.clone(), view.label.clone());
                match known.get(&at) {
                    Some(Some(root)) => {
                        view.continued(root);
                        continued = true;
                    }
                    Some(None) => {}
                    None => open = Some(at),
                }
            });
        }
        match open.filter(|_| known.len() < MOST_FOLLOWED) {
            Some((operator, label)) => {
                let root = way_back(client, &operator, &label, question).await;
                known.insert((operator, label), root);
            }
            None if continued => {}
            None => return,
        }
    }
}

/// The way back of a view of an Operator; `None` if it does not answer.
async fn way_back(
    client: &Client,
    operator: &str,
    label: &str,
    question: &Question<'_>,
) -> Option<Node> {
    let wanted = Wanted::parse(label).ok()?;
    let question = Question {
        wanted: &wanted,
        ..*question
    };
    match ask(client, operator, &question).await.ok()?.content {
        Content::WayBack(trees) => trees.into_iter().find(|tree| tree.label == label),
        Content::Ends(_) => None,
    }
}

fn path(operator: &str, question: &Question<'_>, namespace: Option<&str>, name: &str) -> String {
    let segment = |text: &str| utf8_percent_encode(text, SEGMENT).to_string();
    let namespace = namespace.map(|namespace| format!("/namespaces/{}", segment(namespace)));
    format!(
        "/apis/{}{VIEW_SUFFIX}/{VIEW_VERSION}{}/{}/{}/{SUBRESOURCE}?not={}&members={}&documents={}",
        segment(operator),
        namespace.unwrap_or_default(),
        segment(&question.wanted.kind()),
        segment(name),
        question.not,
        question.members,
        question.documents,
    )
}

async fn get(client: &Client, path: &str, operator: &str) -> Result<Value, AskError> {
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| AskError::Other(error.to_string()))?;
    let text = client.request_text(request).await;
    let text = text.map_err(|error| explain(error, operator))?;
    let value = text.parse::<Value>();
    value.map_err(|error| AskError::Other(format!("the answer cannot be read: {error}")))
}

fn explain(error: kube::Error, operator: &str) -> AskError {
    let kube::Error::Api(status) = error else {
        return AskError::Unreachable(Box::new(error));
    };
    let message = status.message.clone();
    let kind = status.details.as_ref().map(|details| details.kind.as_str());
    match status.code {
        401 => AskError::Login(message),
        403 => AskError::Forbidden(message),
        404 if kind == Some(SUBRESOURCE) => AskError::NotDerived(message),
        404 => AskError::NotServed(operator.to_owned()),
        429 | 503 | 504 => AskError::Unavailable(message),
        code => AskError::Other(format!("{message} ({code})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_paths() {
        let wanted = Wanted::parse("Deployment.apps/shop/a b").unwrap_or_else(|e| panic!("{e}"));
        let question = Question {
            wanted: &wanted,
            not: true,
            members: 3,
            documents: false,
        };
        let (namespace, name) = wanted.places()[0];
        assert_eq!(
            path("o", &question, namespace, name),
            "/apis/o.view.dcontroller.io/v1alpha1/namespaces/shop/deployment.apps/a%20b/why\
             ?not=true&members=3&documents=false"
        );
    }
}
