//! What a step expects, and how it is compared with what was derived.
//!
//! `targets` and `events` are compared as a whole. `contains` compares the fields that it names:
//! maps may have more members, lists have the same length, `null` is a field that is missing.
//! `objects` is about all objects of the cluster, whether they are derived or not.

mod objects;

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, View};
use object::GroupKind;
use offline::EventType;
use operator::{Operator, Report};

use crate::file::Placed;
use crate::mismatch::{Difference, Mismatch};
use crate::object_ref::ObjectRef;
pub use objects::{CompleteObject, ExpectedObjects};

/// What is expected after a step. Fields that are `None` or empty expect nothing, except that
/// without `errors` there must be none.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    /// All target objects, complete.
    pub targets: Option<Placed<Targets>>,
    /// Objects that exist, with the fields that are named.
    pub contains: Vec<Placed<Value>>,
    /// Objects that do not exist.
    pub absent: Vec<Placed<ObjectRef>>,
    /// Objects of the cluster, derived or not.
    pub objects: ExpectedObjects,
    /// All errors.
    pub errors: Option<Placed<Option<Vec<ExpectedError>>>>,
    /// The events of the step.
    pub events: Option<Placed<Option<Vec<String>>>>,
}

/// The expected target objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// The objects; `None` if they are still to be recorded.
    pub objects: Option<Vec<Value>>,
    /// The file that all of them are in, if it is one.
    pub file: Option<String>,
    /// Whether each object is an item of a list in the test.
    pub inline: bool,
}

/// An expected error. Fields that are `None` match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedError {
    /// The stable code.
    pub code: Option<String>,
    /// The name of the controller.
    pub controller: Option<String>,
    /// The location of the stage in the controller.
    pub stage: Option<String>,
    /// An object that the document with the error is derived from.
    pub object: Option<ObjectRef>,
    /// A part of the message.
    pub message: Option<String>,
}

/// What a step has led to.
#[derive(Debug)]
pub(crate) struct StepOutcome {
    pub(crate) targets: Vec<Value>,
    pub(crate) errors: Vec<Report>,
    pub(crate) events: Vec<(EventType, Value)>,
}

impl StepOutcome {
    /// The events as they are written in tests: `ADDED health/shop/web`.
    pub(crate) fn event_names(&self) -> Vec<String> {
        let name = |(kind, object): &(EventType, Value)| {
            format!("{} {}", kind.as_str(), ObjectRef::describe(object))
        };
        self.events.iter().map(name).collect()
    }

    fn object(&self, name: &ObjectRef) -> Option<&Value> {
        let mut targets = self.targets.iter();
        targets.find(|target| ObjectRef::of(target).as_ref() == Some(name))
    }
}

impl Expect {
    /// Whether nothing is expected, not even that there are no errors.
    pub fn is_empty(&self) -> bool {
        self.targets.is_none()
            && self.contains.is_empty()
            && self.absent.is_empty()
            && self.objects.is_empty()
            && self.errors.is_none()
            && self.events.is_none()
    }

