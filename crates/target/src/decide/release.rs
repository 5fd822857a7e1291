//! Releases what is no longer wanted: deletes objects that we created, removes our marks from
//! others, and undoes what layers have set.

use document::{Map, Value};
use fieldset::{FieldPath, concerns};
use operator::spec::TargetType;

use super::appended::{moved, wanted};
use super::undo::{record_on, undo_unwanted, without_record};
use super::{Action, Case, Verb, Write, is_ours, undone, versioned};
use crate::claim::Claim;
use crate::desired::Ranking;
use crate::live::{Live, Observed, identity, is_whole, records_of};
use crate::problem::{Cause, Problem};
use crate::written::Written;
use fieldset::compare::diff;
use object::marks::{OPERATOR, OWNER, field_manager, operator_label};

/// Releases an object that a withdrawn controller has claimed.
pub(super) fn owned(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    observed: &Observed,
    claim: Option<&Claim>,
) -> Action {
    let written = Written::of_operator(&observed.object, case.operator, case.key);
    match withdrawn(case, ranking, claim, &written) {
        Some(claim) if case.held.contains(&claim.controller) => Action::Nothing,
        Some(claim) if claim.created => delete(case, observed),
        Some(claim) => unmark(case, ranking, observed, (claim, &written)),
        None => Action::Nothing,
    }
}

/// The claim on the object, if its controller no longer wants it.
fn withdrawn<'a>(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    claim: Option<&'a Claim>,
    written: &[Written],
) -> Option<&'a Claim> {
    let ours = claim.filter(|claim| claim.is_of(case.operator));
    let claim = ours.filter(|claim| case.wanted.is_released(&claim.controller))?;
    let applied = written
        .iter()
        .any(|written| written.applied && written.controller == claim.controller);
    let applier = |kind: TargetType| kind == TargetType::Applier;
    let mut layers = ranking.layers.iter();
    // A renamed Applier takes over the object.
    let taken_over = applied && layers.any(|layer| applier(layer.desired.author.target.kind));
    (!taken_over).then_some(claim)
}

/// The removals that `maxDeletions` holds, one for each controller.
pub(super) fn held(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    observed: &Observed,
    claim: Option<&Claim>,
) -> Vec<Problem> {
    let written = records_of(&observed.object, case.key, case.operator);
    let claimed = withdrawn(case, ranking, claim, &written);
    let claimed = claimed.map(|claim| (&claim.controller, &claim.origin));
    let layers = written
        .iter()
        .filter(|written| case.wanted.is_withdrawn(&written.controller))
        .filter(|written| claimed.is_none_or(|(controller, _)| *controller != written.controller))
        .map(|written| (&written.controller, &written.origin));
    let all = claimed.into_iter().chain(layers);
    let held = all.filter(|(controller, _)| case.held.contains(*controller));
    held.map(|(controller, origin)| Problem {
        controller: controller.clone(),
        origin: origin.clone(),
        cause: Cause::DeletionHeld,
    })
    .collect()
}

/// A delete, after a fresh read.
pub(super) fn delete(case: &Case<'_>, observed: &Observed) -> Action {
    if !case.fresh {
        return Action::Read;
    }
    Action::Delete {
        uid: observed.uid().to_owned(),
        version: observed.version().to_owned(),
    }
}

/// Removes our marks from an object that stays, with its content.
///
/// If its Updater became an Applier, nothing is unapplied: the server would remove the values that
/// replaced those of the user.
fn unmark(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    observed: &Observed,
    (claim, written): (&Claim, &[Written]),
) -> Action {
    let (controller, origin) = (&claim.controller, &claim.origin);
    let applied = written.iter().filter(|written| {
        let name = &written.controller;
        written.applied && case.wanted.is_released(name) && !case.held.contains(name)
    });
    let applied: Vec<&Written> = applied.collect();
    let is_withdrawn = |written: &Written| case.wanted.is_withdrawn(&written.controller);
    let wanted = wanted(case, ranking, observed);
    let mut withdrawn = applied.iter().filter(|written| is_withdrawn(written));
    let restored = withdrawn.find_map(|written| restored(case, observed, written, &wanted));
    if let Some(Restored { status, patch }) = restored {
        if !case.fresh {
            return Action::Read;
        }
        return patch_of(case, observed, controller, origin, status, &patch);
    }
    let mut object = FieldPath::of(&["metadata", "annotations", OWNER]).remove(&observed.object);
    object = relabelled(case, observed, &object);
    let whole = written.iter().filter(|written| is_whole(written));
    object = whole.fold(object, |object, written| {
        released(&object, observed, written)
    });
    object = applied.into_iter().fold(object, |object, written| {
        let object = without_applied_metadata(&object, observed, written);
        if is_withdrawn(written) {
            return without_record(&object, written);
        }
        record_on(&object, &written.patched_part(), &written.annotation())
    });
    send(case, observed, controller, origin, &object)
}

