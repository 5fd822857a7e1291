//! The checks of metadata that a client sends.

use std::collections::BTreeSet;

use document::{Map, Value};
use object::metadata::KEYS;

use crate::names;
use crate::query::FieldValidation;
use crate::resource::Resource;
use crate::status::{Cause, StatusError};

/// All fields of `ObjectMeta`.
const FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// All annotations together may have this size, as in kube-apiserver.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The object without unknown metadata fields, and the warnings about them and about fields that
/// the body has twice. With strict validation these are an error.
pub(crate) fn prune(
    object: &Value,
    duplicates: &[String],
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), String> {
    let (Some(map), Some(metadata)) = (object.as_map(), object.get_key(&KEYS.metadata).as_map())
    else {
        return Ok((object.clone(), Vec::new()));
    };
    let twice = duplicates.iter();
    let twice = twice.map(|field| format!("duplicate field \"{field}\""));
    let unknown = unknown(object).map(|key| format!("unknown field \"metadata.{key}\""));
    let unknown: Vec<String> = twice.chain(unknown).collect();
    if unknown.is_empty() {
        return Ok((object.clone(), Vec::new()));
    }
    if validation == FieldValidation::Strict {
        return Err(format!("strict decoding error: {}", unknown.join(", ")));
    }
    let known = metadata
        .iter()
        .filter(|(key, _)| FIELDS.contains(&key.as_str()))
        .cloned()
        .collect();
    let pruned = map.with(KEYS.metadata.clone(), Map::from_sorted(known).into());
    let warnings = if validation == FieldValidation::Warn {
        unknown
    } else {
        Vec::new()
    };
    Ok((pruned.into(), warnings))
}

/// The object without empty lists and maps in its metadata, as it is stored.
pub(crate) fn compact(object: &Value) -> Value {
    let (Some(map), Some(metadata)) = (object.as_map(), object.get_key(&KEYS.metadata).as_map())
    else {
        return object.clone();
    };
    let empty = |value: &Value| {
        value.is_null()
            || value.as_map().is_some_and(Map::is_empty)
            || value.as_list().is_some_and(document::ListRef::is_empty)
    };
    let kept = metadata.iter().filter(|(_, value)| !empty(value));
    let kept = Map::from_sorted(kept.cloned().collect());
    map.with(KEYS.metadata.clone(), kept.into()).into()
}

/// The fields of an object's metadata that do not exist.
pub(crate) fn unknown(object: &Value) -> impl Iterator<Item = &str> {
    let fields = entries(object.get_key(&KEYS.metadata)).map(|(key, _)| key.as_str());
    fields.filter(|key| !FIELDS.contains(key))
}

/// Refuses metadata that kube-apiserver would refuse when an object is created.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Result<(), StatusError> {
    let metadata = object.get_key(&KEYS.metadata);
    let mut causes = Vec::new();
    let prefix = metadata.get("generateName");
    for message in names::name_prefix(prefix.as_str().unwrap_or("a")) {
        causes.push(Cause::invalid("metadata.generateName", prefix, &message));
    }
    let name = metadata.get_key(&KEYS.name);
    match name.as_str() {
        None | Some("") => causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        )),
        // Roles have names such as `system:node`.
        Some(_) if resource.kind.group.as_str() == "rbac.authorization.k8s.io" => {}
        Some(text) => {
            let wrong = names::subdomain(text);
            let wrong = wrong.iter();
            causes.extend(wrong.map(|why| Cause::invalid("metadata.name", name, why)));
        }
    }
    causes.extend(common_causes(metadata));
    causes.extend(finalizer_causes(metadata));
    refuse(resource, object, &causes)
}

/// Refuses metadata that kube-apiserver would refuse when an object is changed.
pub(crate) fn validate_update(
    resource: &Resource,
    live: &Value,
    object: &Value,
) -> Result<(), StatusError> {
    let (before, metadata) = (live.get_key(&KEYS.metadata), object.get_key(&KEYS.metadata));
    let mut causes = Vec::new();
    if !before.get_key(&KEYS.deletion_timestamp).is_null() {
        causes.extend(new_finalizers(before, metadata));
    }
    for key in [
        &KEYS.uid,
        &KEYS.creation_timestamp,
        &KEYS.deletion_timestamp,
        &KEYS.deletion_grace_period,
    ] {
        let (old, new) = (before.get_key(key), metadata.get_key(key));
        if !new.is_null() && new != old {
            let field = format!("metadata.{key}");
            causes.push(Cause::invalid(field, new, "field is immutable"));
        }
    }
    causes.extend(common_causes(metadata));
    refuse(resource, object, &causes)
}

