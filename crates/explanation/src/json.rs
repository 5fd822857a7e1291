//! Answers as JSON: nested for people, and flat for the way from a server to its client.
//!
//! A tree may be nested deeper than a JSON document may be. So a server sends it as a list of nodes,
//! which refer to each other by position.

use document::{Key, Map, Value, json};

use crate::ends::{BranchEnd, End, Lost, StageEnd};
use crate::telling::{Content, Explanation};
use crate::way_back::{MAX_LEVELS, Node};

/// The name of the subresource of any kind that a server answers with an explanation.
pub const SUBRESOURCE: &str = "why";

/// The kind of an answer that a server sends.
pub const KIND: &str = "Explanation";

impl Explanation {
    /// The answer for people and programs: a list of trees, or of ends.
    pub fn json(&self) -> Value {
        match &self.content {
            Content::WayBack(trees) => trees.iter().map(|tree| self.own(nested(tree))).collect(),
            Content::Ends(ends) => ends.iter().map(|end| self.own(of_end(end))).collect(),
        }
    }

    /// An entry with the name of the Operator.
    fn own(&self, entry: Vec<(&'static str, Value)>) -> Value {
        let operator = [("operator", self.operator.as_str().into())];
        map(operator.into_iter().chain(entry).collect())
    }

    /// The answer as a server sends it, in this version of an API group.
    pub fn to_value(&self, api_version: &str) -> Value {
        let (field, content) = match &self.content {
            Content::WayBack(trees) => {
                let mut nodes = Vec::new();
                let roots: Vec<Value> = trees.iter().map(|tree| flat(tree, &mut nodes)).collect();
                let nodes = nodes.into_iter().collect::<Value>();
                let roots = roots.into_iter().collect::<Value>();
                ("wayBack", json!({"roots": roots, "nodes": nodes}))
            }
            Content::Ends(ends) => ("ends", ends.iter().map(|end| map(of_end(end))).collect()),
        };
        map(vec![
            ("apiVersion", api_version.into()),
            ("kind", KIND.into()),
            ("operator", self.operator.as_str().into()),
            (field, content),
        ])
    }

    /// Reads what a server has sent; `None` if it is something else.
    pub fn from_value(value: &Value) -> Option<Self> {
        if value.get("kind").as_str() != Some(KIND) {
            return None;
        }
        let (way_back, ends) = (value.get("wayBack"), value.get("ends"));
        let content = match ends.as_list() {
            Some(ends) => Content::Ends(ends.iter().map(end).collect()),
            None => Content::WayBack(trees(way_back)?),
        };
        Some(Self {
            operator: text(value, "operator"),
            content,
        })
    }
}

fn map(entries: Vec<(&'static str, Value)>) -> Value {
    let entries = entries.into_iter();
    let entries = entries.map(|(name, value)| (Key::new(name), value));
    entries.collect::<Map>().into()
}

/// A node without what it is derived from.
fn alone(node: &Node) -> Vec<(&'static str, Value)> {
    let name = if node.is_object { "object" } else { "stage" };
    let mut entries = vec![(name, Value::from(node.label.as_str()))];
    if !node.note.is_empty() {
        entries.push(("note", node.note.as_str().into()));
    }
    if !node.operator.is_empty() {
        entries.push(("operator", node.operator.as_str().into()));
    }
    if !node.document.is_null() {
        entries.push(("document", node.document.clone()));
    }
    entries
}

fn nested(node: &Node) -> Vec<(&'static str, Value)> {
    let mut entries = alone(node);
    if !node.from.is_empty() {
        let from = node.from.iter().map(|from| map(nested(from)));
        entries.push(("from", from.collect()));
    }
    entries
}

/// Adds a node behind those that it is derived from. Returns its position.
fn flat(node: &Node, nodes: &mut Vec<Value>) -> Value {
    let mut entries = alone(node);
    if !node.from.is_empty() {
        let from: Vec<Value> = node.from.iter().map(|from| flat(from, nodes)).collect();
        entries.push(("from", from.into_iter().collect()));
    }
    nodes.push(map(entries));
    number(nodes.len() - 1)
}

fn number(number: usize) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

/// Reads trees. `None` if one has more levels than a server sends.
fn trees(way_back: &Value) -> Option<Vec<Node>> {
    // Each with the levels of its tree.
    let mut nodes: Vec<(Node, usize)> = Vec::new();
    for value in way_back.get("nodes").as_list()? {
        let object = value.get("object").as_str();
        let label = object.or(value.get("stage").as_str())?;
        let from = value.get("from").as_list().into_iter().flatten();
        let from: Option<Vec<(Node, usize)>> = from.map(|at| take(&mut nodes, at)).collect();
        let (from, levels): (Vec<Node>, Vec<usize>) = from?.into_iter().unzip();
        let levels = levels.into_iter().max().unwrap_or_default() + 1;
        let node = Node {
            label: label.to_owned(),
            note: text(value, "note"),
            is_object: object.is_some(),
            operator: text(value, "operator"),
            document: value.get("document").clone(),
            from,
        };
        // At the end there may be a node about what is left out.
        if levels > MAX_LEVELS + 2 {
            return None;
        }
        nodes.push((node, levels));
    }
    let roots = way_back.get("roots").as_list()?.iter();
    let roots = roots.map(|root| Some(take(&mut nodes, root)?.0));
    roots.collect()
}

/// Takes a node that another one is derived from. Each is part of one tree.
fn take(nodes: &mut [(Node, usize)], at: &Value) -> Option<(Node, usize)> {
    let at = usize::try_from(at.as_int()?).ok()?;
    Some(std::mem::take(nodes.get_mut(at)?))
}

fn of_end(end: &End) -> Vec<(&'static str, Value)> {
    let branches = end.branches.iter().map(|branch| {
        let stages = branch.stages.iter().map(|stage| {
            json!({
                "stage": (stage.stage.as_str()),
                "at": (stage.at.as_str()),
                "place": (stage.place.as_str()),
                "documents": (number(stage.documents)),
                "lost": (of_lost(&stage.lost)),
                "alone": (of_lost(&stage.alone)),
            })
        });
        json!({
            "entered": (number(branch.entered)),
            "stages": (stages.collect::<Value>()),
            "derived": (of_texts(&branch.derived)),
            "waits": (of_texts(&branch.waits)),
            "lost": (of_lost(&branch.lost)),
        })
    });
    vec![
        ("object", end.object.as_str().into()),
        ("controller", end.controller.as_str().into()),
        ("branches", branches.collect()),
    ]
}

fn of_texts(texts: &[String]) -> Value {
    texts
        .iter()
        .map(|text| Value::from(text.as_str()))
        .collect()
}

fn of_lost(lost: &[Lost]) -> Value {
    let lost = lost
        .iter()
        .map(|lost| json!({"origin": (lost.origin.as_str()), "reason": (lost.reason.as_str())}));
    lost.collect()
}

fn end(value: &Value) -> End {
    let branches = list(value, "branches").map(|branch| BranchEnd {
        entered: count(branch, "entered"),
        stages: list(branch, "stages")
            .map(|stage| StageEnd {
                stage: text(stage, "stage"),
                at: text(stage, "at"),
                place: text(stage, "place"),
                documents: count(stage, "documents"),
                lost: lost(stage, "lost"),
                alone: lost(stage, "alone"),
            })
            .collect(),
        derived: texts(branch, "derived"),
        waits: texts(branch, "waits"),
        lost: lost(branch, "lost"),
    });
    End {
        object: text(value, "object"),
        controller: text(value, "controller"),
        branches: branches.collect(),
    }
}

fn lost(value: &Value, field: &str) -> Vec<Lost> {
    let lost = list(value, field).map(|lost| Lost {
        origin: text(lost, "origin"),
        reason: text(lost, "reason"),
    });
    lost.collect()
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    let texts = list(value, field).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).as_str().unwrap_or_default().to_owned()
}

fn count(value: &Value, field: &str) -> usize {
    let count = value.get(field).as_int();
    count
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).as_list().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of stages that is nested deeper than a document may be.
    fn deep() -> Node {
        let node = |label: String, from| Node {
            label,
            note: "a note".to_owned(),
            document: json!({"a": [1, 2]}),
            from,
            ..Node::default()
        };
        let source = Node {
            label: "view/a".to_owned(),
            is_object: true,
            operator: "other".to_owned(),
            ..Node::default()
        };
        let other = source.clone();
        let chain = (0..500).fold(source, |from, number| {
            node(format!("s{number}"), vec![from])
        });
        node("join".to_owned(), vec![chain, other])
    }

