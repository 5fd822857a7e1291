//! The next step towards the derived state of one object. Pure: what is wanted, what is
//! known of the object and what the last writes returned go in, an [`Action`] comes out.
//!
//! The writer takes the step, learns from the answer, and asks again, until there is
//! nothing left to do or something to wait for. One file for each way to write.

mod apply;
mod assigned;
mod patch;
mod release;
mod update;

use std::collections::BTreeSet;

use document::Value;
use fieldset::{FieldPath, leaves};
use object::ObjectKey;
use operator::spec::TargetType;

use super::TargetKind;
use super::claim::Claim;
use super::desired::{Author, Desired, Layer, Plan, Wanted};
use super::live::{Live, Observed, Record};
use super::problem::{Cause, Conflict, Problem};
use super::written::Written;

pub use apply::{Resolved, resolve};

/// What is known about one object.
#[derive(Debug)]
pub struct Case<'a> {
    /// The object.
    pub key: &'a ObjectKey,
    /// Its kind.
    pub kind: &'a TargetKind,
    /// The operator that writes.
    pub operator: &'a str,
    /// What its controllers want.
    pub wanted: &'a Wanted,
    /// What is there.
    pub live: &'a Live,
    /// Whether `live` was read in this run, or is the answer of a write.
    pub fresh: bool,
    /// What the last writes returned.
    pub record: &'a Record,
    /// The controllers whose removals are held (`maxDeletions`).
    pub held: &'a BTreeSet<String>,
    /// What earlier answers have taught.
    pub learned: &'a Learned,
}

/// What the server's answers have taught about an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// Whether it was refused because of a field that cannot change, and may be deleted
    /// and created again.
    pub recreate: bool,
    /// Whether someone else created it while we applied it.
    pub disowned: bool,
    /// The fields that the server does not let go.
    pub kept: Vec<String>,
}

impl Case<'_> {
    /// Waits for an object that our watch may not show: it is read first.
    fn wait(&self, wait: Wait) -> Action {
        if self.fresh {
            return Action::Wait(wait);
        }
        Action::Read
    }
}

/// The next step, and what stands against the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The next step.
    pub action: Action,
    /// What stands against the object.
    pub problems: Vec<Problem>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The object is right.
    Nothing,
    /// Read it, and decide anew.
    Read,
    /// Write it.
    Write(Box<Write>),
    /// Delete it, if it is still this one.
    Delete {
        /// The precondition on the uid.
        uid: String,
        /// The precondition on the version.
        version: String,
    },
    /// Wait for something to change.
    Wait(Wait),
}

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// How.
    pub verb: Verb,
    /// Whether it goes to `/status`.
    pub status: bool,
    /// Who writes.
    pub manager: String,
    /// The body.
    pub body: Value,
    /// What is wanted, to be remembered with the answer.
    pub goal: Value,
    /// If all of this was written before: the fields that were changed since.
    pub drift: Vec<String>,
    /// Whether the object was not there.
    pub creates: bool,
    /// Whether the object existed without a claim, and is taken over.
    pub adopts: bool,
    /// Whose document it is, for problems.
    pub controller: String,
    /// What that is derived from.
    pub origin: Value,
}

/// The way of a [`Write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// A new object.
    Create,
    /// A replacement of the version that is named in it.
    Replace,
    /// A JSON merge patch.
    Merge,
    /// Server-side apply.
    Apply {
        /// Whether fields are taken from other managers.
        force: bool,
    },
}

impl Verb {
    /// As RBAC and audit logs call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "update",
            Self::Merge | Self::Apply { .. } => "patch",
        }
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Someone else to let the object go.
    Conflict,
    /// A version of the object that can be read.
    Unreadable,
    /// The object to be patched.
    Object,
    /// The object to be gone.
    Gone,
    /// The permission to delete so many.
    Held,
    /// Another document: this one cannot be written.
    Document,
}