/// The object without the labels, annotations and ownerReferences that an Applier has applied and
/// that nobody else has set.
fn without_applied_metadata(object: &Value, observed: &Observed, written: &Written) -> Value {
    let applied = written.places().filter(|place| !written.is_certain(place));
    let metadata = applied.filter(|place| place.top() == "metadata" && place.0.len() >= 3);
    metadata.fold(object.clone(), |object, place| {
        let whole = FieldPath(place.0[..3].to_vec());
        if whole.get(&object).is_null() || !observed.is_only_ours(&whole) {
            return object;
        }
        whole.remove(&object)
    })
}

/// The object without the metadata that an Updater set, and without its record of that.
fn released(object: &Value, observed: &Observed, written: &Written) -> Value {
    let ours = written
        .places()
        .filter(|place| is_ours(written, observed, place));
    let ours: Vec<&FieldPath> = ours.collect();
    without_record(&undone(written, object, &ours), written)
}

/// Problems for withdrawn layers whose values cannot be undone, for this cause.
pub(super) fn blocked(case: &Case<'_>, observed: &Observed, cause: &Cause) -> Vec<Problem> {
    let written = records_of(&observed.object, case.key, case.operator);
    let left = written
        .into_iter()
        .filter(|written| case.wanted.is_withdrawn(&written.controller))
        .filter(|written| !case.held.contains(&written.controller));
    let problem = |written: Written| Problem {
        controller: written.controller,
        origin: written.origin,
        cause: cause.clone(),
    };
    left.map(problem).collect()
}

/// Undoes what withdrawn layers have set, except for values that others want.
pub(super) fn layers(
    case: &Case<'_>,
    observed: &Observed,
    wanted: &[(FieldPath, Value)],
) -> Action {
    let written = records_of(&observed.object, case.key, case.operator);
    let mut left = written
        .iter()
        .filter(|written| case.wanted.is_withdrawn(&written.controller))
        .filter(|written| !case.held.contains(&written.controller));
    let Some(written) = left.next() else {
        return Action::Nothing;
    };
    if !case.fresh {
        return Action::Read;
    }
    let live = &observed.object;
    let (controller, origin) = (&written.controller, &written.origin);
    if written.applied {
        return match restored(case, observed, written, wanted) {
            Some(Restored { status, patch }) => {
                patch_of(case, observed, controller, origin, status, &patch)
            }
            None => {
                pass_label_on(case, observed, written).unwrap_or_else(|| unapply(case, written))
            }
        };
    }
    if is_whole(written) {
        let bare = relabelled(case, observed, live);
        let bare = released(&bare, observed, written);
        return send(case, observed, controller, origin, &bare);
    }
    let mut undone = undo_unwanted(case, observed, written, wanted);
    let gone = diff(live.get("status"), undone.object.get("status"));
    if let Some(gone) = gone.filter(|_| case.kind.status) {
        let patch = FieldPath::of(&["status"]).set(&Value::empty_map(), &gone);
        return patch_of(case, observed, controller, origin, true, &patch);
    }
    let mut elements = written.appended();
    elements.retain(|place| !wanted.iter().any(|leaf| concerns(leaf, place)));
    let all = Written::of_operator(live, case.operator, case.key);
    undone.object = moved(&undone.object, &all, &elements);
    send(
        case,
        observed,
        controller,
        origin,
        &without_record(&undone.shared(case, std::iter::empty()), written),
    )
}

/// The object without our label. It gets that of another Operator whose Applier has set something: by
/// the label it is listed, so that what is left of the other one is found after a restart.
fn relabelled(case: &Case<'_>, observed: &Observed, object: &Value) -> Value {
    let label = FieldPath::of(&["metadata", "labels", OPERATOR]);
    let mut others = case.others(observed).into_iter();
    match others.find(Written::has_applied) {
        Some(other) => label.set(object, &operator_label(&other.operator).into()),
        None => label.remove(object),
    }
}

