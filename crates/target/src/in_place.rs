//! Patchers that change objects in place: their controller reads the kind that it patches.
//!
//! Such a controller must not see its own patch. Otherwise it would patch the result of its own
//! patch, and could not tell what a user has set. So the values in its record are taken back
//! before an object enters its pipeline ([`entered`]), and only what the pipeline changes is
//! written ([`InPlace`]):
//!
//! ```text
//! on the cluster      team: a, note: x     record: note was absent
//! entered             team: a
//! derived             team: a, note: x
//! patch                        note: x     team is not written: it only passes through
//! ```
//!
//! After the patch is written, the same object enters again, and nothing changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use dataflow::fields::Kept;
use dataflow::pipeline::StageKind;
use dataflow::{Component, Failure, Origin, RunError, SourceEvent, TargetChange};
use document::{Key, Map, Value};
use fieldset::{Absence, FieldPath, MergeKeys, delta, is_relative};
use object::{ObjectKey, ObjectName, OperatorId};
use operator::spec::Target;
use operator::{Controller, Operator};

use crate::decide::{patched, undo_all, without_record};
use crate::layer::Patched;
use crate::live::{Observed, is_whole};
use crate::outgoing::{EmptiedMaps, identity_free, outgoing, yielded_patch};
use crate::written::Written;

/// An object of a cluster as it enters the pipeline of a controller: without the values in the
/// records of the controllers that `own` selects by name.
pub fn entered(
    object: &Value,
    operator: &OperatorId,
    key: &ObjectKey,
    own: impl Fn(&str) -> bool,
) -> Value {
    let records = Written::of_operator(object, operator, key).into_iter();
    // A target that was a Patcher, and then an Applier, still has its first record.
    let patched = records.filter(|written| !is_whole(written) && own(&written.controller));
    let mut patched: VecDeque<Written> = patched.map(Written::into_patched_part).collect();
    if patched.is_empty() {
        return object.clone();
    }
    let mut observed = Observed::new(object, &operator.name);
    while let Some(written) = patched.pop_front() {
        observed.object = undo_all(&observed, &written);
        let gone = written.appended();
        for other in &mut patched {
            other.after_removal(&gone);
        }
    }
    observed.object
}

/// The controllers whose patches a controller does not see: itself, and those that are no longer
/// part of the Operator, which it may succeed.
#[derive(Clone, Debug)]
pub struct Own {
    others: BTreeSet<String>,
}

impl Own {
    /// Of a controller of an Operator.
    pub fn new(operator: &Operator, controller: &str) -> Self {
        let controllers = operator.controllers.iter();
        let names = controllers.map(|controller| controller.name.clone());
        Self {
            others: names.filter(|name| name != controller).collect(),
        }
    }

    /// Whether the patch of this controller is not seen.
    pub fn has(&self, controller: &str) -> bool {
        !self.others.contains(controller)
    }
}

/// Whether a pipeline reads the value at a path of an object that it changes in place. If the
/// former value there cannot be stored, the pipeline would see its own value and change that again.
pub(crate) fn is_read_back(target: &Target, place: &FieldPath, object: &Value) -> bool {
    let mut reads = target.reads.iter();
    target.in_place && reads.any(|keep| !place.get(keep.of(object).document()).is_null())
}

/// Moves the records of an Operator's Patchers from an object into memory, for drivers that keep
/// them there. These know the Operator by its name only. Returns the object without the records, and for each controller what it has set.
pub fn recorded(
    object: &Value,
    operator: &str,
    key: &ObjectKey,
) -> (Value, BTreeMap<String, Patched>) {
    let operator = &OperatorId::new(operator, "");
    let observed = Observed::new(object, &operator.name);
    let records = Written::of_operator(object, operator, key).into_iter();
    let mut bare = object.clone();
    let mut all = BTreeMap::new();
    for written in records.filter(Written::is_patch) {
        bare = without_record(&bare, &written);
        let set = patched(&observed, &written);
        if !set.is_empty() {
            all.insert(written.controller, set);
        }
    }
    (bare, all)
}