/// Decides the next step.
pub fn decide(case: &Case<'_>) -> Decision {
    if let Some(cause) = bad_key(case.key, case.kind) {
        let problems = case.wanted.writers();
        return Decision {
            action: Action::Wait(Wait::Document),
            problems: problems
                .map(|desired| desired.problem(cause.clone()))
                .collect(),
        };
    }
    let mut plan = case.wanted.plan(case.key, case.kind);
    let mut problems = std::mem::take(&mut plan.problems);
    let is_held = |layer: &Layer<'_>| case.held.contains(&layer.desired.author.controller);
    let action = if plan.updater.is_some() {
        // A held layer stays in the document that the Updater writes.
        let held = plan.layers.iter().filter(|layer| is_held(layer));
        problems.extend(held.map(|layer| layer.desired.problem(Cause::DeletionHeld)));
        update::decide(case, &plan, &mut problems)
    } else {
        plan.layers.retain(|layer| !is_held(layer));
        others(case, &plan, &mut problems)
    };
    Decision { action, problems }
}

/// Why no object of this kind can have this key.
fn bad_key(key: &ObjectKey, kind: &TargetKind) -> Option<Cause> {
    // A name is a segment of the path of requests.
    let is_segment = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"/%?#\\".contains(&byte);
        !matches!(text, "." | "..") && text.bytes().all(plain)
    };
    if !is_segment(key.object_name()) || !is_segment(key.namespace()) {
        return Some(Cause::BadName);
    }
    match (kind.namespaced, key.namespace().is_empty()) {
        (true, true) => Some(Cause::NotNamespaced),
        (false, false) => Some(Cause::Namespaced),
        _ => None,
    }
}

/// Without an Updater: what is not wanted goes, then each layer in its turn.
fn others(case: &Case<'_>, plan: &Plan<'_>, problems: &mut Vec<Problem>) -> Action {
    if plan.layers.is_empty() && !case.wanted.has_withdrawn() {
        return Action::Nothing;
    }
    let observed = match case.live {
        Live::Unknown | Live::Unseen => return Action::Read,
        Live::Absent => return absent(case, plan),
        Live::Present(_) if !case.fresh && case.wanted.has_withdrawn() => return Action::Read,
        Live::Present(observed) => observed,
    };
    let wait = |wait: Wait| {
        if plan.layers.is_empty() {
            return Action::Nothing;
        }
        case.wait(wait)
    };
    if observed.is_going() {
        return wait(Wait::Gone);
    }
    let claim = Claim::read(&observed.object, case.key);
    if let Some(theirs) = foreign(case, claim.as_ref()) {
        for layer in &plan.layers {
            problems.push(theirs(layer.desired));
        }
        return wait(Wait::Conflict);
    }
    let owned = release::owned(case, plan, observed, claim.as_ref());
    if owned != Action::Nothing {
        return owned;
    }
    let held = release::held(case, plan, observed, claim.as_ref());
    if let Some(why) = &observed.unreadable {
        let cause = Cause::Unreadable(why.as_ref().clone());
        let layers = plan.layers.iter();
        let wanted = layers.map(|layer| layer.desired.problem(cause.clone()));
        let blocked: Vec<Problem> = wanted
            .chain(release::blocked(case, observed, &cause))
            .collect();
        if blocked.is_empty() {
            return unless_held(held, problems);
        }
        problems.extend(blocked);
        problems.extend(held);
        return case.wait(Wait::Unreadable);
    }
    let layers = plan.layers.iter();
    let wanted = layers.flat_map(|layer| leaves(&layer.document, &case.kind.keys));
    let wanted: Vec<(FieldPath, Value)> = wanted.collect();
    for layer in &plan.layers {
        let action = match layer.desired.author.target.kind {
            TargetType::Applier => apply::decide(case, layer, Some(observed)),
            TargetType::Patcher | TargetType::Updater => {
                patch::decide(case, layer, observed, &wanted, problems)
            }
        };
        if action != Action::Nothing {
            return action;
        }
    }
    match release::layers(case, observed, &wanted) {
        Action::Nothing => unless_held(held, problems),
        action => action,
    }
}