/// Before the last Applier of the Operator gives an object up: the patch that gives our label to
/// another Operator, or that removes it if others own it as well, because we got it from them in this
/// way. Otherwise the server removes it.
pub(super) fn pass_label_on(
    case: &Case<'_>,
    observed: &Observed,
    written: &Written,
) -> Option<Action> {
    let live = &observed.object;
    let label = FieldPath::of(&["metadata", "labels", OPERATOR]);
    let ours = operator_label(&case.operator.name);
    let records = Written::of_operator(live, case.operator, case.key);
    let applied = records.iter().filter(|record| record.has_applied());
    if label.get(live).as_str() != Some(ours.as_str()) || applied.count() > 1 {
        return None;
    }
    let passed = relabelled(case, observed, live);
    if label.get(&passed).is_null() && observed.is_only_ours(&label) {
        return None;
    }
    let (controller, origin) = (&written.controller, &written.origin);
    let patch = diff(live, &passed)?;
    Some(patch_of(case, observed, controller, origin, false, &patch))
}

/// A part of an object that is to be changed by a merge patch.
pub(super) struct Restored {
    pub(super) status: bool,
    pub(super) patch: Value,
}

/// Restores what a controller replaced before it became an Applier: the server only removes what
/// was applied, and for the server the Patcher was another manager. The status comes first, while
/// its record still exists.
pub(super) fn restored(
    case: &Case<'_>,
    observed: &Observed,
    written: &Written,
    wanted: &[(FieldPath, Value)],
) -> Option<Restored> {
    let patched = written.patched_part();
    let undone = undo_unwanted(case, observed, &patched, wanted);
    let patch = diff(&observed.object, &undone.object)?;
    let gone = patch.get("status");
    let status = case.kind.status && patch.as_map().is_some_and(|patch| has(patch, "status"));
    let patch = if status {
        FieldPath::of(&["status"]).set(&Value::empty_map(), gone)
    } else {
        patch
    };
    Some(Restored { status, patch })
}

fn has(fields: &Map, field: &str) -> bool {
    fields.get_str(field).is_some()
}

/// Releases what a controller applied before it became a Patcher. If it was a Patcher before that,
/// its record of that time stays, in an applied configuration that has nothing else.
pub(super) fn unapply_all_but_patches(case: &Case<'_>, written: &Written) -> Action {
    let patched = written.patched_part();
    let identity = Value::from(identity(case.key, case.kind));
    if patched.is_empty() {
        return apply(case, written, &identity);
    }
    let place = FieldPath::of(&["metadata", "annotations", &written.annotation()]);
    let body = place.set(&identity, &Value::from(patched.print()));
    apply(case, written, &body)
}

/// Applies an empty configuration, so that the server removes what was applied.
pub(super) fn unapply(case: &Case<'_>, written: &Written) -> Action {
    apply(case, written, &identity(case.key, case.kind).into())
}

/// Applies a configuration that has less than the last one. The status comes first, while its
/// record still exists.
fn apply(case: &Case<'_>, written: &Written, body: &Value) -> Action {
    let manager = field_manager(&written.operator, &written.controller);
    let empty = Value::from(identity(case.key, case.kind));
    // It is recorded after it is applied.
    let applied = match case.live {
        Live::Present(observed) => observed.is_status_applied(&manager),
        Live::Unknown | Live::Unseen | Live::Absent => false,
    };
    let has_status = applied || written.places().any(|place| place.top() == "status");
    let released = case.record.of(&manager, true, &empty).is_some();
    let status = case.kind.status && has_status && !released;
    let body = if status { empty } else { body.clone() };
    let verb = Verb::Apply { force: false };
    Action::Write(Box::new(Write {
        verb,
        status,
        manager,
        goal: body.clone(),
        body,
        drift: Vec::new(),
        creates: false,
        adopts: false,
        controller: written.controller.clone(),
        origin: written.origin.clone(),
    }))
}

/// A patch that turns the live object into this one.
fn send(
    case: &Case<'_>,
    observed: &Observed,
    controller: &str,
    origin: &Value,
    object: &Value,
) -> Action {
    match diff(&observed.object, object) {
        None => Action::Nothing,
        Some(_) if !case.fresh => Action::Read,
        Some(patch) => patch_of(case, observed, controller, origin, false, &patch),
    }
}

fn patch_of(
    case: &Case<'_>,
    observed: &Observed,
    controller: &str,
    origin: &Value,
    status: bool,
    patch: &Value,
) -> Action {
    Action::Write(Box::new(Write {
        verb: Verb::Merge,
        status,
        manager: field_manager(&case.operator.name, controller),
        body: versioned(patch, observed),
        // Nothing is wanted any more.
        goal: Value::NULL,
        drift: Vec::new(),
        creates: false,
        adopts: false,
        controller: controller.to_owned(),
        origin: origin.clone(),
    }))
}
