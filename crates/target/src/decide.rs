//! Decides the next action for one object. Pure: the desired state, the known state of the
//! object and the answers to the last writes go in, an [`Action`] comes out.
//!
//! ```text
//! not known             ─▶ Read
//! absent, wanted        ─▶ Write: create
//! differs               ─▶ Write: replace, patch or apply
//! claimed, not wanted   ─▶ Delete, with uid and version as preconditions
//! somebody else's       ─▶ Wait, with a Problem
//! as wanted             ─▶ Nothing
//! ```
//!
//! The writer carries the action out, stores the answer and asks again. There is one file for
//! each way of writing.

mod appended;
mod apply;
mod assigned;
mod layered;
mod patch;
mod release;
mod reshaped;
mod undo;
mod update;

use std::collections::BTreeSet;

use document::Value;
use fieldset::FieldPath;
use object::marks::field_manager;
use object::{ObjectKey, OperatorId, Ownership};
use operator::spec::TargetType;

use super::TargetKind;
use super::claim::Claim;
use super::desired::{Author, Desired, Layer, Ranking, Wanted};
use super::layer::with_elements;
use super::live::{Live, Observed, Record};
use super::peers::Peers;
use super::problem::{Cause, Conflict, Problem};
use super::written::Written;

pub use apply::{Resolved, resolve};
pub(crate) use undo::{patched, undo_all, without_record};

/// The input of a decision: everything that is known about one object.
#[derive(Debug)]
pub struct Case<'a> {
    /// The object.
    pub key: &'a ObjectKey,
    /// Its kind.
    pub kind: &'a TargetKind,
    /// The Operator that writes.
    pub operator: &'a OperatorId,
    /// The desired state, from its controllers.
    pub wanted: &'a Wanted,
    /// The state of the object.
    pub live: &'a Live,
    /// Whether `live` was read in this run, or is the answer to a write.
    pub fresh: bool,
    /// The answers to the last writes.
    pub record: &'a Record,
    /// The controllers whose removals are held (`maxDeletions`).
    pub held: &'a BTreeSet<String>,
    /// What earlier answers have revealed.
    pub learned: &'a Learned,
    /// The Operators that exist.
    pub peers: &'a Peers,
}

/// What the answers of the server have revealed about an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// Whether the server refused to change an immutable field, and the object may be deleted
    /// and created again.
    pub recreate: bool,
    /// Whether somebody else created it while we applied it.
    pub disowned: bool,
    /// The fields that the server does not let us remove.
    pub kept: Vec<String>,
}

impl Case<'_> {
    /// The object; null if it is not known to exist.
    fn object(&self) -> &Value {
        match self.live {
            Live::Present(observed) => &observed.object,
            Live::Unknown | Live::Unseen | Live::Absent => const { &Value::NULL },
        }
    }

    /// The claim on the object. That of an Operator that no longer exists does not count.
    fn claim(&self, observed: &Observed) -> Option<Claim> {
        let claim = Claim::read(&observed.object, self.key)?;
        let uid = claim.uid.as_deref();
        let gone = claim.owner(self.operator) == Ownership::Other
            && self.peers.is_gone(&claim.operator, uid);
        (!gone).then_some(claim)
    }

    /// The records of other Operators that still exist.
    fn others(&self, observed: &Observed) -> Vec<Written> {
        let mut others = Written::of_others(&observed.object, self.operator, self.key);
        let is_gone = |other: &Written| self.peers.is_gone(&other.operator, other.uid.as_deref());
        others.retain(|other| !is_gone(other));
        others
    }

    /// Waits for an object that our watch may not include: it has to be read first.
    fn wait(&self, wait: Wait) -> Action {
        if self.fresh {
            return Action::Wait(wait);
        }
        Action::Read
    }
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The next action.
    pub action: Action,
    /// What prevents the object from reaching its derived state.
    pub problems: Vec<Problem>,
}

/// The next action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing: the object has its derived state.
    Nothing,
    /// Read it, and decide again.
    Read,
    /// Write it.
    Write(Box<Write>),
    /// Delete it, if uid and version still match.
    Delete {
        /// The precondition on the uid.
        uid: String,
        /// The precondition on the version.
        version: String,
    },
    /// Wait for a change.
    Wait(Wait),
}

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The kind of request.
    pub verb: Verb,
    /// Whether it is a write of `/status`.
    pub status: bool,
    /// The field manager.
    pub manager: String,
    /// The body.
    pub body: Value,
    /// What is wanted, to be stored together with the answer.
    pub goal: Value,
    /// If the same was written before: the fields that others have changed since.
    pub drift: Vec<FieldPath>,
    /// Whether the object did not exist.
    pub creates: bool,
    /// Whether the object existed without a claim, and is adopted.
    pub adopts: bool,
    /// The controller whose document it is, for problems.
    pub controller: String,
    /// The origin of that document.
    pub origin: Value,
}

