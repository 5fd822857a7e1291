//! The Kubernetes objects of the workloads as typed structs, with all of their fields, as a
//! client library has them. An unknown field is an error: nothing is left out.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::peer::Versioned;

/// Types that a client library knows by their Rust type hold no field for it.
type Known = IgnoredAny;

macro_rules! objects {
    ($($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(super) struct $name { $($(#[$attribute])* pub(super) $field: $type),* }
    )*};
}

objects! {
    Service { api_version: Known, kind: Known, metadata: ObjectMeta, spec: ServiceSpec, status: ServiceStatus }
    ServiceSpec {
        #[serde(rename = "clusterIP")] cluster_ip: String,
        #[serde(rename = "clusterIPs")] cluster_ips: Vec<String>,
        internal_traffic_policy: String,
        ip_families: Vec<String>,
        ip_family_policy: String,
        ports: Vec<ServicePort>,
        selector: BTreeMap<String, String>,
        session_affinity: String,
        r#type: String,
    }
    ServicePort { name: String, port: u16, protocol: String, target_port: String }
    ServiceStatus { load_balancer: LoadBalancer }
    LoadBalancer {}

    EndpointSlice {
        api_version: Known,
        kind: Known,
        metadata: ObjectMeta,
        address_type: String,
        endpoints: Vec<Endpoint>,
        ports: Vec<EndpointPort>,
    }
    Endpoint {
        addresses: Vec<String>,
        conditions: EndpointConditions,
        node_name: String,
        target_ref: Option<ObjectReference>,
        zone: String,
    }
    EndpointConditions { ready: bool, serving: Option<bool>, terminating: Option<bool> }
    EndpointPort { name: String, port: u16, protocol: String }
    ObjectReference { kind: String, name: String, namespace: String }

    Gateway { api_version: Known, kind: Known, metadata: ObjectMeta, spec: GatewaySpec, status: GatewayStatus }
    GatewaySpec { gateway_class_name: String, listeners: Vec<Listener> }
    Listener { name: String, port: u16, protocol: String, allowed_routes: AllowedRoutes }
    AllowedRoutes { namespaces: RouteNamespaces }
    RouteNamespaces { from: String }
    GatewayStatus { addresses: Vec<GatewayAddress>, conditions: Vec<Condition> }
    GatewayAddress { r#type: String, value: String }

    UdpRoute { api_version: Known, kind: Known, metadata: ObjectMeta, spec: UdpRouteSpec, status: RouteStatus }
    UdpRouteSpec { parent_refs: Vec<ParentRef>, rules: Vec<Rule> }
    ParentRef { name: String, section_name: String }
    Rule { backend_refs: Vec<BackendRef> }
    BackendRef { name: String, port: u16, weight: u32 }
    RouteStatus { parents: Vec<RouteParent> }
    RouteParent { parent_ref: ParentRef, controller_name: String, conditions: Vec<Condition> }

    Condition {
        r#type: String,
        status: String,
        reason: String,
        message: String,
        observed_generation: u64,
        last_transition_time: String,
    }
    ObjectMeta {
        name: String,
        namespace: String,
        uid: String,
        resource_version: String,
        creation_timestamp: String,
        generate_name: Option<String>,
        generation: Option<u64>,
        #[serde(default)] labels: BTreeMap<String, String>,
        #[serde(default)] annotations: BTreeMap<String, String>,
        #[serde(default)] owner_references: Vec<OwnerReference>,
    }
    OwnerReference {
        api_version: String,
        block_owner_deletion: bool,
        controller: bool,
        kind: String,
        name: String,
        uid: String,
    }
}

macro_rules! versioned {
    ($($name:ident),*) => {$(
        impl Versioned for $name {
            fn version(&self) -> Option<String> {
                Some(self.metadata.resource_version.clone())
            }
        }
    )*};
}

versioned!(Service, EndpointSlice, Gateway, UdpRoute);

impl ObjectMeta {
    /// Namespace and name, and the labels.
    pub(super) fn into_parts(self) -> (super::Key, BTreeMap<String, String>) {
        let key = super::Key {
            namespace: self.namespace,
            name: self.name,
        };
        (key, self.labels)
    }
}
