//! Checks that the cluster has the expected state.
//!
//! Expected are the objects of users, and what `deltic render` derives from them. Both sides
//! are compared without the server's own metadata and deltic's marks, and with the server's
//! defaults.

use std::collections::{BTreeMap, BTreeSet};

use dataflow::Budget;
use document::{Map, Value, View};
use object::marks::{MANAGED_BY, MANAGER, is_mark};
use object::{ObjectKey, OperatorId};
use offline::Offline;
use offline::{Event, EventType};
use target::claim::Claim;
use target::live::is_orphan;

use crate::api::kind::Kind;
use crate::fields::{at, copied, set, text, unset};
use crate::truth::env;
use crate::world::{VANDAL, World, complete, is_bad, is_rejected};

type Objects = BTreeMap<ObjectKey, Value>;

/// The expected state.
struct Expected {
    /// All objects of the kinds that the Operator writes.
    objects: Objects,
    /// Those that it derives or changes.
    derived: BTreeSet<ObjectKey>,
    /// Whether there are errors for some objects of users.
    errors: bool,
    /// Whether such an error may hide output. A conflict of two origins over a name does not.
    failures: bool,
}

impl World {
    /// Compares the cluster with the expected state. Returns the first difference.
    pub fn check(&mut self) -> Result<(), String> {
        self.check_bystanders()?;
        let expected = self.expected()?;
        let kinds = self.targets.iter();
        let found = kinds.flat_map(|kind| self.server.all(kind));
        let found: Objects = found
            .filter(|(key, _)| !self.bystanders.contains_key(key))
            .collect();
        for (key, live) in &found {
            self.check_one(key, live, &expected)?;
        }
        for (key, wanted) in &expected.objects {
            if !found.contains_key(key) && !self.is_open(key) {
                return Err(format!("{key} is missing; expected: {wanted}"));
            }
        }
        self.check_held()?;
        self.check_status(expected.errors)?;
        self.settle(&expected, &found);
        Ok(())
    }

    /// The objects of users, and what `render` derives from them.
    fn expected(&self) -> Result<Expected, String> {
        let mut offline = Offline::new(self.shape.operator(self.edits), Budget::default());
        let added = self.user_objects.iter().map(|(key, object)| {
            let object = complete(key, object);
            // Pipelines may read the uid.
            let live = self.server.get(key).unwrap_or_default();
            Event {
                kind: EventType::Added,
                object: copied(&object, &["metadata", "uid"], &live),
            }
        });
        let added: Vec<Event> = added.collect();
        let batch = offline.batch(&added, &env());
        let batch = batch.map_err(|error| format!("render failed: {error}"))?;
        let derived = if self.exists {
            self.keyed(offline.targets())
        } else {
            Objects::new()
        };
        let mut objects = self.keyed(added.into_iter().map(|event| event.object));
        objects.extend(derived.clone());
        Ok(Expected {
            objects,
            derived: derived.into_keys().collect(),
            errors: self.exists && !batch.errors.is_empty(),
            failures: self.exists && batch.errors.iter().any(|error| error.code != "conflict"),
        })
    }

    /// The objects of target kinds, in namespaces that exist.
    fn keyed(&self, objects: impl IntoIterator<Item = Value>) -> Objects {
        let keyed = objects.into_iter().filter_map(|object| {
            let name = text(&object, &["kind"]);
            let group = object::group_of(text(&object, &["apiVersion"]));
            let mut kinds = self.targets.iter();
            let kind = kinds.find(|kind| kind.group == group && kind.name == name)?;
            let key = ObjectKey::of_kind(kind.group, kind.name, &object)?;
            self.has_namespace(&key).then_some((key, object))
        });
        keyed.collect()
    }

    /// Whether the namespace of an object exists.
    fn has_namespace(&self, key: &ObjectKey) -> bool {
        let namespace = ObjectKey::new("", "Namespace", "", key.namespace());
        key.namespace().is_empty() || self.server.get(&namespace).is_some()
    }

