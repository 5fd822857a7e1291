//! List elements without key fields that Patchers append.

use document::Value;
use fieldset::{FieldPath, MergeKeys, is_relative};
use operator::spec::TargetType;

use super::{BatchWriter, Memory, first_updater};
use crate::layer::Patched;
use crate::places::{Appended, Unplaced, place, removed, unwanted};

/// Removes the elements that writers have appended and no longer want, and gives the others their
/// positions. Returns the object without those that are removed.
pub(super) fn arrange(
    live: Option<&Value>,
    writers: &mut [BatchWriter],
    memory: &mut Memory,
    keys: &MergeKeys,
) -> Option<Value> {
    let updater = first_updater(live, writers, memory, &mut Vec::new());
    if let Some(updater) = updater.and_then(|at| writers[at].document.clone()) {
        if let Some(live) = live {
            Patched::relocate(memory.layers.values_mut(), live);
        }
        // Its document gets the patches, from the last to the first, and is written as a whole.
        let last_first = writers.iter_mut().rev();
        let patches = last_first.filter_map(|writer| unplaced(writer, None));
        place(&updater, &mut patches.collect::<Vec<_>>(), keys);
        return live.cloned();
    }
    let Some(live) = live else {
        position(&Value::NULL, writers, memory, keys);
        return None;
    };
    Patched::relocate(memory.layers.values_mut(), live);
    let mut placed = writers.to_vec();
    position(live, &mut placed, memory, keys);
    let gone = gone(&placed, memory, keys);
    if gone.is_empty() {
        writers.clone_from_slice(&placed);
        return Some(live.clone());
    }
    let rest = removed(live, &gone);
    for set in memory.layers.values_mut() {
        set.after_removal(&gone);
    }
    position(&rest, writers, memory, keys);
    Some(rest)
}

/// Gives patches their positions in an object.
fn position(object: &Value, writers: &mut [BatchWriter], memory: &Memory, keys: &MergeKeys) {
    let patches = writers.iter_mut().filter_map(|writer| {
        let before = memory.layers.get(&writer.name);
        unplaced(writer, before.map(Appended::Patched))
    });
    place(object, &mut patches.collect::<Vec<_>>(), keys);
}

fn unplaced<'a>(writer: &'a mut BatchWriter, before: Option<Appended<'a>>) -> Option<Unplaced<'a>> {
    let layers = writer.kind != TargetType::Updater && !writer.barred;
    Some(Unplaced {
        in_place: writer.target.is_some(),
        patch: writer.document.as_mut().filter(|_| layers)?,
        added: &mut writer.added,
        before,
    })
}

/// The elements that Patchers have appended and no longer want.
fn gone(writers: &[BatchWriter], memory: &Memory, keys: &MergeKeys) -> Vec<FieldPath> {
    let mut gone = Vec::new();
    for (name, set) in &memory.layers {
        let own =
            |writer: &&BatchWriter| writer.name == *name && writer.kind == TargetType::Patcher;
        let Some(own) = writers.iter().find(own) else {
            // Its wishes are not known yet.
            continue;
        };
        let keeps = |writer: &&BatchWriter| {
            writer.name == *name || writer.patch().is_some_and(|patch| !is_relative(patch))
        };
        let patches = writers.iter().filter(keeps).filter_map(BatchWriter::patch);
        if !own.barred {
            gone.extend(unwanted(Appended::Patched(set), patches, keys));
        }
    }
    gone.sort();
    gone
}
