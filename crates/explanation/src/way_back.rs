//! The way back as a tree: an object, the stages that derived it, the objects that they read.

use dataflow::pipeline::StageKind;
use dataflow::provenance::{Derivation, Point};
use document::Value;
use object::{GroupKind, VIEW_SUFFIX};

use crate::reason::{StagePlace, no_partner};
use crate::story::{StoryObject, TargetObject};
use crate::telling::Teller;

/// An object or a stage, with what it is derived from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The object or the stage.
    pub label: String,
    /// A remark behind the label.
    pub note: String,
    /// Whether it is an object.
    pub is_object: bool,
    /// The Operator that can be asked about it, if it is a view of another one; otherwise empty.
    pub operator: String,
    /// The object, or the document after the stage; null if it is not part of the answer.
    pub document: Value,
    /// What it is derived from.
    pub from: Vec<Self>,
}

/// What separates the parts of a note.
const REMARK: &str = "; ";

/// A way back is followed over this many stages and objects, through views as well.
pub(crate) const MAX_LEVELS: usize = 512;

impl Teller<'_> {
    /// How a derived object came about.
    pub(crate) fn way_back(&mut self, object: &TargetObject) -> Option<Node> {
        self.target(object, MAX_LEVELS)
    }

    fn target(&mut self, object: &TargetObject, levels: usize) -> Option<Node> {
        let TargetObject {
            controller,
            target,
            name,
        } = object;
        let levels = levels.checked_sub(1)?;
        let story = self.story;
        self.seen.insert(object.clone());
        let provenance = story.provenance(*controller);
        let derivation = provenance.way_back(*target, name, self.detail.members, levels)?;
        // The document of a group also contains the members that are not followed.
        self.show_target(object);
        let document =
            self.document(|| story.masked_target(object, derivation.at, &derivation.document));
        let note = self.note_of_target(object);
        let mut node = self.entry(story.target_name(object), note, document);
        node.is_object = true;
        node.from = vec![self.node(*controller, &derivation, levels)];
        Some(node)
    }

    /// Who yields an object, and whether it is written.
    fn note_of_target(&self, object: &TargetObject) -> String {
        let (story, controller) = (self.story, object.controller);
        let kind = story.target_kind(controller, object.target);
        let what = if kind.is_view() { "view" } else { "target" };
        let name = &story.controller(controller).name;
        let mut parts = vec![format!("{what} of controller {name}")];
        if let Some(waits) = story.waits(object) {
            parts.push(format!("waits: {waits}"));
        } else if let Some(rival) = story.rival(object) {
            let first = &story.controller(rival.object.controller).name;
            parts.push(format!(
                "controller {first}, which comes first, yields the same"
            ));
        }
        let whole = (self.detail.whole)(controller);
        if let Some(others) = story.also_yielded(object).filter(|_| whole) {
            parts.push(format!("also yielded by {others}"));
        }
        parts.join(REMARK)
    }

    fn node(&mut self, controller: usize, derivation: &Derivation, levels: usize) -> Node {
        if self.gives_up() {
            return Node::default();
        }
        if let Some((input, name)) = &derivation.source {
            let object = StoryObject {
                controller,
                input: *input,
                name: name.clone(),
            };
            return self.source(&object, derivation, levels);
        }
        let from = derivation.from.iter();
        let mut from: Vec<Node> = from
            .map(|parent| self.node(controller, parent, levels.saturating_sub(1)))
            .collect();
        if derivation.more > 0 {
            from.push(Node {
                label: format!("… and {} more", derivation.more),
                ..Node::default()
            });
        }
        let Point::Stage { branch, stage } = derivation.at else {
            // A stream passes documents on as they are.
            let only = from.pop();
            return only.unwrap_or_else(unknown);
        };
        let story = self.story;
        let rule = &story.controller(controller).pipeline.branches[branch].stages[stage];
        let place = StagePlace {
            controller,
            branch,
            stage,
        };
        let document =
            self.document(|| story.masked(controller, derivation.at, &derivation.document));
        let node = self.entry(
            format!("{} {}", rule.kind.name(), story.place(controller, rule)),
            self.note(place, &rule.kind, derivation),
            document,
        );
        Node { from, ..node }
    }

    /// A source object; if a controller derives it, with how.
    fn source(&mut self, object: &StoryObject, derivation: &Derivation, levels: usize) -> Node {
        let (story, controller) = (self.story, object.controller);
        let kind = story.source_kind(controller, object.input);
        let writer = kind.is_view().then(|| story.writer(object)).flatten();
        // Each view is shown once: views may form a cycle, or be joined with themselves many times.
        let seen = writer.as_ref().is_some_and(|one| self.seen.contains(one));
        if let Some(writer) = writer.filter(|_| !seen)
            && let Some(node) = self.target(&writer, levels)
        {
            return node;
        }
        let document =
            self.document(|| story.masked(controller, derivation.at, &derivation.document));
        let other = other_operator(&kind, &story.operator.name);
        let note = match other {
            Some(other) => format!("view of Operator {other}"),
            None if seen => "see above".to_owned(),
            None => String::new(),
        };
        let name = story.source_name(object);
        let node = self.entry(name, note, document);
        Node {
            is_object: true,
            operator: other.unwrap_or_default().to_owned(),
            ..node
        }
    }

    /// The note beside a stage: key and members of a group, missing partners of a join, the position
    /// of an element.
    fn note(&self, place: StagePlace, kind: &StageKind, derivation: &Derivation) -> String {
        let (story, controller) = (self.story, place.controller);
        let members = derivation.from.len() + derivation.more;
        match kind {
            StageKind::Gather(_) | StageKind::GroupBy(_) | StageKind::Distinct => {
                let key = story.origin(controller, &derivation.origin);
                let note = match members {
                    1 => format!("{key}, 1 member"),
                    _ => format!("{key}, {members} members"),
                };
                let whole = (self.detail.whole)(controller);
                match story.missing_members(place).filter(|_| whole) {
                    Some(missing) => format!("{note}{REMARK}{missing}"),
                    None => note,
                }
            }
            StageKind::Join(_) => {
                let whole = (self.detail.whole)(controller);
                let absent = derivation.absent.iter();
                let absent = absent.map(|absent| no_partner(story, place, absent, whole));
                absent.collect::<Vec<_>>().join("; ")
            }
            StageKind::Unwind(path) => {
                let position = derivation.origin.components().last();
                match position {
                    Some(dataflow::Component::Index(index)) => format!("element {index} of {path}"),
                    _ => String::new(),
                }
            }
            StageKind::Select(_) | StageKind::Project(_) | StageKind::Patch(_) => String::new(),
        }
    }

    fn document(&self, masked: impl FnOnce() -> Value) -> Value {
        if self.detail.documents {
            masked()
        } else {
            Value::NULL
        }
    }

    /// An entry of the answer.
    fn entry(&mut self, label: String, note: String, document: Value) -> Node {
        self.charge(&[&label, &note], &document);
        Node {
            label,
            note,
            document,
            ..Node::default()
        }
    }
}

