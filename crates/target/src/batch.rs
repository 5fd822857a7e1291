//! The next state of one object, for drivers that write inside a batch.
//!
//! The store of views and the offline runner always know the current object, and their writes
//! cannot be lost. So one call decides the complete next state: which Updater is written, which
//! patches of Patchers and Appliers are layered on it, which values are taken back, and whether
//! the object is deleted. The driver of a cluster needs several requests for this, see
//! [`decide`](crate::decide).
//!
//! ```text
//! live object ─┐
//! writers     ─┼─▶ settle ─▶ next state of the object, conflicts
//! memory      ─┘       └───▶ memory for the next call
//! ```

mod appended;
mod clash;
mod memory;
mod records;

use appended::arrange;
pub use clash::Clash;
use clash::{leave_records, unrecorded};
use document::{Path, Value};
use fieldset::compare::same_at;
use fieldset::{FieldPath, MergeKeys, leaves};
pub use memory::Memory;
use object::ObjectKey;
use operator::spec::{Target, TargetType};
use records::{layer_records, still_applied};

use crate::layer::{Layer, Patched, Wish, lay, lost_fields, overlay};
use crate::outgoing::{identity_free, outgoing, patch_of, with_ignored, without_ignored};
use crate::updater::{self, Before};

/// The object that is written.
#[derive(Clone, Copy, Debug)]
pub struct BatchObject<'a> {
    /// Its key.
    pub key: &'a ObjectKey,
    /// The Operator that writes it.
    pub operator: &'a str,
    /// The fields that identify the elements of its lists.
    pub keys: &'a MergeKeys,
}

/// A target of a controller that writes an object, or wrote it before.
#[derive(Clone, Debug)]
pub struct BatchWriter {
    /// Its name, which stays the same after an edit of the Operator.
    pub name: String,
    kind: TargetType,
    /// Whether it does not take over existing objects.
    refuses_existing: bool,
    /// Whether an Applier takes fields from others.
    force: bool,
    /// Fields that belong to others.
    ignore: Vec<Path>,
    /// The document that it writes; `None` if it no longer derives one.
    document: Option<Value>,
    /// The target, if its objects are changed in place.
    target: Option<Target>,
    /// Whether its patch cannot be recorded. What it has set stays.
    barred: bool,
    /// The list elements without key fields that it appends.
    added: Vec<FieldPath>,
}

impl BatchWriter {
    /// A target that derives this document, or no longer derives one.
    pub fn new(name: String, target: &Target, document: Option<&Value>) -> Self {
        let sent = |document: &Value| match target.kind {
            TargetType::Updater => outgoing(document, target),
            TargetType::Patcher | TargetType::Applier => {
                without_ignored(&patch_of(document, target), &target.ignore)
            }
        };
        Self {
            name,
            kind: target.kind,
            refuses_existing: target.resource.is_view() || target.refuse_existing,
            force: target.force,
            ignore: target.ignore.clone(),
            document: document.map(sent),
            target: target.in_place.then(|| target.clone()),
            barred: false,
            added: Vec::new(),
        }
    }

    /// A Patcher that is no longer part of its Operator.
    pub fn former_patcher(name: String) -> Self {
        Self {
            name,
            kind: TargetType::Patcher,
            refuses_existing: false,
            force: false,
            ignore: Vec::new(),
            document: None,
            target: None,
            barred: false,
            added: Vec::new(),
        }
    }

    fn applies(&self) -> bool {
        self.kind == TargetType::Applier
    }

    fn patch(&self) -> Option<&Value> {
        let layers = self.kind != TargetType::Updater && !self.barred;
        self.document.as_ref().filter(|_| layers)
    }
}

/// The next state of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The object; `None` if it should not exist.
    pub object: Option<Value>,
    /// The position of the writer that creates or replaces the object, and its document with all
    /// patches. `None` if the object belongs to others and is only patched.
    pub yielded: Option<(usize, Value)>,
    /// The writers whose values are not written, by position.
    pub conflicts: Vec<(usize, Clash)>,
}

