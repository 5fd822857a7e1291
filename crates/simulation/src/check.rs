//! What the cluster should look like, and whether it does.
//!
//! What should be is what `deltic render` says of the objects of users, plus these objects
//! themselves. Of both sides the server's own metadata and deltic's marks are left out, and
//! the server's defaults are put in.

use std::collections::{BTreeMap, BTreeSet};

use dataflow::Budget;
use document::{Map, Value, View};
use object::ObjectKey;
use object::marks::{MANAGED_BY, MANAGER, is_mark};
use offline::Offline;
use offline::{Event, EventType};
use target::claim::Claim;

use crate::api::kind::Kind;
use crate::fields::{at, copied, set, text, unset};
use crate::truth::env;
use crate::world::{VANDAL, World, complete, is_bad, is_rejected};

type Objects = BTreeMap<ObjectKey, Value>;

/// What should be.
struct Expected {
    /// All objects of the kinds that the Operator writes.
    objects: Objects,
    /// Those that it derives, or changes.
    derived: BTreeSet<ObjectKey>,
    /// Whether something is wrong with the users' objects.
    errors: bool,
    /// Whether something may be missing because of that: not if two origins want one name.
    failures: bool,
}

impl World {
    /// Compares the cluster with what should be. Says what is wrong.
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
                return Err(format!("{key} is missing, which should be {wanted}"));
            }
        }
        self.check_held()?;
        self.check_status(expected.errors)?;
        self.settle(&expected, &found);
        Ok(())
    }

    /// What users have, with what `render` makes of it.
    fn expected(&self) -> Result<Expected, String> {
        let mut offline = Offline::new(self.shape.operator(self.edits), Budget::default());
        let added = self.theirs.iter().map(|(key, object)| {
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

    /// The objects that are of a target kind, in namespaces that there are.
    fn keyed(&self, objects: impl IntoIterator<Item = Value>) -> Objects {
        let keyed = objects.into_iter().filter_map(|object| {
            let name = text(&object, &["kind"]);
            let group = object::group_of(text(&object, &["apiVersion"]));
            let mut kinds = self.targets.iter();
            let kind = kinds.find(|kind| kind.group == group && kind.name == name)?;
            let key = ObjectKey::of(kind.group, kind.name, &object)?;
            self.has_namespace(&key).then_some((key, object))
        });
        keyed.collect()
    }

    /// Objects cannot be in a namespace that is not there.
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
        // Whoever has taken over from a controller that is gone may be in error.
        let left = claim.as_ref().is_some_and(|claim| self.is_gone(claim));
        if expected.failures && !derived && left {
            return Ok(());
        }
        let squats = self.squatters.contains(key);
        if squats && !derived {
            // It was taken over and let go, and is as it was written last.
            return claim.map_or(Ok(()), |_| Err(format!("{key} is still claimed: {live}")));
        }
        let Some(expected) = expected.objects.get(key) else {
            return Err(format!("{key} should not be there: {live}"));
        };
        if !derived && is_marked(live) {
            return Err(format!("{key} is not derived, and has marks: {live}"));
        }
        let labelled = self.labelled.get(key);
        let same = labelled.is_some_and(|uid| text(live, &["metadata", "uid"]) == uid);
        if same && at(live, &["metadata", "labels", VANDAL]).is_null() {
            return Err(format!("{key} has lost the label of a user"));
        }
        let (live, expected) = (comparable(key, live), comparable(key, expected));
        // A user's object keeps what it got when it was taken over before.
        let right = if squats {
            is_within(&expected, &live)
        } else {
            live == expected
        };
        if !right {
            return Err(format!("{key} is\n  {live}\nand should be\n  {expected}"));
        }
        Ok(())
    }

    /// Whether the controller that wrote an object is not in the Operator any more.
    fn is_gone(&self, claim: &Claim) -> bool {
        let operator = self.shape.operator(self.edits);
        let mut controllers = operator.controllers.iter();
        controllers.all(|controller| controller.name != claim.controller)
    }

    /// Whether nothing can be said about an object now, because what it is derived from is
    /// in error or refused.
    fn is_open(&self, key: &ObjectKey) -> bool {
        let item = ObjectKey::new("example.com", "Item", key.namespace(), key.object_name());
        let item = self.theirs.get(&item);
        match self.shape.name {
            "errors" if item.is_some_and(is_bad) => true,
            "refused" if item.is_some_and(is_rejected) => true,
            _ => false,
        }
    }

    /// An error deletes nothing.
    fn check_held(&self) -> Result<(), String> {
        let held = self
            .held
            .iter()
            .filter(|_| self.shape.name == "errors" && self.exists);
        for item in held {
            let key = ObjectKey::new("", "ConfigMap", item.namespace(), item.object_name());
            if self.server.get(&key).is_none() {
                return Err(format!("{key} is missing, and {item} never went"));
            }
        }
        Ok(())
    }

    fn check_bystanders(&self) -> Result<(), String> {
        for (key, before) in &self.bystanders {
            if self.server.get(key).as_ref() != Some(before) {
                return Err(format!("{key} is not ours, and is not as it was"));
            }
        }
        Ok(())
    }

    /// The Operator says that it is ready, if nothing is wrong.
    fn check_status(&self, has_errors: bool) -> Result<(), String> {
        let object = self.server.get(&self.shape.key());
        if !self.exists {
            return object.map_or(Ok(()), |_| Err("the Operator does not go".to_owned()));
        }
        let object = object.unwrap_or_default();
        let status = object.get("status");
        let generation = at(&object, &["metadata", "generation"]);
        if status.get("observedGeneration") != generation {
            return Err(format!(
                "the status is not of generation {generation}: {status}"
            ));
        }
        let conditions = status.get("conditions").as_list().into_iter().flatten();
        let mut ready = conditions.filter(|c| text(c, &["type"]) == "Ready");
        let ready = ready
            .next()
            .map_or("", |condition| text(condition, &["status"]));
        let items = self.theirs.values();
        let mut items = items.filter(|_| matches!(self.shape.name, "refused" | "errors"));
        let trouble = has_errors
            || items.any(|item| is_bad(item) || is_rejected(item))
            || !self.has_namespace(&ObjectKey::new("", "ConfigMap", "far", ""));
        if ready != "True" && !trouble {
            return Err(format!(
                "nothing is wrong, but Ready is {ready:?}: {status}"
            ));
        }
        Ok(())
    }

    /// Remembers what the next check has to know.
    fn settle(&mut self, expected: &Expected, found: &Objects) {
        let items = self.theirs.iter();
        let good = items.filter(|(key, item)| key.kind.kind.as_str() == "Item" && !is_bad(item));
        self.held.extend(good.map(|(key, _)| key.clone()));
        // What was let go is the user's again, as it is.
        for key in self.squatters.clone() {
            if !expected.derived.contains(&key) {
                let live = found.get(&key).cloned().unwrap_or_default();
                self.know(&key, comparable(&key, &live));
            }
        }
    }
}

/// Whether all fields of a document are in another one.
fn is_within(part: &Value, whole: &Value) -> bool {
    match (part.as_map(), whole.as_map()) {
        (Some(part), Some(_)) => part
            .iter()
            .all(|(key, value)| is_within(value, whole.get_key(key))),
        _ => part == whole,
    }
}

/// Whether an object has a label or an annotation of ours.
fn is_marked(object: &Value) -> bool {
    ["labels", "annotations"].iter().any(|field| {
        let map = at(object, &["metadata", field]).as_map();
        map.into_iter()
            .flatten()
            .any(|(name, _)| is_mark(name.as_str()))
    })
}

/// What counts of an object.
fn comparable(key: &ObjectKey, object: &Value) -> Value {
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

/// Lists of named elements in the order of their names: who came first does not count.
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
