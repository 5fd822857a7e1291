//! What Patchers and Appliers have set on an object that an Updater writes.

use document::Value;
use fieldset::{FieldPath, MergeKeys};
use operator::spec::TargetType;

use super::{BatchWriter, Memory};
use crate::layer::{Patched, lost_fields, overlay, patched_on};
use crate::outgoing::identity_free;
use crate::places::only_appended;

/// What Appliers have set and still want. As on a server it stays theirs unless the Updater changes
/// it. If the status `is_layered` on that of others, it is recorded separately.
pub(super) fn still_applied(
    live: &Value,
    object: &Value,
    writers: &[BatchWriter],
    memory: &Memory,
    is_layered: bool,
) -> Vec<(String, Patched)> {
    let appliers = writers.iter().filter(|writer| writer.applies());
    let applied = appliers.filter_map(|writer| {
        let (patch, all) = (writer.patch()?, memory.layers.get(&writer.name)?);
        let mut set = all.clone();
        // The fields of a map have their own entries.
        let holds = |place: &FieldPath, object: &Value| {
            place.get(object).as_map().is_some() || all.holds(place, object)
        };
        set.retain(|place| {
            let same = holds(place, live) && holds(place, object);
            let counts = place.top() != "status" || !is_layered;
            counts && same && !place.get(patch).is_null()
        });
        Some((writer.name.clone(), set))
    });
    applied.collect()
}

/// What each Patcher sets on the document of an Updater, with the values that the document has
/// without its patch. If the status `is_layered` on that of others, it is recorded separately.
pub(super) fn layer_records(
    document: &Value,
    writers: &[BatchWriter],
    is_layered: bool,
    keys: &MergeKeys,
) -> Vec<(String, Patched)> {
    let mut patches: Vec<Value> = Vec::new();
    for writer in writers {
        let patch = writer.patch().map(identity_free);
        let patch = patch.unwrap_or_else(Value::empty_map);
        patches.push(if is_layered {
            FieldPath::of(&["status"]).remove(&patch)
        } else {
            patch
        });
    }
    let applies = writers.iter().map(BatchWriter::applies);
    lost_fields(patches.iter_mut().zip(applies), keys);
    let patchers = writers.iter().enumerate();
    let patchers = patchers
        .filter(|(_, writer)| writer.kind == TargetType::Patcher && writer.patch().is_some());
    let records = patchers.map(|(at, writer)| {
        let others = patches.iter().enumerate().map(|(other, patch)| {
            // What it appends keeps the positions of what others append.
            if other == at {
                only_appended(patch, &writer.added, keys)
            } else {
                patch.clone()
            }
        });
        let rest = overlay(document, &others.collect::<Vec<_>>(), keys);
        let added = writer.added.iter();
        let rest = added.fold(rest, |rest, place| place.set(&rest, &Value::NULL));
        (writer.name.clone(), patched_on(&rest, &patches[at], keys))
    });
    records.collect()
}
