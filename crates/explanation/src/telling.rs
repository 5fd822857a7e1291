//! Answers a question from a story.

use std::collections::BTreeSet;
use std::iter;

use dataflow::Origin;
use dataflow::provenance::{Point, SourceName};
use document::Value;
use object::{GroupKind, ObjectKey};
use operator::spec::TargetType;
use operator::{Controller, Operator};

use crate::ends::End;
use crate::reason::StagePlace;
use crate::story::{Story, TargetObject, source_kind};
use crate::wanted::Wanted;
use crate::way_back::Node;

/// How much an answer contains.
#[derive(Clone, Copy)]
pub struct Detail<'a> {
    /// How many members of each group are followed.
    pub members: usize,
    /// Whether the documents after each stage are part of it.
    pub documents: bool,
    /// Whether everything that a controller reads may be mentioned. Otherwise only the objects are
    /// that [`Told::shown`] lists.
    pub whole: &'a dyn Fn(usize) -> bool,
    /// The largest answer, in bytes; about.
    pub bytes: u64,
}

impl std::fmt::Debug for Detail<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detail")
            .field("members", &self.members)
            .field("documents", &self.documents)
            .finish_non_exhaustive()
    }
}

/// An answer, for people and programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The name of the Operator.
    pub operator: String,
    /// The answer.
    pub content: Content,
}

/// What an answer consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The way back of derived objects.
    WayBack(Vec<Node>),
    /// What becomes of source objects.
    Ends(Vec<End>),
}

/// An answer, and who may see it.
#[derive(Debug)]
pub struct Told {
    /// The answer.
    pub explanation: Explanation,
    /// The objects whose names or contents are part of it: who may not read one of them must not see
    /// the answer.
    pub shown: BTreeSet<ObjectKey>,
}

/// An answer would be larger than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is larger than {0} bytes")]
pub struct TooLarge(pub u64);

impl Story<'_> {
    /// Why a derived object is there; or, if `not`, or if it is only read, where it ends. `None` if no
    /// controller derives or reads it.
    pub fn explain(
        &self,
        wanted: &Wanted,
        not: bool,
        detail: &Detail<'_>,
    ) -> Result<Option<Told>, TooLarge> {
        let mut teller = Teller {
            story: self,
            detail: *detail,
            shown: BTreeSet::new(),
            seen: BTreeSet::new(),
            left: Some(detail.bytes),
        };
        let derived = if not {
            Vec::new()
        } else {
            self.targets(wanted)
        };
        let content = if derived.is_empty() {
            let read = self.sources(wanted);
            if read.is_empty() {
                return Ok(None);
            }
            Content::Ends(teller.ends(&read))
        } else {
            let trees = derived.iter();
            Content::WayBack(trees.filter_map(|object| teller.way_back(object)).collect())
        };
        if teller.left.is_none() {
            return Err(TooLarge(detail.bytes));
        }
        let explanation = Explanation {
            operator: self.operator.name.clone(),
            content,
        };
        let shown = teller.shown;
        Ok(Some(Told { explanation, shown }))
    }
}

/// Composes an answer.
pub(crate) struct Teller<'a> {
    pub(crate) story: &'a Story<'a>,
    pub(crate) detail: Detail<'a>,
    pub(crate) shown: BTreeSet<ObjectKey>,
    /// The derived objects whose way back is part of it.
    pub(crate) seen: BTreeSet<TargetObject>,
    /// How many more bytes the answer may have; `None` once it is too large.
    left: Option<u64>,
}

/// About how many bytes an entry has besides its texts.
const ENTRY: u64 = 64;

