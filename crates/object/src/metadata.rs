//! The names of metadata fields.
//!
//! Interning a text takes a lock. Code that reads the same fields of every object uses these keys,
//! which are interned once.

use std::sync::LazyLock;

use document::{Key, Map, Value};

/// The interned names of the fields that every object has.
#[derive(Debug)]
pub struct Keys {
    /// `apiVersion`
    pub api_version: Key,
    /// `kind`
    pub kind: Key,
    /// `metadata`
    pub metadata: Key,
    /// `status`
    pub status: Key,
    /// `name`
    pub name: Key,
    /// `namespace`
    pub namespace: Key,
    /// `uid`
    pub uid: Key,
    /// `resourceVersion`
    pub resource_version: Key,
    /// `generation`
    pub generation: Key,
    /// `creationTimestamp`
    pub creation_timestamp: Key,
    /// `deletionTimestamp`
    pub deletion_timestamp: Key,
    /// `deletionGracePeriodSeconds`
    pub deletion_grace_period: Key,
    /// `labels`
    pub labels: Key,
    /// `annotations`
    pub annotations: Key,
    /// `finalizers`
    pub finalizers: Key,
    /// `ownerReferences`
    pub owner_references: Key,
    /// `managedFields`
    pub managed_fields: Key,
}

/// The keys.
pub static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    api_version: Key::new("apiVersion"),
    kind: Key::new("kind"),
    metadata: Key::new("metadata"),
    status: Key::new("status"),
    name: Key::new("name"),
    namespace: Key::new("namespace"),
    uid: Key::new("uid"),
    resource_version: Key::new("resourceVersion"),
    generation: Key::new("generation"),
    creation_timestamp: Key::new("creationTimestamp"),
    deletion_timestamp: Key::new("deletionTimestamp"),
    deletion_grace_period: Key::new("deletionGracePeriodSeconds"),
    labels: Key::new("labels"),
    annotations: Key::new("annotations"),
    finalizers: Key::new("finalizers"),
    owner_references: Key::new("ownerReferences"),
    managed_fields: Key::new("managedFields"),
});

impl Keys {
    /// Whether the API server sets this metadata field and ignores the values that clients send.
    pub fn is_system(&self, key: &Key) -> bool {
        [
            &self.uid,
            &self.resource_version,
            &self.generation,
            &self.creation_timestamp,
            &self.deletion_timestamp,
            &self.deletion_grace_period,
        ]
        .contains(&key)
    }
}

/// The metadata of an object; null if it has none.
pub fn metadata(object: &Value) -> &Value {
    object.get_key(&KEYS.metadata)
}

/// The name of an object, or `""`.
pub fn name(object: &Value) -> &str {
    metadata(object)
        .get_key(&KEYS.name)
        .as_str()
        .unwrap_or_default()
}

/// The namespace of an object, or `""`.
pub fn namespace(object: &Value) -> &str {
    metadata(object)
        .get_key(&KEYS.namespace)
        .as_str()
        .unwrap_or_default()
}

/// The labels of an object; null if it has none.
pub fn labels(object: &Value) -> &Value {
    metadata(object).get_key(&KEYS.labels)
}

/// The value of an annotation.
pub fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    metadata(object)
        .get_key(&KEYS.annotations)
        .get(name)
        .as_str()
}

/// The uid of an object, or `""`.
pub fn uid(object: &Value) -> &str {
    metadata(object)
        .get_key(&KEYS.uid)
        .as_str()
        .unwrap_or_default()
}

/// The resourceVersion of an object, or `""`.
pub fn resource_version(object: &Value) -> &str {
    let version = metadata(object).get_key(&KEYS.resource_version);
    version.as_str().unwrap_or_default()
}

/// Whether the object is being deleted and waits for its finalizers.
pub fn is_terminating(object: &Value) -> bool {
    !metadata(object).get_key(&KEYS.deletion_timestamp).is_null()
}

/// Replaces the metadata of an object.
#[must_use]
pub fn with_metadata(object: &Value, metadata: Map) -> Value {
    let fields = object.as_map().cloned();
    let fields = fields.unwrap_or_else(|| Map::from_sorted(Vec::new()));
    fields.with(KEYS.metadata.clone(), metadata.into()).into()
}
