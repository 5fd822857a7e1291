//! Installs the `CustomResourceDefinition` of Operators on a cluster, and removes it.
//!
//! Removing the definition deletes all Operators, but never the objects that they derived. So
//! [`uninstall`] is refused while an Operator has `deletionPolicy: Delete`. There are two ways on:
//! delete that Operator first, while deltic runs and can delete its objects, or change its policy
//! to `Orphan`, which [`uninstall`] does with `orphan`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use cluster::connect::describe;
use cluster::object::{Object, pages};
use document::{Value, json};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};
use object::abridged;
use object::marks::FINALIZER;
use operators::crd;
use tokio::time::{Instant, sleep, timeout};

/// The field manager of the definition.
pub const MANAGER: &str = "deltic";
/// How long to wait until the cluster serves or removes the definition.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// How often a definition that is being deleted is looked at.
const POLL: Duration = Duration::from_secs(1);
/// The maximum length of the names of Operators in a message, in bytes.
const MAX_NAMES: usize = 1024;
/// How many Operators one page of a list holds.
const PAGE: u32 = 500;

/// Why the definition could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Another field manager owns fields of the definition.
    #[error("another manager owns fields of the definition: {0}")]
    Conflict(String),
    /// A permission is missing.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// The cluster took too long.
    #[error("the cluster did not {0} within a minute")]
    Late(&'static str),
    /// The installed definition is being deleted, and is not gone in time.
    #[error("the installed definition is being deleted, and is not gone after a minute: {0}")]
    Terminating(Holds),
    /// These Operators have `deletionPolicy: Delete`.
    #[error("the deletionPolicy of {} is Delete", .0.join(", "))]
    Deletes(Vec<String>),
    /// It cannot be found out which Operators exist.
    #[error("it is not known which Operators exist: {0}")]
    Unknown(String),
    /// A request failed.
    #[error("a request to the cluster failed: {}", describe(.0))]
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

/// What holds a definition that is being deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// The Operators that still exist, with their finalizers, as far as that is known. The server
    /// removes them before it removes the definition.
    pub operators: BTreeMap<String, Vec<String>>,
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.finalizers.as_slice() {
            [] => f.write_str("it has no finalizers any more")?,
            finalizers => write!(f, "it waits for its finalizers: {}", finalizers.join(", "))?,
        }
        if self.operators.is_empty() {
            return Ok(());
        }
        let operators: Vec<String> = self.operators.iter().map(described).collect();
        let operators = abridged(&operators.join(", "), MAX_NAMES);
        write!(f, "; these Operators are left: {operators}")
    }
}

/// For example `a (example.com/x)`.
fn described((name, finalizers): (&String, &Vec<String>)) -> String {
    if finalizers.is_empty() {
        return name.clone();
    }
    format!("{name} ({})", finalizers.join(", "))
}

/// What [`install`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The definition was created.
    Created,
    /// The definition existed and was changed.
    Changed,
    /// The definition existed and was up to date.
    Unchanged,
}

/// Applies the definition and waits until it is served. With `force` it takes over fields that
/// another manager owns.
///
/// A definition that is being deleted would be gone soon, whatever is applied to it. So the new one is
/// created when that is gone; `waits` is called before the wait.
pub async fn install(
    client: &Client,
    force: bool,
    mut waits: impl FnMut(),
) -> Result<Installed, InstallError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let deadline = Instant::now() + PATIENCE;
    let mut before = api.get_opt(crd::NAME).await?;
    loop {
        if let Some(old) = before.take_if(|before| is_leaving(before)) {
            waits();
            gone(client, &api, old, deadline).await?;
        }
        let applied = apply(&api, force).await?;
        if !is_leaving(&applied) {
            return served(api, before, &applied).await;
        }
        // It was deleted in between.
        before = Some(applied);
    }
}

async fn apply(
    api: &Api<CustomResourceDefinition>,
    force: bool,
) -> Result<CustomResourceDefinition, InstallError> {
    let mut params = PatchParams::apply(MANAGER);
    params.force = force;
    let definition = Patch::Apply(crd::definition());
    Ok(api.patch(crd::NAME, &params, &definition).await?)
}

/// Waits until the applied definition is served; `before` is the one that it was applied to.
async fn served(
    api: Api<CustomResourceDefinition>,
    before: Option<CustomResourceDefinition>,
    applied: &CustomResourceDefinition,
) -> Result<Installed, InstallError> {
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

fn is_leaving(definition: &CustomResourceDefinition) -> bool {
    definition.metadata.deletion_timestamp.is_some()
}

/// Waits until a definition that is being deleted is gone, or fails at the deadline.
async fn gone(
    client: &Client,
    api: &Api<CustomResourceDefinition>,
    old: CustomResourceDefinition,
    deadline: Instant,
) -> Result<(), InstallError> {
    let uid = old.uid();
    let mut left = Some(old);
    while let Some(old) = left.filter(|left| left.uid() == uid) {
        if Instant::now() >= deadline {
            return Err(InstallError::Terminating(holds(client, &old).await));
        }
        sleep(POLL).await;
        left = api.get_opt(crd::NAME).await?;
    }
    Ok(())
}

async fn holds(client: &Client, definition: &CustomResourceDefinition) -> Holds {
    // This only explains the finalizers, so that a failure does not matter.
    let operators = operators(client).await.unwrap_or_default();
    let named = |operator: &Object| (operator.name_any(), operator.finalizers().to_vec());
    Holds {
        finalizers: definition.finalizers().to_vec(),
        operators: operators.iter().map(named).collect(),
    }
}

/// An installed definition and its Operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uninstall {
    /// The uid of the definition.
    uid: String,
    /// The Operators whose derived objects stay when they are deleted.
    pub orphaning: Vec<String>,
    /// The Operators whose derived objects are deleted with them.
    pub deleting: Vec<String>,
}

/// Reads the installed definition and its Operators; `None` if it is not installed.
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
        let ours = operator.finalizers().iter().any(|f| f == FINALIZER);
        // If the policy was changed while deltic did not run, the finalizer is still there.
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
    match pages(&api, ListParams::default().limit(PAGE)).await {
        // A definition that is not served yet has no Operators.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        all => Ok(all?),
    }
}

/// Removes the definition and with it all Operators, and waits until it is gone.
///
/// This is refused while an Operator has `deletionPolicy: Delete`. With `orphan` the policy of
/// these Operators is set to `Orphan` first.
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

/// Makes an Operator keep its derived objects when it is deleted. The policy is changed first, for
/// a deltic that runs; then the finalizer is removed, in case none runs.
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
            // A running deltic wrote the Operator in between: try again.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                operator = api.get_opt(name).await?;
            }
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            patched => return patched.map(drop).map_err(InstallError::from),
        }
    }
    Err(InstallError::Late("release an Operator"))
}

/// How many times a write is tried that conflicts with others.
const ATTEMPTS: usize = 5;

/// The patch that removes our finalizer from an Operator; `None` if it has none.
fn without_finalizer(operator: &Object) -> Option<Value> {
    let finalizers = operator.finalizers();
    let ours = |finalizer: &&String| *finalizer == FINALIZER;
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
