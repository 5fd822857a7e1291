//! The way forward: what becomes of a source object, stage by stage.

use std::collections::{BTreeMap, BTreeSet};

use document::{Kind, Value};
use expr::Scope;
use object::ObjectName;

use super::condition::{ConditionPart, decisive_parts};
use super::partners::Unjoined;
use super::{Point, Provenance};
use crate::failure::Failure;
use crate::origin::{Component, Origin};
use crate::pipeline::{Input, Stage, StageKind};

/// What becomes of a source object in one branch.
#[derive(Clone, Debug)]
pub struct BranchDescent {
    /// The branch, by position.
    pub branch: usize,
    /// For each input, the documents that are derived from the object.
    pub inputs: Vec<BTreeSet<Origin>>,
    /// The stages, up to the first that yields nothing for the object.
    pub stages: Vec<StageDescent>,
    /// The target objects that are derived from the object.
    pub outputs: Vec<(usize, ObjectName)>,
    /// The documents at the end of the branch that did not become target objects.
    pub lost: Vec<(Origin, Loss)>,
}

/// What one stage does with the documents that are derived from an object.
#[derive(Clone, Debug)]
pub struct StageDescent {
    /// The stage, by position.
    pub stage: usize,
    /// The documents that it yields for the object.
    pub after: BTreeSet<Origin>,
    /// The documents for which it yields nothing, with the reason.
    pub lost: Vec<(Origin, Loss)>,
}

impl BranchDescent {
    /// The first stage that yields nothing for the object; the number of stages if the documents
    /// got to the end and none became a target object.
    pub fn ended(&self) -> Option<usize> {
        let ended = self.stages.iter().find(|stage| stage.after.is_empty());
        match ended {
            Some(stage) => Some(stage.stage),
            None => (self.outputs.is_empty() && !self.lost.is_empty()).then_some(self.stages.len()),
        }
    }
}

/// Why a stage yields nothing for a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// The stage failed.
    Failed(Failure),
    /// The condition of `@select` is false.
    False(Vec<ConditionPart>),
    /// `@unwind` found no list, or an empty one.
    NothingToUnwind {
        /// The path.
        path: String,
        /// The type of the value at the path.
        found: Kind,
    },
    /// The key of the group is null.
    NoKey,
    /// The value to gather is null.
    NoValue {
        /// The path.
        path: String,
    },
    /// The join found no partner. If no conjunct is listed, each one has partners, but none meets all.
    NoPartner(Vec<Unjoined>),
    /// Another reason, such as a group that is too large.
    Other,
}

