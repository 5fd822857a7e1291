//! Invariants that are checked for every request of a fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use document::Value;
use http::Method;
use object::ObjectKey;
use object::marks::{OWNER, SET};
use target::claim::Claim;
use tokio::time::Instant;

use super::member::LIMITED;
use super::world::{ENCODED_TOKEN, World, names};
use crate::api::policy::TOKEN;
use crate::api::store::Store;
use crate::api::{ApiRequest, Caller, Guard, Inspector, ProcessedWrite};
use crate::fields::{at, text};
use crate::guard::{Useless, deletion, manager, repeated};

/// The name of the Lease, in the namespace `default`.
pub(super) const LEASE: &str = "deltic";
/// How long a process may write after its last renewal of the lease: `Settings::deadline`.
const LEASE_DEADLINE: Duration = Duration::from_secs(10);
/// The maximum number of requests of one process in one minute.
const MAX_PER_MINUTE: u64 = 2_000;

/// Checks every write of a fleet after it was processed.
pub(super) fn guard(world: &World) -> Guard {
    let operators = names(world.fleet);
    let bystanders: BTreeSet<ObjectKey> = world.bystanders.keys().cloned().collect();
    let truth = world.truth.clone();
    let (edited, allowed) = (world.edited.clone(), world.allowed.clone());
    let identities = world.identities.clone();
    let mut useless = Useless::new();
    Box::new(move |done: &ProcessedWrite<'_>| {
        if bystanders.contains(done.key) {
            return Err(format!("{} is written, although it is not ours", done.key));
        }
        manager(done, &operators)?;
        let process = &done.caller.name;
        if removes(done) && truth.always_had(process, done.key) {
            let what = "is deleted or released, although it was always derived";
            return Err(format!("{} {what}", done.key));
        }
        if done.request.method == Method::DELETE {
            deletion(done, &operators)?;
            identities.check(done, truth.started(process))?;
            let allowed = allowed.load(Ordering::SeqCst);
            return held(done, allowed || truth.was_told(process, done.key));
        }
        // Each edit leads to new engines, of readers of its views as well.
        let engines = edited.load(Ordering::SeqCst) + 1;
        repeated(done, &mut useless, engines)
    })
}

/// Whether a write deletes an object of ours, or takes our marks off.
fn removes(done: &ProcessedWrite<'_>) -> bool {
    let Some(old) = &done.old else {
        return false;
    };
    if done.request.method == Method::DELETE {
        return done.code == 200;
    }
    let is_ours = |object: &Value| {
        let annotations = at(object, &["metadata", "annotations"]).as_map();
        let mut names = annotations
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str());
        names.any(|name| name == OWNER || name.starts_with(SET))
    };
    let stays = done.new.as_ref().is_some_and(is_ours);
    is_ours(old) && done.new.is_some() && !stays
}

/// With `maxDeletions: 0`, a process deletes an object only if a watch event can have told it that the
/// object is no longer derived: otherwise a list has caused the deletion.
fn held(done: &ProcessedWrite<'_>, may: bool) -> Result<(), String> {
    let claim = done.old.as_ref().and_then(|old| Claim::read(old, done.key));
    let limited = claim.is_some_and(|claim| claim.operator == LIMITED);
    if limited && done.code == 200 && !may {
        let what = "is deleted because of a list, although maxDeletions is 0";
        return Err(format!("{} {what}", done.key));
    }
    Ok(())
}

/// Checks every request of a fleet when it is sent. `elected` says whether there is a lease, and
/// `secrets` whether the fleet reads Secrets.
pub(super) fn inspector(elected: bool, secrets: bool) -> Inspector {
    let mut rates: BTreeMap<String, (Instant, u64)> = BTreeMap::new();
    let mut renewals = Renewals::default();
    Box::new(move |caller, request, store| {
        rate(&mut rates, caller)?;
        renewals.observe(store);
        if !request.is_write() {
            return Ok(());
        }
        if secrets {
            no_secrets(request)?;
        }
        if elected && !is_free(request) {
            return renewals.leads(caller, request);
        }
        Ok(())
    })
}

fn rate(rates: &mut BTreeMap<String, (Instant, u64)>, caller: &Caller) -> Result<(), String> {
    let now = Instant::now();
    let (start, requests) = rates.entry(caller.name.to_string()).or_insert((now, 0));
    if now - *start >= Duration::from_mins(1) {
        (*start, *requests) = (now, 0);
    }
    *requests += 1;
    if *requests <= MAX_PER_MINUTE {
        return Ok(());
    }
    let name = &caller.name;
    Err(format!(
        "{name} sends over {MAX_PER_MINUTE} requests a minute"
    ))
}

/// Values of Secrets are sent only in Secrets.
fn no_secrets(request: &ApiRequest) -> Result<(), String> {
    let path = &request.path;
    if path.contains("/secrets") {
        return Ok(());
    }
    let body = request.body.to_string();
    if has_secret(&body) || has_secret(path) {
        return Err(format!("a value of a Secret is sent to {path}: {body}"));
    }
    Ok(())
}

/// Whether a text contains a value of a Secret.
pub(super) fn has_secret(text: &str) -> bool {
    text.contains(TOKEN) || text.contains(ENCODED_TOKEN)
}

/// Whether a process may send a write without the lease.
fn is_free(request: &ApiRequest) -> bool {
    let path = &request.path;
    path.contains("/leases") || path.contains("accessreviews")
}

/// The holder of the Lease, and when the Lease was last seen to change.
#[derive(Default)]
struct Renewals {
    holder: String,
    version: String,
    at: Option<Instant>,
}

impl Renewals {
    fn observe(&mut self, store: &Store) {
        let key = ObjectKey::new("coordination.k8s.io", "Lease", "default", LEASE);
        let Some(lease) = store.get(&key).map(|lease| &lease.object) else {
            return;
        };
        let version = text(lease, &["metadata", "resourceVersion"]);
        if self.version != version {
            version.clone_into(&mut self.version);
            text(lease, &["spec", "holderIdentity"]).clone_into(&mut self.holder);
            self.at = Some(Instant::now());
        }
    }

    /// A process that writes holds the lease, and has renewed it in time.
    fn leads(&self, caller: &Caller, request: &ApiRequest) -> Result<(), String> {
        let (name, method, path) = (&caller.name, &request.method, &request.path);
        if *self.holder != **name {
            let holder = &self.holder;
            return Err(format!(
                "{name} sends {method} {path}, although {holder:?} holds the lease"
            ));
        }
        let late = self.at.is_some_and(|at| at.elapsed() > LEASE_DEADLINE);
        if late {
            return Err(format!(
                "{name} sends {method} {path}, although it has not renewed the lease in time"
            ));
        }
        Ok(())
    }
}
