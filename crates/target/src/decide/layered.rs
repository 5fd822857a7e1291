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
use fieldset::compare::{diff, equal, same_at};
use fieldset::{FieldPath, concerns, leaves, merge, walk};
use operator::spec::TargetType;

use super::undo::pruned;
use super::{Action, Case, Verb, Write, is_unshared, ranked, undone, versioned};
use crate::desired::{Layer, Ranking};
use crate::in_place::is_read_back;
use crate::layer::{Keeper, Was};
use crate::live::Observed;
use crate::places::only_appended;
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
        let patchers = patchers.filter(|(_, layer)| is_patcher(layer) || sets_status(case, layer));
        let records = patchers.map(|(at, layer)| {
            let written = if is_patcher(layer) || !yields_status(ranking) {
                record(case, ranking, at, observed)
            } else {
                still_applied(case, layer, observed)
            };
            (at, written)
        });
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

/// Whether a layer sets a status that is written separately.
fn sets_status(case: &Case<'_>, layer: &Layer<'_>) -> bool {
    case.kind.status && has_status(layer)
}

fn yields_status(ranking: &Ranking<'_>) -> bool {
    ranking.updater.as_ref().is_some_and(has_status)
}

fn has_status(layer: &Layer<'_>) -> bool {
    !layer.document.get("status").is_null()
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
    let before = observed.and_then(|observed| before(case, layer, observed));
    let status = observed
        .filter(|_| !yields_status(ranking))
        .map(|observed| FormerStatus::new(case, observed));
    let rest = without(case, ranking, at, observed);
    let mut written = new_record(case, layer);
    let kept = before.iter().flat_map(Written::kept);
    let mut keeper = Keeper::new(&case.key.kind, kept);
    let mut root: Option<FieldPath> = None;
    let document = recorded_part(layer);
    walk(&document, &case.kind.keys, &mut |place, value, leaf| {
        let shared = if place.top() == "metadata" { 2 } else { 1 };
        let other = place.get(&rest);
        let inside = root.as_ref().is_some_and(|root| place.within(root));
        let status = status.as_ref().filter(|_| place.top() == "status");
        let inherited = status.and_then(|status| status.of(place, value));
        if value.as_map().is_some() {
            let is_new = other.as_map().is_none() || inherited.is_some();
            let made = place.0.len() > shared && is_new && !inside;
            if made {
                root = Some(place.clone());
            }
            if !(made || (leaf && other.is_null())) {
                return;
            }
        }
        let pending = inherited.is_some() && value.as_map().is_none() && !equal(other, value);
        let was = match inherited {
            // The former value is there again: it belongs to others.
            Some(was) if was.value().is_some_and(|was| equal(was, value)) && !pending => return,
            Some(was) => was,
            None if same_at(place, other, value, &case.kind.keys) => return,
            None if is_patcher(layer) => keeper.keep(place, &rest),
            // What was applied is removed in the end.
            None => Was::Absent,
        };
        match &before {
            // The status is written after its record. Until then it has our earlier value.
            _ if pending => written.record_over(place, value, other, was),
            Some(before) if status.is_some() => {
                written.keep_or_record(before, place, (value, other), was);
            }
            _ => written.record(place, value, None, was),
        }
    });
    let replaced = written.replaced().cloned().collect();
    written.share(&replaced);
    written
}

/// The record of an Applier while the Updater yields a status: what the Applier has set before, if
/// the status still has it. It stays the Applier's when the Updater yields no status any more.
fn still_applied(case: &Case<'_>, layer: &Layer<'_>, observed: Option<&Observed>) -> Written {
    let mut written = new_record(case, layer);
    let Some(observed) = observed else {
        return written;
    };
    let Some(before) = before(case, layer, observed) else {
        return written;
    };
    let own = FormerStatus {
        observed,
        records: vec![before.clone()],
    };
    for (place, value) in leaves(&recorded_part(layer), &case.kind.keys) {
        let live = place.get(&observed.object);
        if before.settled(&place, &value, live)
            && let Some(was) = own.of(&place, &value)
        {
            written.keep_or_record(&before, &place, (&value, live), was);
        }
    }
    written
}

/// An empty record of a layer.
fn new_record(case: &Case<'_>, layer: &Layer<'_>) -> Written {
    let author = &layer.desired.author;
    let mut written = Written::new(&author.operator, &author.controller, case.key);
    written.origin = layer.desired.origin.clone();
    written
}

/// The former values of a status that the Updater does not yield. They are in any of our records,
/// because layers take over fields from each other.
struct FormerStatus<'a> {
    observed: &'a Observed,
    records: Vec<Written>,
}

impl<'a> FormerStatus<'a> {
    fn new(case: &Case<'_>, observed: &'a Observed) -> Self {
        let records = Written::of_operator(&observed.object, case.operator, case.key);
        Self {
            observed,
            records: ranked(case, records),
        }
    }

    /// The former value of a field that is to have this value; `None` if our layers have not set
    /// it.
    fn of(&self, place: &FieldPath, value: &Value) -> Option<Was> {
        let live = place.get(&self.observed.object);
        let sets = |written: &&Written| {
            let applied = written.applied && written.settled(place, value, live);
            written.has(place)
                && (value.as_map().is_some()
                    || written.holds(place, live)
                    || (applied && is_unshared(written, self.observed, place)))
        };
        let mut setters: Vec<&Written> = self.records.iter().filter(sets).collect();
        // What was only applied is removed in the end.
        setters.sort_by_key(|written| !written.is_certain(place));
        let first = setters.first()?;
        let certain = first.was(place).filter(|_| first.is_certain(place));
        Some(certain.cloned().unwrap_or(Was::Absent))
    }
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
/// yield is that of the object: what the other layers set in it has replaced the same values.
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
    let keys = &case.kind.keys;
    let others = ranking.layers.iter().enumerate().rev();
    let rest = others.fold(base, |base, (other, layer)| {
        let mut patch = layer.patch(yields_status(ranking));
        // What it appends keeps the positions of what others append.
        if other == at {
            patch = only_appended(&patch, &layer.added, keys);
        }
        merge(&base, &patch, keys)
    });
    let added = ranking.layers[at].added.iter();
    added.fold(rest, |rest, place| place.set(&rest, &Value::NULL))
}

/// Takes back what Patchers have set in a status that the Updater does not yield, and do not want
/// any more. This comes first, while their records still exist.
pub(super) fn undo_status(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    observed: &Observed,
) -> Option<Action> {
    let updater = ranking.updater.as_ref()?;
    let own = &updater.desired.author.set;
    if yields_status(ranking) || !Written::has_another(&observed.object, own) {
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
    let rest = undone(written, live, &places);
    let rest = pruned(&rest, observed, written, |place| {
        place.top() != "status" || wanted.iter().any(|leaf| concerns(leaf, place))
    });
    diff(live.get("status"), rest.get("status"))
}
