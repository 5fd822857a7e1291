//! Explains on a running deltic why an object is derived, and where a source object ends.
//!
//! ```text
//! GET /apis/<operator>.view.dcontroller.io/v1alpha1/namespaces/NAMESPACE/KIND/NAME/why
//!     ?not=true        where does the object end
//!     &members=10      how many members of each group are followed
//!     &documents=false without the documents after each stage
//! ```
//!
//! It is a subresource of any kind that the Operator reads or derives, so that no view can have the
//! same path, and a role can name it: `health/why`, or `*/why`. A path without a namespace is about
//! objects of this name in all namespaces.
//!
//! The engine hands out the objects that its circuits hold. They are evaluated again on a thread of
//! their own, one question at a time, within the time that a batch may take; users take turns
//! (`turns.rs`). The answer is sent to who may read every object whose name or content is part of it
//! (`permissions.rs`).

mod permissions;
mod turns;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use apiserver::{Access, Extension, ExtensionRequest, StatusError};
use document::{Value, json};
use engine::{NoSnapshot, OperatorSnapshot, Views};
use explanation::{Content, Detail, Recorded, SUBRESOURCE, Told, Wanted, concerned};
use futures::future::BoxFuture;
use kube::Client;
use object::{VIEW_SUFFIX, VIEW_VERSION};
use permissions::{Asker, Kinds};
use tokio::time::timeout;
use turns::{NoTurn, QuestionTurn, QuestionTurns};

/// How many members of a group are followed, unless the question says.
const MEMBERS: usize = 10;
/// The most members that a question may ask for.
const MOST_MEMBERS: usize = 10_000;
/// The largest answer, in bytes; about.
const LARGEST: u64 = 32 << 20;
/// How long an answer may take, with everything that the cluster is asked for it.
const LONGEST: Duration = Duration::from_mins(1);
/// After how many seconds a client may ask again, if too many questions wait.
const RETRY_AFTER: u32 = 5;

/// Answers questions about what Operators derive.
pub struct Explainer {
    views: Views,
    access: Arc<dyn Access>,
    kinds: Kinds,
    turns: QuestionTurns,
}

impl std::fmt::Debug for Explainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explainer").finish_non_exhaustive()
    }
}

impl Explainer {
    /// Answers questions about the Operators of a process, to users whose permissions `access` knows.
    pub fn new(views: Views, access: Arc<dyn Access>, client: Client) -> Self {
        Self {
            views,
            access,
            kinds: Kinds::new(client),
            turns: QuestionTurns::default(),
        }
    }

    async fn answer(&self, request: &ExtensionRequest<'_>) -> Result<Value, StatusError> {
        let route = request.route;
        let operator = route.group.strip_suffix(VIEW_SUFFIX);
        let operator = operator.filter(|_| route.version == VIEW_VERSION);
        let operator = operator.ok_or_else(StatusError::no_such_path)?;
        let question = Question::read(request)?;
        let turn = self.turns.wait(&request.user.name).await.map_err(busy)?;
        let answer = timeout(LONGEST, self.answer_now(request, operator, question, turn)).await;
        answer.unwrap_or_else(|_| {
            let seconds = LONGEST.as_secs();
            Err(unavailable(
                operator,
                &format!("the answer took longer than {seconds} s"),
            ))
        })
    }

    async fn answer_now(
        &self,
        request: &ExtensionRequest<'_>,
        operator: &str,
        question: Question,
        turn: QuestionTurn,
    ) -> Result<Value, StatusError> {
        let route = request.route;
        let snapshot = self.views.snapshot(operator).await;
        let snapshot = snapshot.map_err(|why| match why {
            NoSnapshot::NoOperator => StatusError::no_such_path(),
            NoSnapshot::Unavailable(why) => unavailable(operator, &why),
        })?;
        let controllers = concerned(&snapshot.operator, &question.wanted);
        if controllers.is_empty() {
            return Err(question.not_found(operator, &route.group, &[]));
        }
        let mut concerned = controllers
            .iter()
            .map(|number| &snapshot.controllers[*number]);
        if let Some(Err(why)) = concerned.find(|objects| objects.is_err()) {
            return Err(unavailable(operator, why));
        }
        let spec = snapshot.operator.clone();
        let reader = Asker {
            access: &*self.access,
            user: request.user,
            kinds: &self.kinds,
            operator: &spec,
            namespace: route.namespace.as_deref(),
        };
        // Who may not read the object does not learn whether there is one.
        reader.may_ask(&question.wanted).await?;
        let (wanted, not) = (question.wanted.clone(), question.not);
        if not {
            reader.may_follow(&wanted).await?;
        }
        let mut whole = BTreeSet::new();
        for number in &controllers {
            if reader.may_list_all(*number).await? {
                whole.insert(*number);
            }
        }
        let group = route.group.clone();
        let told = evaluate(turn, move |ends| {
            question.evaluate(snapshot, &controllers, &whole, &group, ends)
        });
        let told = told.await?;
        if !not && matches!(told.explanation.content, Content::Ends(_)) {
            reader.may_follow(&wanted).await?;
        }
        reader.may_read(&told.shown).await?;
        let version = format!("{}/{}", route.group, route.version);
        Ok(told.explanation.to_value(&version))
    }
}

