//! The workloads: which kinds come in, and the pipeline that is run on them.
//!
//! The pipelines are documents of the pipeline language, for an engine that reads it; the
//! peers that are programs do the same by hand.

use document::{Value, json};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Workload {
    /// Service × `EndpointSlice` on two `@eq`, then `@project`.
    W1,
    /// Gateway × `UDPRoute`: equal namespaces, and `@in` over `@map` of parentRefs.
    W2,
    /// `@unwind` of 8 endpoints, `@project`, `@gather` by service.
    W3,
    /// As W1, but the output holds both objects whole: all fields are kept.
    Whole,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 4] = [Self::W1, Self::W2, Self::W3, Self::Whole];

    /// The name on the command line and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::W1 => "w1",
            Self::W2 => "w2",
            Self::W3 => "w3",
            Self::Whole => "whole",
        }
    }

    /// The workload of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|w| w.name() == name)
    }

    /// The sources, as (apiVersion, kind), in the order of `Object::source`.
    pub fn sources(self) -> &'static [(&'static str, &'static str)] {
        const SERVICE: (&str, &str) = ("v1", "Service");
        const SLICE: (&str, &str) = ("discovery.k8s.io/v1", "EndpointSlice");
        const GATEWAY: (&str, &str) = ("gateway.networking.k8s.io/v1", "Gateway");
        const ROUTE: (&str, &str) = ("gateway.networking.k8s.io/v1alpha2", "UDPRoute");
        match self {
            Self::W1 | Self::Whole => &[SERVICE, SLICE],
            Self::W2 => &[GATEWAY, ROUTE],
            Self::W3 => &[SLICE],
        }
    }

    /// The pipeline: a list of stages.
    pub fn pipeline(self) -> Value {
        match self {
            Self::W1 => json!([{"@join": (service_with_slice())}, {"@project": {
                "metadata": {
                    "name": "$.EndpointSlice.metadata.name",
                    "namespace": "$.EndpointSlice.metadata.namespace"
                },
                "service": "$.Service.metadata.name",
                "clusterIP": "$.Service.spec.clusterIP",
                "ports": "$.Service.spec.ports",
                "addresses": {"@map": ["$$.addresses[0]", "$.EndpointSlice.endpoints"]}
            }}]),
            Self::W2 => json!([{"@join": {"@and": [
                {"@eq": ["$.Gateway.metadata.namespace", "$.UDPRoute.metadata.namespace"]},
                {"@in": [
                    "$.Gateway.metadata.name",
                    {"@map": ["$$.name", "$.UDPRoute.spec.parentRefs"]}
                ]}
            ]}}, {"@project": {
                "metadata": {
                    "name": {"@concat": [
                        "$.UDPRoute.metadata.name", "-", "$.Gateway.metadata.name"
                    ]},
                    "namespace": "$.Gateway.metadata.namespace"
                },
                "gateway": "$.Gateway.metadata.name",
                "class": "$.Gateway.spec.gatewayClassName",
                "listeners": "$.Gateway.spec.listeners",
                "route": "$.UDPRoute.metadata.name",
                "rules": "$.UDPRoute.spec.rules"
            }}]),
            Self::W3 => json!([{"@unwind": "$.endpoints"}, {"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "service": "$.metadata.labels['kubernetes.io/service-name']",
                "endpoint": {
                    "address": "$.endpoints.addresses[0]",
                    "node": "$.endpoints.nodeName",
                    "ready": "$.endpoints.conditions.ready"
                }
            }}, {"@gather": ["$.service", "$.endpoint"]}]),
            Self::Whole => json!([{"@join": (service_with_slice())}, {"@project": {
                "metadata": {
                    "name": "$.EndpointSlice.metadata.name",
                    "namespace": "$.EndpointSlice.metadata.namespace"
                },
                "service": "$.Service",
                "slice": "$.EndpointSlice"
            }}]),
        }
    }
}

/// A slice belongs to the service that its label names, in its namespace.
fn service_with_slice() -> Value {
    json!({"@and": [
        {"@eq": ["$.Service.metadata.namespace", "$.EndpointSlice.metadata.namespace"]},
        {"@eq": [
            "$.Service.metadata.name",
            "$.EndpointSlice.metadata.labels['kubernetes.io/service-name']"
        ]}
    ]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipeline_joins_first_where_it_has_two_sources() {
        for workload in Workload::ALL {
            let first = workload.pipeline().at(0).clone();
            assert_eq!(
                first.get("@join").is_null(),
                workload.sources().len() == 1,
                "{workload:?}"
            );
            assert_eq!(Workload::by_name(workload.name()), Some(workload));
        }
    }
}
