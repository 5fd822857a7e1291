//! The fields that identify the elements of lists.

use document::{Key, Map, Value};

use crate::path::{FieldPath, PathElement};

/// A key field, and its default value for elements without it.
type KeyField = (&'static str, Option<&'static str>);

/// The lists in Kubernetes' own kinds whose elements have key fields. If a list occurs twice,
/// the first entry counts whose fields all elements have.
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

/// The API groups that a `kube-apiserver` serves itself, of those with a dot. Other groups under
/// `k8s.io` are those of custom resources, such as `gateway.networking.k8s.io`.
const GROUPS: [&str; 18] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// The lists of Kubernetes' own kinds that a server-side apply treats as one value although their
/// elements have key fields (`listType: atomic`): the group of the kind, and the fields that lead to
/// the list.
const ATOMIC: [(&str, &[&str]); 4] = [
    // ServiceAccount
    ("", &["imagePullSecrets"]),
    // Node
    ("", &["spec", "taints"]),
    // Job
    ("batch", &["status", "conditions"]),
    // EndpointSlice
    ("discovery.k8s.io", &["ports"]),
];

/// The fields that identify the elements of a kind's lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergeKeys {
    built_in: bool,
    /// The lists with key fields that a server-side apply treats as one value.
    atomic: Vec<&'static [&'static str]>,
    /// Key fields from a schema, by the field names that lead to the list.
    lists: Vec<(Vec<String>, Vec<String>)>,
}

impl MergeKeys {
    /// The keys for kinds of a group that are known without a schema: those of Kubernetes
    /// itself.
    pub fn of_group(group: &str) -> Self {
        let atomic = ATOMIC.iter().filter(|(of, _)| *of == group);
        Self {
            // The group of a custom resource has a dot.
            built_in: !group.contains('.') || GROUPS.contains(&group),
            atomic: atomic.map(|(_, list)| *list).collect(),
            lists: Vec::new(),
        }
    }

    /// Whether these are the keys of Kubernetes' own kinds.
    pub fn built_in(&self) -> bool {
        self.built_in
    }

    /// Adds the keys that a schema has (`x-kubernetes-list-map-keys`) for the list at these
    /// field names.
    #[must_use]
    pub fn with(mut self, list: Vec<String>, keys: Vec<String>) -> Self {
        self.lists.push((list, keys));
        self
    }

    /// The list around a field that is one value to a server-side apply: it has one owner. Either its
    /// elements have no key fields, or the server does not tell them apart by these.
    pub fn atomic_list(&self, place: &FieldPath) -> Option<FieldPath> {
        let by_position = || place.is_by_position().then(|| place.atomic());
        self.atomic_list_with_keys(place).or_else(by_position)
    }

    /// The list with key fields around a field that is one value to a server-side apply. Those that
    /// merge tell its elements apart.
    pub fn atomic_list_with_keys(&self, place: &FieldPath) -> Option<FieldPath> {
        let mut lists = self.atomic.iter().filter_map(|list| {
            let (fields, inside) = place.0.split_at_checked(list.len())?;
            let is = |(step, name): (&PathElement, &&str)| matches!(step, PathElement::Field(field) if field.as_str() == *name);
            let leads = fields.iter().zip(*list).all(is);
            let is_inside = matches!(inside.first(), Some(PathElement::Element(_)));
            (leads && is_inside).then(|| FieldPath(fields.to_vec()))
        });
        lists.next()
    }

    /// A field, or the list around it that is one value to a server-side apply.
    #[must_use]
    pub fn atomic(&self, place: &FieldPath) -> FieldPath {
        self.atomic_list(place).unwrap_or_else(|| place.clone())
    }

    /// The fields that identify the elements of these lists, if all elements have them. `path`
    /// has the names of the fields that lead to the lists.
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

/// Metadata has the same lists in all kinds.
fn in_metadata(path: &[Key]) -> bool {
    path.first()
        .is_some_and(|first| first.as_str() == "metadata")
}

/// The fields that identify the elements of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Each with the default value for elements without it.
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

    /// Whether a field is a key field.
    pub fn has(&self, field: &Key) -> bool {
        self.fields.iter().any(|(key, _)| key == field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_a_kube_apiserver_are_known_without_a_schema() {
        for group in ["", "apps", "networking.k8s.io", "rbac.authorization.k8s.io"] {
            assert!(MergeKeys::of_group(group).built_in(), "{group}");
        }
        for group in [
            "example.com",
            "gateway.networking.k8s.io",
            "snapshot.storage.k8s.io",
            "metrics.k8s.io",
            "k8s.io",
        ] {
            assert!(!MergeKeys::of_group(group).built_in(), "{group}");
        }
    }
}
