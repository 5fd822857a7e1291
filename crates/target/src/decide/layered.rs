//! Patchers on an object that an Updater of the same Operator writes.
//!
//! Their patches are part of the document that the Updater writes, so a patch that is no longer
//! wanted is gone with the next write. Each Patcher still has its record on the object: its
//! controller may read the object and must not see its own patch, and a status belongs to others
//! if the Updater does not yield one. The former value is that of the document without the patch:
//!
//! ```text
//! Updater  replicas: 2     Patcher  replicas: 5     record of the Patcher: replicas was 2
//! ```
//!
//! An Applier has a record of the status that it sets on such an object, and of nothing else.

use document::Value;
use fieldset::compare::{diff, same_at};
use fieldset::{FieldPath, concerns, leaves, merge, walk};
use operator::spec::TargetType;

use super::undo::pruned;
use super::{Action, Case, Verb, Write, undone, versioned};
use crate::desired::{Layer, Ranking};
use crate::in_place::is_read_back;
use crate::layer::{Keeper, Was};
use crate::live::Observed;
use crate::problem::{Cause, Problem};
use crate::written::{MAX_RECORD, Written};
use object::marks::field_manager;

/// The records of the layers. One that cannot be recorded is left out of the ranking.
pub(super) fn records(
    case: &Case<'_>,
    ranking: &mut Ranking<'_>,
    observed: Option<&Observed>,
    problems: &mut Vec<Problem>,
) -> Vec<Written> {
    loop {
        let patchers = ranking.layers.iter().enumerate();
        let patchers =
            patchers.filter(|(_, layer)| is_patcher(layer) || sets_status(case, ranking, layer));
        let records = patchers.map(|(at, _)| (at, record(case, ranking, at, observed)));
        let records: Vec<(usize, Written)> = records.collect();
        let refused = records.iter().find_map(|(at, written)| {
            let cause = refused(case, ranking, *at, written)?;
            Some((*at, cause))
        });
        let Some((at, cause)) = refused else {
            let given = records.into_iter().map(|(_, written)| written);
            return given.filter(|written| !written.is_empty()).collect();
        };
        let layer = ranking.layers.remove(at);
        problems.push(layer.desired.problem(cause));
    }
}

/// Why a Patcher cannot be written with this record.
fn refused(case: &Case<'_>, ranking: &Ranking<'_>, at: usize, written: &Written) -> Option<Cause> {
    let size = written.print().len();
    if size > MAX_RECORD {
        return Some(Cause::RecordTooLarge { size });
    }
    let target = &ranking.layers[at].desired.author.target;
    // What the pipeline reads is the document of the Updater.
    let whole = ranking.folded(case.kind).unwrap_or_default();
    let field = written.not_kept(|place| is_read_back(target, place, &whole))?;
    let field = field.to_string();
    Some(Cause::NotKept { field })
}

/// Whether a layer sets a status that the Updater does not yield, and that is written separately.
fn sets_status(case: &Case<'_>, ranking: &Ranking<'_>, layer: &Layer<'_>) -> bool {
    let yields = |layer: &Layer<'_>| !layer.document.get("status").is_null();
    case.kind.status && yields(layer) && !ranking.updater.as_ref().is_some_and(yields)
}

fn is_patcher(layer: &Layer<'_>) -> bool {
    layer.desired.author.target.kind == TargetType::Patcher
}

/// The record of one layer.
fn record(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    at: usize,
    observed: Option<&Observed>,
) -> Written {
    let layer = &ranking.layers[at];
    let author = &layer.desired.author;
    let before = observed.and_then(|observed| before(case, layer, observed));
    let rest = without(case, ranking, at, observed);
    let mut written = Written::new(&author.operator, &author.controller, case.key);
    written.origin = layer.desired.origin.clone();
    let kept = before.iter().flat_map(Written::kept);
    let mut keeper = Keeper::new(&case.key.kind, kept);
    let mut root: Option<FieldPath> = None;
    let document = recorded_part(layer);
    walk(&document, &case.kind.keys, &mut |place, value, leaf| {
        let shared = if place.top() == "metadata" { 2 } else { 1 };
        let other = place.get(&rest);
        let inside = root.as_ref().is_some_and(|root| place.within(root));
        if value.as_map().is_some() {
            let known = place.top() == "status" && before.as_ref().is_some_and(|it| it.has(place));
            let made = place.0.len() > shared && (other.as_map().is_none() || known) && !inside;
            if made {
                root = Some(place.clone());
            }
            if !(made || (leaf && other.is_null())) {
                return;
            }
        }
        let live = observed.map_or(&Value::NULL, |observed| place.get(&observed.object));
        let inherited = before.as_ref().filter(|before| {
            let held = value.as_map().is_some() || before.holds(place, live);
            let applied = before.applied && before.settled(place, value, live);
            let applied =
                applied && observed.is_some_and(|observed| !observed.shares_status(place));
            place.top() == "status" && before.has(place) && (held || applied)
        });
        let was = match inherited {
            Some(before) if before.is_certain(place) => before.was(place).cloned(),
            Some(_) => Some(Was::Absent),
            None => None,
        };
        let was = match was {
            Some(was) => was,
            None if same_at(place, other, value, &case.kind.keys) => return,
            None if is_patcher(layer) => keeper.keep(other),
            // What was applied is removed in the end.
            None => Was::Absent,
        };
        written.record(place, value, None, was);
    });
    let replaced = written.replaced().cloned().collect();
    written.share(&replaced);
    written
}

