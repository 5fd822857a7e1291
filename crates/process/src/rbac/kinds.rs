//! The resource of a kind: its plural, its scope and whether it has a status.

use std::collections::BTreeMap;

use cluster::source::{Unavailable, discovery};
use kube::Client;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use object::KindRef;
use operator::Operator;

/// The facts about a kind that a permission depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name of its resource: lower case, plural.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether it has the subresource `/status`.
    pub status: bool,
}

/// A source of facts about kinds.
pub trait Kinds {
    /// The facts about a kind.
    fn kind(&self, resource: &KindRef) -> Kind;
}

/// Facts without a cluster: the built-in kinds are known. Other kinds are assumed to have the
/// usual plural, to be namespaced and to have a status.
#[derive(Clone, Copy, Debug, Default)]
pub struct WellKnown;

impl Kinds for WellKnown {
    fn kind(&self, resource: &KindRef) -> Kind {
        let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
        let version = resource.version.as_deref().unwrap_or("v1");
        let usual = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Kind {
            plural: usual.plural,
            namespaced: !is_in(&CLUSTER_SCOPED, group, kind),
            status: !is_in(&WITHOUT_STATUS, group, kind),
        }
    }
}

type Table<'a> = [(&'a str, &'a [&'a str])];

fn is_in(table: &Table<'_>, group: &str, kind: &str) -> bool {
    table
        .iter()
        .any(|(of, kinds)| *of == group && kinds.contains(&kind))
}

/// The cluster-scoped kinds.
const CLUSTER_SCOPED: [(&str, &[&str]); 16] = [
    ("", &["Namespace", "Node", "PersistentVolume"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("certificates.k8s.io", &["CertificateSigningRequest"]),
    ("cert-manager.io", &["ClusterIssuer"]),
    ("dcontroller.io", &["Operator"]),
    (
        "flowcontrol.apiserver.k8s.io",
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    ("gateway.networking.k8s.io", &["GatewayClass"]),
    ("metrics.k8s.io", &["NodeMetrics"]),
    (
        "networking.k8s.io",
        &["IngressClass", "IPAddress", "ServiceCIDR"],
    ),
    ("node.k8s.io", &["RuntimeClass"]),
    (
        "rbac.authorization.k8s.io",
        &["ClusterRole", "ClusterRoleBinding"],
    ),
    ("resource.k8s.io", &["DeviceClass", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &[
            "CSIDriver",
            "CSINode",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
];

/// The kinds without `/status`.
const WITHOUT_STATUS: [(&str, &[&str]); 13] = [
    (
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PodTemplate",
            "Secret",
            "ServiceAccount",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apps", &["ControllerRevision"]),
    ("coordination.k8s.io", &["Lease"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("events.k8s.io", &["Event"]),
    ("metrics.k8s.io", &["NodeMetrics", "PodMetrics"]),
    (
        "networking.k8s.io",
        &["IngressClass", "IPAddress", "NetworkPolicy"],
    ),
    ("node.k8s.io", &["RuntimeClass"]),
    (
        "rbac.authorization.k8s.io",
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    ),
    (
        "resource.k8s.io",
        &["DeviceClass", "ResourceClaimTemplate", "ResourceSlice"],
    ),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &[
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttributesClass",
        ],
    ),
];

/// The facts that a cluster gives about the kinds of some Operators. Kinds that it does not serve
/// are looked up in [`WellKnown`].
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    found: BTreeMap<KindRef, Kind>,
}

impl Kinds for Discovered {
    fn kind(&self, resource: &KindRef) -> Kind {
        let found = self.found.get(resource).cloned();
        found.unwrap_or_else(|| WellKnown.kind(resource))
    }
}

impl Discovered {
    /// Looks up all kinds of some Operators on a cluster. Also returns the kinds that failed.
    pub async fn ask(client: &Client, operators: &[Operator]) -> (Self, Vec<Unavailable>) {
        let mut discovered = Self::default();
        let mut unknown = Vec::new();
        for resource in resources(operators) {
            match discovery::resolve(client, resource).await {
                Ok(found) => {
                    let kind = Kind {
                        plural: found.resource.plural,
                        namespaced: found.namespaced,
                        status: found.status,
                    };
                    discovered.found.insert(resource.clone(), kind);
                }
                Err(why) => unknown.push(why),
            }
        }
        (discovered, unknown)
    }
}

/// All kinds except views, each once.
fn resources(operators: &[Operator]) -> Vec<&KindRef> {
    let controllers = operators.iter().flat_map(|operator| &operator.controllers);
    let mut all: Vec<&KindRef> = controllers
        .flat_map(|controller| {
            let sources = controller.sources.iter().map(|source| &source.resource);
            sources.chain(controller.targets.iter().map(|target| &target.resource))
        })
        .filter(|resource| !resource.is_view())
        .collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(group: &str, kind: &str, expect: (&str, bool, bool)) {
        let resource = KindRef {
            group: group.to_owned(),
            version: None,
            kind: kind.to_owned(),
        };
        let kind = WellKnown.kind(&resource);
        let found = (kind.plural.as_str(), kind.namespaced, kind.status);
        assert_eq!(found, expect);
    }

    #[test]
    fn kinds_have_their_plural_scope_and_status() {
        check("", "Pod", ("pods", true, true));
        check("", "ConfigMap", ("configmaps", true, false));
        check("", "Endpoints", ("endpoints", true, false));
        check("", "Namespace", ("namespaces", false, true));
        check(
            "networking.k8s.io",
            "NetworkPolicy",
            ("networkpolicies", true, false),
        );
        check("networking.k8s.io", "Ingress", ("ingresses", true, true));
        check(
            "gateway.networking.k8s.io",
            "Gateway",
            ("gateways", true, true),
        );
        check(
            "storage.k8s.io",
            "StorageClass",
            ("storageclasses", false, false),
        );
        check("example.com", "Widget", ("widgets", true, true));
        // The same name in another group is a different kind.
        check("example.com", "Secret", ("secrets", true, true));
    }
}
