//! The checks of metadata that a client sends.

use document::{Map, Value};
use object::metadata::KEYS;

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

/// The object without unknown metadata fields, and the warnings about them.
pub(crate) fn prune(
    resource: &Resource,
    object: &Value,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), StatusError> {
    let (Some(map), Some(metadata)) = (object.as_map(), object.get_key(&KEYS.metadata).as_map())
    else {
        return Ok((object.clone(), Vec::new()));
    };
    let unknown: Vec<String> = metadata
        .iter()
        .filter(|(key, _)| !FIELDS.contains(&key.as_str()))
        .map(|(key, _)| format!("unknown field \"metadata.{key}\""))
        .collect();
    if unknown.is_empty() {
        return Ok((object.clone(), Vec::new()));
    }
    if validation == FieldValidation::Strict {
        let kind = &resource.kind.kind;
        return Err(StatusError::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {kind}: strict decoding error: {}",
            resource.version,
            unknown.join(", ")
        )));
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

/// Refuses names, labels and annotations that kube-apiserver would refuse.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Result<(), StatusError> {
    let metadata = object.get_key(&KEYS.metadata);
    let name = metadata.get_key(&KEYS.name);
    let mut causes = Vec::new();
    match name.as_str() {
        None | Some("") => causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        )),
        Some(text) if !is_subdomain(text) => {
            causes.push(Cause::invalid("metadata.name", name, SUBDOMAIN));
        }
        Some(_) => {}
    }
    for (key, value) in entries(metadata.get_key(&KEYS.labels)) {
        if !is_qualified_name(key.as_str()) {
            let key = Value::from(key.as_str());
            causes.push(Cause::invalid("metadata.labels", &key, QUALIFIED));
        }
        if value.as_str().is_some_and(|text| !is_label_value(text)) {
            causes.push(Cause::invalid("metadata.labels", value, LABEL));
        }
    }
    let mut size = 0;
    for (key, value) in entries(metadata.get_key(&KEYS.annotations)) {
        size += key.as_str().len() + value.as_str().map_or(0, str::len);
        if !is_qualified_name(&key.as_str().to_lowercase()) {
            let key = Value::from(key.as_str());
            causes.push(Cause::invalid("metadata.annotations", &key, QUALIFIED));
        }
    }
    if size > MAX_ANNOTATIONS {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            field: "metadata.annotations".to_owned(),
            message: format!("Too long: may not be more than {MAX_ANNOTATIONS} bytes"),
        });
    }
    let finalizers = metadata.get_key(&KEYS.finalizers).as_list();
    for finalizer in finalizers.into_iter().flatten() {
        if finalizer
            .as_str()
            .is_some_and(|text| !is_qualified_name(text))
        {
            causes.push(Cause::invalid("metadata.finalizers", finalizer, QUALIFIED));
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    let name = name.as_str().unwrap_or_default();
    Err(StatusError::invalid(&resource.kind, name, &causes))
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
    '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL: &str = "a valid label must be an empty string or consist of alphanumeric characters, \
    '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
    'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn entries(map: &Value) -> impl Iterator<Item = &(document::Key, Value)> {
    map.as_map().into_iter().flat_map(Map::iter)
}

fn is_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        let inside = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty()
            && label.bytes().all(inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// A name of at most 63 characters, optionally after a subdomain and a slash.
fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(is_subdomain) && !name.is_empty() && is_label_value(name)
}

fn is_label_value(text: &str) -> bool {
    let inside = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    let end = |c: Option<&u8>| c.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    text.len() <= 63 && text.bytes().all(inside) && end(bytes.first()) && end(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_kubernetes() {
        for name in ["a", "a.b-c", "1", &"a".repeat(253)] {
            assert!(is_subdomain(name), "{name}");
        }
        for name in ["", "A", "a..b", "-a", "a-", "a_b", &"a".repeat(254)] {
            assert!(!is_subdomain(name), "{name}");
        }
        for name in ["app", "example.com/app", "A_b.c"] {
            assert!(is_qualified_name(name), "{name}");
        }
        for name in ["", "/app", "a/b/c", "-a", &"a".repeat(64)] {
            assert!(!is_qualified_name(name), "{name}");
        }
        assert!(is_label_value("") && !is_label_value("a b"));
    }
}
