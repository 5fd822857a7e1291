//! Kubernetes objects as documents.
//!
//! [`Object`] is the type that `kube::Api` reads and writes. JSON is parsed directly into a
//! [`Value`], and the typed metadata for kube is created only on demand. Reading never fails on
//! valid JSON: an object that is nested too deep or too large is [`Object::unreadable`]. The
//! watches of sources and targets read an [`Arrival`](crate::source::Arrival) instead.

mod pages;
mod unreadable;

use std::borrow::Cow;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use dataflow::fields::{Fields, Keep};
use document::{Excess, Key, Map, PartSeed, Value, Whole};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::discovery::ApiResource;
pub use object::{MAX_SIZE, Unreadable};
pub use pages::pages;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub use unreadable::lost_event;

/// An object of any kind.
///
/// ```
/// use document::json;
/// use kube::ResourceExt;
/// use cluster::object::Object;
///
/// let object: Object = serde_json::from_str(r#"{"metadata": {"name": "a"}, "data": {"k": "v"}}"#)?;
/// assert_eq!(object.name_any(), "a");
/// assert_eq!(object.value().get("data"), &json!({"k": "v"}));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Object {
    value: Value,
    /// Created from the value on demand.
    meta: OnceLock<Box<ObjectMeta>>,
    /// Whether `meta` may have been changed. Then it is complete, and replaces the metadata in
    /// `value`.
    edited: bool,
    /// Why the object cannot be read. Then `value` contains the readable parts.
    unreadable: Option<Box<Unreadable>>,
}

impl Object {
    /// The document of this object.
    pub fn value(&self) -> Cow<'_, Value> {
        match self.meta.get().filter(|_| self.edited) {
            Some(meta) => Cow::Owned(with_metadata(&self.value, meta)),
            None => Cow::Borrowed(&self.value),
        }
    }

    /// The document of this object.
    pub fn into_value(self) -> Value {
        match self.meta.into_inner().filter(|_| self.edited) {
            Some(meta) => with_metadata(&self.value, &meta),
            None => self.value,
        }
    }

    /// Why this object cannot be read; `None` if it was read completely. Its metadata, except for
    /// managedFields, is present in any case.
    pub fn unreadable(&self) -> Option<&Unreadable> {
        self.unreadable.as_deref()
    }

    /// Its type and its metadata, except for managedFields.
    pub fn bare(&self) -> Value {
        bare(&self.value)
    }

    fn read(value: Value, excess: &Excess) -> Self {
        if !Unreadable::is_over(excess) {
            return value.into();
        }
        // managedFields are not content, and are nested deeper than the object itself. They do not
        // make an object unreadable.
        let value = without_managed_fields(value);
        Self {
            unreadable: Unreadable::of(&value).map(Box::new),
            ..Self::from(value)
        }
    }

    /// This object with `apiVersion` and `kind`, which the elements of a list do not have.
    #[must_use]
    pub fn with_types(mut self, resource: &ApiResource) -> Self {
        if let Some(map) = self.value.as_map()
            && (map.get_str("kind").is_none() || map.get_str("apiVersion").is_none())
        {
            let version = Value::from(resource.api_version.as_str());
            let kind = Value::from(resource.kind.as_str());
            let map = map.with(Key::new("apiVersion"), version);
            self.value = map.with(Key::new("kind"), kind).into();
        }
        self
    }
}

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.into_value()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let excess = Excess::default();
        let value = PartSeed::noting(Whole, &excess).deserialize(deserializer)?;
        Ok(Self::read(value, &excess))
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// Prints the kind and the name, but not the content, which may be secret.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metadata = self.value.get("metadata");
        f.debug_struct("Object")
            .field("kind", self.value.get("kind"))
            .field("namespace", metadata.get("namespace"))
            .field("name", metadata.get("name"))
            .finish_non_exhaustive()
    }
}

impl kube::Resource for Object {
    crate::of_any_kind!();

    /// The metadata without annotations and managedFields. Our code reads these from the value.
    fn meta(&self) -> &ObjectMeta {
        self.meta
            .get_or_init(|| Box::new(brief(self.value.get("metadata"))))
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        if !self.edited {
            self.edited = true;
            self.meta = OnceLock::new();
        }
        let whole = || Box::new(whole(self.value.get("metadata")));
        self.meta.get_or_init(whole);
        self.meta.get_mut().expect("set in the line above")
    }
}

/// The type and the metadata of an object, except for managedFields.
pub(crate) fn bare(object: &Value) -> Value {
    static BARE: LazyLock<Keep> = LazyLock::new(|| Keep::fields(&identity()));
    BARE.of(object).into_document()
}

fn identity() -> Fields {
    let whole = |name: &str| (Key::new(name), Fields::all());
    let metadata = Fields {
        names: [
            "annotations",
            "creationTimestamp",
            "deletionTimestamp",
            "finalizers",
            "generation",
            "labels",
            "name",
            "namespace",
            "ownerReferences",
            "resourceVersion",
            "uid",
        ]
        .map(whole)
        .into(),
        ..Fields::default()
    };
    let mut fields = Fields {
        names: ["apiVersion", "kind"].map(whole).into(),
        ..Fields::default()
    };
    fields.names.insert(Key::new("metadata"), metadata);
    fields
}