/// The kind of request of a [`Write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Creates the object.
    Create,
    /// Replaces the version that the body names.
    Replace,
    /// A JSON merge patch.
    Merge,
    /// Server-side apply.
    Apply {
        /// Whether to take fields from other managers.
        force: bool,
    },
}

impl Verb {
    /// The verb in RBAC rules and audit logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "update",
            Self::Merge | Self::Apply { .. } => "patch",
        }
    }
}

/// What an object waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// For somebody else to release the object.
    Conflict,
    /// For a version of the object that can be read.
    Unreadable,
    /// For the object that is to be patched.
    Object,
    /// For the object to be gone.
    Gone,
    /// For the permission to delete so many objects.
    Held,
}

/// Decides the next action.
pub fn decide(case: &Case<'_>) -> Decision {
    let mut ranking = case.wanted.ranking(case.key, case.kind, case.object());
    let mut problems = std::mem::take(&mut ranking.problems);
    let is_held = |layer: &Layer<'_>| case.held.contains(&layer.desired.author.controller);
    let action = if ranking.updater.is_some() {
        // A held layer stays part of the document that the Updater writes.
        let held = ranking.layers.iter().filter(|layer| is_held(layer));
        problems.extend(held.map(|layer| layer.desired.problem(Cause::DeletionHeld)));
        update::decide(case, &mut ranking, &mut problems)
    } else {
        ranking.layers.retain(|layer| !is_held(layer));
        others(case, &mut ranking, &mut problems)
    };
    Decision { action, problems }
}