    #[test]
    fn what_is_sent_can_be_read_again() {
        let lost = Lost {
            origin: "Pod/a".to_owned(),
            reason: "the condition is false".to_owned(),
        };
        let end = End {
            object: "pod/a".to_owned(),
            controller: "c".to_owned(),
            branches: vec![BranchEnd {
                entered: 2,
                stages: vec![StageEnd {
                    stage: "@select".to_owned(),
                    at: "spec.controllers[0].pipeline[0]".to_owned(),
                    place: "pipeline[0]".to_owned(),
                    documents: 1,
                    lost: vec![lost.clone()],
                    alone: vec![lost.clone()],
                }],
                derived: vec!["view/a".to_owned()],
                waits: vec!["view/b does not exist".to_owned()],
                lost: vec![lost],
            }],
        };
        for content in [
            Content::WayBack(vec![deep(), deep()]),
            Content::Ends(vec![end]),
        ] {
            let sent = Explanation {
                operator: "o".to_owned(),
                content,
            };
            let text = sent.to_value("o.view.dcontroller.io/v1alpha1").to_string();
            let read = text.parse::<Value>().ok();
            let read = read.as_ref().and_then(Explanation::from_value);
            assert_eq!(read.as_ref(), Some(&sent));
        }
    }

    fn too_deep() -> Value {
        let nodes = (1..100_000).map(|number: i64| json!({"stage": "s", "from": [(number - 1)]}));
        let nodes = std::iter::once(json!({"object": "o"})).chain(nodes);
        let nodes: Value = nodes.collect();
        json!({"kind": KIND, "wayBack": {"roots": [99_999], "nodes": nodes}})
    }

    #[test]
    fn other_documents_are_no_explanation() {
        for other in [
            json!({"kind": "Status", "code": 404}),
            json!({"kind": KIND}),
            json!({"kind": KIND, "wayBack": {"roots": [1], "nodes": [{"stage": "s"}]}}),
            json!({"kind": KIND, "wayBack": {"roots": [0], "nodes": [{"stage": "s", "from": [0]}]}}),
            too_deep(),
        ] {
            assert_eq!(Explanation::from_value(&other), None, "{other}");
        }
    }
}
