//! Whether a collection holds all that belongs into it.
//!
//! What a controller derives is missing until it has run. A list of such a collection
//! must not be taken for all there is, so its producer says how it stands, and every
//! reader asks here before it lists:
//!
//! ```text
//! producer   starts ──▶ complete (period 1) ──▶ edited ─────▶ complete (period 2)
//! reader     waits      lists, follows          keeps all     lists again
//! ```
//!
//! Each time that a collection becomes complete begins a *period* with a number of its
//! own. A reader that finds another period, or none, discards the events that it has not
//! delivered yet: they may be those of a producer that removed everything at its end.

use std::collections::BTreeMap;

use object::GroupKind;

use crate::version::Version;

/// Whether a collection holds all that belongs into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It does, as far as its producer could derive it.
    Complete(Basis),
    /// It does not, for this reason.
    Incomplete(String),
}

/// What a complete collection rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basis {
    /// A reader that has read up to this version has all that is derived. `None` while an
    /// object upstream is in error: what it yields may be missing.
    pub settled: Option<Version>,
    /// Whether it derives from objects that no producer derives, which a restart forgets.
    pub volatile: bool,
}

impl Basis {
    /// Of a collection that only users write to.
    pub const USERS: Self = Self {
        settled: Some(Version(0)),
        volatile: true,
    };
}

/// How a collection stands, as its readers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionStatus {
    /// Whether it is complete.
    pub completeness: Completeness,
    /// How often it has become complete: the number of the period that runs, or that ran
    /// last.
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

    /// Takes over what the producer says; returns whether that is new.
    pub(crate) fn set(&mut self, new: Completeness) -> bool {
        if self.basis().is_none() && matches!(new, Completeness::Complete(_)) {
            self.period += 1;
        }
        let news = self.completeness != new;
        self.completeness = new;
        news
    }

    /// What it rests on; `None` if it is not complete.
    pub fn basis(&self) -> Option<Basis> {
        match &self.completeness {
            Completeness::Complete(basis) => Some(*basis),
            Completeness::Incomplete(_) => None,
        }
    }
}

/// How all collections of an API group stand: their producer says it of all at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCompleteness {
    /// Of those that are listed.
    pub collections: BTreeMap<GroupKind, Completeness>,
    /// Of all others.
    pub others: Completeness,
}

/// What producers have said.
#[derive(Debug, Default)]
pub(crate) struct Completenesses {
    groups: BTreeMap<String, GroupCompleteness>,
    /// Of groups without a producer; `None` if strategies say it.
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

    /// `None` if nobody has said anything.
    pub(crate) fn of(&self, collection: &GroupKind) -> Option<&Completeness> {
        let Some(group) = self.groups.get(collection.group.as_str()) else {
            return self.default.as_ref();
        };
        let listed = group.collections.get(collection);
        Some(listed.unwrap_or(&group.others))
    }
}
