//! The kinds that are served.

use document::{Map, Value, View, json};
use object::ObjectKey;

use crate::fields::{at, set, unset, without_nulls};

/// A kind.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The API group; `""` for the core group.
    pub group: &'static str,
    /// Its only version.
    pub version: &'static str,
    /// The Kind.
    pub name: &'static str,
    /// The name of the resource.
    pub plural: &'static str,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
    /// Whether it has the subresource `/status`.
    pub status: bool,
    /// Whether `metadata.generation` counts changes of the spec.
    pub generation: bool,
    /// A list of maps with names that is one value to a server-side apply, by the fields that lead to
    /// it.
    pub atomic: &'static [&'static str],
    /// What the server changes in an object: defaults, normal forms, unknown fields.
    defaults: fn(&Value) -> Value,
    /// What the server sets only when an object is created.
    pub assigned: fn(&Value) -> Value,
}

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind::new("", "Namespace", "namespaces").cluster(),
    Kind::new("", "ConfigMap", "configmaps").data(),
    Kind::new("", "Secret", "secrets").data(),
    Kind::new("", "ServiceAccount", "serviceaccounts")
        .data()
        .atomic(&["imagePullSecrets"]),
    Kind::new("", "Pod", "pods"),
    Kind::new("apps", "Deployment", "deployments").defaults(deployment),
    Kind::new("batch", "Job", "jobs")
        .defaults(normal)
        .assigned(selector),
    Kind::new("example.com", "Item", "items"),
    Kind::new("example.com", "Link", "links"),
    Kind::new("example.com", "Plain", "plains").no_status(),
    Kind::new("example.com", "Thing", "things").no_status(),
    Kind::new("example.com", "Copy", "copies").no_status(),
    Kind::new("example.com", "Widget", "widgets").defaults(widget),
    Kind::new("example.com", "Zone", "zones").cluster(),
    Kind::new("events.k8s.io", "Event", "events").data(),
    Kind::new("coordination.k8s.io", "Lease", "leases").data(),
    Kind::new("dcontroller.io", "Operator", "operators")
        .cluster()
        .version("v1alpha1"),
    Kind::new("discovery.k8s.io", "EndpointSlice", "endpointslices").data(),
    Kind::new("apiregistration.k8s.io", "APIService", "apiservices")
        .cluster()
        .no_status(),
];

impl Kind {
    const fn new(group: &'static str, name: &'static str, plural: &'static str) -> Self {
        Self {
            group,
            version: "v1",
            name,
            plural,
            namespaced: true,
            status: true,
            generation: true,
            atomic: &[],
            defaults: Value::clone,
            assigned: Value::clone,
        }
    }

    const fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn no_status(mut self) -> Self {
        self.status = false;
        self
    }

    /// As a `ConfigMap`: without a status and a generation.
    const fn data(mut self) -> Self {
        self.status = false;
        self.generation = false;
        self
    }

    const fn atomic(mut self, list: &'static [&'static str]) -> Self {
        self.atomic = list;
        self
    }

    const fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    const fn defaults(mut self, defaults: fn(&Value) -> Value) -> Self {
        self.defaults = defaults;
        self
    }

    const fn assigned(mut self, assigned: fn(&Value) -> Value) -> Self {
        self.assigned = assigned;
        self
    }

    /// The kind with this group and name.
    pub fn named(group: &str, name: &str) -> Option<&'static Self> {
        let mut kinds = KINDS.iter();
        kinds.find(|kind| kind.group == group && kind.name == name)
    }

    /// The key of an object of this kind.
    pub fn key(&self, namespace: &str, name: &str) -> ObjectKey {
        ObjectKey::new(self.group, self.name, namespace, name)
    }

    /// Whether its objects are custom resources, and not stored as Go types.
    pub fn is_custom(&self) -> bool {
        self.group.contains('.')
    }

    /// An object in the form that the server stores, with defaults. A custom resource keeps nulls.
    pub fn complete(&self, object: &Value) -> Value {
        if self.is_custom() {
            return (self.defaults)(object);
        }
        (self.defaults)(&without_nulls(object))
    }

    /// `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

fn default(object: &Value, path: &[&str], value: Value) -> Value {
    if at(object, path).is_null() {
        set(object, path, value)
    } else {
        object.clone()
    }
}

fn deployment(object: &Value) -> Value {
    let object = default(object, &["spec", "replicas"], json!(1));
    let object = default(
        &object,
        &["spec", "strategy"],
        json!({"type": "RollingUpdate"}),
    );
    let containers = ["spec", "template", "spec", "containers"];
    let object = match at(&object, &containers).as_list() {
        None => object,
        Some(list) => {
            let list = list
                .iter()
                .map(|container| default(container, &["imagePullPolicy"], json!("IfNotPresent")));
            let list: Value = list.collect();
            set(&object, &containers, list)
        }
    };
    normal(&object)
}

/// A selector with the uid of the object.
fn selector(object: &Value) -> Value {
    let uid = at(object, &["metadata", "uid"]).clone();
    let selector = json!({"matchLabels": {"controller-uid": uid}});
    default(object, &["spec", "selector"], selector)
}

/// A custom resource with defaults, one of them in an optional map, and a structural schema
/// that drops unknown fields.
fn widget(object: &Value) -> Value {
    let mut object = default(object, &["spec", "defaulted"], json!("yes"));
    if !at(&object, &["spec", "probe"]).is_null() {
        object = default(&object, &["spec", "probe", "timeout"], json!(1));
    }
    normal(&unset(&object, &["spec", "unknown"]))
}

/// Quantities in canonical form: `1000m` of `cpu` is `1`.
fn normal(value: &Value) -> Value {
    match value.view() {
        View::Map(map) => {
            let entries = map.iter().map(|(key, value)| {
                let whole = value.as_str().and_then(|text| text.strip_suffix("000m"));
                let value = match whole {
                    Some(whole) if key.as_str() == "cpu" => Value::from(whole),
                    _ => normal(value),
                };
                (key.clone(), value)
            });
            entries.collect::<Map>().into()
        }
        View::List(list) => list.iter().map(normal).collect(),
        _ => value.clone(),
    }
}
