//! Which parts of documents may contain values of Secrets, after every stage.
//!
//! ```text
//! Secret                                                 data.*
//! @project {metadata: $.metadata, token: {"@upper": "$.data.token"}}
//!                                                        token
//! @gather ["$.token", "$.metadata.name"]                 token, and the keys of the groups
//! view ─▶ source of another controller                   token
//! ```
//!
//! What is computed from a value counts as the value: messages must show neither. The parts follow
//! from the spec alone, so the same parts of all documents at a point are masked. They may be too many,
//! but never too few: a function that is not known to keep its arguments apart taints its whole result.
//! Views of other Operators are followed only by who knows these ([`mark_with`]).

mod expression;
mod stage;
mod taint;

use std::collections::BTreeMap;

use dataflow::Origin;
use dataflow::pipeline::{Input, Pipeline};
use dataflow::provenance::Point;
use document::path::Segment;
use document::{Key, Map, Value};
use expr::Expr;
use object::GroupKind;

use crate::spec::{Controller, Operator};
use expression::Readable;
use stage::Marked;
use taint::NONE;
pub use taint::{HIDDEN, Taint};

/// The parts of a controller's documents that may contain values of Secrets.
#[derive(Clone, Debug, Default)]
pub struct SecretParts {
    /// No branches if no value can reach the controller.
    branches: Vec<BranchParts>,
    /// The sources whose objects may be named by such values.
    named_sources: Vec<bool>,
}

#[derive(Clone, Debug, Default)]
struct BranchParts {
    inputs: Vec<Marked>,
    stages: Vec<Marked>,
}

impl BranchParts {
    /// The documents that leave the branch.
    fn last(&self) -> Marked {
        let last = self.stages.last().or(self.inputs.first());
        last.cloned().unwrap_or_default()
    }
}

impl SecretParts {
    /// The parts of the documents at a point.
    pub fn at(&self, point: Point) -> &Taint {
        let marked = match point {
            Point::Input { branch, input } => self
                .branches
                .get(branch)
                .and_then(|of| of.inputs.get(input)),
            Point::Stage { branch, stage } => self
                .branches
                .get(branch)
                .and_then(|of| of.stages.get(stage)),
        };
        marked.map_or(&NONE, |marked| &marked.document)
    }

    /// Whether the value of an expression on the documents at a point may be derived from a Secret.
    pub fn reaches(&self, expr: &Expr, point: Point) -> bool {
        !Readable::document(self.at(point)).value(expr).is_none()
    }

    /// Whether objects of an input may be named by values of Secrets.
    pub fn names_source(&self, input: usize) -> bool {
        self.named_sources.get(input) == Some(&true)
    }

    /// Whether target objects of a pipeline may be named by values of Secrets.
    pub fn names_target(&self, pipeline: &Pipeline, target: usize) -> bool {
        self.of_target(pipeline, target).iter().any(names)
    }

    /// The parts of the objects that a pipeline writes to a target, for each branch that does.
    pub fn of_target(&self, pipeline: &Pipeline, target: usize) -> Vec<Taint> {
        let branches = pipeline.branches.iter().zip(&self.branches);
        let writers = branches.filter(|(rule, _)| rule.output.target == Some(target));
        writers.map(|(_, parts)| parts.last().document).collect()
    }

    /// An origin for messages; see [`Origin::describe`].
    pub fn describe(&self, origin: &Origin, sources: &[String]) -> Value {
        self.mask(&origin.describe(sources), sources)
    }

    /// Masks a described origin: names and keys that may be values of Secrets. A source that is
    /// unknown, because the origin is that of an older spec, may be any of these.
    pub fn mask(&self, origin: &Value, sources: &[String]) -> Value {
        let stages = self.branches.iter().flat_map(|branch| &branch.stages);
        let keys = stages.clone().any(|stage| stage.keys);
        let any_name = self.named_sources.contains(&true);
        if !keys && !any_name {
            return origin.clone();
        }
        let named = |part: &Value| {
            let source = part.get("source").as_str();
            let input = sources
                .iter()
                .position(|name| Some(name.as_str()) == source);
            input.map_or(any_name, |input| self.names_source(input))
        };
        let parts = origin.as_list().into_iter().flatten();
        parts
            .map(|part| match part.as_map() {
                Some(fields) if fields.get_str("key").is_some() && keys => hidden(part, &["key"]),
                Some(_) if named(part) => hidden(part, &["namespace", "name"]),
                _ => part.clone(),
            })
            .collect()
    }
}