/// Nothing is left to do but what is held.
fn unless_held(held: Vec<Problem>, problems: &mut Vec<Problem>) -> Action {
    if held.is_empty() {
        return Action::Nothing;
    }
    problems.extend(held);
    Action::Wait(Wait::Held)
}

/// Nothing is there: the first Applier creates it, Patchers wait.
fn absent(case: &Case<'_>, plan: &Plan<'_>) -> Action {
    let applier = plan
        .layers
        .iter()
        .find(|layer| layer.desired.author.target.kind == TargetType::Applier);
    match applier {
        None if plan.layers.is_empty() => Action::Nothing,
        None => Action::Wait(Wait::Object),
        Some(_) if !case.fresh => Action::Read,
        Some(layer) => apply::decide(case, layer, None),
    }
}

/// If another operator has claimed the object: what to say about each writer.
fn foreign(case: &Case<'_>, claim: Option<&Claim>) -> Option<impl Fn(&Desired) -> Problem> {
    let theirs = claim.filter(|claim| claim.operator != case.operator)?;
    let conflict = Conflict::Operator {
        ours: case.operator.to_owned(),
        theirs: theirs.operator.clone(),
    };
    Some(move |desired: &Desired| desired.problem(Cause::Conflict(conflict.clone())))
}

/// A write for a layer's author.
fn write(layer: &Layer<'_>, verb: Verb, status: bool, body: Value, goal: Value) -> Write {
    let desired = layer.desired;
    Write {
        verb,
        status,
        manager: desired.author.manager.clone(),
        body,
        goal,
        drift: Vec::new(),
        creates: verb == Verb::Create,
        adopts: false,
        controller: desired.author.controller.clone(),
        origin: desired.origin.clone(),
    }
}

/// A merge patch that names the version that it was computed from. What it records as set
/// by us depends on what was there, and so does what its answer says about fields that it
/// does not touch.
fn versioned(patch: &Value, observed: &Observed) -> Value {
    FieldPath::of(&["metadata", "resourceVersion"]).set(patch, &Value::from(observed.version()))
}

/// What the operator's controllers have recorded on an object. If somebody has taken off
/// the record of this author, it is as our last write left it.
fn records(case: &Case<'_>, observed: &Observed, author: &Author) -> Vec<Written> {
    let read = |object: &Value| Written::of_operator(object, case.operator, case.key);
    let own = |written: &Written| written.controller == author.controller;
    let mut records = read(&observed.object);
    // Where several have the same place, the first of them has written it.
    let ranks: Vec<&str> = case
        .wanted
        .writers()
        .map(|desired| desired.author.controller.as_str())
        .collect();
    let rank = |written: &Written| {
        let at = ranks.iter().position(|name| *name == written.controller);
        (at.unwrap_or(ranks.len()), written.controller.clone())
    };
    if !records.iter().any(own)
        && let Some(last) = case.record.newest()
        && last.answer.get("metadata").get("uid").as_str() == Some(observed.uid())
    {
        records.extend(read(&last.answer).into_iter().find(own));
    }
    records.sort_by_key(rank);
    records
}

/// Whether a place holds what a controller of ours has written there.
fn is_ours(written: &Written, observed: &Observed, place: &FieldPath) -> bool {
    let live = place.get(&observed.object);
    // The record of a status comes before the status.
    let status = place.top() == "status" && written.is_certain(place);
    // The server may have made something else of it, or have added to it: it is what we
    // wrote as long as nobody else has written there.
    let unchanged = || !live.is_null() && observed.is_only_ours(place);
    written.has(place) && (written.holds(place, live) || status || unchanged())
}

/// The object as it was before we wrote to a place.
fn undone(written: &Written, object: &Value, place: &FieldPath) -> Value {
    let was = written.was(place);
    was.map_or_else(|| object.clone(), |was| was.put_back(object, place))
}
