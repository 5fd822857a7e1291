//! List elements without key fields that Patchers have appended and no longer want. They go as a
//! whole, before positions are used.

use document::Value;
use fieldset::{FieldPath, is_relative, leaves};
use operator::spec::TargetType;

use super::undo::record_on;
use super::{Action, Case, leave_to_others, patch};
use crate::desired::{Layer, Ranking};
use crate::live::{Observed, records_of};
use crate::places::{Appended, removed, unwanted};
use crate::problem::Problem;
use crate::written::Written;

/// The leaves of all layers, without those in elements that a withdrawn controller has appended.
pub(super) fn wanted(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    observed: &Observed,
) -> Vec<(FieldPath, Value)> {
    let all = |layer: &Layer<'_>| leaves(&layer.document, &case.kind.keys);
    let mut relative = ranking
        .layers
        .iter()
        .map(|layer| is_relative(&layer.document));
    if !case.wanted.has_withdrawn() || !relative.any(|relative| relative) {
        return ranking.layers.iter().flat_map(all).collect();
    }
    let records = records_of(&observed.object, case.key, case.operator).into_iter();
    let going = records.filter(|written| {
        case.wanted.is_withdrawn(&written.controller) && !case.held.contains(&written.controller)
    });
    let going: Vec<FieldPath> = going.flat_map(|written| written.appended()).collect();
    let layers = ranking.layers.iter().flat_map(|layer| {
        let relative = is_relative(&layer.document);
        let goes = |(leaf, _): &(FieldPath, Value)| {
            relative && going.iter().any(|element| leaf.within(element))
        };
        let mut leaves = all(layer);
        leaves.retain(|leaf| !goes(leaf));
        leaves
    });
    layers.collect()
}

/// The object without the elements that a Patcher has appended and no longer wants; `None` if there
/// are none. The records on it have the new positions.
pub(super) fn trimmed(
    case: &Case<'_>,
    ranking: &Ranking<'_>,
    at: usize,
    observed: &Observed,
) -> Option<Observed> {
    let layer = &ranking.layers[at];
    let author = &layer.desired.author;
    if author.target.kind != TargetType::Patcher {
        return None;
    }
    let records = Written::of_operator(&observed.object, case.operator, case.key);
    let own = |written: &&Written| written.controller == author.controller && written.is_patch();
    let own = records.iter().find(own)?;
    let others = ranking.layers.iter().enumerate();
    let keeps = others.filter(|(other, layer)| *other == at || !is_relative(&layer.document));
    let patches = keeps.map(|(_, layer)| &layer.document);
    let mut gone = unwanted(Appended::Written(own), patches, &case.kind.keys);
    gone.retain(|place| !place.holds_any(&observed.object, &case.learned.kept));
    (!gone.is_empty()).then(|| {
        let mut trimmed = observed.clone();
        trimmed.object = without_elements(&observed.object, own, &records, &gone);
        trimmed
    })
}

/// The object without elements that a controller has appended, and without the maps around them
/// that it has created and that are empty now.
fn without_elements(
    object: &Value,
    own: &Written,
    records: &[Written],
    gone: &[FieldPath],
) -> Value {
    let rest = removed(object, gone);
    let created = own.places().filter(|map| {
        own.is_made(map)
            && gone
                .iter()
                .any(|element| element != *map && element.within(map))
    });
    let created: Vec<&FieldPath> = created.collect();
    let rest = created.into_iter().rev().fold(rest, |rest, map| {
        let is_empty = map.get(&rest).as_map().is_some_and(document::Map::is_empty);
        if is_empty { map.take(&rest) } else { rest }
    });
    moved(&rest, records, gone)
}

/// An object from which elements were removed, with the new positions in the records.
pub(super) fn moved(object: &Value, records: &[Written], gone: &[FieldPath]) -> Value {
    records.iter().fold(object.clone(), |object, written| {
        let mut written = written.clone();
        if !written.after_removal(gone) {
            return object;
        }
        let annotation = written.annotation();
        record_on(&object, &written, &annotation)
    })
}

/// The next action for a Patcher that no longer wants elements.
pub(super) fn decide(
    case: &Case<'_>,
    layer: &Layer<'_>,
    observed: &Observed,
    trimmed: &Observed,
    problems: &mut Vec<Problem>,
) -> Action {
    let mut ranking = case.wanted.ranking(case.key, case.kind, &trimmed.object);
    ranking
        .layers
        .retain(|layer| !case.held.contains(&layer.desired.author.controller));
    // What is lost to others is reported for the object as it is.
    leave_to_others(case, &mut ranking, trimmed, &mut Vec::new());
    let wanted = wanted(case, &ranking, trimmed);
    let controller = &layer.desired.author.controller;
    let mut layers = ranking.layers.iter();
    let Some(layer) = layers.find(|layer| layer.desired.author.controller == *controller) else {
        return Action::Nothing;
    };
    patch::decide(case, layer, (&observed.object, trimmed), &wanted, problems)
}
