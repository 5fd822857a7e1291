//! Which part of an object the cluster in memory stores.
//!
//! A file may have far more data than a pipeline reads. An object of a kind that is only read is
//! stored as the fields that the pipelines read, together with the metadata that identifies and
//! selects it:
//!
//! ```text
//! Pod: $.spec.nodeName is read       metadata: {name, namespace, uid, labels, …}
//!                                    spec: {nodeName}
//! ConfigMap: a target                the whole object, because it is written and printed
//! Secret: not read                   nothing
//! ```
//!
//! A predicate compares whole objects, so all of an object is stored where a source has one.

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
pub(super) struct Pruning(BTreeMap<GroupKind, Keep>);

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
        let keep = |(kind, fields)| (kind, Keep::fields(&fields));
        Self(kinds.into_iter().map(keep).collect())
    }

    /// The stored part of objects of a kind; `None` if no controller reads or writes it.
    pub(super) fn of(&self, kind: &GroupKind) -> Option<&Keep> {
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
