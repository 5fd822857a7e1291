//! Derived documents on their way onto objects that exist: what of a document is
//! written, and the deep merge of a `Patcher`.
//!
//! In come documents and objects, out come the documents as they are sent and the
//! objects as they should be. Running without a cluster and running on one share this.

use document::{Key, Map, Value, View};

use crate::object::encode_secret;
use crate::spec::Target;

/// A document on its way to an object: Secrets are encoded, and metadata that an
/// expression left null is absent. Views take documents as they are.
pub fn outgoing(document: &Value, target: &Target) -> Value {
    if target.resource.is_view() {
        return document.clone();
    }
    let mut document = document.clone();
    if let (Some(fields), Some(metadata)) = (document.as_map(), document.get("metadata").as_map())
        && metadata.values().any(Value::is_null)
    {
        let given: Map = metadata
            .iter()
            .filter(|(_, value)| !value.is_null())
            .cloned()
            .collect();
        document = fields.with(Key::new("metadata"), given.into()).into();
    }
    if target.resource.group.is_empty() && target.resource.kind == "Secret" {
        return encode_secret(&document, &target.literal_data);
    }
    document
}

/// The patch of a document: nulls that an expression gave count as absent, nulls that
/// are written remove.
pub fn patch_of(document: &Value, target: &Target) -> Value {
    let document = outgoing(document, target);
    strip(&document, &mut Vec::new(), &target.written_nulls).unwrap_or_default()
}

/// `path` has the keys and the positions that lead to `value`.
fn strip(value: &Value, path: &mut Vec<String>, written: &[Vec<String>]) -> Option<Value> {
    let mut member = |step: String, member: &Value| {
        path.push(step);
        let left = strip(member, path, written);
        path.pop();
        left
    };
    match value.view() {
        View::Null => written.contains(path).then_some(Value::NULL),
        View::Map(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for (key, value) in map {
                let left = member(key.as_str().to_owned(), value);
                entries.extend(left.map(|left| (key.clone(), left)));
            }
            Some(Map::from_sorted(entries).into())
        }
        // A null that is an element keeps its place.
        View::List(items) if items.iter().any(|item| item.as_map().is_some()) => {
            let items = items.iter().enumerate();
            let items = items.map(|(i, item)| member(i.to_string(), item).unwrap_or_default());
            Some(items.collect::<Vec<_>>().into())
        }
        View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::List(_)
        | View::Bytes(_) => Some(value.clone()),
    }
}

/// A patch without what only says which object is meant.
pub fn identity_free(patch: &Value) -> Value {
    let Some(map) = patch.as_map() else {
        return patch.clone();
    };
    let mut map = map.without("apiVersion").without("kind");
    if let Some(metadata) = map.get_str("metadata").and_then(Value::as_map) {
        let metadata = metadata.without("name").without("namespace");
        map = if metadata.is_empty() {
            map.without("metadata")
        } else {
            map.with(Key::new("metadata"), metadata.into())
        };
    }
    map.into()
}

/// A field that tells elements of a list apart, and what it is if an element leaves it
/// out.
type KeyField = (&'static str, Option<&'static str>);

/// The lists of Kubernetes' own kinds whose elements have keys. Where a list is named
/// twice, the first whose fields all elements carry counts.
const BUILT_IN: [(&str, &[KeyField]); 21] = [
    ("containers", &[("name", None)]),
    ("initContainers", &[("name", None)]),
    ("ephemeralContainers", &[("name", None)]),
    ("env", &[("name", None)]),
    ("volumes", &[("name", None)]),
    ("volumeDevices", &[("devicePath", None)]),
    ("volumeMounts", &[("mountPath", None)]),
    ("imagePullSecrets", &[("name", None)]),
    ("resourceClaims", &[("name", None)]),
    ("schedulingGates", &[("name", None)]),
    ("hostAliases", &[("ip", None)]),
    (
        "topologySpreadConstraints",
        &[("topologyKey", None), ("whenUnsatisfiable", None)],
    ),
    ("conditions", &[("type", None)]),
    ("secrets", &[("name", None)]),
    (
        "ports",
        &[("containerPort", None), ("protocol", Some("TCP"))],
    ),
    ("ports", &[("port", None), ("protocol", Some("TCP"))]),
    ("taints", &[("key", None), ("effect", None)]),
    ("podIPs", &[("ip", None)]),
    ("addresses", &[("type", None)]),
    ("webhooks", &[("name", None)]),
    ("ownerReferences", &[("uid", None)]),
];

