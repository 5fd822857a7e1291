//! Invariants that are checked for every single write of deltic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use document::Value;
use http::Method;
use object::ObjectKey;
use object::marks::is_manager_of;
use target::claim::Claim;

use crate::api::{Guard, ProcessedWrite};
use crate::faults::Fault;
use crate::fields::text;
use crate::identity::Identity;
use crate::truth::Truth;
use crate::world::World;

/// The guard of a world.
pub fn guard(world: &World) -> Guard {
    let operator = world.shape.name;
    let bystanders: BTreeSet<ObjectKey> = world.bystanders.keys().cloned().collect();
    let mut useless = Useless::new();
    let truth = world.truth.clone();
    let identity = world.identity.clone();
    let edited = world.edited.clone();
    Box::new(move |done: &ProcessedWrite<'_>| {
        if bystanders.contains(done.key) {
            return Err(format!("{} is written, although it is not ours", done.key));
        }
        manager(done, &[operator])?;
        if done.request.method == Method::DELETE {
            deletion(done, &[operator])?;
            own(done, &identity)?;
            return kept(done, &truth);
        }
        // Each edit leads to a new engine, sooner or later.
        let engines = edited.load(Ordering::SeqCst);
        repeated(done, &mut useless, engines)
    })
}

/// Every write of a target has the field manager of a controller of these Operators.
pub(crate) fn manager(done: &ProcessedWrite<'_>, operators: &[&str]) -> Result<(), String> {
    let group = done.key.kind.group.as_str();
    let manager = done.request.query.get("fieldManager");
    let own = ["dcontroller.io", "events.k8s.io", "coordination.k8s.io"].contains(&group);
    if own || done.request.method == Method::DELETE {
        return Ok(());
    }
    let mut operators = operators.iter();
    if operators.any(|operator| is_manager_of(manager, operator)) {
        return Ok(());
    }
    Err(format!(
        "{} is written with the field manager {manager:?}",
        done.key
    ))
}

/// Only objects that these Operators created are deleted, and with preconditions.
pub(crate) fn deletion(done: &ProcessedWrite<'_>, operators: &[&str]) -> Result<(), String> {
    let Some(old) = &done.old else {
        return Ok(());
    };
    let wanted = done.request.body.get("preconditions");
    if wanted.get("uid").is_null() || wanted.get("resourceVersion").is_null() {
        return Err(format!("{} is deleted without preconditions", done.key));
    }
    // The claim of another version is not known.
    if done.code != 200 {
        return Ok(());
    }
    let claim = Claim::read(old, done.key);
    let ours = |claim: &Claim| operators.contains(&claim.operator.as_str()) && claim.created;
    if claim.as_ref().is_some_and(ours) {
        return Ok(());
    }
    Err(format!("{} is deleted, although it is not ours", done.key))
}

/// An object with the uid of another Operator of the same name is not deleted.
fn own(done: &ProcessedWrite<'_>, identity: &Identity) -> Result<(), String> {
    let claim = done.old.as_ref().and_then(|old| Claim::read(old, done.key));
    if done.code == 200 && claim.is_some_and(|claim| !identity.may_delete(&claim)) {
        return Err(format!(
            "{} is deleted, although its uid is not ours",
            done.key
        ));
    }
    Ok(())
}

/// An object that is derived is not deleted.
fn kept(done: &ProcessedWrite<'_>, truth: &Truth) -> Result<(), String> {
    if done.code == 200 && truth.always_had(done.key) {
        return Err(format!(
            "{} is deleted, although it was always derived",
            done.key
        ));
    }
    Ok(())
}

/// Writes without effect, and how often they were sent, by object.
pub(crate) type Useless = BTreeMap<ObjectKey, BTreeMap<String, u64>>;

/// One engine does not send a write without effect twice, unless something else happened to the
/// object.
pub(crate) fn repeated(
    done: &ProcessedWrite<'_>,
    useless: &mut Useless,
    engines: u64,
) -> Result<(), String> {
    let version = |object: &Option<Value>| {
        let version = object
            .as_ref()
            .map(|o| text(o, &["metadata", "resourceVersion"]));
        version.unwrap_or_default().to_owned()
    };
    // A process without an answer has to send the request again.
    let answered = done.fault == Fault::None;
    if version(&done.old) != version(&done.new) || !answered {
        useless.remove(done.key);
        return Ok(());
    }
    if done.code != 200 {
        return Ok(());
    }
    let (caller, request) = (&done.caller.name, done.request);
    let write = format!("{caller} {} {}", request.path, request.body);
    let known = useless.entry(done.key.clone()).or_default();
    let times = known.entry(write).or_default();
    *times += 1;
    if *times <= engines {
        return Ok(());
    }
    Err(format!("{} is written again without effect", done.key))
}