/// The record of the same layer on the object.
fn before(case: &Case<'_>, layer: &Layer<'_>, observed: &Observed) -> Option<Written> {
    let controller = &layer.desired.author.controller;
    let mut all = Written::of_operator(&observed.object, case.operator, case.key).into_iter();
    all.find(|written| {
        let same_type = written.is_patch() || (written.applied && !is_patcher(layer));
        written.controller == *controller && same_type
    })
}

/// The part of a layer that is recorded: of an Applier only the status.
fn recorded_part(layer: &Layer<'_>) -> Value {
    if is_patcher(layer) {
        return layer.document.clone();
    }
    let status = layer.document.get("status");
    FieldPath::of(&["status"]).set(&Value::empty_map(), status)
}

/// The object that the Updater would write without one of the layers. A status that it does not
/// yield is that of the object.
fn without(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    at: usize,
    observed: Option<&Observed>,
) -> Value {
    let updater = ranking.updater.as_ref();
    let mut base = updater.map_or_else(Value::empty_map, |updater| updater.document.clone());
    if base.get("status").is_null()
        && let Some(observed) = observed
    {
        let status = observed.object.get("status");
        base = FieldPath::of(&["status"]).set(&base, status);
    }
    let others = ranking.layers.iter().enumerate().rev();
    let others = others.filter(|(other, _)| *other != at);
    others.fold(base, |base, (_, layer)| {
        merge(&base, &layer.document, &case.kind.keys)
    })
}

/// Takes back what Patchers have set in a status that the Updater does not yield, and do not want
/// any more. This comes first, while their records still exist.
pub(super) fn undo_status(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    observed: &Observed,
) -> Option<Action> {
    let yields = |layer: &Layer<'_>| !layer.document.get("status").is_null();
    let updater = ranking.updater.as_ref()?;
    let own = &updater.desired.author.set;
    if yields(updater) || !Written::has_another(&observed.object, own) {
        return None;
    }
    let layers = ranking.layers.iter();
    let wanted = layers.flat_map(|layer| leaves(&layer.document, &case.kind.keys));
    let wanted: Vec<(FieldPath, Value)> = wanted.collect();
    let records = Written::of_operator(&observed.object, case.operator, case.key);
    let (written, status) = records
        .iter()
        .filter(|written| written.is_patch())
        .find_map(|written| {
            let gone = unwanted_status(written, observed, &wanted)?;
            Some((written, gone))
        })?;
    if !case.fresh {
        return Some(Action::Read);
    }
    let patch = FieldPath::of(&["status"]).set(&Value::empty_map(), &status);
    Some(Action::Write(Box::new(Write {
        verb: Verb::Merge,
        status: case.kind.status,
        manager: field_manager(&written.operator, &written.controller),
        body: versioned(&patch, observed),
        goal: Value::NULL,
        drift: Vec::new(),
        creates: false,
        adopts: false,
        controller: written.controller.clone(),
        origin: written.origin.clone(),
    })))
}

/// The change of the status without the values of a record that nobody wants.
fn unwanted_status(
    written: &Written,
    observed: &Observed,
    wanted: &[(FieldPath, Value)],
) -> Option<Value> {
    let live = &observed.object;
    let goes = |place: &&FieldPath| {
        place.top() == "status"
            && written.was(place) != Some(&Was::NotKept)
            && written.holds(place, place.get(live))
            && !wanted.iter().any(|leaf| concerns(leaf, place))
    };
    let places: Vec<&FieldPath> = written.places().filter(goes).collect();
    let last_first = places.into_iter().rev();
    let rest = last_first.fold(live.clone(), |object, place| {
        undone(written, &object, place)
    });
    let rest = pruned(&rest, observed, written, |place| {
        place.top() != "status" || wanted.iter().any(|leaf| concerns(leaf, place))
    });
    diff(live.get("status"), rest.get("status"))
}
