//! Hands former values on: those that a Patcher has replaced, and that an Applier took over from it.
//!
//! They are in the record of the Applier. What it gives up, the server removes together with the
//! record, so the former value has to be restored, or to be in another record, before that.

use document::Value;
use fieldset::{FieldPath, concerns, leaves};
use operator::spec::TargetType;

use super::patches;
use crate::decide::release::{Restored, restored};
use crate::decide::{Action, Case, Verb, is_ours, versioned, write};
use crate::desired::Layer;
use crate::live::{Observed, is_whole};
use crate::written::Written;

/// Restores what the controller replaced as a Patcher, or took over from one, and does not want any
/// more. If a Patcher of a later rank wants to replace it again, it finds the former value.
///
/// A former value that the Applier wants itself is restored as well, before it is applied. It
/// belongs to others, and the server must not remove it when it is no longer applied.
pub(super) fn restore(
    case: &Case<'_>,
    layers: &[Layer<'_>],
    at: usize,
    observed: &Observed,
) -> Option<Action> {
    let layer = &layers[at];
    let stays = layers.iter().enumerate();
    let stays = stays.filter(|(other, layer)| *other <= at || is_applier(layer));
    let wanted = stays.flat_map(|(_, layer)| leaves(&layer.document, &case.kind.keys));
    let wanted: Vec<(FieldPath, Value)> = wanted.collect();
    let own = own_record(case, layer, observed);
    let others = same_values(case, layer, observed);
    let mut records = own.into_iter().chain(others);
    let Restored { status, patch } =
        records.find_map(|written| restored(case, observed, &written, &wanted))?;
    if !case.fresh {
        return Some(Action::Read);
    }
    let body = versioned(&patch, observed);
    let restore = write(layer, Verb::Merge, status, body, Value::NULL);
    Some(Action::Write(Box::new(restore)))
}

/// The parts of the records of other layers with former values that the Applier wants.
fn same_values(case: &Case<'_>, layer: &Layer<'_>, observed: &Observed) -> Vec<Written> {
    let own = leaves(&layer.document, &case.kind.keys);
    let mut all = patches(case, observed);
    all.retain(|written| written.controller != layer.desired.author.controller);
    for written in &mut all {
        let recorded = written.clone();
        written.retain(|place| own.iter().any(|leaf| recorded.replaced_same(leaf, place)));
    }
    all
}

/// The layer with the fields that a Patcher had set before, and that only other Appliers want by
/// now: they stay until the others have taken over the former values from this record. For the
/// server, they still belong to the Patcher.
pub(super) fn kept<'a>(
    case: &Case<'_>,
    layers: &[Layer<'a>],
    at: usize,
    observed: &Observed,
) -> Option<Layer<'a>> {
    let layer = &layers[at];
    let before = own_record(case, layer, observed)?.patched_part();
    let own = leaves(&layer.document, &case.kind.keys);
    let others = layers.iter().enumerate().filter(|(other, _)| *other != at);
    let others = others
        .map(|(_, layer)| layer)
        .filter(|layer| is_applier(layer));
    let others: Vec<(&Layer<'_>, Vec<(FieldPath, Value)>)> = others
        .map(|layer| (layer, leaves(&layer.document, &case.kind.keys)))
        .collect();
    let is_wanted = |wanted: &[(FieldPath, Value)], place: &FieldPath| {
        wanted.iter().any(|leaf| concerns(leaf, place))
    };
    let mut document = layer.document.clone();
    for place in before.places() {
        let live = place.get(&observed.object);
        let mut wanting = others.iter().filter(|(_, wanted)| is_wanted(wanted, place));
        let is_left = live.as_map().is_none() && is_ours(&before, observed, place);
        if is_left
            && !is_wanted(&own, place)
            && wanting.any(|(other, _)| !has_taken_over(case, other, observed, place))
        {
            document = place.set(&document, live);
        }
    }
    (document != layer.document).then_some(Layer {
        desired: layer.desired,
        document,
        added: layer.added.clone(),
    })
}

/// Whether an Applier has a field with its former value in its record, and applies it.
fn has_taken_over(
    case: &Case<'_>,
    layer: &Layer<'_>,
    observed: &Observed,
    place: &FieldPath,
) -> bool {
    let record = own_record(case, layer, observed);
    let recorded = record.is_some_and(|record| record.is_certain(place));
    let manager = &layer.desired.author.manager;
    let separate = case.kind.status && place.top() == "status";
    recorded && !(separate && observed.has_applied_status(manager, place) == Some(false))
}

fn is_applier(layer: &Layer<'_>) -> bool {
    layer.desired.author.target.kind == TargetType::Applier
}

/// The record of this controller on the object.
fn own_record(case: &Case<'_>, layer: &Layer<'_>, observed: &Observed) -> Option<Written> {
    let controller = &layer.desired.author.controller;
    let mut all = Written::of_operator(&observed.object, case.operator, case.key).into_iter();
    all.find(|written| written.controller == *controller && !is_whole(written))
}