/// The targets that a controller changes in place. Turns the documents that it derives for them
/// into patches.
#[derive(Debug, Default)]
pub struct InPlace {
    /// By position; `None` for other targets.
    targets: Vec<Option<InPlaceTarget>>,
    /// The objects as they entered, by input and name.
    entered: HashMap<(usize, ObjectName), Value>,
    /// The documents that are derived, by target and name.
    derived: BTreeMap<(usize, ObjectName), Output>,
    /// Objects that entered anew, by input and name. Until the pipeline succeeds on them, the
    /// patches of their former states stay.
    new: BTreeSet<(usize, ObjectName)>,
}

#[derive(Debug)]
struct InPlaceTarget {
    target: Target,
    /// The inputs that read its kind.
    inputs: Vec<usize>,
    keys: MergeKeys,
    /// Whether a field that the pipeline does not yield is removed.
    absence: Absence,
}

#[derive(Debug)]
struct Output {
    origin: Origin,
    document: Value,
    patch: Value,
}

impl InPlace {
    /// The targets of a controller.
    pub fn new(controller: &Controller) -> Self {
        let absence = absence(controller);
        let targets = controller.targets.iter().map(|target| {
            target.in_place.then(|| InPlaceTarget {
                inputs: controller.inputs_of(&target.resource).collect(),
                keys: MergeKeys::of_group(&target.resource.group),
                target: target.clone(),
                absence,
            })
        });
        Self {
            targets: targets.collect(),
            ..Self::default()
        }
    }

    /// Forgets all objects.
    pub fn clear(&mut self) {
        self.entered.clear();
        self.derived.clear();
        self.new.clear();
    }

    /// Notes the objects that enter the pipeline.
    pub fn enter(&mut self, batch: &[SourceEvent]) {
        for event in batch {
            let reads = |target: &InPlaceTarget| target.inputs.contains(&event.source);
            if !self.targets.iter().flatten().any(reads) {
                continue;
            }
            let at = (event.source, event.name.clone());
            match event.object.as_ref().map(Kept::document) {
                Some(object) => {
                    self.entered.insert(at.clone(), object.clone());
                    self.new.insert(at);
                }
                None => {
                    self.entered.remove(&at);
                    self.new.remove(&at);
                }
            }
        }
    }

    /// Replaces the derived documents of a step by patches, and adds the patches that change
    /// because their object does. `errors` are the current errors of the controller.
    pub fn patches(
        &mut self,
        changes: Vec<TargetChange>,
        errors: impl FnOnce() -> Vec<RunError>,
    ) -> Vec<TargetChange> {
        let mut patches = Vec::with_capacity(changes.len());
        for mut change in changes {
            if self.targets.get(change.target).is_none_or(Option::is_none) {
                patches.push(change);
                continue;
            }
            let at = (change.target, change.key.clone());
            match change.new.take() {
                None => drop(self.derived.remove(&at)),
                Some(document) => {
                    let patch = self.patch(&at, &change.origin, &document);
                    change.new = Some(patch.clone());
                    let origin = change.origin.clone();
                    let output = Output {
                        origin,
                        document,
                        patch,
                    };
                    self.derived.insert(at, output);
                }
            }
            patches.push(change);
        }
        if !self.new.is_empty() {
            self.renew(&errors(), &mut patches);
        }
        patches
    }

    /// Adds the patches that have another effect because of the objects that entered anew. A document that is
    /// derived from an object in error is that of a former state, and so is its patch.
    fn renew(&mut self, errors: &[RunError], patches: &mut Vec<TargetChange>) {
        let new = std::mem::take(&mut self.new);
        for (input, name) in new {
            // The winner of a conflict is written, and is no former state.
            let mut failing = errors
                .iter()
                .filter(|error| !matches!(error.failure, Failure::Conflict { .. }));
            if failing.any(|error| contains(&error.origin, input, &name)) {
                self.new.insert((input, name));
                continue;
            }
            for target in 0..self.targets.len() {
                let reads = |target: &InPlaceTarget| target.inputs.contains(&input);
                if !self.targets[target].as_ref().is_some_and(reads) {
                    continue;
                }
                let at = (target, name.clone());
                let Some(output) = self.derived.get(&at) else {
                    continue;
                };
                let patch = self.patch(&at, &output.origin, &output.document);
                // The same positions may mean other elements now.
                if patch != output.patch || is_relative(&patch) {
                    patches.push(TargetChange {
                        target,
                        key: name.clone(),
                        origin: output.origin.clone(),
                        old: None,
                        new: Some(patch.clone()),
                    });
                    self.derived
                        .entry(at)
                        .and_modify(|output| output.patch = patch);
                }
            }
        }
    }

