//! The sinks of a watch, and which of them get an object.
//!
//! A sink gets all objects of the watch, or only those of one Operator ([`Sink::operator`]), which
//! the label [`marks::OPERATOR`] names. So the target watches of many Operators are one stream:
//!
//! ```text
//! ConfigMaps with the label ─▶ Watch ─┬ label a ─▶ sink of Operator a
//!                                     └ label b ─▶ sink of Operator b
//! ```
//!
//! When the label changes from `a` to `b`, the sinks of `a` get a deletion, as they would
//! from a watch with the selector `operator=a`. If Appliers of several Operators write an object, the
//! label has room for one of them; the others are found by their records.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use document::{Key, Value};
use object::{ObjectName, marks};

use crate::source::{Arrival, Sink};

/// The sinks of a watch.
#[derive(Clone, Default)]
pub(super) struct Sinks {
    /// Those that get all objects.
    of_all: Vec<Joined>,
    /// Those that get the objects of one Operator, by the value of the label.
    of_operator: BTreeMap<String, Vec<Joined>>,
}

/// A sink with its number: sinks are numbered in the order in which they join.
#[derive(Clone)]
struct Joined {
    number: u64,
    sink: Arc<dyn Sink>,
}

impl Sinks {
    pub(super) fn add(&mut self, number: u64, sink: Arc<dyn Sink>) {
        let sinks = match sink.operator() {
            None => &mut self.of_all,
            Some(operator) => self.of_operator.entry(operator.to_owned()).or_default(),
        };
        sinks.push(Joined { number, sink });
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.of_all.retain(|joined| joined.number != number);
        self.of_operator.retain(|_, sinks| {
            sinks.retain(|joined| joined.number != number);
            !sinks.is_empty()
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_all.is_empty() && self.of_operator.is_empty()
    }

    /// Whether some sinks get only the objects of one Operator.
    pub(super) fn routes(&self) -> bool {
        !self.of_operator.is_empty()
    }

    /// All sinks.
    pub(super) fn all(&self) -> impl Iterator<Item = &dyn Sink> {
        self.up_to(u64::MAX)
    }

    /// The sinks with numbers up to `number`.
    pub(super) fn up_to(&self, number: u64) -> impl Iterator<Item = &dyn Sink> {
        let sinks = self
            .of_all
            .iter()
            .chain(self.of_operator.values().flatten());
        joined_before(sinks, number)
    }

    /// Those of them that get all objects.
    pub(super) fn of_all(&self, number: u64) -> impl Iterator<Item = &dyn Sink> {
        joined_before(self.of_all.iter(), number)
    }

    /// Those of them that get the objects of one of these Operators only.
    pub(super) fn of<'a>(
        &'a self,
        operators: impl Iterator<Item = &'a Key>,
        number: u64,
    ) -> impl Iterator<Item = &'a dyn Sink> {
        let sinks = operators.filter_map(|operator| self.of_operator.get(operator.as_str()));
        joined_before(sinks.flatten(), number)
    }
}

fn joined_before<'a>(
    sinks: impl Iterator<Item = &'a Joined>,
    number: u64,
) -> impl Iterator<Item = &'a dyn Sink> {
    let sinks = sinks.filter(move |joined| joined.number <= number);
    sinks.map(|joined| joined.sink.as_ref())
}

/// A function that calls a sink, and tells the sink if that panics. A panic concerns the Operator of
/// the sink, and not those that share the watch.
pub(super) fn guarded<'a>(call: impl Fn(&'a dyn Sink)) -> impl Fn(&'a dyn Sink) {
    move |sink| {
        if catch_unwind(AssertUnwindSafe(|| call(sink))).is_err() {
            sink.crashed();
        }
    }
}

/// The Operators that write an object: the one that its label names, and those with records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Writers {
    label: Option<Key>,
    others: Vec<Key>,
}

impl Writers {
    pub(super) fn of(object: &Arrival) -> Self {
        let label = object.header.labels.get(marks::OPERATOR);
        let label: Option<Key> = label.as_str().map(Key::from);
        let annotations = object.header.annotations.as_map().into_iter().flatten();
        let records = annotations.filter(|(name, _)| name.as_str().starts_with(marks::SET));
        let records: Vec<&Value> = records.map(|(_, record)| record).collect();
        // A single record is that of the Operator which the label names.
        let records = if records.len() < 2 {
            &[]
        } else {
            records.as_slice()
        };
        let mut others: Vec<Key> = records
            .iter()
            .filter_map(|text| operator_of(text))
            .collect();
        others.retain(|other| label.as_ref() != Some(other));
        others.sort();
        others.dedup();
        Self { label, others }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Key> {
        self.label.iter().chain(&self.others)
    }

    fn contains(&self, operator: &Key) -> bool {
        self.iter().any(|own| own == operator)
    }

    /// Those that `after` does not have.
    pub(super) fn gone<'a>(&'a self, after: &'a Self) -> impl Iterator<Item = &'a Key> {
        self.iter().filter(|own| !after.contains(own))
    }
}

/// The label of the Operator that a record names.
fn operator_of(record: &Value) -> Option<Key> {
    let record: Value = record.as_str()?.parse().ok()?;
    let operator = record.get("operator").as_str()?;
    Some(Key::from(marks::operator_label(operator).as_str()))
}

/// The Operators that write the known objects.
#[derive(Debug, Default)]
pub(super) struct Owners {
    labels: HashMap<ObjectName, Key>,
    /// Few objects have any.
    others: HashMap<ObjectName, Vec<Key>>,
}

impl Owners {
    /// Stores the Operators of an object. Returns those that were stored before.
    pub(super) fn set(&mut self, name: &ObjectName, writers: &Writers) -> Writers {
        let label = match &writers.label {
            Some(label) => self.labels.insert(name.clone(), label.clone()),
            None => self.labels.remove(name),
        };
        let others = if writers.others.is_empty() {
            self.others.remove(name)
        } else {
            self.others.insert(name.clone(), writers.others.clone())
        };
        Writers {
            label,
            others: others.unwrap_or_default(),
        }
    }
}