impl Teller<'_> {
    /// Counts a part of the answer.
    pub(crate) fn charge(&mut self, texts: &[&str], document: &Value) {
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        let bytes = ENTRY + texts as u64 + u64::from(document.measure().bytes);
        self.left = self.left.and_then(|left| left.checked_sub(bytes));
    }

    /// Whether the answer is given up, because it is too large or took too long.
    pub(crate) fn gives_up(&self) -> bool {
        self.left.is_none() || self.story.is_interrupted()
    }

    pub(crate) fn show(&mut self, controller: usize, sources: BTreeSet<SourceName>) {
        for (input, name) in sources {
            let key = self.story.source_key(controller, input, &name);
            self.shown.insert(key);
        }
    }

    /// Shows a derived object. Whether it is written depends on what another controller derives.
    pub(crate) fn show_target(&mut self, object: &TargetObject) {
        let rival = self.story.rival(object).map(|rival| rival.object);
        for object in iter::once(object).chain(&rival) {
            let provenance = self.story.provenance(object.controller);
            if let Some((at, origin)) = provenance.output(object.target, &object.name) {
                self.show(object.controller, provenance.sources(at, &origin));
            }
        }
    }

    /// Shows a document before a stage: a join may have got it from any of its inputs.
    pub(crate) fn show_before(&mut self, place: StagePlace, origin: &Origin) {
        let provenance = self.story.provenance(place.controller);
        let pipeline = &self.story.controller(place.controller).pipeline;
        let points = match place.before() {
            Point::Input { branch, .. } => {
                let inputs = 0..pipeline.branches[branch].inputs.len();
                inputs.map(|input| Point::Input { branch, input }).collect()
            }
            stage @ Point::Stage { .. } => vec![stage],
        };
        for at in points {
            if provenance.document(at, origin).is_some() {
                self.show(place.controller, provenance.sources(at, origin));
            }
        }
    }
}

/// The controllers that a question concerns: those that derive or read the kind, and those that are
/// connected with them by views of the Operator, or because they update the same kind.
pub fn concerned(operator: &Operator, wanted: &Wanted) -> BTreeSet<usize> {
    let kinds = |controller: &Controller| kinds_of(controller).collect::<Vec<_>>();
    let all: Vec<Vec<GroupKind>> = operator.controllers.iter().map(kinds).collect();
    let updated: Vec<Vec<GroupKind>> = operator.controllers.iter().map(updates).collect();
    let having = |all: &[Vec<GroupKind>], kind: &GroupKind| -> Vec<usize> {
        let numbers = 0..all.len();
        numbers.filter(|other| all[*other].contains(kind)).collect()
    };
    let is_concerned = |kinds: &Vec<GroupKind>| kinds.iter().any(|kind| wanted.is_of(kind));
    let mut found: BTreeSet<usize> = (0..all.len())
        .filter(|number| is_concerned(&all[*number]))
        .collect();
    let mut open: Vec<usize> = found.iter().copied().collect();
    while let Some(number) = open.pop() {
        let views = all[number].iter().filter(|kind| kind.is_view());
        let views = views.flat_map(|view| having(&all, view));
        let rivals = updated[number].iter();
        let rivals = rivals.flat_map(|kind| having(&updated, kind));
        open.extend(views.chain(rivals).filter(|other| found.insert(*other)));
    }
    found
}

/// The kinds of the Updaters of a controller.
fn updates(controller: &Controller) -> Vec<GroupKind> {
    let targets = controller.targets.iter();
    let updaters = targets.filter(|target| target.kind == TargetType::Updater);
    updaters
        .map(|target| target.resource.group_kind())
        .collect()
}

/// The kinds that a controller reads and derives.
pub fn kinds_of(controller: &Controller) -> impl Iterator<Item = GroupKind> {
    let read = (0..controller.inputs.len()).map(|input| source_kind(controller, input));
    let targets = controller.targets.iter();
    read.chain(targets.map(|target| target.resource.group_kind()))
}

#[cfg(test)]
mod tests {
    use document::json;
    use expr::Functions;

    use super::*;

    #[test]
    fn a_question_concerns_the_controllers_that_may_write_instead() {
        let controller = |name: &str, source: &str, target: Value| {
            json!({
                "name": name, "sources": [{"apiGroup": "", "kind": source}],
                "pipeline": [{"@project": {"metadata": "$.metadata"}}], "target": target
            })
        };
        let map = json!({"apiGroup": "", "kind": "ConfigMap"});
        let patcher = json!({"apiGroup": "", "kind": "ConfigMap", "type": "Patcher"});
        let controllers: Value = [
            controller("a", "Service", map.clone()),
            controller("b", "Pod", map),
            controller("c", "Node", patcher),
        ]
        .into_iter()
        .collect();
        let operator = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": "o"}, "spec": {"controllers": controllers}
        });
        let (operator, problems) = operator::read(&operator, &Functions::builtin());
        let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
        let of = |kind: &str| concerned(&operator, &Wanted::at(kind, None, "web"));
        assert_eq!(of("pod"), BTreeSet::from([0, 1]));
        assert_eq!(of("node"), BTreeSet::from([2]));
        assert_eq!(of("configmap"), BTreeSet::from([0, 1, 2]));
    }
}
