//! The users of a cluster: their objects, and what they do to these and to derived ones.

pub(crate) mod sources;
mod vandals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use document::{Value, json};
use object::marks::{OPERATOR, OWNER};
use object::{ObjectKey, OperatorId};
use target::claim::Claim;

use crate::api::Server;
use crate::api::kind::Kind;
use crate::fields::{set, text};
use crate::identity::Identity;
use crate::shape::{Edits, Shape};
use crate::truth::Truth;

pub use sources::{is_bad, is_rejected};
pub use vandals::LABEL as VANDAL;

/// The users' side of a cluster.
pub struct World {
    /// The cluster.
    pub server: Server,
    /// The Operator.
    pub shape: Shape,
    /// Its current edits.
    pub edits: Edits,
    /// Whether it exists.
    pub exists: bool,
    /// How often it was created or edited. Each time, deltic forgets the answers to its writes.
    pub edited: Arc<AtomicU64>,
    /// What is derived at every moment.
    pub truth: Truth,
    /// The uid of the Operator at every moment.
    pub identity: Identity,
    /// Whether derived objects are deleted with it. An Operator that is deleted before it has a
    /// finalizer leaves everything behind.
    pub takes_all: bool,
    /// The kinds that it writes.
    pub targets: Vec<&'static Kind>,
    /// The objects of users, as they would be without deltic.
    pub user_objects: BTreeMap<ObjectKey, Value>,
    /// Those of them that have names which the Operator derives.
    pub squatters: BTreeSet<ObjectKey>,
    /// Objects that look derived but are not. Nobody ever writes them.
    pub bystanders: BTreeMap<ObjectKey, Value>,
    /// Items that were valid at the last successful check and have not been deleted since:
    /// their output stays if they become invalid.
    pub held: BTreeSet<ObjectKey>,
    /// The uids of derived objects that have a label of a user.
    pub labelled: BTreeMap<ObjectKey, String>,
}

impl World {
    /// A cluster with the Operator and bystanders.
    pub fn new(server: Server, shape: Shape) -> Self {
        let edits = Edits::default();
        let moved = Edits {
            moved: true,
            ..edits
        };
        let operators = [shape.operator(edits), shape.operator(moved)];
        let controllers = operators.iter().flat_map(|operator| &operator.controllers);
        let targets = controllers.flat_map(|c| &c.targets);
        let targets = targets.filter_map(|t| Kind::named(&t.resource.group, &t.resource.kind));
        let mut kinds: Vec<&'static Kind> = targets.collect();
        kinds.sort_by_key(|kind| kind.name);
        kinds.dedup_by_key(|kind| kind.name);
        let mut world = Self {
            server,
            shape,
            edits,
            exists: false,
            edited: Arc::default(),
            truth: Truth::new(),
            identity: Identity::new(),
            takes_all: false,
            targets: kinds,
            user_objects: BTreeMap::new(),
            squatters: BTreeSet::new(),
            bystanders: BTreeMap::new(),
            held: BTreeSet::new(),
            labelled: BTreeMap::new(),
        };
        world.put_operator(edits);
        for kind in world.targets.clone() {
            world.add_bystanders(kind);
        }
        world
    }

    /// Creates or edits the Operator.
    pub fn put_operator(&mut self, edits: Edits) {
        let key = self.shape.key();
        // An Operator that is being deleted cannot be edited any more.
        let there = self.server.get(&key);
        if there.is_some() && !self.exists {
            return;
        }
        (self.edits, self.exists) = (edits, true);
        self.edited.fetch_add(1, Ordering::SeqCst);
        let objects = self.user_objects.iter();
        let objects = objects.map(|(key, object)| complete(key, object));
        self.truth
            .operator(Some(self.shape.operator(edits)), objects);
        let manifest = self.shape.manifest(edits);
        if there.is_none() {
            self.server.put(&key, "admin", &manifest);
            let created = self.server.get(&key).unwrap_or_default();
            self.identity.created(text(&created, &["metadata", "uid"]));
            return;
        }
        let spec = manifest.get("spec").clone();
        self.server.set(&key, "admin", &["spec"], spec);
    }

    /// Deletes the Operator.
    pub fn delete_operator(&mut self) {
        if !self.exists {
            return;
        }
        self.exists = false;
        self.truth.operator(None, std::iter::empty());
        self.server.delete(&self.shape.key());
        let waits = self.server.get(&self.shape.key()).is_some();
        self.takes_all = waits && self.edits.deletes;
    }