/// Decides the next state of an object. The writers are in the order of their rank. If a writer is
/// in `memory` but not among them, its wishes are not known yet, and the values that it set stay.
pub fn settle(
    live: Option<&Value>,
    writers: &[BatchWriter],
    memory: &mut Memory,
    object: BatchObject<'_>,
) -> Settled {
    // It is written again when it is gone.
    let deleted = |live: &&Value| !live.get("metadata").get("deletionTimestamp").is_null();
    if let Some(live) = live.filter(deleted) {
        return Settled {
            object: Some(live.clone()),
            yielded: None,
            conflicts: Vec::new(),
        };
    }
    let patches = |writer: &BatchWriter| writer.kind == TargetType::Patcher;
    if !writers.iter().any(patches) {
        if let Some(live) = live {
            Patched::relocate(memory.layers.values_mut(), live);
        }
        return settle_once(live, writers, memory, object.keys);
    }
    let mut writers = writers.to_vec();
    let arranged = arrange(live, &mut writers, memory, object.keys);
    let live = arranged.as_ref();
    let mut clashes = live.map_or_else(Vec::new, |live| leave_records(live, &mut writers, object));
    loop {
        let before = memory.clone();
        let mut settled = settle_once(live, &writers, memory, object.keys);
        let read = settled.object.as_ref().or(live);
        let Some((at, clash)) = unrecorded(&writers, memory, object, read) else {
            settled.conflicts.append(&mut clashes);
            return settled;
        };
        *memory = before;
        writers[at].barred = true;
        clashes.push((at, clash));
    }
}

fn settle_once(
    live: Option<&Value>,
    writers: &[BatchWriter],
    memory: &mut Memory,
    keys: &MergeKeys,
) -> Settled {
    let mut conflicts = Vec::new();
    let updater = first_updater(live, writers, memory, &mut conflicts);
    conflicts.extend(field_clashes(writers, keys));
    let settled = match (updater, live) {
        (Some(at), _) => update(live, writers, at, memory, keys),
        (None, None) => layer(live, writers, memory, keys),
        (None, Some(object)) => {
            let writers = left_to_others(object, writers, memory, keys, &mut conflicts);
            layer(live, &writers, memory, keys)
        }
    };
    if settled.object.is_none() {
        *memory = Memory::default();
    }
    Settled {
        conflicts,
        ..settled
    }
}

/// The Updater that is written: the first one. Each other Updater with a different document is a
/// conflict.
fn first_updater(
    live: Option<&Value>,
    writers: &[BatchWriter],
    memory: &Memory,
    conflicts: &mut Vec<(usize, Clash)>,
) -> Option<usize> {
    let mut first: Option<usize> = None;
    for (at, writer) in writers.iter().enumerate() {
        if writer.kind != TargetType::Updater || writer.document.is_none() {
            continue;
        }
        match first {
            Some(winner) if writers[winner].document == writer.document => {}
            Some(winner) => conflicts.push((at, Clash::Object { winner })),
            None if live.is_some() && !memory.created && writer.refuses_existing => {
                conflicts.push((at, Clash::Existing));
            }
            None => first = Some(at),
        }
    }
    first
}