pub(crate) fn without_managed_fields(value: Value) -> Value {
    let (Some(fields), Some(metadata)) = (value.as_map(), value.get("metadata").as_map()) else {
        return value;
    };
    let metadata = metadata.without("managedFields");
    fields.with(Key::new("metadata"), metadata.into()).into()
}

/// The metadata that kube needs for watches, references and owners.
fn brief(metadata: &Value) -> ObjectMeta {
    let text = |key: &str| metadata.get(key).as_str().map(str::to_owned);
    let owners = metadata.get("ownerReferences").as_list();
    let finalizers = metadata.get("finalizers").as_list();
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        generation: metadata.get("generation").as_int(),
        deletion_timestamp: text("deletionTimestamp").and_then(time),
        labels: metadata.get("labels").as_map().map(|labels| {
            let label = |(key, value): &(Key, Value)| {
                Some((key.as_str().to_owned(), value.as_str()?.to_owned()))
            };
            labels.iter().filter_map(label).collect()
        }),
        owner_references: owners.map(|owners| owners.iter().map(owner).collect()),
        finalizers: finalizers.map(|finalizers| {
            let texts = finalizers.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }),
        ..ObjectMeta::default()
    }
}

fn owner(reference: &Value) -> OwnerReference {
    let text = |key: &str| reference.get(key).as_str().unwrap_or_default().to_owned();
    OwnerReference {
        api_version: text("apiVersion"),
        kind: text("kind"),
        name: text("name"),
        uid: text("uid"),
        controller: reference.get("controller").as_bool(),
        block_owner_deletion: reference.get("blockOwnerDeletion").as_bool(),
    }
}

fn time(text: String) -> Option<Time> {
    serde_json::from_value(serde_json::Value::String(text)).ok()
}

/// The complete metadata, for changes. If it is invalid, the [`brief`] form.
fn whole(metadata: &Value) -> ObjectMeta {
    serde_json::from_str(&metadata.to_string()).unwrap_or_else(|_| brief(metadata))
}

fn with_metadata(value: &Value, meta: &ObjectMeta) -> Value {
    let text = serde_json::to_string(meta).unwrap_or_default();
    let metadata = text.parse().unwrap_or_else(|_| Value::empty_map());
    let fields = value.as_map().cloned();
    let fields = fields.unwrap_or_else(|| Map::from_sorted(Vec::new()));
    fields.with(Key::new("metadata"), metadata).into()
}

#[cfg(test)]
mod tests {
    use document::json;
    use kube::{Resource, ResourceExt};

    use super::*;

    fn pod() -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 2,
            "deletionTimestamp": "2024-01-02T03:04:05Z",
            "labels": {"app": "web"}, "annotations": {"x": "y"}, "finalizers": ["f"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "ou", "controller": true}],
        }, "spec": {"secret": "value"}})
    }

    #[test]
    fn metadata_is_there_for_kube() {
        let object = Object::from(pod());
        let meta = object.meta();
        assert_eq!(meta.name.as_deref(), Some("a"));
        assert_eq!(meta.resource_version.as_deref(), Some("7"));
        assert_eq!(meta.generation, Some(2));
        assert!(meta.deletion_timestamp.is_some());
        assert_eq!(object.labels()["app"], "web");
        assert_eq!(object.owner_references()[0].uid, "ou");
        assert_eq!(object.finalizers(), ["f"]);
    }

    #[test]
    fn changed_metadata_is_written_with_what_it_had() {
        let mut object = Object::from(pod());
        object.labels_mut().insert("b".to_owned(), "c".to_owned());
        let value = object.into_value();
        assert_eq!(
            value.get("metadata").get("labels"),
            &json!({"app": "web", "b": "c"})
        );
        assert_eq!(value.get("metadata").get("annotations"), &json!({"x": "y"}));
        assert_eq!(value.get("spec"), pod().get("spec"));
    }

    #[test]
    fn content_is_not_printed() {
        let printed = format!("{:?}", Object::from(pod()));
        assert!(!printed.contains("value"), "{printed}");
        assert!(printed.contains("\"a\""), "{printed}");
    }

    #[test]
    fn elements_of_a_list_get_their_types() {
        let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
        let object = Object::from(json!({"metadata": {"name": "a"}})).with_types(&resource);
        assert_eq!(object.value().get("kind"), &json!("Pod"));
        assert_eq!(object.value().get("apiVersion"), &json!("v1"));
    }

    #[test]
    fn watch_events_are_read() {
        let line = r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"}}}"#;
        let event: kube::core::WatchEvent<Object> = serde_json::from_str(line).unwrap();
        assert!(
            matches!(&event, kube::core::WatchEvent::Added(object) if object.name_any() == "a")
        );
        let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}}]}"#;
        let list: kube::core::ObjectList<Object> = serde_json::from_str(list).unwrap();
        assert_eq!(list.items[0].name_any(), "a");
    }
}