fn hidden(part: &Value, fields: &[&str]) -> Value {
    let members = part.as_map().into_iter().flatten();
    let members = members.map(|(key, value)| {
        let hides = fields.contains(&key.as_str());
        (
            key.clone(),
            if hides { HIDDEN.into() } else { value.clone() },
        )
    });
    members.collect::<Map>().into()
}

/// Whether the name or namespace of an object is tainted.
fn names(document: &Taint) -> bool {
    ["name", "namespace"].iter().any(|field| {
        let path = ["metadata", field].map(|name| Segment::Name(Key::new(name)));
        !document.at(&path).is_none()
    })
}

/// How often views are followed through the controllers of an Operator. Beyond this, all views count
/// as tainted as a whole.
const ROUNDS: usize = 8;

/// Finds the parts for all controllers of an Operator. Nothing is known about the views of others.
pub(crate) fn mark(operator: &mut Operator) {
    mark_with(operator, &BTreeMap::new());
}

/// Finds the parts for all controllers of an Operator that reads these views of others.
pub fn mark_with(operator: &mut Operator, views: &BTreeMap<GroupKind, Taint>) {
    let sources = operator.controllers.iter().flat_map(|c| &c.sources);
    let tainted = |kind: &GroupKind| views.get(kind).is_some_and(|taint| !taint.is_none());
    let mut resources = sources.map(|source| &source.resource);
    if !resources.any(|resource| resource.is_secret() || tainted(&resource.group_kind())) {
        return;
    }
    let mut derived = views.clone();
    for round in 1.. {
        let before = derived.clone();
        for number in operator.order() {
            let parts = flow(&operator.controllers[number], &derived);
            let controller = &mut operator.controllers[number];
            let branches = controller.pipeline.branches.iter().zip(&parts.branches);
            for (rule, branch) in branches {
                let target = rule.output.target.and_then(|at| controller.targets.get(at));
                if let Some(target) = target {
                    let kind = target.resource.group_kind();
                    let all = derived.remove(&kind).unwrap_or_default();
                    derived.insert(kind, all.or(&branch.last().document).bounded());
                }
            }
            controller.secret_parts = parts;
        }
        if derived == before {
            return;
        }
        if round >= ROUNDS {
            for taint in derived.values_mut() {
                *taint = taint.spread();
            }
        }
    }
}

/// The parts of the views that an Operator derives.
pub fn of_views(operator: &Operator) -> BTreeMap<GroupKind, Taint> {
    let mut views: BTreeMap<GroupKind, Taint> = BTreeMap::new();
    for controller in &operator.controllers {
        let targets = controller.targets.iter().enumerate();
        for (number, target) in targets.filter(|(_, target)| target.resource.is_view()) {
            let view = views.entry(target.resource.group_kind()).or_default();
            let parts = &controller.secret_parts;
            for taint in parts.of_target(&controller.pipeline, number) {
                view.add(&taint);
            }
        }
    }
    views
}

/// The parts of the documents of a controller.
fn flow(controller: &Controller, derived: &BTreeMap<GroupKind, Taint>) -> SecretParts {
    let sources: Vec<Taint> = controller
        .inputs
        .iter()
        .map(|source| {
            let resource = &controller.sources[*source].resource;
            let written = derived.get(&resource.group_kind()).cloned();
            let mut taint = written.unwrap_or_default();
            if resource.is_secret() {
                let values =
                    ["data", "stringData"].map(|field| (Key::new(field), Taint::each(Taint::ALL)));
                taint.add(&Taint::members(values));
            }
            taint
        })
        .collect();
    let pipeline = &controller.pipeline;
    let mut branches = vec![BranchParts::default(); pipeline.branches.len()];
    let mut streams: BTreeMap<usize, Marked> = BTreeMap::new();
    for number in &pipeline.order {
        let rule = &pipeline.branches[*number];
        let inputs = rule.inputs.iter().map(|input| match input {
            Input::Source(source) => Marked {
                document: sources.get(*source).cloned().unwrap_or_default(),
                keys: false,
            },
            Input::Stream(stream) => streams.get(stream).cloned().unwrap_or_default(),
        });
        let mut parts = BranchParts {
            inputs: inputs.collect(),
            stages: Vec::new(),
        };
        for (position, rule) in rule.stages.iter().enumerate() {
            let marked = match position.checked_sub(1) {
                None => stage::after(rule, &parts.inputs),
                Some(before) => stage::after(rule, &parts.stages[before..=before]),
            };
            parts.stages.push(marked);
        }
        if let Some(stream) = rule.output.stream {
            let last = parts.last();
            let all = streams.entry(stream).or_default();
            all.document.add(&last.document);
            all.keys |= last.keys;
        }
        branches[*number] = parts;
    }
    SecretParts {
        branches,
        named_sources: sources.iter().map(names).collect(),
    }
}