    fn check_one(&self, key: &ObjectKey, live: &Value, expected: &Expected) -> Result<(), String> {
        if self.is_open(key) {
            return Ok(());
        }
        let derived = expected.derived.contains(key);
        let claim = Claim::read(live, key);
        // The controller that took over from a removed one may be in error.
        let left = claim.as_ref().is_some_and(|claim| self.is_gone(claim));
        if expected.failures && !derived && left {
            return Ok(());
        }
        // What an Operator of the same name derived before this one was created stays.
        let former = claim
            .as_ref()
            .is_some_and(|claim| !self.identity.is_own(claim));
        if former && !derived {
            return Ok(());
        }
        // So does what its controllers patched, unless one of the same name patches it again.
        let name = self.shape.operator(self.edits).name;
        let operator = OperatorId::new(&name, &self.identity.uid());
        if !former && is_orphan(live, key, &operator) {
            return Ok(());
        }
        let squats = self.squatters.contains(key);
        if squats && !derived {
            // deltic wrote the object and released it, so that it has the last written state.
            return claim.map_or(Ok(()), |_| Err(format!("{key} is still claimed: {live}")));
        }
        let Some(expected) = expected.objects.get(key) else {
            return Err(format!("{key} should not exist: {live}"));
        };
        if !derived && is_marked(live) {
            return Err(format!("{key} is not derived, but has marks: {live}"));
        }
        let labelled = self.labelled.get(key);
        let same = labelled.is_some_and(|uid| text(live, &["metadata", "uid"]) == uid);
        if same && at(live, &["metadata", "labels", VANDAL]).is_null() {
            return Err(format!("{key} has lost the label of a user"));
        }
        let (live, expected) = (comparable(key, live), comparable(key, expected));
        // An object of a user keeps fields that it got while deltic wrote it.
        let right = if squats {
            is_within(&expected, &live)
        } else {
            live == expected
        };
        if !right {
            return Err(format!("{key} is\n  {live}\nexpected\n  {expected}"));
        }
        Ok(())
    }

    /// Whether the controller of a claim is no longer in the Operator.
    fn is_gone(&self, claim: &Claim) -> bool {
        let operator = self.shape.operator(self.edits);
        let mut controllers = operator.controllers.iter();
        controllers.all(|controller| controller.name != claim.controller)
    }

    /// Whether the state of an object is undetermined now, because its origin is in error or
    /// its write is refused.
    fn is_open(&self, key: &ObjectKey) -> bool {
        let item = ObjectKey::new("example.com", "Item", key.namespace(), key.object_name());
        let item = self.user_objects.get(&item);
        match self.shape.name {
            "errors" if item.is_some_and(is_bad) => true,
            "refused" if item.is_some_and(is_rejected) => true,
            _ => false,
        }
    }

    /// Checks that errors have deleted nothing.
    fn check_held(&self) -> Result<(), String> {
        let held = self
            .held
            .iter()
            .filter(|_| self.shape.name == "errors" && self.exists);
        for item in held {
            let key = ObjectKey::new("", "ConfigMap", item.namespace(), item.object_name());
            if self.server.get(&key).is_none() {
                return Err(format!(
                    "{key} is missing, although {item} was never deleted"
                ));
            }
        }
        Ok(())
    }

    fn check_bystanders(&self) -> Result<(), String> {
        for (key, before) in &self.bystanders {
            if self.server.get(key).as_ref() != Some(before) {
                return Err(format!("{key} is not ours, and has been changed"));
            }
        }
        Ok(())
    }

