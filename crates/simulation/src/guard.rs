//! What must hold for every single write of deltic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use document::Value;
use http::Method;
use object::ObjectKey;
use target::claim::Claim;

use crate::api::{Done, Guard};
use crate::faults::Fault;
use crate::fields::text;
use crate::truth::Truth;
use crate::world::World;

/// A guard for this world.
pub fn guard(world: &World) -> Guard {
    let operator = world.shape.name;
    let bystanders: BTreeSet<ObjectKey> = world.bystanders.keys().cloned().collect();
    let mut useless = Useless::new();
    let truth = world.truth.clone();
    let edited = world.edited.clone();
    Box::new(move |done: &Done<'_>| {
        if bystanders.contains(done.key) {
            return Err(format!("{} is written, and is not ours", done.key));
        }
        manager(done, operator)?;
        if done.asked.method == Method::DELETE {
            deletion(done, operator)?;
            return kept(done, &truth);
        }
        // Each makes a new engine, sooner or later.
        let engines = edited.load(Ordering::SeqCst);
        repeated(done, &mut useless, engines)
    })
}

/// Every write of a target names the controller.
fn manager(done: &Done<'_>, operator: &str) -> Result<(), String> {
    let group = done.key.kind.group.as_str();
    let manager = done.asked.query.get("fieldManager");
    let own = ["dcontroller.io", "events.k8s.io", "coordination.k8s.io"].contains(&group);
    if own || done.asked.method == Method::DELETE {
        return Ok(());
    }
    if manager.starts_with(&format!("deltic/{operator}/")) {
        return Ok(());
    }
    Err(format!("{} is written as {manager:?}", done.key))
}

/// Only what we created is deleted, and only as it was read.
fn deletion(done: &Done<'_>, operator: &str) -> Result<(), String> {
    let Some(old) = &done.old else {
        return Ok(());
    };
    let wanted = done.asked.body.get("preconditions");
    if wanted.get("uid").is_null() || wanted.get("resourceVersion").is_null() {
        return Err(format!("{} is deleted without preconditions", done.key));
    }
    // Of another version the claim is not known.
    if done.code != 200 {
        return Ok(());
    }
    let claim = Claim::read(old, done.key);
    if claim.is_some_and(|claim| claim.operator == operator && claim.created) {
        return Ok(());
    }
    Err(format!("{} is deleted, and is not ours", done.key))
}

/// What should be there is not deleted.
fn kept(done: &Done<'_>, truth: &Truth) -> Result<(), String> {
    if done.code == 200 && truth.always_had(done.key) {
        return Err(format!("{} is deleted, and was always derived", done.key));
    }
    Ok(())
}

/// Writes that changed nothing and how often they were sent, by object.
type Useless = BTreeMap<ObjectKey, BTreeMap<String, u64>>;

/// A write that changes nothing is not sent twice by one engine, unless something else
/// happened to the object.
fn repeated(done: &Done<'_>, useless: &mut Useless, engines: u64) -> Result<(), String> {
    let version = |object: &Option<Value>| {
        let version = object
            .as_ref()
            .map(|o| text(o, &["metadata", "resourceVersion"]));
        version.unwrap_or_default().to_owned()
    };
    // Who got no answer has to ask again.
    let answered = done.fault == Fault::None;
    if version(&done.old) != version(&done.new) || !answered {
        useless.remove(done.key);
        return Ok(());
    }
    if done.code != 200 {
        return Ok(());
    }
    let (caller, asked) = (&done.caller.name, done.asked);
    let write = format!("{caller} {} {}", asked.path, asked.body);
    let known = useless.entry(done.key.clone()).or_default();
    let times = known.entry(write).or_default();
    *times += 1;
    if *times <= engines {
        return Ok(());
    }
    Err(format!("{} is written again without a change", done.key))
}