    /// Everything in which the outcome differs. `objects` are those of the cluster.
    pub(crate) fn compare(
        &self,
        found: &StepOutcome,
        objects: &BTreeMap<ObjectRef, Value>,
    ) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        if let Some(targets) = &self.targets {
            mismatches.extend(compare_targets(targets, found));
        }
        for expected in &self.contains {
            mismatches.extend(compare_part(expected, found));
        }
        for absent in &self.absent {
            if let Some(object) = found.object(&absent.value) {
                mismatches.push(Mismatch::Present {
                    at: absent.at.clone(),
                    object: object.clone(),
                });
            }
        }
        mismatches.extend(self.objects.compare(objects));
        mismatches.extend(self.compare_errors(found));
        if let Some(events) = &self.events {
            let names = found.event_names();
            if events.value.as_ref() != Some(&names) {
                mismatches.push(Mismatch::Events {
                    at: events.at.clone(),
                    expected: events.value.clone(),
                    found: names,
                });
            }
        }
        mismatches
    }

    /// The names in `absent` that test nothing, because no controller writes objects of their kind.
    pub(crate) fn never_derived(&self, operator: &Operator) -> Vec<Mismatch> {
        let kinds = target_kinds(operator);
        let never = self.absent.iter();
        let never = never.filter(|absent| !kinds.contains(absent.value.kind()));
        never
            .map(|absent| Mismatch::NeverDerived {
                at: absent.at.clone(),
                name: absent.value.clone(),
                kinds: kinds.iter().cloned().collect(),
            })
            .collect()
    }

    /// The names in `absent` that test nothing, because the objects that they mean are in a namespace.
    /// `derived` are the objects that the test has derived so far.
    pub(crate) fn without_namespace(
        &self,
        operator: &Operator,
        derived: &BTreeSet<ObjectRef>,
    ) -> Vec<Mismatch> {
        let names = self.absent.iter();
        let names = names.filter(|absent| !absent.value.has_namespace());
        names
            .filter_map(|absent| {
                let name = &absent.value;
                let same_kind = || derived.iter().filter(|one| one.kind() == name.kind());
                // A view may have objects with and without a namespace.
                if same_kind().any(|one| !one.has_namespace()) {
                    return None;
                }
                let meant = same_kind().find(|one| one.name() == name.name());
                if meant.is_none() && !is_namespaced(operator, name.kind()) {
                    return None;
                }
                Some(Mismatch::NoNamespace {
                    at: absent.at.clone(),
                    name: name.clone(),
                    meant: meant.cloned(),
                })
            })
            .collect()
    }

    fn compare_errors(&self, found: &StepOutcome) -> Option<Mismatch> {
        let recorded = self.errors.as_ref();
        let expected = match recorded {
            Some(errors) => errors.value.as_deref(),
            None => Some(&[][..]),
        };
        if expected.is_some_and(|expected| all_match(expected, &found.errors)) {
            return None;
        }
        Some(Mismatch::Errors {
            at: recorded.map(|errors| errors.at.clone()),
            expected: expected.map(<[_]>::to_vec),
            found: found.errors.clone(),
        })
    }
}

/// The kinds that the controllers write, in lower case.
fn target_kinds(operator: &Operator) -> BTreeSet<String> {
    let targets = operator.controllers.iter().flat_map(|one| &one.targets);
    let kinds = targets.map(|target| target.resource.kind.to_lowercase());
    kinds.collect()
}

/// Whether all targets of a kind, in lower case, are resources of Kubernetes in namespaces.
fn is_namespaced(operator: &Operator, kind: &str) -> bool {
    let targets = operator.controllers.iter().flat_map(|one| &one.targets);
    let mut targets = targets
        .map(|target| target.resource.group_kind())
        .filter(|one| one.kind.as_str().to_lowercase() == kind)
        .peekable();
    let namespaced = |one: GroupKind| {
        let mut kinds = schema::table::kinds().iter();
        kinds.any(|known| {
            known.namespaced && (known.group, known.kind) == (one.group.as_str(), one.kind.as_str())
        })
    };
    targets.peek().is_some() && targets.all(namespaced)
}

fn compare_targets(expected: &Placed<Targets>, found: &StepOutcome) -> Option<Mismatch> {
    let key = |object: &Value| {
        let group = object.get("apiVersion").as_str().unwrap_or_default();
        (ObjectRef::of(object), object::group_of(group).to_owned())
    };
    let objects = expected.value.objects.as_deref();
    let mut left: Vec<&Value> = found.targets.iter().collect();
    let mut differences = Vec::new();
    // What was found, in the order of the expectation.
    let mut in_order = Vec::new();
    for object in objects.into_iter().flatten() {
        let partner = left.iter().position(|other| key(other) == key(object));
        let partner = partner.map(|at| left.remove(at));
        in_order.extend(partner.cloned());
        if partner != Some(object) {
            differences.push(Difference {
                expected: Some(object.clone()),
                found: partner.cloned(),
            });
        }
    }
    in_order.extend(left.iter().map(|object| (*object).clone()));
    differences.extend(left.into_iter().map(|object| Difference {
        expected: None,
        found: Some(object.clone()),
    }));
    if differences.is_empty() && objects.is_some() {
        return None;
    }
    let inline = objects.filter(|_| expected.value.inline);
    Some(Mismatch::Targets {
        at: expected.at.clone(),
        file: expected.value.file.clone(),
        expected: inline.map(<[_]>::to_vec),
        recorded: objects.is_some(),
        differences,
        found: in_order,
    })
}

fn compare_part(expected: &Placed<Value>, found: &StepOutcome) -> Option<Mismatch> {
    let name = ObjectRef::of(&expected.value)?;
    let object = found.object(&name);
    if object.is_some_and(|object| contains(object, &expected.value)) {
        return None;
    }
    let names = found.targets.iter().map(ObjectRef::describe).collect();
    Some(Mismatch::Part {
        at: expected.at.clone(),
        expected: expected.value.clone(),
        found: object.map(|object| narrowed(object, &expected.value)),
        names,
    })
}