fn refuse(resource: &Resource, object: &Value, causes: &[Cause]) -> Result<(), StatusError> {
    if causes.is_empty() {
        return Ok(());
    }
    let name = object::metadata::name(object);
    Err(StatusError::invalid(&resource.kind, name, causes))
}

/// What is wrong with labels, annotations and owners.
fn common_causes(metadata: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in entries(metadata.get_key(&KEYS.labels)) {
        let invalid = |value: &Value, why: &str| Cause::invalid("metadata.labels", value, why);
        let name = Value::from(key.as_str());
        let wrong = names::label_key(key.as_str());
        causes.extend(wrong.iter().map(|why| invalid(&name, why)));
        let wrong = names::label_value(value.as_str().unwrap_or_default());
        causes.extend(wrong.iter().map(|why| invalid(value, why)));
    }
    let mut size = 0;
    for (key, value) in entries(metadata.get_key(&KEYS.annotations)) {
        size += key.as_str().len() + value.as_str().map_or(0, str::len);
        let name = Value::from(key.as_str());
        let wrong = names::label_key(&key.as_str().to_lowercase());
        let invalid = |why: &String| Cause::invalid("metadata.annotations", &name, why);
        causes.extend(wrong.iter().map(invalid));
    }
    if size > MAX_ANNOTATIONS {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            field: "metadata.annotations".to_owned(),
            message: format!("Too long: may not be more than {MAX_ANNOTATIONS} bytes"),
        });
    }
    causes.extend(owner_causes(metadata.get_key(&KEYS.owner_references)));
    causes
}

fn owner_causes(references: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    let mut several = false;
    for reference in references.as_list().into_iter().flatten() {
        let text = |key: &str| reference.get(key).as_str().unwrap_or_default();
        for (key, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if text(key).is_empty() {
                let field = format!("metadata.ownerReferences.{key}");
                causes.push(Cause::invalid(field, &"".into(), why));
            }
        }
        if reference.get("controller").as_bool() == Some(true) {
            let this = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                None => controller = Some(this),
                // The message lists all references, so there is only one of it.
                Some(_) if several => {}
                Some(first) => {
                    several = true;
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in \
                         references for {first} and {this}"
                    );
                    causes.push(Cause {
                        reason: "FieldValueInvalid",
                        field: "metadata.ownerReferences".to_owned(),
                        message: format!("Invalid value: {}: {why}", listed(references)),
                    });
                }
            }
        }
    }
    causes
}

/// References to owners as JSON, with their fields in the order of Kubernetes.
fn listed(references: &Value) -> String {
    let fields = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let references = references.as_list().into_iter().flatten();
    let references = references.map(|reference| {
        let given = fields
            .into_iter()
            .filter(|key| !reference.get(key).is_null());
        let given: Vec<String> = given
            .map(|key| format!("{:?}:{}", key, reference.get(key)))
            .collect();
        format!("{{{}}}", given.join(","))
    });
    format!("[{}]", references.collect::<Vec<_>>().join(","))
}

fn finalizer_causes(metadata: &Value) -> Vec<Cause> {
    let finalizers = metadata.get_key(&KEYS.finalizers).as_list();
    let finalizers = finalizers.into_iter().flatten();
    let causes = finalizers.flat_map(|finalizer| {
        let wrong = names::label_key(finalizer.as_str().unwrap_or_default());
        let wrong = wrong.into_iter();
        wrong.map(|why| Cause::invalid("metadata.finalizers", finalizer, &why))
    });
    causes.collect()
}

/// No finalizer can be added to an object that is being deleted.
fn new_finalizers(before: &Value, after: &Value) -> Option<Cause> {
    let texts = |metadata: &Value| -> BTreeSet<String> {
        let list = metadata.get_key(&KEYS.finalizers).as_list();
        let list = list.into_iter().flatten();
        list.filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    let (before, after) = (texts(before), texts(after));
    let new: Vec<String> = after
        .difference(&before)
        .map(|f| format!("{f:?}"))
        .collect();
    if new.is_empty() {
        return None;
    }
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{{{}}}",
        new.join(", ")
    );
    Some(Cause::forbidden("metadata.finalizers", &why))
}

fn entries(map: &Value) -> impl Iterator<Item = &(document::Key, Value)> {
    map.as_map().into_iter().flat_map(Map::iter)
}
