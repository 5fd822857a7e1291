//! What an apply does with the fields that other managers own.

use document::{Key, Value};
use fieldset::{FieldPath, PathElement, leaves};
use object::Ownership;
use object::marks::{
    MANAGED_BY, OPERATOR, OWNER, field_manager, is_manager_of, is_mark, operator_of,
};

use super::with_record;
use crate::claim::Claim;
use crate::decide::Case;
use crate::desired::Layer;
use crate::live::{Live, Observed, fields_of, is_whole};
use crate::problem::OwnedField;
use crate::written::Written;

/// The rest of an apply after conflicts with other managers.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The body to apply with force; `None` if nothing may be forced.
    pub body: Option<Value>,
    /// The fields that we have never owned.
    pub lost: Vec<OwnedField>,
}

/// Resolves conflicts of an apply: fields that we have owned before are taken back, others are
/// left to their managers. A field that is in the record of another Operator is left to that one
/// even if we have owned it, too: otherwise each would take it back from the other without end.
/// `conflicts` are fields in the notation of Kubernetes, with their managers.
pub fn resolve(
    case: &Case<'_>,
    manager: &str,
    body: &Value,
    conflicts: &[(String, String)],
) -> Resolved {
    let Live::Present(observed) = case.live else {
        let lost = left(case, conflicts);
        return Resolved { body: None, lost };
    };
    let mut writers = case.wanted.writers();
    let author = writers.find(|desired| desired.author.manager == manager);
    let controller = author.map_or("", |desired| desired.author.controller.as_str());
    let all = Written::of_operator(&observed.object, case.operator, case.key);
    let own = all.iter().find(|w| w.controller == controller && w.applied);
    let has = |written: &Written, field: &str| written.places().any(|place| touches(place, field));
    // Which controller has set a field. A value of others that we have restored is not in a record,
    // although we wrote it last; an Applier may have it, too.
    let sets = |written: &Written, field: &str, other: &str| {
        let applies = field_manager(&written.operator, &written.controller) == other;
        let mut places = written.places().filter(|place| touches(place, field));
        places.any(|place| written.is_certain(place) || (applies && !observed.is_rewritten(place)))
    };
    let ours = |field: &str, other: &str| {
        let mut all = all.iter();
        is_mark_at(field) || all.any(|written| is_whole(written) || sets(written, field, other))
    };
    let others = case.others(observed);
    let theirs = |field: &str, other: &str| {
        let is_by =
            |written: &&Written| field_manager(&written.operator, &written.controller) == other;
        let mut by = others.iter().filter(is_by);
        by.any(|written| has(written, field))
    };
    let gone = gone_operators(case, observed);
    let owned = |field: &str, other: &str| {
        (is_manager_of(other, &case.operator.name) && ours(field, other))
            || own.is_some_and(|own| has(own, field) && !theirs(field, other))
            || gone.iter().any(|gone| is_manager_of(other, gone))
    };
    let (taken, mut lost): (Vec<_>, Vec<_>) = conflicts
        .iter()
        .cloned()
        .partition(|(field, other)| owned(field, other));
    let mut rest = body.clone();
    for (place, _) in leaves(body, &case.kind.keys) {
        if lost.iter().any(|(field, _)| touches(&place, field)) {
            rest = case.kind.keys.atomic(&place).remove(&rest);
        }
    }
    // Fields that we never owned must not be recorded as ours.
    if !lost.is_empty()
        && let Some(author) = author
    {
        let kept = fields_of(&rest).with(Key::new("metadata"), rest.get("metadata").clone());
        let mut document = without_marks(&kept.into(), &author.author.set);
        // The status is applied by another request, and recorded by this one.
        let ranking = case.wanted.ranking(case.key, case.kind, case.object());
        let mut layers = ranking.layers.iter();
        let layer = layers.find(|layer| layer.desired.author.manager == manager);
        let status = layer.map_or(&Value::NULL, |layer| layer.document.get("status"));
        if case.kind.status && body.get("status").is_null() && !status.is_null() {
            document = FieldPath::of(&["status"]).set(&document, status);
        }
        let layer = Layer {
            desired: author,
            document,
            added: Vec::new(),
        };
        rest = with_record(case, &layer, &rest);
    }
    let nothing_left = taken.is_empty() && lost.is_empty();
    // The label of an object has room for one Operator.
    let label = format!(".metadata.labels.{OPERATOR}");
    lost.retain(|(field, _)| *field != label);
    let version = Value::from(observed.version());
    let rest = FieldPath::of(&["metadata", "resourceVersion"]).set(&rest, &version);
    Resolved {
        body: (!nothing_left).then_some(rest),
        lost: left(case, &lost),
    }
}