    /// Checks that the Operator is ready if there are no errors.
    fn check_status(&self, has_errors: bool) -> Result<(), String> {
        let object = self.server.get(&self.shape.key());
        if !self.exists {
            return object.map_or(Ok(()), |_| Err("the Operator is not deleted".to_owned()));
        }
        let object = object.unwrap_or_default();
        let status = object.get("status");
        let generation = at(&object, &["metadata", "generation"]);
        if status.get("observedGeneration") != generation {
            return Err(format!(
                "the status is not for generation {generation}: {status}"
            ));
        }
        let conditions = status.get("conditions").as_list().into_iter().flatten();
        let mut ready = conditions.filter(|c| text(c, &["type"]) == "Ready");
        let ready = ready.next();
        let message = ready.map_or("", |condition| text(condition, &["message"]));
        // Users may have deleted the object of a patch.
        let waits = message.contains("waiting for the object to patch")
            && matches!(self.shape.name, "patcher" | "layers");
        let ready = ready.map_or("", |condition| text(condition, &["status"]));
        let items = self.user_objects.values();
        let mut items = items.filter(|_| matches!(self.shape.name, "refused" | "errors"));
        let is_excused = has_errors
            || waits
            || items.any(|item| is_bad(item) || is_rejected(item))
            || !self.has_namespace(&ObjectKey::new("", "ConfigMap", "far", ""));
        if ready != "True" && !is_excused {
            return Err(format!(
                "there are no errors, but Ready is {ready:?}: {status}"
            ));
        }
        Ok(())
    }

    /// Stores what the next check needs.
    fn settle(&mut self, expected: &Expected, found: &Objects) {
        let items = self.user_objects.iter();
        let good = items.filter(|(key, item)| key.kind.kind.as_str() == "Item" && !is_bad(item));
        self.held.extend(good.map(|(key, _)| key.clone()));
        // A released object belongs to the user again, in its current state.
        for key in self.squatters.clone() {
            if !expected.derived.contains(&key) {
                let live = found.get(&key).cloned().unwrap_or_default();
                self.know(&key, comparable(&key, &live));
            }
        }
    }
}

/// Whether a document contains all fields of another one.
fn is_within(part: &Value, whole: &Value) -> bool {
    match (part.as_map(), whole.as_map()) {
        (Some(part), Some(_)) => part
            .iter()
            .all(|(key, value)| is_within(value, whole.get_key(key))),
        _ => part == whole,
    }
}

/// Whether an object has a label or an annotation of ours.
pub(crate) fn is_marked(object: &Value) -> bool {
    ["labels", "annotations"].iter().any(|field| {
        let map = at(object, &["metadata", field]).as_map();
        map.into_iter()
            .flatten()
            .any(|(name, _)| is_mark(name.as_str()))
    })
}

/// The part of an object that is compared.
pub(crate) fn comparable(key: &ObjectKey, object: &Value) -> Value {
    let claim = Claim::read(object, key);
    let object = kind_of(key).complete(object);
    let mut metadata = complete(key, &Value::empty_map()).get("metadata").clone();
    for field in ["labels", "annotations"] {
        let map = at(&object, &["metadata", field]).as_map();
        let plain = map.into_iter().flatten().filter(|(name, value)| {
            let ours = name.as_str() == MANAGED_BY && value.as_str() == Some(MANAGER);
            !is_mark(name.as_str()) && name.as_str() != VANDAL && !(ours && claim.is_some())
        });
        let plain: Map = plain.cloned().collect();
        if !plain.is_empty() {
            metadata = set(&metadata, &[field], plain.into());
        }
    }
    metadata = copied(&metadata, &["ownerReferences"], object.get("metadata"));
    let object = set(&object, &["metadata"], metadata);
    sorted(&unset(&object, &["apiVersion"]))
}

/// Sorts lists of named elements by name: their order depends on who wrote first.
fn sorted(value: &Value) -> Value {
    match value.view() {
        View::Map(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), sorted(value)));
            entries.collect::<Map>().into()
        }
        View::List(list) => {
            let mut items: Vec<Value> = list.iter().map(sorted).collect();
            if items.iter().all(|item| !item.get("name").is_null()) {
                items.sort_by(|a, b| a.get("name").cmp(b.get("name")));
            }
            items.into()
        }
        _ => value.clone(),
    }
}

fn kind_of(key: &ObjectKey) -> &'static Kind {
    let kind = Kind::named(key.kind.group.as_str(), key.kind.kind.as_str());
    kind.expect("only kinds of the server are compared")
}
