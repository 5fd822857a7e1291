//! Where the documents of a pipeline come from, and where they end.
//!
//! Both are read from a [`Recording`] and from origins, which name the objects and positions that a
//! document is derived from. Only groups replace the origins of their members by a key. So, for
//! each group that is asked for, the keys are evaluated again to find its members:
//!
//! ```text
//! [key "a"]                    @gather           members: [Pod a/web, index 0], [Pod a/db, index 0]
//! [Pod a/web, index 0]         @unwind           its input is [Pod a/web]
//! [Pod a/web]                  @select           the same origin
//! [Pod a/web, Node n1]         @join             [Pod a/web] and [Node n1]
//! ```
//!
//! [`Provenance::way_back`] follows a target object back to its sources, [`Provenance::descent`]
//! follows a source object forward, to the stage at which it ends. The latter evaluates the keys of
//! the documents that are derived from the object, and of no others.

mod condition;
mod descent;
mod partners;
#[cfg(test)]
mod tests;
mod way_back;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use expr::{Env, Expr, Functions, Scope};
use object::ObjectName;

use crate::failure::Failure;
use crate::origin::{Component, Origin};
use crate::pipeline::{Input, Join, Pipeline, StageKind};
use crate::recording::{Documents, Recording};

pub use condition::{ConditionPart, decisive_parts};
pub use descent::{BranchDescent, Loss, StageDescent};
pub use partners::{NoSoftPartner, Unjoined};
pub use way_back::Derivation;

/// A point of a pipeline at which documents pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// An input of a branch.
    Input {
        /// The branch, by position.
        branch: usize,
        /// The input of the branch, by position.
        input: usize,
    },
    /// The output of a stage.
    Stage {
        /// The branch, by position.
        branch: usize,
        /// The stage of the branch, by position.
        stage: usize,
    },
}

/// A document by the point at which it passes and its origin there.
pub type At = (Point, Origin);

/// A source object: the source by position, and its name.
pub type SourceName = (usize, ObjectName);

/// Explains the result of a pipeline.
#[derive(Debug)]
pub struct Provenance<'a> {
    pipeline: &'a Pipeline,
    recording: &'a Recording,
    functions: &'a Functions,
    env: &'a Env,
    /// The members of the groups of each group stage, by branch and stage. They are found when they
    /// are first needed.
    groups: BTreeMap<(usize, usize), OnceCell<Groups>>,
}

/// The members of groups, in order.
type Groups = BTreeMap<Value, Vec<Origin>>;

impl<'a> Provenance<'a> {
    /// Explains what was recorded of this pipeline.
    pub fn new(
        pipeline: &'a Pipeline,
        recording: &'a Recording,
        functions: &'a Functions,
        env: &'a Env,
    ) -> Self {
        let branches = pipeline.branches.iter().enumerate();
        let groups = branches.flat_map(|(branch, rule)| {
            let stages = rule.stages.iter().enumerate();
            let groups = stages.filter(|(_, stage)| stage.kind.groups());
            groups.map(move |(stage, _)| ((branch, stage), OnceCell::new()))
        });
        Self {
            groups: groups.collect(),
            pipeline,
            recording,
            functions,
            env,
        }
    }