/// How the elements of a kind's lists are told apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergeKeys {
    built_in: bool,
    /// By the names of the fields that lead to the list.
    lists: Vec<(Vec<String>, Vec<String>)>,
}

impl MergeKeys {
    /// The keys of the kinds of a group, as far as they are known without a schema: those
    /// of Kubernetes itself.
    pub fn of_group(group: &str) -> Self {
        Self {
            built_in: !group.contains('.') || group.ends_with(".k8s.io"),
            lists: Vec::new(),
        }
    }

    /// Whether these are kinds of Kubernetes itself.
    pub fn built_in(&self) -> bool {
        self.built_in
    }

    /// Adds what a schema says (`x-kubernetes-list-map-keys`) about the list under these
    /// field names.
    #[must_use]
    pub fn with(mut self, list: Vec<String>, keys: Vec<String>) -> Self {
        self.lists.push((list, keys));
        self
    }

    /// What tells the elements of these lists apart: for each element of a list the
    /// values of its key fields. `path` has the names of the fields that lead there.
    pub fn of(&self, path: &[Key], lists: &[document::ListRef<'_>]) -> Option<Identity> {
        let elements = || lists.iter().flat_map(|list| list.iter());
        let named = |names: &[String]| names.iter().map(String::as_str).eq(steps(path));
        let known = self.lists.iter().filter(|(list, _)| named(list));
        let known = known.map(|(_, keys)| Identity {
            fields: keys.iter().map(|key| (Key::new(key), None)).collect(),
        });
        let name = path.last().map_or("", Key::as_str);
        let built_in = BUILT_IN
            .iter()
            .filter(|(list, _)| *list == name && (self.built_in || in_metadata(path)))
            .map(|(_, fields)| Identity {
                fields: fields
                    .iter()
                    .map(|(field, default)| (Key::new(field), default.map(Value::from)))
                    .collect(),
            });
        let mut identities = known.chain(built_in);
        identities.find(|identity| elements().all(|element| identity.carried(element)))
    }
}

fn steps(path: &[Key]) -> impl Iterator<Item = &str> {
    path.iter().map(Key::as_str)
}

/// Metadata is the same for all kinds.
fn in_metadata(path: &[Key]) -> bool {
    path.first()
        .is_some_and(|first| first.as_str() == "metadata")
}

/// The fields that tell the elements of a list apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Each with its value for elements that leave it out.
    fields: Vec<(Key, Option<Value>)>,
}

impl Identity {
    fn carried(&self, element: &Value) -> bool {
        let given = |(key, default): &(Key, Option<Value>)| {
            default.is_some() || !element.get_key(key).is_null()
        };
        element.as_map().is_some() && self.fields.iter().all(given)
    }

    /// The key fields of an element, with their values.
    pub fn of(&self, element: &Value) -> Map {
        let values = self.fields.iter().map(|(key, default)| {
            let given = element.get_key(key);
            let value = default.as_ref().filter(|_| given.is_null());
            (key.clone(), value.unwrap_or(given).clone())
        });
        values.collect()
    }

    /// Whether a field is one of them.
    pub fn has(&self, field: &Key) -> bool {
        self.fields.iter().any(|(key, _)| key == field)
    }
}

/// A deep merge: maps merge, null removes, lists of maps merge element by element, by
/// their merge keys if the elements carry them, otherwise by position; other lists are
/// replaced.
pub fn merge(live: &Value, patch: &Value, keys: &MergeKeys) -> Value {
    Merge {
        keys,
        path: Vec::new(),
    }
    .value(live, patch)
}

struct Merge<'a> {
    keys: &'a MergeKeys,
    /// The names of the fields that lead to what is merged.
    path: Vec<Key>,
}

impl Merge<'_> {
    fn value(&mut self, live: &Value, patch: &Value) -> Value {
        match (live.view(), patch.view()) {
            (View::Map(live), View::Map(patch)) => {
                let mut result = live.clone();
                for (key, value) in patch {
                    if value.is_null() {
                        result = result.without(key.as_str());
                        continue;
                    }
                    // To remove what is not there makes no maps.
                    let missing = result.get(key).is_none_or(|old| old.as_map().is_none());
                    if missing && only_removes(value) {
                        continue;
                    }
                    self.path.push(key.clone());
                    let merged = match result.get(key) {
                        Some(old) => self.value(old, value),
                        None => self.value(&Value::empty_map(), value),
                    };
                    self.path.pop();
                    result = result.with(key.clone(), merged);
                }
                result.into()
            }
            (View::List(live), View::List(patch)) if all_maps(live) && all_maps(patch) => {
                self.lists(live, patch)
            }
            (_, View::Map(_)) if live.as_map().is_none() => self.value(&Value::empty_map(), patch),
            _ => patch.clone(),
        }
    }

    fn lists(&mut self, live: document::ListRef<'_>, patch: document::ListRef<'_>) -> Value {
        let identity = self.keys.of(&self.path, &[live, patch]);
        let mut result = live.to_vec();
        for (position, item) in patch.iter().enumerate() {
            match position_of(live, item, position, identity.as_ref()) {
                Some(at) => result[at] = self.value(&result[at], item),
                None => result.push(self.value(&Value::empty_map(), item)),
            }
        }
        result.into()
    }
}

