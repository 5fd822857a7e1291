//! What of a derived document is sent.

use document::{Key, Map, Value};
use fieldset::FieldPath;
use fieldset::compare::without_nulls;
use object::ObjectKey;
use object::marks::is_mark;
use operator::spec::TargetType;

use super::{Desired, Owner};
use crate::outgoing::{identity_free, outgoing, patch_of, without_ignored};
use crate::problem::{Cause, OwnerProblem, Problem};

/// The document to send: Secrets are encoded, and only used metadata is left.
pub(super) fn prepare(desired: &Desired, key: &ObjectKey, problems: &mut Vec<Problem>) -> Value {
    let target = &desired.author.target;
    let document = match target.kind {
        TargetType::Patcher => patch_of(&desired.document, target),
        TargetType::Updater | TargetType::Applier => {
            without_nulls(&outgoing(&desired.document, target))
        }
    };
    let document = identity_free(&document);
    let Some(fields) = document.as_map() else {
        return Value::empty_map();
    };
    let metadata = used_metadata(desired, fields.get_str("metadata"), key, problems);
    let mut fields = fields.without("metadata");
    if !metadata.is_empty() {
        fields = fields.with(Key::new("metadata"), metadata.into());
    }
    let document = Value::from(fields);
    if target.kind == TargetType::Updater {
        return document;
    }
    without_ignored(&document, &target.ignore)
}

/// Labels, annotations and ownerReferences, without our own marks and without invalid owners.
fn used_metadata(
    desired: &Desired,
    metadata: Option<&Value>,
    key: &ObjectKey,
    problems: &mut Vec<Problem>,
) -> Map {
    let metadata = metadata.cloned().unwrap_or_default();
    let mut used = Vec::new();
    for field in ["annotations", "labels"] {
        let Some(map) = metadata.get(field).as_map() else {
            continue;
        };
        let data: Map = map
            .iter()
            .filter(|(key, _)| !is_mark(key.as_str()))
            .cloned()
            .collect();
        if !data.is_empty() {
            used.push((Key::new(field), data.into()));
        }
    }
    let references = metadata.get("ownerReferences");
    let (owners, dropped) = valid_owners(references, &desired.owners, key.namespace());
    for (index, reason) in dropped {
        problems.push(desired.problem(Cause::OwnerDropped { index, reason }));
    }
    if !owners.is_empty() {
        used.push((Key::new("ownerReferences"), owners.into()));
    }
    Map::from_entries(used)
}

/// The ownerReferences that may be written to an object of a namespace, and the others with their
/// positions.
fn valid_owners(
    references: &Value,
    owners: &[Owner],
    namespace: &str,
) -> (Vec<Value>, Vec<(usize, OwnerProblem)>) {
    let mut valid = Vec::new();
    let mut dropped = Vec::new();
    for (index, reference) in references.as_list().into_iter().flatten().enumerate() {
        match owner_problem(reference, owners, namespace) {
            None => valid.push(reference.clone()),
            Some(reason) => dropped.push((index, reason)),
        }
    }
    (valid, dropped)
}

/// A document without the ownerReferences that may not be written, for drivers that write inside
/// a batch.
pub fn with_valid_owners(
    document: Value,
    owners: impl FnOnce() -> Vec<Owner>,
    namespace: &str,
) -> Value {
    let place = FieldPath::of(&["metadata", "ownerReferences"]);
    let references = place.get(&document);
    if references.is_null() {
        return document;
    }
    let (valid, dropped) = valid_owners(references, &owners(), namespace);
    if dropped.is_empty() {
        document
    } else if valid.is_empty() {
        place.remove(&document)
    } else {
        place.set(&document, &valid.into())
    }
}

fn owner_problem(reference: &Value, owners: &[Owner], namespace: &str) -> Option<OwnerProblem> {
    let uid = reference.get("uid").as_str().unwrap_or_default();
    let mut owners = owners.iter();
    let owner = owners.find(|owner| !uid.is_empty() && owner.uid == uid);
    match owner {
        Some(owner) if owner.namespace.is_empty() || owner.namespace == namespace => None,
        Some(_) => Some(OwnerProblem::OtherNamespace),
        None => Some(OwnerProblem::NotAnOrigin),
    }
}
