//! How the elements of lists are told apart.

use document::{Key, Map, Value};

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
