//! The Operator object: its metadata, deletion policy and annotations.

use std::collections::BTreeSet;

use cluster::object::{Object, Unreadable};
use document::{ListRef, Location, Value, json};
use engine::kinds::Kinds;
use object::marks::{ALLOW_DELETIONS, FINALIZER};
use operator::Problem;

use crate::crd;

/// An Operator object.
#[derive(Clone, Debug)]
pub(super) struct OperatorObject {
    /// The object; only its type and metadata if it is unreadable.
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

    /// Whether the object cannot be read. Then it does not run.
    pub(super) fn is_unreadable(&self) -> bool {
        self.unreadable.is_some()
    }

    /// Why the object cannot be read, if it cannot.
    pub(super) fn unreadable(&self) -> Option<Problem> {
        let why = self.unreadable.as_ref()?;
        let at = Location::root().key("spec");
        let problem = Problem::error(Unreadable::CODE, &at, why.to_string());
        Some(problem.with_help("it does not run; the objects it derived stay as they are"))
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata().get("uid").as_str().unwrap_or_default()
    }

    pub(super) fn version(&self) -> Value {
        self.metadata().get("resourceVersion").clone()
    }

    /// When it was created, as text: the older of two Operators has the smaller one.
    pub(super) fn created(&self) -> &str {
        let created = self.metadata().get("creationTimestamp");
        created.as_str().unwrap_or_default()
    }

    pub(super) fn generation(&self) -> i64 {
        self.metadata()
            .get("generation")
            .as_int()
            .unwrap_or_default()
    }

    /// Whether the object is being deleted and waits for finalizers.
    pub(super) fn is_leaving(&self) -> bool {
        !self.metadata().get("deletionTimestamp").is_null()
    }

    /// Whether derived objects are deleted with the Operator. This is read from the raw object,
    /// because it applies even if the rest of the spec is invalid.
    pub(super) fn deletes(&self) -> bool {
        self.spec().get("deletionPolicy").as_str() == Some("Delete")
    }

    pub(super) fn has_finalizer(&self) -> bool {
        self.finalizers()
            .any(|finalizer| finalizer.as_str() == Some(FINALIZER))
    }

    /// The finalizers that are not ours.
    pub(super) fn others_finalizers(&self) -> Vec<&str> {
        let all = self.finalizers().filter_map(Value::as_str);
        all.filter(|finalizer| *finalizer != FINALIZER).collect()
    }

    fn finalizers(&self) -> impl Iterator<Item = &Value> {
        let list = self.metadata().get("finalizers").as_list();
        list.into_iter().flat_map(ListRef::iter)
    }

    /// The patch that adds or removes our finalizer. It fails if the object has changed meanwhile.
    pub(super) fn finalizer_patch(&self, wanted: bool) -> Value {
        let ours = Value::from(FINALIZER);
        let others = self.finalizers().filter(|finalizer| **finalizer != ours);
        let finalizers: Value = others
            .cloned()
            .chain(wanted.then(|| ours.clone()))
            .collect();
        json!({"metadata": {
            "uid": (self.uid()),
            "resourceVersion": (self.version()),
            "finalizers": (finalizers),
        }})
    }

    /// Whether the annotation allows deletions beyond `maxDeletions` for this generation.
    pub(super) fn allows_deletions(&self, generation: i64) -> bool {
        let annotation = self.metadata().get("annotations").get(ALLOW_DELETIONS);
        annotation
            .as_str()
            .is_some_and(|text| text.trim() == generation.to_string())
    }

    /// The controllers whose removals were held, according to the stored status.
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

    /// The kinds that may hold objects of this Operator, according to the stored status.
    pub(super) fn kinds(&self) -> Kinds {
        Kinds::read(self.status().get("kinds"))
    }

    /// Whether the kinds that may hold objects of this Operator were recorded.
    pub(super) fn has_kinds(&self) -> bool {
        self.status().get("kinds").as_list().is_some()
    }

    /// Whether this is an older version of `other`. An event can arrive after the answer to a
    /// later write.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        let version = |object: &Self| {
            let version = object.metadata().get("resourceVersion").as_str();
            version.and_then(|version| version.parse::<u64>().ok())
        };
        let (this, that) = (version(self), version(other));
        self.uid() == other.uid() && this.zip(that).is_some_and(|(this, that)| this < that)
    }
}
