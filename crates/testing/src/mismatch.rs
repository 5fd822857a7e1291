//! In what an outcome differs from the expectation.

use document::{Location, Map, Value, View, json};
use operator::Report;

use crate::expect::{ExpectedError, origins};
use crate::object_ref::ObjectRef;
use crate::update::Replacement;

/// An expectation that does not hold. Each has the place of the expectation in the test file.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// The target objects are others.
    Targets {
        /// The place of `targets`.
        at: Location,
        /// The file that they are in, if all of them are in one.
        file: Option<String>,
        /// The expected objects, if they are a list in the test; the objects that were found are
        /// in the same order, if they are the same.
        expected: Option<Vec<Value>>,
        /// Whether there was an expectation; if not, it is to be recorded.
        recorded: bool,
        /// The objects that differ.
        differences: Vec<Difference>,
        /// All objects that were found.
        found: Vec<Value>,
    },
    /// An object is missing, or has other fields.
    Part {
        /// The place of the object in `contains`.
        at: Location,
        /// What is expected.
        expected: Value,
        /// The same part of the object that was found.
        found: Option<Value>,
        /// The names of all target objects.
        names: Vec<String>,
    },
    /// An object of the cluster has other fields.
    Object {
        /// The place of the object in `objects`.
        at: Location,
        /// What is expected.
        expected: Value,
        /// The same part of the object that was found.
        found: Value,
        /// Whether it is expected by a file, which is not updated.
        in_file: bool,
    },
    /// An object is missing in the cluster.
    Missing {
        /// The place of the object in `objects`.
        at: Location,
        /// What is expected.
        expected: Value,
        /// The names of all objects of the cluster.
        names: Vec<String>,
    },
    /// An object should not be there.
    Present {
        /// The place of the name in `absent`.
        at: Location,
        /// The object.
        object: Value,
    },
    /// The errors are others.
    Errors {
        /// The place of `errors`; `None` if the step has none.
        at: Option<Location>,
        /// The expected errors; `None` if they are to be recorded.
        expected: Option<Vec<ExpectedError>>,
        /// The errors that were found.
        found: Vec<Report>,
    },
    /// The events are others.
    Events {
        /// The place of `events`.
        at: Location,
        /// The expected events; `None` if they are to be recorded.
        expected: Option<Vec<String>>,
        /// The events that were found.
        found: Vec<String>,
    },
    /// A step changes an object that does not exist.
    Unknown {
        /// The place of the object.
        at: Location,
        /// Its name.
        name: ObjectRef,
        /// The most similar name of an object.
        nearest: Option<String>,
        /// Whether it has no namespace, where all objects of its kind have one.
        without_namespace: bool,
    },
    /// An object that should be absent has a kind that no controller writes, so that it is absent in
    /// any case.
    NeverDerived {
        /// The place of the name in `absent`.
        at: Location,
        /// Its name.
        name: ObjectRef,
        /// The kinds that the controllers write, in lower case.
        kinds: Vec<String>,
    },
    /// An object that should be absent is named without a namespace, but its kind has one, so that it is
    /// absent in any case.
    NoNamespace {
        /// The place of the name in `absent`.
        at: Location,
        /// Its name.
        name: ObjectRef,
        /// An object of this kind and name that the test has derived.
        meant: Option<ObjectRef>,
    },
    /// An object that should not be in the cluster is one that neither the test nor a controller
    /// writes, so that it is absent in any case.
    NeverThere {
        /// The place of the name in `absent`.
        at: Location,
        /// Its name.
        name: ObjectRef,
        /// The most similar name of an object.
        nearest: Option<String>,
    },
    /// The batch could not be run.
    Stopped {
        /// The stable code.
        code: &'static str,
        /// What happened.
        message: String,
    },
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The expected object, if one is expected.
    pub expected: Option<Value>,
    /// The object that was found, if there is one.
    pub found: Option<Value>,
}

impl Mismatch {
    /// The place of the expectation; `None` if only the place of the step is known.
    pub fn at(&self) -> Option<&Location> {
        match self {
            Self::Targets { at, .. }
            | Self::Part { at, .. }
            | Self::Object { at, .. }
            | Self::Missing { at, .. }
            | Self::Present { at, .. }
            | Self::Events { at, .. }
            | Self::Unknown { at, .. }
            | Self::NeverDerived { at, .. }
            | Self::NoNamespace { at, .. }
            | Self::NeverThere { at, .. } => Some(at),
            Self::Errors { at, .. } => at.as_ref(),
            Self::Stopped { .. } => None,
        }
    }

    /// The parts of the expectation that have to be replaced so that it holds. Empty if that cannot
    /// be written: an object is missing or should not be there, or there is no expectation.
    pub fn replacements(&self) -> Vec<Replacement> {
        let (at, expected, found) = match self {
            Self::Targets {
                at,
                file: Some(file),
                found,
                ..
            } => {
                return vec![Replacement {
                    at: at.clone(),
                    file: Some(file.clone()),
                    value: Value::list(found.iter().cloned()),
                }];
            }
            Self::Targets {
                at,
                file: None,
                expected,
                found,
                ..
            } => {
                let expected = expected
                    .as_ref()
                    .map(|list| Value::list(list.iter().cloned()));
                (at, expected, Value::list(found.iter().cloned()))
            }
            Self::Part {
                at,
                expected,
                found: Some(found),
                ..
            }
            | Self::Object {
                at,
                expected,
                found,
                in_file: false,
            } => (at, Some(expected.clone()), found.clone()),
            Self::Errors {
                at: Some(at),
                found,
                ..
            } => (at, None, Value::list(found.iter().map(recorded))),
            Self::Events { at, found, .. } => {
                let events = found.iter().map(|event| Value::from(event.as_str()));
                (at, None, Value::list(events))
            }
            Self::Part { found: None, .. }
            | Self::Object { in_file: true, .. }
            | Self::Missing { .. }
            | Self::Present { .. }
            | Self::Errors { at: None, .. }
            | Self::Unknown { .. }
            | Self::NeverDerived { .. }
            | Self::NoNamespace { .. }
            | Self::NeverThere { .. }
            | Self::Stopped { .. } => return Vec::new(),
        };
        let mut replacements = Vec::new();
        smallest(at, expected.as_ref(), &found, &mut replacements);
        replacements
    }
}

/// Collects the smallest parts that differ, so that everything else stays as it is written.
fn smallest(at: &Location, old: Option<&Value>, new: &Value, found: &mut Vec<Replacement>) {
    match old.map(|old| (old, old.view(), new.view())) {
        Some((old, ..)) if old == new => {}
        Some((_, View::Map(old), View::Map(new))) if same_keys(old, new) => {
            for ((key, old), (_, new)) in old.iter().zip(new) {
                smallest(&at.key(key.as_str()), Some(old), new, found);
            }
        }
        Some((_, View::List(old), View::List(new))) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new.iter()).enumerate() {
                smallest(&at.index(index), Some(old), new, found);
            }
        }
        _ => found.push(Replacement {
            at: at.clone(),
            file: None,
            value: new.clone(),
        }),
    }
}

fn same_keys(a: &Map, b: &Map) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((a, _), (b, _))| a == b)
}

/// An error as an expectation.
fn recorded(report: &Report) -> Value {
    let mut error = json!({
        "code": (report.code),
        "controller": (report.controller.as_str()),
    });
    let object = origins(report).first().map(ObjectRef::to_string);
    if let (Some(object), Some(map)) = (object, error.as_map()) {
        error = map.with(document::Key::new("object"), object.into()).into();
    }
    error
}
