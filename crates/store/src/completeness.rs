//! Whether a collection contains all objects that belong to it.
//!
//! Derived objects are missing until their controller has run, so that an early list of such a
//! collection would be misleading. Its producer therefore publishes whether it is complete, and
//! every reader checks that before it lists:
//!
//! ```text
//! producer   starts ──▶ complete (period 1) ──▶ is edited ──▶ complete (period 2)
//! reader     waits      lists, then watches     waits         lists again
//! ```
//!
//! Each time a collection becomes complete, a new *period* with a new number begins. A reader
//! that finds another period, or none, discards the events that it has not delivered yet: they
//! may come from a producer that removed everything when it ended.

use std::collections::BTreeMap;

use object::GroupKind;

use crate::version::Version;

/// Whether a collection contains all objects that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It does, as far as its producer could derive them.
    Complete(Basis),
    /// It does not, for this reason.
    Incomplete(String),
}

/// Properties of a complete collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basis {
    /// A reader that has read up to this version has read everything that is derived. `None`
    /// while an object upstream is in error, so that objects may be missing.
    pub settled: Option<Version>,
    /// Whether it derives from objects that no producer derives. A restart loses these.
    pub volatile: bool,
    /// What it lacks because of objects upstream that have been in error since the start.
    pub lost: Lost,
}

/// What a collection lacks because of objects upstream that have been in error since the start. An
/// object that was derived from them before does not count as gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// Nothing, for a reader that has read up to this version.
    Nothing(Version),
    /// Some objects may be missing.
    Objects,
    /// Objects may be derived from fewer others than before.
    Contents,
}

impl Basis {
    /// For a collection that only users write to.
    pub const USERS: Self = Self {
        settled: Some(Version(0)),
        volatile: true,
        lost: Lost::Nothing(Version(0)),
    };
}

/// The status of a collection, for its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionStatus {
    /// Whether it is complete.
    pub completeness: Completeness,
    /// How often it has become complete: the number of the current or the last period.
    pub period: u64,
}

impl CollectionStatus {
    pub(crate) fn new(completeness: Completeness) -> Self {
        let mut status = Self {
            completeness: Completeness::Incomplete(String::new()),
            period: 0,
        };
        status.set(completeness);
        status
    }

    /// Sets the completeness. Returns whether it has changed.
    pub(crate) fn set(&mut self, new: Completeness) -> bool {
        if self.basis().is_none() && matches!(new, Completeness::Complete(_)) {
            self.period += 1;
        }
        let changed = self.completeness != new;
        self.completeness = new;
        changed
    }

    /// The basis of a complete collection; `None` if it is incomplete.
    pub fn basis(&self) -> Option<Basis> {
        match &self.completeness {
            Completeness::Complete(basis) => Some(*basis),
            Completeness::Incomplete(_) => None,
        }
    }
}

/// The completeness of all collections of an API group, as their producer sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCompleteness {
    /// For these collections.
    pub collections: BTreeMap<GroupKind, Completeness>,
    /// For all other collections of the group.
    pub others: Completeness,
}

/// The completeness of all collections, as producers have set it.
#[derive(Debug, Default)]
pub(crate) struct Completenesses {
    groups: BTreeMap<String, GroupCompleteness>,
    /// For groups without a producer; `None` if their strategies decide.
    default: Option<Completeness>,
}

impl Completenesses {
    pub(crate) fn set_group(&mut self, group: &str, completeness: Option<GroupCompleteness>) {
        match completeness {
            Some(completeness) => self.groups.insert(group.to_owned(), completeness),
            None => self.groups.remove(group),
        };
    }

    pub(crate) fn set_default(&mut self, completeness: Completeness) {
        self.default = Some(completeness);
    }

    /// `None` if it was not set.
    pub(crate) fn of(&self, collection: &GroupKind) -> Option<&Completeness> {
        let Some(group) = self.groups.get(collection.group.as_str()) else {
            return self.default.as_ref();
        };
        let listed = group.collections.get(collection);
        Some(listed.unwrap_or(&group.others))
    }
}
