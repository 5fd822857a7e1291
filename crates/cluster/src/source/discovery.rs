//! Discovery: which resource of the cluster serves a kind.

use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope, pinned_kind};
use kube::{Client, discovery};
use object::KindRef;

use super::Unavailable;
use super::schema::ListKeys;

/// A kind that the cluster serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Its group, version and resource name.
    pub resource: ApiResource,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether it has the subresource `/status`.
    pub status: bool,
    /// The merge keys of its lists, read from its schema if a sink asks for them.
    pub lists: Vec<ListKeys>,
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
    let (found, capabilities) = found.map_err(|error| unavailable(resource, &error))?;
    Ok(Resolved {
        namespaced: capabilities.scope == Scope::Namespaced,
        status: has_status(&capabilities),
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

fn discovery_missing(kind: &str) -> kube::error::DiscoveryError {
    kube::error::DiscoveryError::MissingKind(kind.to_owned())
}

fn has_status(capabilities: &ApiCapabilities) -> bool {
    let subresources = &capabilities.subresources;
    subresources
        .iter()
        .any(|(resource, _)| resource.plural == "status" || resource.plural.ends_with("/status"))
}

fn unavailable(resource: &KindRef, error: &kube::Error) -> Unavailable {
    let missing = matches!(error, kube::Error::Discovery(_))
        || matches!(error, kube::Error::Api(status) if status.code == 404);
    let kind = &resource.kind;
    let group = match resource.group.as_str() {
        "" => "the core group",
        group => group,
    };
    if missing {
        return Unavailable {
            code: "kind-missing",
            message: format!(
                "the cluster does not serve {kind} in {group}: waiting for its CustomResourceDefinition"
            ),
        };
    }
    Unavailable {
        code: "discovery-failed",
        message: format!("discovery of {kind} in {group} failed: {error}"),
    }
}
