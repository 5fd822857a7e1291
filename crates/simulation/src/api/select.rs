//! The objects of a list or a watch.

use document::Value;
use object::{LabelSelector, ObjectKey};

use super::kind::Kind;
use super::refusal::Refusal;
use super::route::{Query, RequestPath};

/// A kind, and optionally a namespace and labels.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// The kind.
    pub(super) kind: &'static Kind,
    namespace: Option<String>,
    labels: LabelSelector,
}

impl Selection {
    /// The selection of a request.
    pub(super) fn of(place: &RequestPath, query: &Query) -> Result<Self, Refusal> {
        let labels = LabelSelector::from_query(query.get("labelSelector"));
        let labels = labels.map_err(|error| Refusal::new(400, "BadRequest", &error.to_string()))?;
        Ok(Self {
            kind: place.kind,
            namespace: place.namespace.clone(),
            labels,
        })
    }

    /// Whether an object has the kind and the namespace.
    pub(super) fn covers(&self, key: &ObjectKey) -> bool {
        key.kind.group.as_str() == self.kind.group
            && key.kind.kind.as_str() == self.kind.name
            && self
                .namespace
                .as_ref()
                .is_none_or(|namespace| key.namespace() == namespace)
    }

    /// Whether an object has matching labels.
    pub(super) fn admits(&self, object: &Value) -> bool {
        self.labels.admits(object)
    }
}
