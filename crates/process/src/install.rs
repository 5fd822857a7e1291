//! Putting deltic's own things on a cluster, and taking them off again.
//!
//! The one thing is the Operator definition. Taking it off deletes all Operators, and
//! never what they derived: an Operator whose `deletionPolicy` is `Delete` stands in the
//! way until it is deleted itself (while deltic runs, which then deletes what it
//! derived), or made to leave its objects behind.

use std::time::Duration;

use cluster::object::Object;
use document::{Value, json};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};
use operators::crd;
use tokio::time::timeout;

/// The field manager of what is installed.
pub const MANAGER: &str = "deltic";
/// How long the cluster may take for what it was asked.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// How many Operators are listed at once.
const PAGE: u32 = 500;

/// Why something could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Someone else owns fields of the definition.
    #[error("the definition is managed by someone else: {0}")]
    Conflict(String),
    /// A right is missing.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// The cluster took too long.
    #[error("the cluster did not {0} within a minute")]
    Late(&'static str),
    /// Operators would delete what they derived.
    #[error("the deletionPolicy of {} is Delete", .0.join(", "))]
    Deletes(Vec<String>),
    /// The cluster says no, or nothing.
    #[error("{0}")]
    Api(#[source] Box<kube::Error>),
}

impl From<kube::Error> for InstallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 409 => Self::Conflict(status.message),
            kube::Error::Api(status) if status.code == 403 => Self::Forbidden(status.message),
            error => Self::Api(Box::new(error)),
        }
    }
}

/// What became of the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It was not there.
    Created,
    /// It was there, and is another now.
    Changed,
    /// It was there as it is.
    Unchanged,
}

/// Applies the definition and waits until it is served. With `force` fields that another
/// manager owns are taken over.
pub async fn install(client: &Client, force: bool) -> Result<Installed, InstallError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let before = api.get_opt(crd::NAME).await?;
    let mut params = PatchParams::apply(MANAGER);
    params.force = force;
    let definition = Patch::Apply(crd::definition());
    let applied = api.patch(crd::NAME, &params, &definition).await?;
    let served = await_condition(api, crd::NAME, conditions::is_crd_established());
    match timeout(PATIENCE, served).await {
        Ok(Ok(_)) => {}
        Ok(Err(_)) | Err(_) => return Err(InstallError::Late("serve the definition")),
    }
    Ok(match before {
        None => Installed::Created,
        Some(before) if before.metadata.generation == applied.metadata.generation => {
            Installed::Unchanged
        }
        Some(_) => Installed::Changed,
    })
}

/// What is there to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uninstall {
    /// The identity of the definition.
    uid: String,
    /// The Operators whose objects stay behind.
    pub orphaning: Vec<String>,
    /// The Operators that delete what they derived.
    pub deleting: Vec<String>,
}

/// Looks at what is there; `None` if nothing is installed.
pub async fn look(client: &Client) -> Result<Option<Uninstall>, InstallError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let Some(definition) = api.get_opt(crd::NAME).await? else {
        return Ok(None);
    };
    let mut found = Uninstall {
        uid: definition.uid().unwrap_or_default(),
        orphaning: Vec::new(),
        deleting: Vec::new(),
    };
    for operator in operators(client).await? {
        let name = operator.name_any();
        let policy = operator.value().get("spec").get("deletionPolicy").clone();
        let ours = operator.finalizers().iter().any(|f| f == crd::FINALIZER);
        // One whose policy was changed while deltic was away still has its finalizer.
        if policy.as_str() == Some("Delete") || ours {
            found.deleting.push(name);
        } else {
            found.orphaning.push(name);
        }
    }
    Ok(Some(found))
}

async fn operators(client: &Client) -> Result<Vec<Object>, InstallError> {
    let api: Api<Object> = Api::all_with(client.clone(), &crd::resource());
    let mut params = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page = match api.list(&params).await {
            // A definition that is not served yet has no Operators.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(all),
            page => page?,
        };
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}

/// Removes the definition, and with it all Operators, and waits until it is gone.
///
/// Refused while an Operator deletes what it derived, unless `orphan` says that these,
/// too, leave their objects behind: their policy becomes `Orphan` first.
pub async fn uninstall(
    client: &Client,
    found: &Uninstall,
    orphan: bool,
) -> Result<(), InstallError> {
    if !found.deleting.is_empty() && !orphan {
        return Err(InstallError::Deletes(found.deleting.clone()));
    }
    for name in &found.deleting {
        leave_behind(client, name).await?;
    }
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(found.uid.clone()),
            resource_version: None,
        }),
        ..DeleteParams::background()
    };
    match api.delete(crd::NAME, &params).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        deleted => drop(deleted?),
    }
    let gone = await_condition(api, crd::NAME, conditions::is_deleted(&found.uid));
    match timeout(PATIENCE, gone).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(InstallError::Late("remove the definition")),
    }
}

/// Makes an Operator leave its objects behind: first its policy, which a deltic that runs
/// reads, then the finalizer, which would wait for one.
async fn leave_behind(client: &Client, name: &str) -> Result<(), InstallError> {
    let api: Api<Object> = Api::all_with(client.clone(), &crd::resource());
    let orphan = Patch::Merge(json!({"spec": {"deletionPolicy": "Orphan"}}));
    let operator = match api.patch(name, &params(), &orphan).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        operator => operator?,
    };
    let mut operator = Some(operator);
    for _ in 0..ATTEMPTS {
        let Some(without) = operator.as_ref().and_then(without_finalizer) else {
            return Ok(());
        };
        match api.patch(name, &params(), &Patch::Merge(without)).await {
            // deltic runs, and was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                operator = api.get_opt(name).await?;
            }
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            patched => return patched.map(drop).map_err(InstallError::from),
        }
    }
    Err(InstallError::Late("let an Operator go"))
}

/// How often a write is tried that others are faster than.
const ATTEMPTS: usize = 5;

/// The patch that takes our finalizer off an Operator, if it has it.
fn without_finalizer(operator: &Object) -> Option<Value> {
    let finalizers = operator.finalizers();
    let ours = |finalizer: &&String| *finalizer == crd::FINALIZER;
    finalizers.iter().find(ours)?;
    let others: Value = finalizers
        .iter()
        .filter(|finalizer| !ours(finalizer))
        .map(|finalizer| Value::from(finalizer.as_str()))
        .collect();
    let version = operator.resource_version().unwrap_or_default();
    Some(json!({"metadata": {"finalizers": others, "resourceVersion": version}}))
}

fn params() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

#[cfg(test)]
mod tests;
