//! Discovery: which resource of the cluster serves a kind.

use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope, pinned_kind, verbs};
use kube::error::DiscoveryError;
use kube::{Client, discovery};
use object::KindRef;

use super::schema::ListKeys;
use super::{KIND_GONE, KIND_MISSING, Unavailable};
use crate::connect::describe;

/// A kind that the cluster serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Its group, version and resource name.
    pub resource: ApiResource,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether it has the subresource `/status`.
    pub status: bool,
    /// The verbs among `list` and `watch` that it does not have.
    pub lacks: Vec<&'static str>,
    /// The merge keys of its lists, read from its schema if a sink asks for them.
    pub lists: Vec<ListKeys>,
}

impl Resolved {
    /// Why its objects cannot be read, if the server does not list or watch them, as with a `Binding`.
    pub(super) fn unreadable(&self) -> Option<Unavailable> {
        let cannot = match self.lacks.as_slice() {
            [] => return None,
            [verbs::LIST] => "cannot be listed",
            [verbs::WATCH] => "cannot be watched",
            _ => "can be neither listed nor watched",
        };
        let kind = &self.resource.kind;
        Some(Unavailable {
            code: "unavailable",
            message: format!("the cluster serves {kind}, but it {cannot}"),
        })
    }
}

/// Finds a kind on the cluster. Without a version it takes the version that the server prefers
/// among those that serve the kind.
pub async fn resolve(client: &Client, resource: &KindRef) -> Result<Resolved, Unavailable> {
    let found = match &resource.version {
        Some(version) => {
            let kind = GroupVersionKind::gvk(&resource.group, version, &resource.kind);
            pinned_kind(client, &kind).await
        }
        None => preferred(client, resource).await,
    };
    let (found, capabilities) = match found {
        Ok(found) => found,
        Err(error) => return Err(missing(client, resource, &error).await),
    };
    Ok(Resolved {
        namespaced: capabilities.scope == Scope::Namespaced,
        status: has_status(&capabilities),
        lacks: lacks(&capabilities),
        resource: found,
        lists: Vec::new(),
    })
}

async fn preferred(
    client: &Client,
    resource: &KindRef,
) -> Result<(ApiResource, ApiCapabilities), kube::Error> {
    let group = discovery::group(client, &resource.group).await?;
    if let Some(found) = group.recommended_kind(&resource.kind) {
        return Ok(found);
    }
    let all = group.resources_by_stability();
    let found = all
        .into_iter()
        .find(|(found, _)| found.kind == resource.kind);
    found.ok_or_else(|| {
        let missing = discovery_missing(&resource.kind);
        kube::Error::Discovery(missing)
    })
}

fn discovery_missing(kind: &str) -> DiscoveryError {
    DiscoveryError::MissingKind(kind.to_owned())
}

fn has_status(capabilities: &ApiCapabilities) -> bool {
    let subresources = &capabilities.subresources;
    subresources
        .iter()
        .any(|(resource, _)| resource.plural == "status" || resource.plural.ends_with("/status"))
}

fn lacks(capabilities: &ApiCapabilities) -> Vec<&'static str> {
    let needed = [verbs::LIST, verbs::WATCH].into_iter();
    let missing = needed.filter(|verb| !capabilities.supports_operation(verb));
    missing.collect()
}

/// Why a kind is unavailable. Whether the cluster does not serve it in any version is found out
/// here: only then it has no objects.
async fn missing(client: &Client, resource: &KindRef, error: &kube::Error) -> Unavailable {
    if !is_not_found(error) {
        return failed(resource, error);
    }
    let mut kinds = Vec::new();
    let absent = match discovery::group(client, &resource.group).await {
        Err(kube::Error::Discovery(DiscoveryError::MissingApiGroup(group))) => {
            lacks_group(client, &group).await
        }
        Ok(group) => {
            let all = group.resources_by_stability().into_iter();
            kinds = all.map(|(found, _)| found.kind).collect();
            !kinds.contains(&resource.kind)
        }
        Err(_) => false,
    };
    Unavailable {
        code: if absent { KIND_GONE } else { KIND_MISSING },
        message: not_served(resource, &kinds),
    }
}

/// The message about a kind that is not served, given those that the group has.
fn not_served(resource: &KindRef, kinds: &[String]) -> String {
    let KindRef { group, kind, .. } = resource;
    let place = match group.as_str() {
        "" => "the core group",
        group => group,
    };
    let others = kinds.iter().map(String::as_str);
    let meant = document::nearest(kind, others.filter(|other| other != kind));
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    // Groups without a dot are part of Kubernetes.
    let waits = match group.contains('.') {
        true if meant.is_empty() => ": waiting for its CustomResourceDefinition",
        true => " It is waiting for its CustomResourceDefinition",
        false => "",
    };
    format!("the cluster does not serve {kind} in {place}{meant}{waits}")
}

/// Whether a server that has started completely has no such group. Before that it answers 503,
/// while its list of groups is not complete yet.
async fn lacks_group(client: &Client, group: &str) -> bool {
    let request = http::Request::get(format!("/apis/{group}"));
    let Ok(request) = request.body(Vec::new()) else {
        return false;
    };
    let answer = client.request_text(request).await;
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 404)
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Discovery(_))
        || matches!(error, kube::Error::Api(status) if status.code == 404)
}

fn failed(resource: &KindRef, error: &kube::Error) -> Unavailable {
    let kind = &resource.kind;
    let group = match resource.group.as_str() {
        "" => "the core group",
        group => group,
    };
    Unavailable {
        code: "discovery-failed",
        message: format!("discovery of {kind} in {group} failed: {}", describe(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_served_has_a_similar_name_or_waits_for_its_definition() {
        let kinds = ["Pod", "Service"].map(str::to_owned);
        let check = |group: &str, kind: &str, expect: &str| {
            let resource = KindRef {
                group: group.to_owned(),
                version: None,
                kind: kind.to_owned(),
            };
            let message = not_served(&resource, &kinds);
            assert_eq!(message, format!("the cluster does not serve {expect}"));
        };
        let core = "Services in the core group; did you mean Service?";
        check("", "Services", core);
        check("", "Widget", "Widget in the core group");
        check("apps", "Widget", "Widget in apps");
        let waits = "Widget in example.com: waiting for its CustomResourceDefinition";
        check("example.com", "Widget", waits);
        let waits =
            "Pods in example.com; did you mean Pod? It is waiting for its CustomResourceDefinition";
        check("example.com", "Pods", waits);
        // Another version of it is served.
        check("", "Pod", "Pod in the core group");
    }

    #[test]
    fn a_kind_must_be_listed_and_watched() {
        let check = |operations: &[&str], expect: Option<&str>| {
            let kind = GroupVersionKind::gvk("", "v1", "Binding");
            let found = Resolved {
                resource: ApiResource::from_gvk(&kind),
                namespaced: true,
                status: false,
                lacks: lacks(&ApiCapabilities {
                    scope: Scope::Namespaced,
                    subresources: Vec::new(),
                    operations: operations.iter().map(|&verb| verb.to_owned()).collect(),
                }),
                lists: Vec::new(),
            };
            let message = found.unreadable().map(|why| why.message);
            let expect = expect.map(|why| format!("the cluster serves Binding, but it {why}"));
            assert_eq!(message, expect);
        };
        check(&["create", "list", "watch"], None);
        check(&["create", "watch"], Some("cannot be listed"));
        check(&["get", "list"], Some("cannot be watched"));
        check(&["create"], Some("can be neither listed nor watched"));
    }
}
