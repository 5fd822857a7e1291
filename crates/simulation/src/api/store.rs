//! The objects of the server: one map, one version for all of them, and a history.

use std::collections::{BTreeMap, VecDeque};

use document::Value;
use object::ObjectKey;

use super::kind::Kind;
use super::managers::Managers;
use crate::clock::Virtual;
use crate::fields::{at, copied, set, text, unset};

/// A stored object.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The object without `managedFields`.
    pub object: Value,
    /// The owners of its fields, for `managedFields`.
    pub managers: Managers,
}

impl Stored {
    /// The object as clients see it.
    pub fn shown(&self) -> Value {
        let managed = self.managers.managed_fields();
        set(&self.object, &["metadata", "managedFields"], managed)
    }
}

/// A change of an object.
#[derive(Clone, Debug)]
pub struct Event {
    /// The version of the change.
    pub version: u64,
    /// The object.
    pub key: ObjectKey,
    /// The state before; `None` if the object was created.
    pub old: Option<Value>,
    /// The state after. If it was deleted, its last state with the version of the deletion.
    pub new: Value,
    /// Whether it was deleted.
    pub gone: bool,
}

/// All objects.
#[derive(Clone, Debug)]
pub struct Store {
    clock: Virtual,
    objects: BTreeMap<ObjectKey, Stored>,
    version: u64,
    history: VecDeque<Event>,
    /// The history up to this version is dropped.
    compacted: u64,
    /// As `compacted`, for single kinds.
    expired: BTreeMap<String, u64>,
    /// The version of the last change that a watch may show. Nobody watches Leases, which change
    /// all the time.
    shown: u64,
    /// The number of objects created so far, for uids.
    created: u64,
}

impl Store {
    /// An empty store.
    pub fn new(clock: Virtual) -> Self {
        Self {
            clock,
            objects: BTreeMap::new(),
            version: 1000,
            history: VecDeque::new(),
            compacted: 0,
            expired: BTreeMap::new(),
            shown: 1000,
            created: 0,
        }
    }

    /// The version of the last change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The version of the last change that a watch may show.
    pub(super) fn shown(&self) -> u64 {
        self.shown
    }

    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<&Stored> {
        self.objects.get(key)
    }

