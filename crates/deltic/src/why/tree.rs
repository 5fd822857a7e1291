//! The way back as a tree: an object, the stages that derived it, the objects that they read.

use dataflow::pipeline::StageKind;
use dataflow::provenance::{Derivation, Point};
use document::{Key, Map, Value};

use crate::story::{SourceObject, Story, TargetObject};

/// An object or a stage, with what it is derived from.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) label: String,
    /// A remark behind the label.
    note: String,
    pub(super) is_object: bool,
    document: Value,
    pub(super) from: Vec<Self>,
}

/// Views that are derived from views are followed this far.
const MAX_CONTROLLERS: usize = 64;

/// How a derived object came about. Of each group at most `members` members are followed.
pub(super) fn of_target(story: &Story<'_>, object: &TargetObject, members: usize) -> Option<Node> {
    target(story, object, members, MAX_CONTROLLERS)
}

fn target(story: &Story<'_>, object: &TargetObject, members: usize, depth: usize) -> Option<Node> {
    let provenance = story.provenance(object.controller);
    let derivation = provenance.way_back(object.target, &object.name, members)?;
    let kind = story.target_kind(object.controller, object.target);
    let what = if kind.is_view() { "view" } else { "target" };
    let controller = &story.controller(object.controller).name;
    Some(Node {
        label: story.target_name(object),
        note: format!("{what} of controller {controller}"),
        is_object: true,
        document: story.masked_target(object, derivation.at, &derivation.document),
        from: vec![node(story, object.controller, &derivation, members, depth)],
    })
}

fn node(
    story: &Story<'_>,
    controller: usize,
    derivation: &Derivation,
    members: usize,
    depth: usize,
) -> Node {
    if let Some((input, name)) = &derivation.source {
        return source(
            story,
            controller,
            (*input, name.clone()),
            derivation,
            (members, depth),
        );
    }
    let from = derivation.from.iter();
    let mut from: Vec<Node> = from
        .map(|parent| node(story, controller, parent, members, depth))
        .collect();
    if derivation.more > 0 {
        from.push(Node {
            label: format!("… and {} more", derivation.more),
            note: String::new(),
            is_object: false,
            document: Value::NULL,
            from: Vec::new(),
        });
    }
    let Point::Stage { branch, stage } = derivation.at else {
        // A stream passes documents on as they are.
        let only = from.pop();
        return only.unwrap_or_else(unknown);
    };
    let pipeline = &story.controller(controller).pipeline;
    let rule = &pipeline.branches[branch].stages[stage];
    Node {
        label: format!("{} {}", rule.kind.name(), story.place(controller, rule)),
        note: note(story, controller, &rule.kind, derivation),
        is_object: false,
        document: story.masked(controller, derivation.at, &derivation.document),
        from,
    }
}

/// A source object; if a controller derives it, with how.
fn source(
    story: &Story<'_>,
    controller: usize,
    (input, name): (usize, object::ObjectName),
    derivation: &Derivation,
    (members, depth): (usize, usize),
) -> Node {
    let kind = story.source_kind(controller, input);
    let object = SourceObject {
        controller,
        input,
        name,
    };
    let written = depth
        .checked_sub(1)
        .and_then(|depth| Some((story.writer(&object)?, depth)));
    if kind.is_view()
        && let Some((writer, depth)) = written
        && let Some(node) = target(story, &writer, members, depth)
    {
        return node;
    }
    Node {
        label: story.source_name(&object),
        note: String::new(),
        is_object: true,
        document: story.masked(controller, derivation.at, &derivation.document),
        from: Vec::new(),
    }
}

fn unknown() -> Node {
    Node {
        label: "held from before".to_owned(),
        note: String::new(),
        is_object: false,
        document: Value::NULL,
        from: Vec::new(),
    }
}

/// What is worth saying about a stage.
fn note(story: &Story<'_>, controller: usize, kind: &StageKind, derivation: &Derivation) -> String {
    let members = derivation.from.len() + derivation.more;
    match kind {
        StageKind::Gather(_) | StageKind::GroupBy(_) | StageKind::Distinct => {
            let key = story.origin(controller, &derivation.origin);
            match members {
                1 => format!("{key}, 1 member"),
                _ => format!("{key}, {members} members"),
            }
        }
        StageKind::Join(join) if !derivation.absent.is_empty() => {
            let names = derivation
                .absent
                .iter()
                .map(|input| join.inputs[*input].as_str());
            format!("no partner in {}", names.collect::<Vec<_>>().join(", "))
        }
        StageKind::Unwind(path) => {
            let position = derivation.origin.components().last();
            match position {
                Some(dataflow::Component::Index(index)) => format!("element {index} of {path}"),
                _ => String::new(),
            }
        }
        StageKind::Join(_) | StageKind::Select(_) | StageKind::Project(_) | StageKind::Patch(_) => {
            String::new()
        }
    }
}

impl Node {
    /// The tree as text: a chain of stages is a column, a join or a group branches out.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        self.lines("", "", &mut lines);
        lines.push(String::new());
        lines.join("\n")
    }

    fn lines(&self, first: &str, rest: &str, lines: &mut Vec<String>) {
        let note = match self.note.as_str() {
            "" => String::new(),
            note => format!("   {note}"),
        };
        lines.push(format!("{first}{}{note}", self.label));
        match self.from.as_slice() {
            [] => {}
            [only] => {
                let (mark, indent) = if self.is_object {
                    ("└ ", "  ")
                } else {
                    ("", "")
                };
                only.lines(&format!("{rest}{mark}"), &format!("{rest}{indent}"), lines);
            }
            [several @ .., last] => {
                for part in several {
                    part.lines(&format!("{rest}├ "), &format!("{rest}│ "), lines);
                }
                last.lines(&format!("{rest}└ "), &format!("{rest}  "), lines);
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        let name = if self.is_object { "object" } else { "stage" };
        let mut members = vec![(name, Value::from(self.label.as_str()))];
        if !self.note.is_empty() {
            members.push(("note", self.note.as_str().into()));
        }
        if !self.document.is_null() {
            members.push(("document", self.document.clone()));
        }
        if !self.from.is_empty() {
            members.push(("from", self.from.iter().map(Self::json).collect()));
        }
        let members = members.into_iter();
        let members = members.map(|(name, value)| (Key::new(name), value));
        members.collect::<Map>().into()
    }
}
