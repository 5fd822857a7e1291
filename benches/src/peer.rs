//! What is measured: anything that turns changed objects into changed outputs.

use std::hint::black_box;

use document::Value;
use kube::core::WatchEvent;
use serde::de::DeserializeOwned;

use crate::generate::{Object, UPDATES};
use crate::workload::Workload;

/// A change of one target object, as a document; made outside the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Namespace and name of the target object.
    pub key: (String, String),
    /// What it was; `None` if it is new.
    pub old: Option<Value>,
    /// What it is; `None` if it is gone.
    pub new: Option<Value>,
}

/// One implementation of a workload.
///
/// All peers get the same lines of a watch. Reading them into a form of its own
/// ([`Peer::reader`]) is part of the work of a peer, and so is dropping what it does not keep.
pub trait Peer: Sized {
    /// An object in the form in which this peer takes it.
    type Input;
    /// A change of one target object, in the form in which this peer gives it.
    type Change;

    /// How many updates of a sequence are timed; a slow peer takes the rest in one batch.
    const TIMED: usize = UPDATES;

    /// A peer that has seen nothing yet.
    fn new(workload: Workload) -> Self;

    /// What reads an object for this peer.
    fn reader(workload: Workload) -> impl Fn(&Object) -> Self::Input + 'static;

    /// Takes a page of a load. The changes may wait for [`Peer::loaded`].
    fn load(&mut self, page: Vec<Self::Input>, changes: &mut Vec<Self::Change>) {
        self.apply(page, changes);
    }

    /// Ends a load.
    fn loaded(&mut self, _changes: &mut Vec<Self::Change>) {}

    /// Takes a batch of new versions of objects and adds the changes of target objects, in
    /// order.
    fn apply<I>(&mut self, objects: I, changes: &mut Vec<Self::Change>)
    where
        I: IntoIterator<Item = Self::Input>;

    /// Namespace and name of the target object that changed.
    fn key(change: &Self::Change) -> (String, String);

    /// A change as documents, to compare it with that of another peer.
    fn outcome(change: &Self::Change) -> Outcome;
}

/// An object as kube needs it.
pub trait Versioned {
    /// Its version, from which kube goes on if its connection breaks. It asks for a copy of
    /// every one.
    fn version(&self) -> Option<String>;
}

impl Versioned for Value {
    fn version(&self) -> Option<String> {
        let version = self.get("metadata").get("resourceVersion");
        version.as_str().map(str::to_owned)
    }
}

/// Reads the object of a watch event, as kube does.
///
/// # Panics
/// If the peer cannot read what the generator makes.
pub fn read_event<T: DeserializeOwned + Versioned>(object: &Object) -> T {
    match serde_json::from_str(&object.line) {
        Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
            black_box(T::version(&object));
            object
        }
        Ok(other) => panic!("the generator makes no {other:?}"),
        Err(error) => panic!("the generator makes objects of known form: {error}"),
    }
}

/// Namespace and name of a target object.
pub fn key(document: &Value) -> (String, String) {
    let metadata = document.get("metadata");
    let text = |field: &str| {
        let value = metadata.get(field).as_str();
        value.unwrap_or_default().to_owned()
    };
    (text("namespace"), text("name"))
}

/// The document without the target's apiVersion and kind, which a program may leave out.
pub fn plain(document: &Value) -> Value {
    match document.as_map() {
        Some(map) => map.without("apiVersion").without("kind").into(),
        None => document.clone(),
    }
}