    /// The patch for an object. If the object is not in the origin of the document, it is the
    /// document itself.
    fn patch(&self, at: &(usize, ObjectName), origin: &Origin, document: &Value) -> Value {
        let (target, name) = at;
        let Some(target) = self.targets.get(*target).and_then(Option::as_ref) else {
            return document.clone();
        };
        // If a missing field means removal, empty maps are kept, so that they are compared.
        let emptied = match target.absence {
            Absence::Removes => EmptiedMaps::Kept,
            Absence::Keeps => EmptiedMaps::Dropped,
        };
        let wanted = yielded_patch(document, &target.target, emptied);
        let mut inputs = target.inputs.iter();
        let own = inputs.find(|input| contains(origin, **input, name));
        let Some(entered) = own.and_then(|input| self.entered.get(&(*input, name.clone()))) else {
            return wanted;
        };
        let entered = outgoing(entered, &target.target);
        let (entered, wanted) = (shared(&entered), shared(&wanted));
        let patch = delta(&entered, &wanted, &target.keys, target.absence);
        patch.map_or_else(Value::empty_map, |patch| without_lost_owners(&patch))
    }
}

/// Whether an object is in an origin.
fn contains(origin: &Origin, input: usize, name: &ObjectName) -> bool {
    origin.components().iter().any(|component| match component {
        Component::Object(object) => object.source as usize == input && object.name == *name,
        Component::Absent | Component::Branch(_) | Component::Index(_) | Component::Key(_) => false,
    })
}

/// A document of other stages than these need not have all fields of the object.
fn absence(controller: &Controller) -> Absence {
    let branches = controller.pipeline.branches.iter();
    let mut stages = branches.flat_map(|branch| &branch.stages);
    let whole = stages.all(|stage| match &stage.kind {
        StageKind::Select(_) | StageKind::Patch(_) => true,
        StageKind::Project(_)
        | StageKind::Join(_)
        | StageKind::Unwind(_)
        | StageKind::Gather(_)
        | StageKind::GroupBy(_)
        | StageKind::Distinct => false,
    });
    if whole {
        Absence::Removes
    } else {
        Absence::Keeps
    }
}

/// The part of an object that Patchers write: of the metadata, labels, annotations and
/// ownerReferences.
fn shared(object: &Value) -> Value {
    let object = identity_free(object);
    let (Some(fields), Some(metadata)) = (object.as_map(), object.get("metadata").as_map()) else {
        return object;
    };
    let counts = |key: &Key| matches!(key.as_str(), "annotations" | "labels" | "ownerReferences");
    let counted = metadata.iter().filter(|(key, _)| counts(key));
    let counted: Map = counted.cloned().collect();
    if counted.is_empty() {
        return fields.without("metadata").into();
    }
    fields.with(Key::new("metadata"), counted.into()).into()
}

/// The patch without removals of ownerReferences: those of others stay.
fn without_lost_owners(patch: &Value) -> Value {
    let place = FieldPath::of(&["metadata", "ownerReferences"]);
    let owners = place.get(patch);
    let Some(list) = owners.as_list() else {
        return if owners.is_null() {
            place.remove(patch)
        } else {
            patch.clone()
        };
    };
    let given = list
        .iter()
        .filter(|owner| owner.get("kind").as_str().is_some());
    let given: Vec<Value> = given.cloned().collect();
    if given.is_empty() {
        return place.remove(patch);
    }
    place.set(patch, &given.into())
}

#[cfg(test)]
mod tests;