    /// The document of an origin at a point.
    pub fn document(&self, at: Point, origin: &Origin) -> Option<&'a Value> {
        self.documents(at)?.get(origin)
    }

    fn documents(&self, at: Point) -> Option<&'a Documents> {
        match at {
            Point::Input { branch, input } => {
                self.recording.branches.get(branch)?.inputs.get(input)
            }
            Point::Stage { branch, stage } => {
                self.recording.branches.get(branch)?.stages.get(stage)
            }
        }
    }

    /// The point before a stage that is not a join.
    fn before(branch: usize, stage: usize) -> Point {
        match stage.checked_sub(1) {
            Some(stage) => Point::Stage { branch, stage },
            None => Point::Input { branch, input: 0 },
        }
    }

    /// The point at which documents leave a branch.
    fn end_of(&self, branch: usize) -> Point {
        Self::before(branch, self.pipeline.branches[branch].stages.len())
    }

    /// Splits an origin outside of its branch into the branch and the origin inside of it.
    fn inside(&self, origin: &Origin) -> Option<(usize, Origin)> {
        if self.pipeline.branches.len() == 1 {
            return Some((0, origin.clone()));
        }
        match origin.components().split_first()? {
            (Component::Branch(branch), rest) => Some((*branch as usize, Origin::of_slice(rest))),
            _ => None,
        }
    }

    /// The documents from which a document is derived directly. A source object has none.
    pub fn parents(&self, at: Point, origin: &Origin) -> Vec<At> {
        let (branch, stage) = match at {
            Point::Input { branch, input } => {
                return match self.pipeline.branches[branch].inputs[input] {
                    Input::Source(_) => Vec::new(),
                    Input::Stream(_) => {
                        let inside = self.inside(origin);
                        let at = |(branch, origin)| (self.end_of(branch), origin);
                        inside.map(at).into_iter().collect()
                    }
                };
            }
            Point::Stage { branch, stage } => (branch, stage),
        };
        let before = Self::before(branch, stage);
        match &self.pipeline.branches[branch].stages[stage].kind {
            StageKind::Join(join) => self.partners(branch, join, origin),
            StageKind::Select(_) | StageKind::Project(_) | StageKind::Patch(_) => {
                vec![(before, origin.clone())]
            }
            StageKind::Unwind(_) => {
                let parent = origin.split_last().map(|(parent, _)| (before, parent));
                parent.into_iter().collect()
            }
            StageKind::Gather(_) | StageKind::GroupBy(_) | StageKind::Distinct => {
                let members = self.members(branch, stage, origin).iter();
                members.map(|member| (before, member.clone())).collect()
            }
        }
    }

    /// The members of a group, in order.
    fn members(&self, branch: usize, stage: usize, group: &Origin) -> &[Origin] {
        let [Component::Key(key)] = group.components() else {
            return &[];
        };
        let Some(groups) = self.groups.get(&(branch, stage)) else {
            return &[];
        };
        let groups = groups.get_or_init(|| self.all_groups(branch, stage));
        groups.get(key.as_ref()).map_or(&[], Vec::as_slice)
    }

    /// The groups of a stage.
    fn all_groups(&self, branch: usize, stage: usize) -> Groups {
        let kind = &self.pipeline.branches[branch].stages[stage].kind;
        let before = self.documents(Self::before(branch, stage));
        let mut groups = Groups::new();
        for (origin, document) in before.into_iter().flatten() {
            if let Some(key) = self.group_key(kind, document) {
                groups.entry(key).or_default().push(origin.clone());
            }
        }
        groups
    }

    /// The key of the group that a document is in; `None` if it is in none.
    fn group_key(&self, kind: &StageKind, document: &Value) -> Option<Value> {
        let value = |key: &Expr| key.eval(&Scope::new(self.env, document)).ok();
        let key = match kind {
            StageKind::Gather(gather) => {
                let found = gather.path.first(document, document);
                found.filter(|found| !found.is_null())?;
                value(&gather.key)
            }
            StageKind::GroupBy(group) => value(&group.key),
            StageKind::Distinct => Some(document.clone()),
            StageKind::Join(_)
            | StageKind::Select(_)
            | StageKind::Project(_)
            | StageKind::Unwind(_)
            | StageKind::Patch(_) => None,
        };
        key.filter(|key| !key.is_null())
    }

    /// Splits the origin of a joined document into those of its parts. An input without a partner
    /// has none.
    fn partners(&self, branch: usize, join: &Join, origin: &Origin) -> Vec<At> {
        let mut rest = origin.components();
        let mut partners = Vec::new();
        for input in 0..join.inputs.len() {
            if let (Some((Component::Absent, after)), true) =
                (rest.split_first(), join.soft.has(input))
            {
                rest = after;
                continue;
            }
            let at = Point::Input { branch, input };
            let length = match self.pipeline.branches[branch].inputs[input] {
                Input::Source(_) => 1,
                Input::Stream(_) => {
                    let known = |length: &usize| {
                        self.document(at, &Origin::of_slice(&rest[..*length]))
                            .is_some()
                    };
                    (1..=rest.len()).rev().find(known).unwrap_or(1)
                }
            };
            let Some((part, after)) = rest.split_at_checked(length) else {
                break;
            };
            partners.push((at, Origin::of_slice(part)));
            rest = after;
        }
        partners
    }

    /// All source objects from which a document is derived.
    pub fn sources(&self, at: Point, origin: &Origin) -> BTreeSet<SourceName> {
        let mut sources = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(at, origin.clone())];
        while let Some((at, origin)) = open.pop() {
            if let Some(source) = self.source(at, &origin) {
                sources.insert(source);
            } else if seen.insert((at, origin.clone())) {
                open.extend(self.parents(at, &origin));
            }
        }
        sources
    }

    /// All source objects from which an output is derived, by its origin outside of its branch.
    pub fn sources_of_output(&self, origin: &Origin) -> BTreeSet<SourceName> {
        let inside = self.inside(origin);
        let sources = inside.map(|(branch, origin)| self.sources(self.end_of(branch), &origin));
        sources.unwrap_or_default()
    }

    /// The source objects from which a document can be derived again: those of its origin, and all
    /// soft partners of these. Without its partner, a row would be derived with null instead, and
    /// could become a new member of a group.
    pub fn enough(&self, at: Point, origin: &Origin) -> BTreeSet<SourceName> {
        let mut enough = self.sources(at, origin);
        let rows: Vec<(BTreeSet<SourceName>, BTreeSet<SourceName>)> = self.soft_rows();
        loop {
            let size = enough.len();
            for (hard, soft) in &rows {
                if hard.is_subset(&enough) {
                    enough.extend(soft.iter().cloned());
                }
            }
            if enough.len() == size {
                return enough;
            }
        }
    }

    /// For each row of a join with soft inputs, the source objects of its hard and its soft parts.
    fn soft_rows(&self) -> Vec<(BTreeSet<SourceName>, BTreeSet<SourceName>)> {
        let mut rows = Vec::new();
        for (branch, rule) in self.pipeline.branches.iter().enumerate() {
            let Some(StageKind::Join(join)) = rule.stages.first().map(|stage| &stage.kind) else {
                continue;
            };
            if join.soft.is_empty() {
                continue;
            }
            let joined = self.recording.branches[branch].stages[0].keys();
            rows.extend(joined.map(|origin| {
                let (mut hard, mut soft) = (BTreeSet::new(), BTreeSet::new());
                for (at, part) in self.partners(branch, join, origin) {
                    let sources = self.sources(at, &part);
                    match at {
                        Point::Input { input, .. } if join.soft.has(input) => soft.extend(sources),
                        Point::Input { .. } | Point::Stage { .. } => hard.extend(sources),
                    }
                }
                (hard, soft)
            }));
        }
        rows
    }

    /// The source object, if this is the point at which it enters the pipeline.
    fn source(&self, at: Point, origin: &Origin) -> Option<SourceName> {
        let Point::Input { branch, input } = at else {
            return None;
        };
        match self.pipeline.branches[branch].inputs[input] {
            Input::Source(source) => Some((source, origin.object_name()?.clone())),
            Input::Stream(_) => None,
        }
    }

    /// The error of a stage on a document. The stage after the last one is the check of the output.
    fn failure(&self, branch: usize, stage: usize, origin: &Origin) -> Option<&'a Failure> {
        let mut errors = self.recording.errors.iter();
        let error = errors.find(|error| {
            (error.branch, error.stage) == (branch, stage) && error.origin == *origin
        });
        error.map(|error| &error.failure)
    }
}
