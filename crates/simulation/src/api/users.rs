//! Actions of users. They take effect at once, and have no faults.

use document::{Value, json};
use object::ObjectKey;

use super::kind::Kind;
use super::managers::Managers;
use super::store::Stored;
use super::{Server, State};
use crate::fields::{set, unset};

/// The namespaces that exist at the start.
pub const NAMESPACES: [&str; 3] = ["default", "ns", "far"];

impl Server {
    pub(super) fn create_namespaces(&self) {
        for name in NAMESPACES {
            self.create_namespace(name);
        }
    }

    /// Creates a namespace.
    pub fn create_namespace(&self, name: &str) {
        let key = ObjectKey::new("", "Namespace", "", name);
        let namespace = json!({"metadata": {"finalizers": ["kubernetes"]}});
        self.put(&key, "admin", &namespace);
    }

    /// Requests the deletion of a namespace: nothing can be created in it any more.
    pub fn delete_namespace(&self, name: &str) {
        let key = ObjectKey::new("", "Namespace", "", name);
        self.delete(&key);
    }

    /// Deletes all objects in a namespace that is being deleted, and then the namespace.
    pub fn finish_namespace(&self, name: &str) {
        let keys = self.with(|state| {
            let keys = state.store.objects().map(|(key, _)| key);
            let inside = keys.filter(|key| key.namespace() == name);
            inside.cloned().collect::<Vec<_>>()
        });
        for key in &keys {
            self.delete(key);
        }
        let key = ObjectKey::new("", "Namespace", "", name);
        self.change(&key, "admin", |namespace| {
            unset(namespace, &["metadata", "finalizers"])
        });
    }

    /// An object as clients see it.
    pub fn get(&self, key: &ObjectKey) -> Option<Value> {
        self.with(|state| state.store.get(key).map(Stored::shown))
    }

    /// All objects of a kind, without `managedFields`.
    pub fn all(&self, kind: &Kind) -> Vec<(ObjectKey, Value)> {
        self.with(|state| {
            let all = state.store.objects().filter(|(key, _)| {
                key.kind.group.as_str() == kind.group && key.kind.kind.as_str() == kind.name
            });
            all.map(|(key, stored)| (key.clone(), stored.object.clone()))
                .collect()
        })
    }

    /// Creates an object, or replaces everything but its metadata. Policies do not apply to
    /// users.
    pub fn put(&self, key: &ObjectKey, manager: &str, object: &Value) {
        if self.get(key).is_some() {
            return self.change(key, manager, |_| object.clone());
        }
        let kind = kind_of(key);
        let object = kind.complete(object);
        self.with(|state| {
            let mut managers = Managers::new(kind);
            managers.updated(&json!({}), &object, manager);
            state.store.create(kind, key, &object, managers);
            state.trace.note(&format!("{manager}: creates {key}"));
        });
    }

    /// Changes an object, if it exists.
    pub fn change(&self, key: &ObjectKey, manager: &str, change: impl FnOnce(&Value) -> Value) {
        self.with(|state| state.change(key, manager, change));
    }

    /// Sets a field of an object, if it exists.
    pub fn set(&self, key: &ObjectKey, manager: &str, path: &[&str], value: Value) {
        self.change(key, manager, |object| set(object, path, value));
    }

    /// Deletes an object, if it exists.
    pub fn delete(&self, key: &ObjectKey) {
        let kind = kind_of(key);
        self.with(|state| {
            if state.store.delete(kind, key) {
                state.trace.note(&format!("user: deletes {key}"));
            }
        });
    }
}

impl State {
    /// Changes an object, if it exists.
    pub(super) fn change(
        &mut self,
        key: &ObjectKey,
        manager: &str,
        change: impl FnOnce(&Value) -> Value,
    ) {
        let kind = kind_of(key);
        let Some(old) = self.store.get(key).cloned() else {
            return;
        };
        let new = kind.complete(&change(&old.object));
        let mut managers = old.managers;
        managers.updated(&old.object, &new, manager);
        if self.store.update(kind, key, &new, managers) {
            self.trace.note(&format!("{manager}: changes {key}"));
        }
    }
}

fn kind_of(key: &ObjectKey) -> &'static Kind {
    let kind = Kind::named(key.kind.group.as_str(), key.kind.kind.as_str());
    kind.expect("users know the kinds of the server")
}
