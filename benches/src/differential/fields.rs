//! Reading and building documents with keys that are interned once.

use document::{Key, Map, Value};

macro_rules! fields {
    ($($field:ident = $text:literal),* $(,)?) => {
        /// The keys that the programs read and write.
        #[derive(Clone, Debug)]
        pub(super) struct Fields { $(pub(super) $field: Key),* }

        impl Fields {
            pub(super) fn new() -> Self {
                Self { $($field: Key::new($text)),* }
            }
        }
    };
}

fields! {
    address = "address",
    addresses = "addresses",
    class = "class",
    cluster_ip = "clusterIP",
    conditions = "conditions",
    endpoint = "endpoint",
    endpoints = "endpoints",
    gateway = "gateway",
    gateway_class = "gatewayClassName",
    labels = "labels",
    listeners = "listeners",
    metadata = "metadata",
    name = "name",
    namespace = "namespace",
    node = "node",
    node_name = "nodeName",
    parents = "parentRefs",
    ports = "ports",
    ready = "ready",
    route = "route",
    rules = "rules",
    service = "service",
    service_name = "kubernetes.io/service-name",
    slice = "slice",
    spec = "spec",
}

/// A map of entries that are in key order.
pub(super) fn map<const N: usize>(entries: [(&Key, Value); N]) -> Value {
    let entries = entries.into_iter().map(|(key, value)| (key.clone(), value));
    Map::from_sorted_iter(entries).into()
}

impl Fields {
    /// Namespace and name.
    pub(super) fn key(&self, document: &Value) -> (Value, Value) {
        let metadata = document.get_key(&self.metadata);
        let namespace = metadata.get_key(&self.namespace).clone();
        (namespace, metadata.get_key(&self.name).clone())
    }

    /// The service that the label of a slice names.
    pub(super) fn service_of(&self, slice: &Value) -> Value {
        let labels = slice.get_key(&self.metadata).get_key(&self.labels);
        labels.get_key(&self.service_name).clone()
    }

    /// The metadata of a target object.
    pub(super) fn named(&self, name: Value, namespace: Value) -> Value {
        map([(&self.name, name), (&self.namespace, namespace)])
    }

    /// Every element of a list, changed.
    pub(super) fn each(list: &Value, change: impl Fn(&Value) -> Value) -> Value {
        list.as_list()
            .map_or(Value::NULL, |items| Value::list(items.iter().map(change)))
    }
}