/// Fields that are left to their managers.
fn left(case: &Case<'_>, conflicts: &[(String, String)]) -> Vec<OwnedField> {
    let fields = conflicts.iter().map(|(field, manager)| OwnedField {
        field: field.clone(),
        manager: manager.clone(),
        gone: operator_of(manager)
            .filter(|name| case.peers.lacks(name))
            .map(str::to_owned),
    });
    fields.collect()
}

/// The Operators with marks on an object that no longer exist: nobody else takes over what they
/// have set.
fn gone_operators(case: &Case<'_>, observed: &Observed) -> Vec<String> {
    let object = &observed.object;
    let claim = Claim::read(object, case.key);
    let claim = claim.filter(|claim| claim.owner(case.operator) == Ownership::Other);
    let claim = claim.map(|claim| (claim.operator, claim.uid));
    let records = Written::of_others(object, case.operator, case.key).into_iter();
    let records = records.map(|written| (written.operator, written.uid));
    let others = claim.into_iter().chain(records);
    let gone = others.filter(|(name, uid)| case.peers.is_gone(name, uid.as_deref()));
    gone.map(|(name, _)| name).collect()
}

/// Whether a field, in the notation of Kubernetes, is a label or annotation that marks objects.
fn is_mark_at(field: &str) -> bool {
    let maps = [".metadata.annotations.", ".metadata.labels."];
    let name = maps.iter().find_map(|map| field.strip_prefix(map));
    name.is_some_and(|name| is_mark(name) || name == MANAGED_BY)
}

/// The part of a body that comes from the document.
fn without_marks(body: &Value, set: &str) -> Value {
    let marks = [
        ["metadata", "annotations", OWNER],
        ["metadata", "annotations", set],
        ["metadata", "labels", OPERATOR],
    ];
    let document = marks
        .iter()
        .fold(body.clone(), |body, mark| FieldPath::of(mark).remove(&body));
    ["name", "namespace"].iter().fold(document, |body, field| {
        FieldPath::of(&["metadata", field]).remove(&body)
    })
}

/// Whether a path of ours equals the field, is inside it, or is a list that contains it. A position
/// in a list matches any element: only the server knows which one it is. A map or an element of
/// ours does not contain the fields that others add to it.
fn touches(place: &FieldPath, field: &str) -> bool {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    let mut rest = field;
    for step in &place.0 {
        if rest.is_empty() {
            return true;
        }
        let after = match step {
            PathElement::Index(_) if rest.starts_with('[') => {
                rest.split_once(']').map(|(_, after)| after)
            }
            PathElement::Index(_) => None,
            PathElement::Field(_) | PathElement::Element(_) | PathElement::Value(_) => {
                rest.strip_prefix(&FieldPath(vec![step.clone()]).to_string())
            }
        };
        match after.filter(|after| ends(after)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    !rest.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_ours_if_one_of_our_paths_overlaps_it() {
        let check = |pointer: &str, field: &str, expect: bool| {
            let place = FieldPath::parse(pointer).unwrap();
            assert_eq!(touches(&place, field), expect, "{pointer} {field}");
        };
        check("/spec/replicas", ".spec.replicas", true);
        check("/spec/replicas", ".spec.replicasMore", false);
        check("/spec/replicas", ".spec", true);
        check("/spec/args", ".spec.args[=\"x\"]", true);
        check(
            "/metadata/annotations/a.b~1c",
            ".metadata.annotations.a.b/c",
            true,
        );
        let image = r#"/spec/containers/[{"name":"a"}]/image"#;
        check(image, r#".spec.containers[name="a"].image"#, true);
        check(image, r#".spec.containers[name="b"].image"#, false);
        let element = r#"/spec/containers/[{"name":"a"}]"#;
        check(element, r#".spec.containers[name="a"].image"#, false);
        check("/spec/l/[0]/x", r#".spec.l[id="a"].x"#, true);
        check("/spec/l/[0]/x", r#".spec.l[id="a"].y"#, false);
    }
}