/// The writers, without the fields of Appliers that others have set: those that the Applier has not
/// owned before, and that do not have the value of another writer of ours.
fn left_to_others(
    live: &Value,
    writers: &[BatchWriter],
    memory: &mut Memory,
    keys: &MergeKeys,
    conflicts: &mut Vec<(usize, Clash)>,
) -> Vec<BatchWriter> {
    let before = std::mem::take(&mut memory.applied);
    let mut writers = writers.to_vec();
    // What an earlier writer wants is lost, even if it does not get it.
    for (loser, clash) in field_clashes(&writers, keys).into_iter().rev() {
        if let (Clash::Field { field, .. }, Some(document)) = (clash, &mut writers[loser].document)
        {
            *document = field.strike(document);
        }
    }
    let appliers = writers.iter_mut().enumerate();
    for (at, writer) in appliers.filter(|(_, writer)| writer.applies()) {
        let Some(document) = writer.document.as_mut() else {
            continue;
        };
        let force = writer.force;
        let lost = |(place, value): &(FieldPath, Value)| {
            let found = place.get(live);
            let both_maps = found.as_map().is_some() && value.as_map().is_some();
            let applied = before.get(&writer.name);
            let set = memory.layers.get(&writer.name);
            let own = applied.is_some_and(|own| own.contains(place))
                || set.is_some_and(|own| own.has(place));
            let ours = || memory.layers.values().any(|set| set.holds(place, live));
            let owned = force || own || ours();
            !found.is_null() && !both_maps && !owned && !same_at(place, found, value, keys)
        };
        let lost: Vec<_> = leaves(&identity_free(document), keys)
            .into_iter()
            .filter(lost)
            .collect();
        for (field, _) in lost.into_iter().rev() {
            *document = field.strike(document);
            conflicts.push((at, Clash::Others { field }));
        }
        let own = leaves(&identity_free(document), keys).into_iter();
        let own = own.map(|(place, _)| place).collect();
        memory.applied.insert(writer.name.clone(), own);
    }
    // The wishes of Appliers that are not among the writers are not known yet.
    for (name, fields) in before {
        if !writers.iter().any(|writer| writer.name == name) {
            memory.applied.insert(name, fields);
        }
    }
    writers
}

fn field_clashes(writers: &[BatchWriter], keys: &MergeKeys) -> Vec<(usize, Clash)> {
    let patches = writers.iter().map(|writer| match writer.patch() {
        Some(patch) => identity_free(patch),
        None => Value::empty_map(),
    });
    let mut patches: Vec<Value> = patches.collect();
    let layers = writers.iter().filter(|writer| writer.patch().is_some());
    if layers.count() < 2 {
        return Vec::new();
    }
    let applies = writers.iter().map(BatchWriter::applies);
    let lost = lost_fields(patches.iter_mut().zip(applies), keys).into_iter();
    lost.map(|lost| {
        let (field, winner) = (lost.field, lost.winner);
        (lost.loser, Clash::Field { field, winner })
    })
    .collect()
}

/// Replaces the object by the document of an Updater with all patches.
fn update(
    live: Option<&Value>,
    writers: &[BatchWriter],
    at: usize,
    memory: &mut Memory,
    keys: &MergeKeys,
) -> Settled {
    let document = writers[at].document.clone().unwrap_or_default();
    // If it does not yield a status, the status belongs to others, and patches are layered on it.
    let layers_status = document.get("status").is_null();
    let mut patches: Vec<Value> = writers
        .iter()
        .filter_map(BatchWriter::patch)
        .cloned()
        .collect();
    if layers_status {
        for patch in &mut patches {
            *patch = FieldPath::of(&["status"]).remove(patch);
        }
    }
    let whole = overlay(&document, &patches, keys);
    let wanted = patches.iter();
    let wanted = wanted.flat_map(|patch| leaves(&identity_free(patch), keys));
    let before = Before {
        sets: std::iter::once(&memory.updater)
            .chain(memory.layers.values())
            .collect(),
        claimed: memory.updated || memory.created,
        layered: wanted.collect(),
    };
    let (mut object, set) = updater::update(live, &whole, &before);
    memory.updated = true;
    if let Some(live) = live {
        object = with_ignored(&object, live, &writers[at].ignore);
    }
    memory.updater = set;
    memory.created |= live.is_none();
    let applied = live.map(|live| still_applied(live, &object, writers, memory, layers_status));
    for set in memory.layers.values_mut() {
        set.retain(|place| layers_status && place.top() == "status");
    }
    let recorded = layer_records(&document, writers, layers_status, keys);
    if layers_status {
        let status = |patch: &Value| match patch.get("status") {
            status if status.is_null() => Value::empty_map(),
            status => FieldPath::of(&["status"]).set(&Value::empty_map(), status),
        };
        object = layered(&object, writers, memory, keys, status);
    }
    for (name, set) in recorded.into_iter().chain(applied.unwrap_or_default()) {
        memory.layers.entry(name).or_default().extend(set);
    }
    memory.layers.retain(|_, set| !set.is_empty());
    Settled {
        object: Some(object),
        yielded: Some((at, whole)),
        conflicts: Vec::new(),
    }
}