    /// All objects, in the order of their keys.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectKey, &Stored)> {
        self.objects.iter()
    }

    /// Drops the history.
    pub fn compact(&mut self) {
        self.history.clear();
        self.compacted = self.version;
    }

    /// Drops the history of a kind.
    pub fn expire(&mut self, kind: &str) {
        // A new version, so that the latest one has expired as well.
        self.version += 1;
        self.shown = self.version;
        self.expired.insert(kind.to_owned(), self.version);
    }

    /// Whether the history of a kind since a version is complete.
    pub fn remembers(&self, kind: &str, version: u64) -> bool {
        let expired = self.expired.get(kind).copied().unwrap_or(0);
        version >= self.compacted.max(expired)
    }

    /// The changes after a version, oldest first.
    pub fn since(&self, version: u64) -> impl Iterator<Item = &Event> {
        let first = self.history.partition_point(|e| e.version <= version);
        self.history.range(first..)
    }

    /// Stores a new object, with a uid, a version and a creation time.
    pub fn create(&mut self, kind: &Kind, key: &ObjectKey, object: &Value, managers: Managers) {
        self.created += 1;
        let mut object = kind.complete(object);
        object = set(&object, &["apiVersion"], kind.api_version().into());
        object = set(&object, &["kind"], kind.name.into());
        object = set(&object, &["metadata", "name"], key.object_name().into());
        if kind.namespaced {
            object = set(&object, &["metadata", "namespace"], key.namespace().into());
        }
        let uid = format!("00000000-0000-4000-8000-{:012x}", self.created);
        object = set(&object, &["metadata", "uid"], uid.into());
        let created = self.clock.text().into();
        object = set(&object, &["metadata", "creationTimestamp"], created);
        object = unset(&object, &["metadata", "deletionTimestamp"]);
        object = unset(&object, &["metadata", "managedFields"]);
        if kind.generation {
            object = set(&object, &["metadata", "generation"], 1.into());
        }
        let object = (kind.assigned)(&object);
        self.commit(key, Stored { object, managers });
    }

    /// Stores another state of an existing object. Without a change nothing happens. If the
    /// object is being deleted and has no finalizers left, it is removed. Returns whether there
    /// was a change.
    pub fn update(
        &mut self,
        kind: &Kind,
        key: &ObjectKey,
        object: &Value,
        managers: Managers,
    ) -> bool {
        let Some(old) = self.objects.get(key).cloned() else {
            return false;
        };
        let mut object = kind.complete(object);
        for field in ["apiVersion", "kind"] {
            object = copied(&object, &[field], &old.object);
        }
        for field in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "generation",
            "resourceVersion",
        ] {
            object = copied(&object, &["metadata", field], &old.object);
        }
        object = unset(&object, &["metadata", "managedFields"]);
        if object == old.object && managers == old.managers {
            return false;
        }
        if kind.generation && differ_in_spec(&old.object, &object) {
            object = next_generation(&object);
        }
        if is_being_deleted(&object) && !is_held(&object) {
            self.remove(key);
        } else {
            self.commit(key, Stored { object, managers });
        }
        true
    }

    /// Deletes an object: at once or, if it has finalizers, when these are removed. Returns
    /// whether there was a change.
    pub fn delete(&mut self, kind: &Kind, key: &ObjectKey) -> bool {
        let Some(old) = self.objects.get(key).cloned() else {
            return false;
        };
        if !is_held(&old.object) {
            self.remove(key);
            return true;
        }
        if is_being_deleted(&old.object) {
            return false;
        }
        let path = ["metadata", "deletionTimestamp"];
        let mut object = set(&old.object, &path, self.clock.text().into());
        if kind.generation {
            object = next_generation(&object);
        }
        self.commit(
            key,
            Stored {
                object,
                managers: old.managers,
            },
        );
        true
    }

    fn next(&mut self, key: &ObjectKey) -> Value {
        self.version += 1;
        if key.kind.kind.as_str() != "Lease" {
            self.shown = self.version;
        }
        self.version.to_string().into()
    }

    fn commit(&mut self, key: &ObjectKey, mut stored: Stored) {
        let path = ["metadata", "resourceVersion"];
        stored.object = set(&stored.object, &path, self.next(key));
        let new = stored.shown();
        let old = self.objects.insert(key.clone(), stored);
        self.history.push_back(Event {
            version: self.version,
            key: key.clone(),
            old: old.map(|old| old.object),
            new,
            gone: false,
        });
    }

    fn remove(&mut self, key: &ObjectKey) {
        if let Some(old) = self.objects.remove(key) {
            let path = ["metadata", "resourceVersion"];
            let new = set(&old.shown(), &path, self.next(key));
            self.history.push_back(Event {
                version: self.version,
                key: key.clone(),
                old: Some(old.object),
                new,
                gone: true,
            });
        }
    }
}

/// Whether an object is being deleted.
pub fn is_being_deleted(object: &Value) -> bool {
    !at(object, &["metadata", "deletionTimestamp"]).is_null()
}

fn is_held(object: &Value) -> bool {
    let finalizers = at(object, &["metadata", "finalizers"]).as_list();
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

fn differ_in_spec(old: &Value, new: &Value) -> bool {
    let spec = |object: &Value| unset(&unset(object, &["metadata"]), &["status"]);
    spec(old) != spec(new)
}

fn next_generation(object: &Value) -> Value {
    let path = ["metadata", "generation"];
    let generation = at(object, &path).as_int().unwrap_or_default();
    set(object, &path, (generation + 1).into())
}

/// The version of an object as a number.
pub fn version_of(object: &Value) -> u64 {
    let version = text(object, &["metadata", "resourceVersion"]);
    version.parse().unwrap_or_default()
}
