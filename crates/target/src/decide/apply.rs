//! `Applier`: server-side apply.
//!
//! The server merges, and removes what is no longer applied. Fields are taken from other
//! managers only if we have owned them before, or if `target.force` is set. For that, the
//! applied fields are recorded on the object.

mod handover;
mod resolve;

use std::collections::BTreeSet;

use document::Value;
use fieldset::{FieldPath, leaves};
use handover::{kept, restore};
pub use resolve::{Resolved, resolve};

use super::update::claim;
use super::{Action, Case, Verb, is_ours, is_unshared, ranked, write};
use crate::claim::Claim;
use crate::desired::Layer;
use crate::live::{Live, Observed, fields_of, identity, is_whole};
use crate::written::{Written, value_hash};
use fieldset::compare::{covers, equal};
use object::marks::{MANAGED_BY, MANAGER, OPERATOR, OWNER, operator_label};

/// The next action for the Applier at a position of the layers. `observed` is `None` if the object
/// does not exist.
pub(super) fn decide(
    case: &Case<'_>,
    layers: &[Layer<'_>],
    at: usize,
    observed: Option<&Observed>,
) -> Action {
    let layer = &layers[at];
    if let Some(restore) = observed.and_then(|observed| restore(case, layers, at, observed)) {
        return restore;
    }
    let kept = observed.and_then(|observed| kept(case, layers, at, observed));
    let layer = kept.as_ref().unwrap_or(layer);
    let empty = Value::from(identity(case.key, case.kind));
    let status = layer.document.get("status");
    // A status that is no longer wanted is released first, while its record still exists.
    if case.kind.status && status.is_null() && had_status(case, layer, observed) {
        let release = send(case, layer, observed, true, &empty);
        return release.unwrap_or(Action::Nothing);
    }
    let main = main_body(case, layer, observed);
    if let Some(action) = send(case, layer, observed, false, &main) {
        return action;
    }
    if !case.kind.status || status.is_null() {
        return Action::Nothing;
    }
    let body = FieldPath::of(&["status"]).set(&empty, status);
    send(case, layer, observed, true, &body).unwrap_or(Action::Nothing)
}

/// What this controller has set as a Patcher, and what other Patchers of the Operator have set, or
/// Appliers that took it over from them, as far as the object still has it. The Applier takes it
/// over where it applies the same fields: to the server, a Patcher is another manager, whose fields
/// stay when they are no longer applied.
fn patches(case: &Case<'_>, observed: &Observed) -> Vec<Written> {
    let all = ranked(
        case,
        Written::of_operator(&observed.object, case.operator, case.key),
    );
    let mut parts: Vec<Written> = Vec::new();
    let mut applied: BTreeSet<FieldPath> = BTreeSet::new();
    for recorded in all.into_iter().filter(|written| !is_whole(written)) {
        let mut part = recorded.clone().into_patched_part();
        part.retain(|place| {
            let live = (place.clone(), place.get(&observed.object).clone());
            // Others may have restored the former value themselves.
            let left = is_ours(&recorded, observed, place)
                || recorded.replaced_same(&live, place)
                // Our layers may have changed it since.
                || (place.is_indexed_element() && recorded.is_added_element(place));
            left && !applied.contains(place)
        });
        parts.push(part);
        // What an Applier has taken from others is removed in the end. Layers of a later rank with
        // the same value may still have the value before that in their records.
        let only_applied = recorded.places().filter(|place| {
            let uncertain = recorded.applied && !recorded.is_certain(place);
            uncertain && place.top() == "status" && is_unshared(&recorded, observed, place)
        });
        applied.extend(only_applied.cloned());
    }
    // A map around a value of others belongs to them, too, even after the value was restored.
    let replaced = parts.iter().flat_map(Written::replaced).cloned().collect();
    for part in &mut parts {
        part.share(&replaced);
    }
    parts
}

/// The write, if the object needs one.
fn send(
    case: &Case<'_>,
    layer: &Layer<'_>,
    observed: Option<&Observed>,
    status: bool,
    body: &Value,
) -> Option<Action> {
    let author = &layer.desired.author;
    let force = author.target.force;
    // A forced write has another goal than the same body without force.
    let goal = if force {
        Value::list([body.clone()])
    } else {
        body.clone()
    };
    let answer = case.record.of(&author.manager, status, &goal);
    let mut drift = Vec::new();
    if let Some(observed) = observed {
        let live = &observed.object;
        // List elements have no `apiVersion` and `kind`.
        let named = match body.as_map() {
            Some(fields) => Value::from(fields.without("apiVersion").without("kind")),
            None => body.clone(),
        };
        match answer {
            Some(answer) => {
                let leaves = leaves(&named, &case.kind.keys);
                let changed = leaves.iter().filter(|(place, value)| {
                    let (answer, live) = (place.get(answer), place.get(live));
                    // Others may add fields to an empty map.
                    let taken = value.as_map().is_some() && live.as_map().is_some();
                    !taken && !equal(answer, live)
                });
                drift.extend(changed.map(|(place, _)| place.clone()));
                if drift.is_empty() {
                    return None;
                }
            }
            None => {
                let owner = FieldPath::of(&["metadata", "annotations", OWNER]);
                let claims = !owner.get(body).is_null();
                let disowned = !status && !claims && own_claim(case, layer, observed).is_some();
                let created = claimed(case, layer, Some(observed)).filter(|_| claims);
                let named = created.map_or(named.clone(), |created| {
                    let claim = claim(layer.desired, created).print_over(live, case.key);
                    owner.set(&named, &claim.into())
                });
                let releases = status && body.get("status").is_null();
                let covered = covers(live, &named, &case.kind.keys, true);
                // A status that is as wanted is applied, too: what an Applier has owned, it restores.
                let owns = |(place, _): &(FieldPath, Value)| {
                    place.top() != "status"
                        || observed.has_applied_status(&author.manager, place) != Some(false)
                };
                let owned = !status || leaves(&named, &case.kind.keys).iter().all(owns);
                if covered && owned && !disowned && !releases {
                    return None;
                }
            }
        }
        // Read first: somebody may have taken the missing fields.
        if !case.fresh {
            return Some(Action::Read);
        }
    }
    let verb = Verb::Apply { force };
    let mut write = write(layer, verb, status, body.clone(), goal);
    write.drift = drift;
    write.creates = observed.is_none();
    Some(Action::Write(Box::new(write)))
}

/// Whether this controller has applied a status that it no longer wants.
fn had_status(case: &Case<'_>, layer: &Layer<'_>, observed: Option<&Observed>) -> bool {
    let author = &layer.desired.author;
    let last = case.record.last(&author.manager, true);
    match (last, observed) {
        (Some(last), _) => {
            let goal = if last.goal.as_list().is_some() {
                last.goal.at(0)
            } else {
                &last.goal
            };
            !goal.get("status").is_null()
        }
        (None, Some(observed)) => {
            let all = Written::of_operator(&observed.object, case.operator, case.key);
            let own = all.iter().filter(|w| w.controller == author.controller);
            observed.is_status_applied(&author.manager)
                || own
                    .flat_map(Written::places)
                    .any(|place| place.top() == "status")
        }
        (None, None) => false,
    }
}

fn main_body(case: &Case<'_>, layer: &Layer<'_>, observed: Option<&Observed>) -> Value {
    let author = &layer.desired.author;
    let live = observed.map(|observed| &observed.object);
    let mut fields = fields_of(&layer.document);
    if case.kind.status {
        fields = fields.without("status");
    }
    let mut body = identity(case.key, case.kind);
    for (field, value) in &fields {
        body = body.with(field.clone(), value.clone());
    }
    let mut body = Value::from(body);
    for field in ["annotations", "labels", "ownerReferences"] {
        let given = layer.document.get("metadata").get(field);
        if !given.is_null() {
            body = FieldPath::of(&["metadata", field]).set(&body, given);
        }
    }
    let created = match observed.and_then(|observed| case.claim(observed)) {
        Some(claim) => claim.created && !case.learned.disowned,
        None => observed.is_none(),
    };
    let given = live.map_or(&Value::NULL, |live| {
        live.get("metadata").get("labels").get(MANAGED_BY)
    });
    let manager = FieldPath::of(&["metadata", "labels", MANAGED_BY]);
    let wanted = manager.get(&body).as_str().unwrap_or(MANAGER).to_owned();
    if !given.is_null() && given.as_str() != Some(wanted.as_str()) {
        body = manager.remove(&body);
    } else if created {
        body = manager.set(&body, &Value::from(wanted));
    }
    if !observed.is_some_and(|observed| is_labelled_by_another(case, observed)) {
        let label = operator_label(&author.operator.name);
        body = FieldPath::of(&["metadata", "labels", OPERATOR]).set(&body, &Value::from(label));
    }
    if let Some(created) = claimed(case, layer, observed) {
        let text = Value::from(claim(layer.desired, created).print(case.key));
        body = FieldPath::of(&["metadata", "annotations", OWNER]).set(&body, &text);
    }
    with_record(case, layer, &body)
}

/// Whether the object has the label of another Operator that has applied something to it. There is
/// room for one, and two that force their values would replace each other's for ever.
fn is_labelled_by_another(case: &Case<'_>, observed: &Observed) -> bool {
    let labels = observed.object.get("metadata").get("labels");
    let Some(label) = labels.get(OPERATOR).as_str() else {
        return false;
    };
    let mut others = case.others(observed).into_iter();
    others.any(|other| other.has_applied() && operator_label(&other.operator) == label)
}

/// The claim that the Applier puts on the object, which says whether we created it; `None` if it
/// puts none. It never adopts an object, but keeps the claim on one that an Updater has adopted.
fn claimed(case: &Case<'_>, layer: &Layer<'_>, observed: Option<&Observed>) -> Option<bool> {
    let Some(observed) = observed else {
        return Some(true);
    };
    let claim = own_claim(case, layer, observed)?;
    (!claim.created || !case.learned.disowned).then_some(claim.created)
}

/// The claim on an object, if this Applier may replace it.
fn own_claim(case: &Case<'_>, layer: &Layer<'_>, observed: &Observed) -> Option<Claim> {
    case.claim(observed)
        .filter(|claim| !is_of_another(case, layer, claim))
}

/// Whether the claim on an object is that of another controller of this Operator, which still
/// yields it. One claim is enough, and two Appliers would replace each other's for ever.
fn is_of_another(case: &Case<'_>, layer: &Layer<'_>, claim: &Claim) -> bool {
    claim.is_of(case.operator)
        && claim.controller != layer.desired.author.controller
        && case.wanted.is_yielded_by(&claim.controller)
}

/// Whether a field of the status is not known to have been ours. The status is applied after the
/// record is written, and what is recorded is taken from others by force. So a field is recorded
/// when the server has accepted it: others may set it in between, and keep it.
fn is_unproven(case: &Case<'_>, layer: &Layer<'_>, place: &FieldPath) -> bool {
    let author = &layer.desired.author;
    if !case.kind.status || place.top() != "status" || author.target.force {
        return false;
    }
    let Live::Present(observed) = case.live else {
        return true;
    };
    let applied = observed.has_applied_status(&author.manager, place);
    let records = || Written::of_operator(&observed.object, case.operator, case.key);
    let was_ours = |written: &Written| {
        let own = written.controller == author.controller && written.has(place);
        own || is_ours(written, observed, place)
    };
    applied == Some(false) && !records().iter().any(was_ours)
}

/// The body with a record of the applied fields.
fn with_record(case: &Case<'_>, layer: &Layer<'_>, body: &Value) -> Value {
    let author = &layer.desired.author;
    let mut written = Written::new(&author.operator, &author.controller, case.key);
    written.origin = layer.desired.origin.clone();
    written.applied = true;
    written.document = Some(value_hash(&layer.document));
    let before = match case.live {
        Live::Present(observed) => patches(case, observed),
        Live::Unknown | Live::Unseen | Live::Absent => Vec::new(),
    };
    for (place, value) in leaves(&layer.document, &case.kind.keys) {
        if is_unproven(case, layer, &place) {
            continue;
        }
        written.record_applied(&place, &value);
        // What a Patcher has replaced is restored in the end.
        let leaf = (place, value);
        let mut replaced = before.iter().filter(|before| before.has(&leaf.0));
        if let Some(before) = replaced.next()
            && let Some(was) = before.was(&leaf.0)
            && !before.replaced_same(&leaf, &leaf.0)
        {
            written.record(&leaf.0, &leaf.1, None, was.clone());
        }
    }
    // So do the maps and list elements around it that the Patcher has created.
    let applied = written.clone();
    for before in &before {
        let around = |place: &&FieldPath| applied.places().any(|leaf| leaf.within(place));
        for place in before.places().filter(around).filter(|p| !applied.has(p)) {
            written.keep(before, place);
        }
    }
    let live = match case.live {
        Live::Present(observed) => &observed.object,
        Live::Unknown | Live::Unseen | Live::Absent => &Value::NULL,
    };
    let text = Value::from(written.print_over(live));
    FieldPath::of(&["metadata", "annotations", &author.set]).set(body, &text)
}