/// Whether a patch removes something and sets nothing.
fn only_removes(patch: &Value) -> bool {
    let removes = |value: &Value| value.is_null() || only_removes(value);
    patch
        .as_map()
        .is_some_and(|map| !map.is_empty() && map.values().all(removes))
}

/// The place in `list` of the element that `item` speaks of: the one with its key, or
/// without keys the one at its position.
pub fn position_of(
    list: document::ListRef<'_>,
    item: &Value,
    position: usize,
    identity: Option<&Identity>,
) -> Option<usize> {
    match identity {
        Some(identity) => {
            let wanted = identity.of(item);
            list.iter()
                .position(|other| Value::from(identity.of(other)) == Value::from(wanted.clone()))
        }
        None => (position < list.len()).then_some(position),
    }
}

/// Whether a list holds maps, which merge one by one.
pub fn all_maps(items: document::ListRef<'_>) -> bool {
    !items.is_empty() && items.iter().all(|item| item.as_map().is_some())
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(live: &Value, patch: &Value, expect: &Value) {
        assert_eq!(merge(live, patch, &MergeKeys::of_group("apps")), *expect);
    }

    #[test]
    fn a_patch_of_one_container_keeps_the_others() {
        check(
            &json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}}),
            &json!({"spec": {"containers": [{"name": "b", "image": "2"}]}}),
            &json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}}),
        );
    }

    #[test]
    fn lists_without_a_merge_key_merge_by_position() {
        check(
            &json!({"l": [{"a": 1, "b": 1}, {"a": 2}]}),
            &json!({"l": [{"b": 2}]}),
            &json!({"l": [{"a": 1, "b": 2}, {"a": 2}]}),
        );
        check(
            &json!({"l": [1, 2]}),
            &json!({"l": [3]}),
            &json!({"l": [3]}),
        );
    }

    #[test]
    fn a_removal_makes_nothing() {
        let removal = json!({"a": {"b": {"c": null}}});
        for live in [json!({}), json!({"a": 1}), json!({"a": {"x": 1}})] {
            check(&live, &removal, &live);
        }
        check(
            &json!({"a": {"b": {"c": 1, "d": 1}}}),
            &removal,
            &json!({"a": {"b": {"d": 1}}}),
        );
        check(
            &json!({}),
            &json!({"a": {"b": {"c": null}, "empty": {}}}),
            &json!({"a": {"empty": {}}}),
        );
    }

    #[test]
    fn ports_are_told_apart_by_number_and_protocol() {
        check(
            &json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]}),
            &json!({"ports": [{"port": 53, "protocol": "TCP", "name": "dns"}]}),
            &json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP", "name": "dns"}]}),
        );
    }

    #[test]
    fn custom_kinds_have_the_keys_that_their_schema_names() {
        let live = json!({"spec": {"containers": [{"name": "a", "x": 1}, {"name": "b"}]}});
        let patch = json!({"spec": {"containers": [{"name": "b", "x": 2}]}});
        let keys = MergeKeys::of_group("example.com");
        assert_eq!(
            merge(&live, &patch, &keys),
            json!({"spec": {"containers": [{"name": "b", "x": 2}, {"name": "b"}]}}),
            "by position"
        );
        let list = ["spec", "containers"].map(str::to_owned).to_vec();
        let keys = keys.with(list, vec!["name".to_owned()]);
        assert_eq!(
            merge(&live, &patch, &keys),
            json!({"spec": {"containers": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}})
        );
    }

    #[test]
    fn nulls_of_expressions_are_absent_also_inside_lists() {
        let document = json!({"spec": {"a": null, "b": null, "l": [{"c": null, "d": null, "e": 1}, {"c": null}]}});
        let path = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect();
        let written = [path(&["spec", "a"]), path(&["spec", "l", "0", "c"])];
        assert_eq!(
            strip(&document, &mut Vec::new(), &written),
            Some(json!({"spec": {"a": null, "l": [{"c": null, "e": 1}, {}]}}))
        );
    }
}
