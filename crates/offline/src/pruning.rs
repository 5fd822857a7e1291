//! Which part of an object the cluster in memory stores.
//!
//! A file may have far more data than a pipeline reads, and the sources of the pipelines store the
//! fields that they read. So an object of a kind that is only read is not stored a second time:
//!
//! ```text
//! Pod: only read                     nothing; the sources store the fields that they read
//! Node: only read, a Patcher's       metadata: {name, namespace, uid, labels, …}
//!   record is on it                  and the fields that the pipelines read
//! Service: read with a predicate     the whole object, because predicates compare whole ones
//! ConfigMap: a target                the whole object, because it is written and printed
//! Secret: not read                   nothing
//! ```

use std::collections::BTreeMap;

use dataflow::fields::{self, Fields, Keep};
use document::Key;
use document::path::Segment;
use object::GroupKind;
use operator::spec::{Controller, Operator};

/// The metadata that is always stored.
const METADATA: [&str; 7] = [
    "name",
    "namespace",
    "uid",
    "labels",
    "resourceVersion",
    "generation",
    "ownerReferences",
];

/// The stored parts, by kind.
#[derive(Debug)]
pub(super) struct Pruning(BTreeMap<GroupKind, Stored>);

/// How objects of a kind are stored.
#[derive(Debug)]
pub(super) struct Stored {
    /// The part of an object that is stored.
    pub(super) keep: Keep,
    /// Whether an object is passed on to the sources, and only stored if a record is on it: its
    /// kind is only read, and no predicate compares it with its former state.
    pub(super) passes: bool,
}

impl Pruning {
    pub(super) fn new(operator: &Operator) -> Self {
        let mut kinds: BTreeMap<GroupKind, Fields> = BTreeMap::new();
        for controller in &operator.controllers {
            for (kind, read) in reads(controller) {
                kinds.entry(kind).or_default().add(&read);
            }
            for target in &controller.targets {
                kinds.insert(target.resource.group_kind(), Fields::all());
            }
        }
        let is_written = |kind: &GroupKind| {
            let mut targets = operator.controllers.iter().flat_map(|of| &of.targets);
            targets.any(|target| target.resource.is(kind))
        };
        let is_compared = |kind: &GroupKind| {
            let mut sources = operator.controllers.iter().flat_map(|of| &of.sources);
            sources.any(|source| source.predicate.is_some() && source.resource.is(kind))
        };
        let stored = |(kind, fields): (GroupKind, Fields)| {
            let stored = Stored {
                keep: Keep::fields(&fields),
                passes: !is_written(&kind) && !is_compared(&kind),
            };
            (kind, stored)
        };
        Self(kinds.into_iter().map(stored).collect())
    }

    /// How objects of a kind are stored; `None` if no controller reads or writes it.
    pub(super) fn of(&self, kind: &GroupKind) -> Option<&Stored> {
        self.0.get(kind)
    }
}

/// The fields that a controller needs of the kinds that it reads.
fn reads(controller: &Controller) -> Vec<(GroupKind, Fields)> {
    let needs = fields::needs(&controller.pipeline);
    let inputs = controller.inputs.iter().zip(needs);
    inputs
        .map(|(source, mut fields)| {
            let source = &controller.sources[*source];
            if source.predicate.is_some() {
                fields = Fields::all();
            }
            add_metadata(&mut fields);
            (source.resource.group_kind(), fields)
        })
        .collect()
}

/// Adds the metadata that identifies and selects an object. If annotations are read, all are
/// stored: the pipeline does not see a map that contains only marks of deltic.
fn add_metadata(fields: &mut Fields) {
    let metadata = fields.names.get(&Key::new("metadata"));
    let annotated = metadata.is_some_and(|read| read.names.contains_key(&Key::new("annotations")));
    let annotations = annotated.then_some("annotations");
    for name in METADATA.into_iter().chain(annotations) {
        let place = ["metadata", name].map(|name| Segment::Name(Key::new(name)));
        fields.add_path(&place, &Fields::all());
    }
}