    /// Adds objects that look like ours, but have no valid claim.
    fn add_bystanders(&mut self, kind: &'static Kind) {
        self.bystanders
            .extend(put_bystanders(&self.server, kind, self.shape.name));
    }

    fn put(&mut self, key: &ObjectKey, object: &Value) {
        self.server.put(key, "user", object);
        self.know(key, object.clone());
    }

    /// Records the new state of a user's object.
    pub(crate) fn know(&mut self, key: &ObjectKey, object: Value) {
        self.truth.change(complete(key, &object), false);
        self.user_objects.insert(key.clone(), object);
    }

    /// Creates an object, or changes it if deltic may have changed it as well.
    fn put_or(&mut self, key: &ObjectKey, fresh: &Value, change: impl Fn(&Value) -> Value) {
        match self.user_objects.get(key) {
            None => self.put(key, fresh),
            Some(old) => {
                let new = change(old);
                self.know(key, new);
                self.server.change(key, "user", change);
            }
        }
    }

    fn delete(&mut self, key: &ObjectKey) {
        self.server.delete(key);
        if let Some(object) = self.user_objects.remove(key) {
            self.truth.change(complete(key, &object), true);
        }
        self.squatters.remove(key);
        self.held.remove(key);
    }

    /// Forgets a namespace and all objects in it.
    pub fn forget_namespace(&mut self, name: &str) {
        let keys = self.user_objects.keys();
        let inside = keys.filter(|key| key.namespace() == name);
        for key in inside.cloned().collect::<Vec<_>>() {
            self.delete(&key);
        }
    }

    /// The objects that deltic has created.
    pub fn derived(&self) -> Vec<(ObjectKey, Value)> {
        let kinds = self.targets.iter();
        let all = kinds.flat_map(|kind| self.server.all(kind));
        let ours = |(key, object): &(ObjectKey, Value)| {
            let claim = Claim::read(object, key);
            claim.is_some_and(|claim| claim.operator == self.shape.name && claim.created)
        };
        all.filter(ours).collect()
    }

    /// The versions of all objects of the kinds that the Operator writes.
    pub fn versions(&self) -> BTreeMap<ObjectKey, String> {
        let all = self.targets.iter().flat_map(|kind| self.server.all(kind));
        let versions = all.map(|(key, object)| {
            let version = text(&object, &["metadata", "resourceVersion"]);
            (key, version.to_owned())
        });
        versions.collect()
    }
}

/// Creates objects that look like those of an Operator, but have no valid claim of it. Returns
/// them as they are stored.
pub(crate) fn put_bystanders(
    server: &Server,
    kind: &'static Kind,
    operator: &str,
) -> Vec<(ObjectKey, Value)> {
    let namespace = if kind.namespaced { "ns" } else { "" };
    let key = |name: &str| {
        let name = format!("{name}-of-{operator}");
        ObjectKey::new(kind.group, kind.name, namespace, &name)
    };
    let claim = |operator: &str, key: &ObjectKey| {
        let operator = OperatorId::new(operator, "another");
        let claim = Claim::new(&operator, "c", &json!([]), true);
        json!({OWNER: (claim.print(key))})
    };
    let label = json!({OPERATOR: operator});
    let bystanders = [
        ("labelled", label.clone(), json!({})),
        ("copied", label.clone(), claim(operator, &key("a"))),
        ("foreign", json!({}), claim("another", &key("foreign"))),
        (
            "helm",
            json!({"app.kubernetes.io/managed-by": "Helm"}),
            json!({}),
        ),
    ];
    let put = bystanders.map(|(name, labels, annotations)| {
        let object = json!({"metadata": {"labels": labels, "annotations": annotations}});
        server.put(&key(name), "them", &object);
        (key(name), server.get(&key(name)).unwrap_or_default())
    });
    put.into()
}

/// An object of a user, with its kind and name.
///
/// # Panics
///
/// If the server does not know the kind.
pub fn complete(key: &ObjectKey, object: &Value) -> Value {
    let kind = Kind::named(key.kind.group.as_str(), key.kind.kind.as_str());
    let kind = kind.expect("users know the kinds of the server");
    let object = set(object, &["apiVersion"], kind.api_version().into());
    let object = set(&object, &["kind"], kind.name.into());
    let object = set(&object, &["metadata", "name"], key.object_name().into());
    if kind.namespaced {
        set(&object, &["metadata", "namespace"], key.namespace().into())
    } else {
        object
    }
}