/// The Operator whose view it is, if it is another one.
fn other_operator<'a>(kind: &'a GroupKind, operator: &str) -> Option<&'a str> {
    let owner = kind.group.as_str().strip_suffix(VIEW_SUFFIX)?;
    (owner != operator).then_some(owner)
}

fn unknown() -> Node {
    Node {
        label: "held from before".to_owned(),
        ..Node::default()
    }
}

impl Node {
    /// Calls `visit` on the views of other Operators in the tree, as far as ways back are followed.
    pub fn views_of_others(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        self.views_within(MAX_LEVELS, visit);
    }

    fn views_within(&mut self, levels: usize, visit: &mut dyn FnMut(&mut Self)) {
        if !self.operator.is_empty() {
            // What it adds is visited next time: the work of one call is bounded.
            return visit(self);
        }
        let Some(levels) = levels.checked_sub(1) else {
            return;
        };
        for from in &mut self.from {
            from.views_within(levels, visit);
        }
    }

    /// Adds how another Operator has derived this view: `root` is its answer.
    pub fn continued(&mut self, root: &Self) {
        let (who, remarks) = root
            .note
            .split_at(root.note.find(REMARK).unwrap_or(root.note.len()));
        self.note = format!("{who} of Operator {}{remarks}", self.operator);
        self.from.clone_from(&root.from);
        self.operator.clear();
    }

    /// The tree as text: a chain of stages is a column, a join or a group branches out.
    pub(crate) fn text(&self) -> String {
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
}