impl Extension for Explainer {
    fn get<'a>(
        &'a self,
        request: ExtensionRequest<'a>,
    ) -> BoxFuture<'a, Result<Value, StatusError>> {
        Box::pin(async move { self.answer(&request).await })
    }
}

/// Raised when nobody waits for an answer any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Evaluates on a thread of its own. If the client goes, or the process ends, the evaluation ends.
async fn evaluate(
    turn: QuestionTurn,
    work: impl FnOnce(Arc<AtomicBool>) -> Result<Told, StatusError> + Send + 'static,
) -> Result<Told, StatusError> {
    let waiting = Waiting(Arc::default());
    let ends = waiting.0.clone();
    let done = tokio::task::spawn_blocking(move || {
        let told = work(ends);
        drop(turn);
        told
    });
    let failed = |_| Err(StatusError::internal("the question could not be answered"));
    let told = done.await.unwrap_or_else(failed);
    drop(waiting);
    told
}

fn busy(why: NoTurn) -> StatusError {
    StatusError::too_many_requests(why.to_string()).retry_after(RETRY_AFTER)
}

fn unavailable(operator: &str, why: &str) -> StatusError {
    StatusError::unavailable(format!("Operator {operator} cannot be explained: {why}"))
}

/// A question, as a request asks it.
#[derive(Debug)]
struct Question {
    wanted: Wanted,
    /// Whether it is asked where the object ends.
    not: bool,
    members: usize,
    documents: bool,
}

impl Question {
    fn read(request: &ExtensionRequest<'_>) -> Result<Self, StatusError> {
        let route = request.route;
        let is = |name: &str, default: bool| match request.parameter(name) {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(_) => Err(StatusError::bad_request(format!(
                "{name} must be true or false"
            ))),
        };
        let members = match request.parameter("members") {
            None => Some(MEMBERS),
            Some(text) => text.parse().ok().filter(|count| *count <= MOST_MEMBERS),
        };
        let members = members.ok_or_else(|| {
            StatusError::bad_request(format!("members must be a number up to {MOST_MEMBERS}"))
        })?;
        let name = route.name.as_deref().unwrap_or_default();
        Ok(Self {
            wanted: Wanted::at(&route.resource, route.namespace.as_deref(), name),
            not: is("not", false)?,
            members,
            documents: is("documents", true)?,
        })
    }

    /// Answers the question from the objects of an Operator.
    fn evaluate(
        &self,
        snapshot: OperatorSnapshot,
        controllers: &BTreeSet<usize>,
        whole: &BTreeSet<usize>,
        group: &str,
        ends: Arc<AtomicBool>,
    ) -> Result<Told, StatusError> {
        let operator = snapshot.operator.clone();
        let name = &operator.name;
        let env = snapshot.env(move || ends.load(Ordering::Relaxed));
        let seconds = snapshot.time().as_secs();
        let too_long = || {
            unavailable(
                name,
                &format!("the evaluation took longer than {seconds} s"),
            )
        };
        let snapshots = snapshot.controllers.into_iter().map(Result::ok);
        let concerns = |number| controllers.contains(&number);
        let recorded = Recorded::new(operator.clone(), snapshots, concerns, env);
        let recorded = recorded.map_err(|error| match error.error {
            dataflow::BudgetError::Time => too_long(),
            _ => unavailable(name, &error.to_string()),
        })?;
        let story = recorded.story();
        let detail = Detail {
            members: self.members,
            documents: self.documents,
            whole: &|number| whole.contains(&number),
            bytes: LARGEST,
        };
        let told = story.explain(&self.wanted, self.not, &detail);
        if story.is_interrupted() {
            return Err(too_long());
        }
        let told = told.map_err(|error| {
            let message = format!("{error}: ask for fewer members, or without documents");
            StatusError::new(413, "RequestEntityTooLarge", message)
        })?;
        told.ok_or_else(|| self.not_found(name, group, &story.excluded(&self.wanted, None)))
    }

    /// `excluded` is what sources of the kind do not admit.
    fn not_found(&self, operator: &str, group: &str, excluded: &[String]) -> StatusError {
        let verb = if self.not {
            "reads"
        } else {
            "derives or reads"
        };
        let mut message = format!(
            "no controller of Operator {operator} {verb} {}",
            self.wanted
        );
        if !excluded.is_empty() {
            message = format!("{message} ({})", excluded.join("; "));
        }
        StatusError {
            // By this, clients tell it from a path that is not served.
            details: json!({"group": group, "kind": SUBRESOURCE}),
            ..StatusError::new(404, "NotFound", message)
        }
    }
}