/// Whether a value has everything that is expected.
fn contains(found: &Value, expected: &Value) -> bool {
    match (expected.view(), found.view()) {
        (View::Map(expected), View::Map(found)) => expected
            .iter()
            .all(|(key, value)| contains(found.get(key).unwrap_or(&Value::NULL), value)),
        (View::List(expected), View::List(found)) => {
            expected.len() == found.len()
                && expected
                    .iter()
                    .zip(found.iter())
                    .all(|(expected, found)| contains(found, expected))
        }
        _ => expected == found,
    }
}

/// The part of a value that an expectation names.
fn narrowed(found: &Value, expected: &Value) -> Value {
    match (expected.view(), found.view()) {
        (View::Map(expected), View::Map(found)) => {
            let part = |(key, value): &(Key, Value)| {
                let found = found.get(key).unwrap_or(&Value::NULL);
                (key.clone(), narrowed(found, value))
            };
            Map::from_entries(expected.iter().map(part).collect()).into()
        }
        (View::List(expected), View::List(found)) => {
            let item = |(index, item): (usize, &Value)| match expected.get(index) {
                Some(expected) => narrowed(item, expected),
                None => item.clone(),
            };
            let items: Vec<Value> = found.iter().enumerate().map(item).collect();
            Value::list(items)
        }
        _ => found.clone(),
    }
}

/// Whether each expected error matches another error, and none is left.
fn all_match(expected: &[ExpectedError], found: &[Report]) -> bool {
    if expected.len() != found.len() {
        return false;
    }
    // An expectation with fewer fields could take the error of a more precise one, so that one
    // gets its choice first.
    let mut by_precision: Vec<&ExpectedError> = expected.iter().collect();
    by_precision.sort_by_key(|error| std::cmp::Reverse(error.precision()));
    let mut left: Vec<&Report> = found.iter().collect();
    by_precision.iter().all(|error| {
        let partner = left.iter().position(|report| error.matches(report));
        partner.map(|at| left.remove(at)).is_some()
    })
}

impl ExpectedError {
    fn precision(&self) -> usize {
        let fields = [
            self.code.is_some(),
            self.controller.is_some(),
            self.stage.is_some(),
            self.object.is_some(),
            self.message.is_some(),
        ];
        fields.into_iter().filter(|given| *given).count()
    }

    fn matches(&self, report: &Report) -> bool {
        let is = |expected: &Option<String>, found: &str| {
            expected.as_ref().is_none_or(|expected| expected == found)
        };
        let message = self.message.as_ref();
        is(&self.code, report.code)
            && is(&self.controller, &report.controller)
            && is(&self.stage, &report.stage)
            && message.is_none_or(|message| report.message.contains(message.as_str()))
            && self
                .object
                .as_ref()
                .is_none_or(|object| origins(report).contains(object))
    }
}

/// The source objects that a document with an error is derived from.
pub(crate) fn origins(report: &Report) -> Vec<ObjectRef> {
    let origin = report.origin.as_list().into_iter().flatten();
    let object = |component: &Value| {
        let text = |field: &str| component.get(field).as_str();
        let namespace = text("namespace").unwrap_or_default();
        Some(ObjectRef::new(text("source")?, namespace, text("name")?))
    };
    origin.filter_map(object).collect()
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn a_part_has_fewer_members_but_as_many_items() {
        let found = json!({"a": {"b": 1, "c": 2}, "l": [{"x": 1, "y": 2}, 3]});
        for (expected, holds) in [
            (json!({}), true),
            (json!({"a": {"b": 1}}), true),
            (json!({"a": {"b": 2}}), false),
            (json!({"l": [{"x": 1}, 3]}), true),
            (json!({"l": [{"x": 1}]}), false),
            (json!({"d": null, "a": {"d": null}}), true),
            (json!({"a": null}), false),
            (json!({"a": {}}), true),
        ] {
            assert_eq!(contains(&found, &expected), holds, "{expected}");
        }
    }

    #[test]
    fn the_narrowed_part_shows_only_what_is_compared() {
        let found = json!({"a": {"b": 1, "c": 2}, "l": [{"x": 1, "y": 2}, 3]});
        let expected = json!({"a": {"b": 5, "z": 1}, "l": [{"x": 1}]});
        let shown = json!({"a": {"b": 1, "z": null}, "l": [{"x": 1}, 3]});
        assert_eq!(narrowed(&found, &expected), shown);
    }
}
