//! What an Operator object says besides its pipelines.

use std::collections::BTreeSet;

use cluster::object::{Object, Unreadable};
use document::{ListRef, Location, Value, json};
use operator::Problem;

use crate::crd;

/// An Operator object.
#[derive(Clone, Debug)]
pub(super) struct OperatorObject {
    /// Its document; without what cannot be read, if it is unreadable.
    pub(super) value: Value,
    unreadable: Option<Unreadable>,
}

impl From<Object> for OperatorObject {
    fn from(object: Object) -> Self {
        let object = object.with_types(&crd::resource());
        Self {
            unreadable: object.unreadable().cloned(),
            value: object.into_value(),
        }
    }
}

impl OperatorObject {
    fn metadata(&self) -> &Value {
        self.value.get("metadata")
    }

    pub(super) fn spec(&self) -> &Value {
        self.value.get("spec")
    }

    pub(super) fn status(&self) -> &Value {
        self.value.get("status")
    }

    /// Whether it cannot be read: then it does not run.
    pub(super) fn is_unreadable(&self) -> bool {
        self.unreadable.is_some()
    }

    /// What is wrong with one that cannot be read.
    pub(super) fn unreadable(&self) -> Option<Problem> {
        let why = self.unreadable.as_ref()?;
        let at = Location::root().key("spec");
        let problem = Problem::error(Unreadable::CODE, &at, why.to_string());
        Some(problem.with_help("it does not run; what it derived stays as it was"))
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata().get("uid").as_str().unwrap_or_default()
    }

    pub(super) fn generation(&self) -> i64 {
        self.metadata()
            .get("generation")
            .as_int()
            .unwrap_or_default()
    }

    /// Whether it is to be deleted, and waits for finalizers.
    pub(super) fn is_leaving(&self) -> bool {
        !self.metadata().get("deletionTimestamp").is_null()
    }

    /// Whether derived objects go with it. Read from the object itself, because it counts
    /// even where the rest is wrong.
    pub(super) fn deletes(&self) -> bool {
        self.spec().get("deletionPolicy").as_str() == Some("Delete")
    }

    pub(super) fn has_finalizer(&self) -> bool {
        self.finalizers()
            .any(|finalizer| finalizer.as_str() == Some(crd::FINALIZER))
    }

    fn finalizers(&self) -> impl Iterator<Item = &Value> {
        let list = self.metadata().get("finalizers").as_list();
        list.into_iter().flat_map(ListRef::iter)
    }

    /// The patch that puts our finalizer on, or takes it off, if nothing has changed since.
    pub(super) fn finalizer_patch(&self, wanted: bool) -> Value {
        let ours = Value::from(crd::FINALIZER);
        let others = self.finalizers().filter(|finalizer| **finalizer != ours);
        let finalizers: Value = others
            .cloned()
            .chain(wanted.then(|| ours.clone()))
            .collect();
        json!({"metadata": {
            "uid": (self.uid()),
            "resourceVersion": (self.metadata().get("resourceVersion").clone()),
            "finalizers": (finalizers),
        }})
    }

    /// Whether deletions of this generation are allowed.
    pub(super) fn allows_deletions(&self, generation: i64) -> bool {
        let annotation = self
            .metadata()
            .get("annotations")
            .get(::object::marks::ALLOW_DELETIONS);
        annotation
            .as_str()
            .is_some_and(|text| text.trim() == generation.to_string())
    }

    /// The controllers whose removals were held when the status was last written.
    pub(super) fn held(&self) -> BTreeSet<String> {
        let controllers = self.status().get("controllers").as_list();
        let controllers = controllers.into_iter().flat_map(ListRef::iter);
        let held = controllers.filter(|controller| {
            let held = controller.get("counts").get("held").as_int();
            held.is_some_and(|held| held > 0)
        });
        held.filter_map(|controller| Some(controller.get("name").as_str()?.to_owned()))
            .collect()
    }

    /// Whether this is an older version of `other`, as an event may be that was sent
    /// before the answer to a write.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        let version = |object: &Self| {
            let version = object.metadata().get("resourceVersion").as_str();
            version.and_then(|version| version.parse::<u64>().ok())
        };
        let (this, that) = (version(self), version(other));
        self.uid() == other.uid() && this.zip(that).is_some_and(|(this, that)| this < that)
    }
}