/// Without an Updater: layers the patches on the object. If there is none, the first Applier
/// creates it.
fn layer(
    live: Option<&Value>,
    writers: &[BatchWriter],
    memory: &mut Memory,
    keys: &MergeKeys,
) -> Settled {
    let wants = |writer: &BatchWriter| writer.applies() && writer.document.is_some();
    let applier = writers.iter().position(wants);
    let withdrawn = |kind: TargetType| {
        let mut all = writers.iter().filter(|writer| writer.kind == kind);
        all.any(|writer| writer.document.is_none())
    };
    // The object that an Updater created is removed with it; an Applier then creates a new one.
    let released = withdrawn(TargetType::Updater);
    let goes = released || (withdrawn(TargetType::Applier) && applier.is_none());
    let live = live.filter(|_| !(memory.created && goes));
    let mut live = live.cloned();
    if released {
        memory.updated = false;
        let set = std::mem::take(&mut memory.updater);
        live = live.map(|live| set.take_back(&live, |_| true));
    }
    if live.is_none() {
        *memory = Memory::default();
        if let Some(at) = applier {
            live = writers[at].document.as_ref().map(identity);
            memory.created = true;
        }
    }
    let yields = memory.created && live.is_some();
    let yielded = applier.filter(|_| yields).map(|at| {
        let patches: Vec<Value> = writers
            .iter()
            .filter_map(BatchWriter::patch)
            .cloned()
            .collect();
        let identity = writers[at].document.as_ref().map(identity);
        let identity = identity.unwrap_or_else(Value::empty_map);
        (at, overlay(&identity, &patches, keys))
    });
    Settled {
        object: live.map(|live| layered(&live, writers, memory, keys, Clone::clone)),
        yielded,
        conflicts: Vec::new(),
    }
}

/// The object with the parts of all patches that `part` selects.
fn layered(
    live: &Value,
    writers: &[BatchWriter],
    memory: &mut Memory,
    keys: &MergeKeys,
    part: impl Fn(&Value) -> Value,
) -> Value {
    let mut known = std::mem::take(&mut memory.layers);
    let mut names = Vec::new();
    let mut layers = Vec::new();
    for writer in writers
        .iter()
        .filter(|writer| writer.kind != TargetType::Updater && !writer.barred)
    {
        let wish = writer.document.as_ref().map(&part);
        layers.push(Layer {
            wish: wish.map_or(Wish::Nothing, Wish::Patch),
            applies: writer.applies(),
            inherits: names.contains(&writer.name),
            set: known.remove(&writer.name).unwrap_or_default(),
        });
        names.push(writer.name.clone());
    }
    for (name, set) in known {
        // After an edit of the Operator, a Patcher may have become an Updater.
        let mut writers = writers.iter();
        let wish = if writers.any(|writer| writer.name == name && !writer.barred) {
            Wish::Nothing
        } else {
            Wish::Unknown
        };
        layers.push(Layer {
            wish,
            applies: false,
            inherits: false,
            set,
        });
        names.push(name);
    }
    let object = lay(live, &mut layers, keys);
    let set = names.into_iter().zip(layers);
    let set = set.filter(|(_, layer)| !layer.set.is_empty());
    memory.layers = set.map(|(name, layer)| (name, layer.set)).collect();
    object
}

/// The fields that identify the object: its type, name and namespace.
fn identity(document: &Value) -> Value {
    let places = [
        FieldPath::of(&["apiVersion"]),
        FieldPath::of(&["kind"]),
        FieldPath::of(&["metadata", "name"]),
        FieldPath::of(&["metadata", "namespace"]),
    ];
    let given = places.iter().filter(|place| !place.get(document).is_null());
    given.fold(Value::empty_map(), |object, place| {
        place.set(&object, place.get(document))
    })
}

#[cfg(test)]
mod tests;
