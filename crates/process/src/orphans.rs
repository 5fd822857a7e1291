//! Finds and deletes orphans: objects that an Operator derived which no longer exists, or which
//! was deleted and created again.
//!
//! ```text
//! claim on the object          Operators of the cluster    orphan
//! shop, uid f3a1               shop, uid f3a1              no
//! shop, uid f3a1               shop, uid 07c2              yes
//! shop, uid f3a1               none with this name         yes
//! shop, uid instance:default   any                         no: files of a process
//! ```

use std::collections::BTreeMap;

use cluster::connect::describe;
use cluster::object::{Object, pages};
use cluster::source::discovery;
use kube::api::{Api, DeleteParams, ListParams, Preconditions};
use kube::discovery::{ApiCapabilities, ApiResource, Scope, verbs};
use kube::{Client, ResourceExt};
use object::marks::OPERATOR;
use object::{KindRef, ObjectKey, OperatorId, Ownership, instance_of};
use operators::crd;
use target::claim::Claim;

use crate::install::InstallError;

/// An object that no Operator owns any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Orphan {
    /// The object.
    pub key: ObjectKey,
    /// The claim on it.
    pub claim: Claim,
    /// Whether another Operator with the name in the claim exists by now.
    pub replaced: bool,
    /// Its kind.
    resource: ApiResource,
    namespaced: bool,
}

/// The orphans of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The orphans, in order.
    pub orphans: Vec<Orphan>,
    /// The kinds that could not be listed, each with the reason.
    pub unlisted: Vec<(String, String)>,
}

/// The outcome of [`delete`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It was deleted, or will be when its finalizers are gone.
    Deleted,
    /// It did not exist any more.
    Gone,
    /// It is no orphan any more, so it was left alone.
    Owned,
}

/// The uids of all Operators, by name.
type Uids = BTreeMap<String, String>;

/// How many objects one page of a list has.
const PAGE: u32 = 500;
/// How many times a deletion is tried that conflicts with others.
const ATTEMPTS: usize = 5;

/// Finds the orphans of a cluster, or those of one Operator.
pub async fn find(client: &Client, operator: Option<&str>) -> Result<Found, InstallError> {
    let uids = operators(client).await?;
    let mut found = Found::default();
    for (resource, namespaced) in listable(client, &mut found.unlisted).await? {
        let api: Api<Object> = Api::all_with(client.clone(), &resource);
        let params = ListParams::default().labels(OPERATOR).limit(PAGE);
        let objects = match pages(&api, params).await {
            Ok(objects) => objects,
            Err(error) => {
                let kind = kind_name(&resource.group, &resource.kind);
                found.unlisted.push((kind, describe(&error)));
                continue;
            }
        };
        let orphans = objects
            .iter()
            .filter_map(|object| orphan(object, &resource, namespaced, &uids))
            .filter(|orphan| operator.is_none_or(|name| name == orphan.claim.operator));
        found.orphans.extend(orphans);
    }
    found.orphans.sort_by(|a, b| a.key.cmp(&b.key));
    found.unlisted.sort();
    Ok(found)
}

/// Deletes an orphan that was created by its Operator. It is read again first, and deleted only
/// if it still is the same object in the same state.
pub async fn delete(client: &Client, orphan: &Orphan) -> Result<Deleted, InstallError> {
    let (name, namespace) = (orphan.key.object_name(), orphan.key.namespace());
    let api: Api<Object> = if orphan.namespaced {
        Api::namespaced_with(client.clone(), namespace, &orphan.resource)
    } else {
        Api::all_with(client.clone(), &orphan.resource)
    };
    let mut conflict = None;
    for _ in 0..ATTEMPTS {
        let uids = operators(client).await?;
        let Some(object) = api.get_opt(name).await? else {
            return Ok(Deleted::Gone);
        };
        let still = self::orphan(&object, &orphan.resource, orphan.namespaced, &uids);
        if still.is_none_or(|still| !still.claim.created) {
            return Ok(Deleted::Owned);
        }
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object.uid(),
                resource_version: object.resource_version(),
            }),
            ..DeleteParams::background()
        };
        match api.delete(name, &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Deleted::Gone),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                conflict = Some(status.message.clone());
            }
            deleted => return Ok(deleted.map(|_| Deleted::Deleted)?),
        }
    }
    Err(InstallError::Conflict(conflict.unwrap_or_default()))
}

/// The orphan, if the object is one.
fn orphan(
    object: &Object,
    resource: &ApiResource,
    namespaced: bool,
    uids: &Uids,
) -> Option<Orphan> {
    let value = object.value();
    let key = ObjectKey::of_kind(&resource.group, &resource.kind, &value)?;
    let claim = Claim::read(&value, &key)?;
    if claim.uid.as_deref().and_then(instance_of).is_some() {
        return None;
    }
    let uid = uids.get(&claim.operator);
    let owned = uid
        .is_some_and(|uid| claim.owner(&OperatorId::new(&claim.operator, uid)) == Ownership::Own);
    (!owned).then(|| Orphan {
        key,
        claim,
        replaced: uid.is_some(),
        resource: resource.clone(),
        namespaced,
    })
}

/// The uids of all Operators. A cluster without their definition has none.
async fn operators(client: &Client) -> Result<Uids, InstallError> {
    let kind = KindRef {
        group: crd::GROUP.to_owned(),
        version: None,
        kind: "Operator".to_owned(),
    };
    if let Err(why) = discovery::resolve(client, &kind).await {
        if why.is_kind_gone() {
            return Ok(Uids::new());
        }
        return Err(InstallError::Unknown(why.message));
    }
    let api: Api<Object> = Api::all_with(client.clone(), &crd::resource());
    let operators = pages(&api, ListParams::default().limit(PAGE)).await?;
    let uids = operators
        .iter()
        .map(|operator| (operator.name_any(), operator.uid().unwrap_or_default()));
    Ok(uids.collect())
}

/// The kinds that can be listed and deleted, and whether they are namespaced. Groups that cannot
/// be discovered are added to `unlisted`.
async fn listable(
    client: &Client,
    unlisted: &mut Vec<(String, String)>,
) -> Result<Vec<(ApiResource, bool)>, InstallError> {
    let groups = client.list_api_groups().await?.groups;
    let names = groups.into_iter().map(|group| group.name);
    let mut kinds = Vec::new();
    for name in std::iter::once(String::new()).chain(names) {
        let group = match kube::discovery::group(client, &name).await {
            Ok(group) => group,
            Err(error) => {
                unlisted.push((kind_name(&name, "*"), describe(&error)));
                continue;
            }
        };
        let usable = |(resource, capabilities): (ApiResource, ApiCapabilities)| {
            let usable = capabilities.supports_operation(verbs::LIST)
                && capabilities.supports_operation(verbs::DELETE);
            usable.then(|| (resource, capabilities.scope == Scope::Namespaced))
        };
        kinds.extend(group.recommended_resources().into_iter().filter_map(usable));
    }
    Ok(kinds)
}

fn kind_name(group: &str, kind: &str) -> String {
    match group {
        "" => kind.to_owned(),
        group => format!("{group}/{kind}"),
    }
}
