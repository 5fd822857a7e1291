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
//! from a watch with the selector `operator=a`.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use document::Key;
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

    /// Those of them that get the objects of this Operator only.
    pub(super) fn of(&self, owner: Option<&Key>, number: u64) -> impl Iterator<Item = &dyn Sink> {
        let sinks = owner.and_then(|owner| self.of_operator.get(owner.as_str()));
        joined_before(sinks.into_iter().flatten(), number)
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

/// The Operators that the labels of the known objects name.
#[derive(Debug, Default)]
pub(super) struct Owners(HashMap<ObjectName, Key>);

impl Owners {
    /// The Operator that the label of an object names.
    pub(super) fn named(object: &Arrival) -> Option<Key> {
        let label = object.header.labels.get(marks::OPERATOR);
        label.as_str().map(Key::from)
    }

    /// Stores the Operator of an object. Returns the one that was stored before.
    pub(super) fn set(&mut self, name: &ObjectName, owner: Option<Key>) -> Option<Key> {
        match owner {
            Some(owner) => self.0.insert(name.clone(), owner),
            None => self.0.remove(name),
        }
    }
}