impl Provenance<'_> {
    /// What becomes of an object of a source, in each branch that it reaches, in the order in which
    /// the branches run. If the environment is interrupted meanwhile, the result is not complete.
    pub fn descent(&self, source: usize, name: &ObjectName) -> Vec<BranchDescent> {
        let object = Origin::object(source as u32, name.clone());
        let mut streams: BTreeMap<usize, BTreeSet<Origin>> = BTreeMap::new();
        let mut descents = Vec::new();
        for &branch in &self.pipeline.order {
            let rule = &self.pipeline.branches[branch];
            let inputs = rule.inputs.iter().enumerate();
            let inputs: Vec<BTreeSet<Origin>> = inputs
                .map(|(number, input)| match input {
                    Input::Source(of) if *of == source => {
                        let at = Point::Input {
                            branch,
                            input: number,
                        };
                        let entered = self.document(at, &object);
                        entered.map(|_| object.clone()).into_iter().collect()
                    }
                    Input::Source(_) => BTreeSet::new(),
                    Input::Stream(stream) => streams.get(stream).cloned().unwrap_or_default(),
                })
                .collect();
            if inputs.iter().all(BTreeSet::is_empty) {
                continue;
            }
            let (descent, end) = self.branch_descent(branch, inputs);
            if let Some(stream) = rule.output.stream {
                let leaving = end.into_iter().map(|origin| self.outside(branch, &origin));
                streams.entry(stream).or_default().extend(leaving);
            }
            descents.push(descent);
        }
        descents
    }

    /// The origin of a document outside of its branch.
    fn outside(&self, branch: usize, origin: &Origin) -> Origin {
        if self.pipeline.branches.len() == 1 {
            return origin.clone();
        }
        origin.behind(Component::Branch(branch as u32))
    }

    /// Returns the descent, and the documents that leave the branch.
    fn branch_descent(
        &self,
        branch: usize,
        inputs: Vec<BTreeSet<Origin>>,
    ) -> (BranchDescent, BTreeSet<Origin>) {
        let rule = &self.pipeline.branches[branch];
        let points = (0..inputs.len()).map(|input| Point::Input { branch, input });
        let mut before: BTreeMap<Point, BTreeSet<Origin>> =
            points.zip(inputs.iter().cloned()).collect();
        let mut stages = Vec::new();
        for stage in 0..rule.stages.len() {
            let descent = self.stage_descent(branch, stage, &before);
            let after = descent.after.clone();
            stages.push(descent);
            let ended = after.is_empty();
            before = BTreeMap::from([(Point::Stage { branch, stage }, after)]);
            if ended {
                break;
            }
        }
        let end: BTreeSet<Origin> = before.into_values().flatten().collect();
        let mut outputs = Vec::new();
        let mut lost = Vec::new();
        if let Some(target) = rule.output.target {
            for origin in &end {
                let outside = self.outside(branch, origin);
                let mut written = self.recording.outputs.iter();
                let written = written
                    .find(|output| output.target == target && output.origin == outside)
                    .map(|output| (target, output.key.clone()));
                match written {
                    Some(output) => outputs.push(output),
                    None => {
                        let failure = self.failure(branch, rule.stages.len(), &outside);
                        let loss = failure.cloned().map_or(Loss::Other, Loss::Failed);
                        lost.push((origin.clone(), loss));
                    }
                }
            }
        }
        let descent = BranchDescent {
            branch,
            inputs,
            stages,
            outputs,
            lost,
        };
        (descent, end)
    }

    fn stage_descent(
        &self,
        branch: usize,
        stage: usize,
        before: &BTreeMap<Point, BTreeSet<Origin>>,
    ) -> StageDescent {
        let mut after = BTreeSet::new();
        let mut lost = Vec::new();
        for (point, origins) in before {
            for origin in origins {
                if self.env.is_interrupted() {
                    break;
                }
                let children = self.children(branch, stage, *point, origin);
                if children.is_empty() {
                    let loss = self.loss(branch, stage, *point, origin);
                    lost.push((origin.clone(), loss));
                }
                after.extend(children);
            }
        }
        StageDescent { stage, after, lost }
    }

    /// The documents that a stage yields directly from a document at a point before it.
    fn children(&self, branch: usize, stage: usize, point: Point, parent: &Origin) -> Vec<Origin> {
        let at = Point::Stage { branch, stage };
        let Some(documents) = self.documents(at) else {
            return Vec::new();
        };
        let known = |origin: Origin| documents.contains_key(&origin).then_some(origin);
        let kind = &self.pipeline.branches[branch].stages[stage].kind;
        match kind {
            StageKind::Select(_) | StageKind::Project(_) | StageKind::Patch(_) => {
                known(parent.clone()).into_iter().collect()
            }
            StageKind::Unwind(_) => {
                // Origins are sorted, so those of the elements follow that of the document.
                let length = parent.components().len();
                let from = documents.range(parent.clone()..).map(|(origin, _)| origin);
                from.take_while(|origin| origin.components().starts_with(parent.components()))
                    .filter(|origin| origin.components().len() == length + 1)
                    .cloned()
                    .collect()
            }
            StageKind::Gather(_) | StageKind::GroupBy(_) | StageKind::Distinct => {
                let document = self.document(point, parent);
                let key = document.and_then(|document| self.group_key(kind, document));
                let group = key.and_then(|key| known(Origin::group(key)));
                group.into_iter().collect()
            }
            StageKind::Join(join) => {
                let part = (point, parent.clone());
                let mentions = |origin: &&Origin| contains(origin, parent);
                let joined = documents.keys().filter(mentions);
                let joined = joined.filter(|origin| {
                    let partners = self.partners(branch, join, origin);
                    partners.contains(&part)
                });
                joined.cloned().collect()
            }
        }
    }

    fn loss(&self, branch: usize, number: usize, point: Point, origin: &Origin) -> Loss {
        let rule = &self.pipeline.branches[branch].stages[number];
        if let Some(failure) = self.failure(branch, number, origin) {
            return Loss::Failed(failure.clone());
        }
        let Some(document) = self.document(point, origin) else {
            return Loss::Other;
        };
        match (&rule.kind, point) {
            (StageKind::Join(join), Point::Input { input, .. }) => {
                match self.failure_of_tuple(branch, number, origin) {
                    Some(failure) => Loss::Failed(failure.clone()),
                    None => Loss::NoPartner(self.unjoined(branch, join, input, origin)),
                }
            }
            (kind, _) => self.loss_of_one(kind, rule, origin, document),
        }
    }

    fn loss_of_one(
        &self,
        kind: &StageKind,
        rule: &Stage,
        origin: &Origin,
        document: &Value,
    ) -> Loss {
        let scope = Scope {
            origin: origin.stable_hash(),
            ..Scope::new(self.env, document)
        };
        let found = |path: &document::Path| {
            path.first(document, document)
                .map_or(Kind::Null, Value::kind)
        };
        match kind {
            StageKind::Select(_) => {
                Loss::False(decisive_parts(&rule.spec, &rule.at, self.functions, &scope))
            }
            StageKind::Unwind(path) => Loss::NothingToUnwind {
                path: path.to_string(),
                found: found(path),
            },
            StageKind::Gather(gather) if found(&gather.path) == Kind::Null => Loss::NoValue {
                path: gather.path.to_string(),
            },
            StageKind::Gather(_) | StageKind::GroupBy(_) => Loss::NoKey,
            StageKind::Join(_)
            | StageKind::Project(_)
            | StageKind::Patch(_)
            | StageKind::Distinct => Loss::Other,
        }
    }

    /// The error of a tuple that contains a document.
    fn failure_of_tuple(&self, branch: usize, stage: usize, part: &Origin) -> Option<&Failure> {
        let mut errors = self.recording.errors.iter();
        let error = errors.find(|error| {
            (error.branch, error.stage) == (branch, stage) && contains(&error.origin, part)
        });
        error.map(|error| &error.failure)
    }
}

/// Whether the components of an origin contain those of a part of it.
fn contains(origin: &Origin, part: &Origin) -> bool {
    let parts = part.components();
    let mut windows = origin.components().windows(parts.len().max(1));
    windows.any(|window| window == parts)
}