/// Without an Updater: releases a claim that is no longer wanted, then handles each layer, then
/// undoes withdrawn layers.
fn others(case: &Case<'_>, ranking: &mut Ranking<'_>, problems: &mut Vec<Problem>) -> Action {
    if ranking.layers.is_empty() && !case.wanted.has_withdrawn() {
        return Action::Nothing;
    }
    let observed = match case.live {
        Live::Unknown | Live::Unseen => return Action::Read,
        Live::Absent => return absent(case, ranking),
        Live::Present(_) if !case.fresh && case.wanted.has_withdrawn() => return Action::Read,
        Live::Present(observed) => observed,
    };
    let wants = !ranking.layers.is_empty();
    let wait = |wait: Wait| {
        if wants {
            return case.wait(wait);
        }
        Action::Nothing
    };
    if observed.is_being_deleted() {
        return wait(Wait::Gone);
    }
    let claim = case.claim(observed);
    if let Some(theirs) = foreign(case, claim.as_ref()) {
        for layer in &ranking.layers {
            problems.push(theirs(layer.desired));
        }
        return wait(Wait::Conflict);
    }
    let owned = release::owned(case, ranking, observed, claim.as_ref());
    if owned != Action::Nothing {
        return owned;
    }
    let held = release::held(case, ranking, observed, claim.as_ref());
    if let Some(why) = &observed.unreadable {
        let cause = Cause::Unreadable(why.as_ref().clone());
        let layers = ranking.layers.iter();
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
    leave_to_others(case, ranking, observed, problems);
    let wanted = appended::wanted(case, ranking, observed);
    for (at, layer) in ranking.layers.iter().enumerate() {
        let action = match layer.desired.author.target.kind {
            TargetType::Applier => apply::decide(case, &ranking.layers, at, Some(observed)),
            TargetType::Patcher | TargetType::Updater => {
                match appended::trimmed(case, ranking, at, observed) {
                    Some(trimmed) => appended::decide(case, layer, observed, &trimmed, problems),
                    None => {
                        let states = (&observed.object, observed);
                        patch::decide(case, layer, states, &wanted, problems)
                    }
                }
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

/// Removes from the layers what other Operators have set.
fn leave_to_others(
    case: &Case<'_>,
    ranking: &mut Ranking<'_>,
    observed: &Observed,
    problems: &mut Vec<Problem>,
) {
    ranking
        .layers
        .retain(|layer| !patch::is_occupied(case, layer, observed, problems));
    let patchers = ranking.layers.iter_mut();
    for layer in patchers.filter(|layer| layer.desired.author.target.kind == TargetType::Patcher) {
        patch::leave_to_others(case, layer, observed, problems);
    }
}

/// Nothing is left to do, except for held removals.
fn unless_held(held: Vec<Problem>, problems: &mut Vec<Problem>) -> Action {
    if held.is_empty() {
        return Action::Nothing;
    }
    problems.extend(held);
    Action::Wait(Wait::Held)
}

/// The object does not exist: the first Applier creates it, Patchers wait.
fn absent(case: &Case<'_>, ranking: &Ranking<'_>) -> Action {
    let mut layers = ranking.layers.iter();
    let applier = layers.position(|layer| layer.desired.author.target.kind == TargetType::Applier);
    match applier {
        None if ranking.layers.is_empty() => Action::Nothing,
        None => Action::Wait(Wait::Object),
        Some(_) if !case.fresh => Action::Read,
        Some(at) => apply::decide(case, &ranking.layers, at, None),
    }
}

/// If another Operator has claimed the object: the problem for each writer.
fn foreign(case: &Case<'_>, claim: Option<&Claim>) -> Option<impl Fn(&Desired) -> Problem> {
    let theirs = claim.filter(|claim| claim.owner(case.operator) == Ownership::Other)?;
    let shown = |name: &str, uid: Option<&str>| match uid {
        Some(uid) if theirs.operator == case.operator.name => format!("{name} ({uid})"),
        _ => name.to_owned(),
    };
    let conflict = Conflict::Operator {
        ours: shown(&case.operator.name, Some(&case.operator.uid)),
        theirs: shown(&theirs.operator, theirs.uid.as_deref()),
    };
    Some(move |desired: &Desired| desired.problem(Cause::Conflict(conflict.clone())))
}

/// A write of a layer.
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

/// A merge patch with the version that it was computed from. The record in it depends on the
/// values that it replaces, and its answer also shows fields that it does not touch, so both
/// must refer to that version.
fn versioned(patch: &Value, observed: &Observed) -> Value {
    FieldPath::of(&["metadata", "resourceVersion"]).set(patch, &Value::from(observed.version()))
}

/// The records of the Operator's controllers on an object. If somebody has removed the record
/// of this author, it is taken from the answer to our last write.
fn records(case: &Case<'_>, observed: &Observed, author: &Author) -> Vec<Written> {
    let read = |object: &Value| Written::of_operator(object, case.operator, case.key);
    let own = |written: &Written| written.controller == author.controller;
    let mut records = read(&observed.object);
    if !records.iter().any(own)
        && let Some(last) = case.record.newest()
        && last.answer.get("metadata").get("uid").as_str() == Some(observed.uid())
    {
        let lost = read(&last.answer).into_iter().find(own);
        records.extend(lost.map(|written| written.relocated(&observed.object)));
    }
    ranked(case, records)
}

/// The records by rank: if several have the same path, the first one wrote the value.
fn ranked(case: &Case<'_>, mut records: Vec<Written>) -> Vec<Written> {
    let writers = case.wanted.writers();
    let ranks: Vec<&str> = writers
        .map(|desired| desired.author.controller.as_str())
        .collect();
    records.sort_by_cached_key(|written| {
        let at = ranks.iter().position(|name| *name == written.controller);
        (at.unwrap_or(ranks.len()), written.controller.clone())
    });
    records
}

/// Whether the value at a path is the one that a controller of ours has written.
fn is_ours(written: &Written, observed: &Observed, place: &FieldPath) -> bool {
    let live = place.get(&observed.object);
    let status = place.top() == "status" && written.awaits(place, live);
    // The server may have normalized or extended the value. It is still ours as long as nobody
    // else has written it.
    let unchanged = || !live.is_null() && is_unshared(written, observed, place);
    written.has(place) && (written.holds(place, live) || status || unchanged())
}

/// Whether the server reports that the value at a recorded path exists only because of the
/// controller of the record, or of others of the Operator.
fn is_unshared(written: &Written, observed: &Observed, place: &FieldPath) -> bool {
    if written.applied && !written.is_certain(place) {
        let manager = field_manager(&written.operator, &written.controller);
        return observed.is_only_applied(&manager, place);
    }
    observed.is_only_ours(place)
}

/// The object with the values that were at these paths before we wrote them; outer paths come
/// before those inside them.
fn undone(written: &Written, object: &Value, places: &[&FieldPath]) -> Value {
    let object = with_elements(object, places.iter().copied(), |place| written.was(place));
    // From the end, so that positions stay valid.
    let last_first = places.iter().rev();
    last_first.fold(object, |object, place| match written.was(place) {
        Some(was) => was.put_back(&object, place),
        None => object,
    })
}
