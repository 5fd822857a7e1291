//! Objects that cannot be where they are derived: with a name that no object can have, in the wrong
//! scope, or outside of the boundary (`--namespace`).
//!
//! That is an error of their origin, and an error never deletes. So the object that the origin
//! yielded before stays, as it was derived, until the origin yields another one or is gone:
//!
//! ```text
//! Pod p yields    a/x    a/x is written
//!                 /x     wrong-scope; a/x stays
//!                 a/y    a/y is written, a/x is deleted
//! ```

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use object::{GroupKind, ObjectKey};
use target::decide::bad_key;
use target::desired::Desired;
use target::live::Live;
use target::problem::{Cause, Problem};

use super::entry::TargetEntry;
use super::state::State;
use super::{Next, Writer};

/// The misplaced objects.
#[derive(Debug, Default)]
pub(super) struct Misplaced {
    /// By controller and origin.
    places: BTreeMap<(String, Value), MisplacedOrigin>,
    /// The origins of all objects in `places`, by controller and object.
    origins: BTreeMap<(String, ObjectKey), Value>,
}

#[derive(Debug, Default)]
struct MisplacedOrigin {
    /// The objects that cannot exist there. At least one.
    objects: BTreeSet<ObjectKey>,
    /// The objects of the same origin that stay.
    stay: BTreeSet<ObjectKey>,
}

impl Misplaced {
    /// Adds an object.
    fn add(&mut self, controller: &str, origin: &Value, key: &ObjectKey) {
        let place = self.places.entry((controller.to_owned(), origin.clone()));
        place.or_default().objects.insert(key.clone());
        let object = (controller.to_owned(), key.clone());
        self.origins.insert(object, origin.clone());
    }

    /// Whether an object that a controller no longer wants stays, because its origin yields a
    /// misplaced one instead.
    fn keeps(&mut self, controller: &str, origin: &Value, key: &ObjectKey) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let place = self
            .places
            .get_mut(&(controller.to_owned(), origin.clone()));
        let Some(place) = place.filter(|place| !place.objects.contains(key)) else {
            return false;
        };
        place.stay.insert(key.clone());
        let object = (controller.to_owned(), key.clone());
        self.origins.insert(object, origin.clone());
        true
    }

    /// Records that a controller wants an object; `misplaced` is its origin if it cannot be there.
    /// Returns the objects that need not stay any more.
    fn wanted(
        &mut self,
        controller: &str,
        key: &ObjectKey,
        misplaced: Option<&Value>,
    ) -> BTreeSet<ObjectKey> {
        let object = (controller.to_owned(), key.clone());
        let same = misplaced.is_some() && self.origins.get(&object) == misplaced;
        let freed = if same {
            BTreeSet::new()
        } else {
            self.remove(controller, key)
        };
        if let Some(origin) = misplaced {
            self.add(controller, origin, key);
        }
        freed
    }

    /// Removes an object of a controller. Returns the objects that need not stay any more.
    fn remove(&mut self, controller: &str, key: &ObjectKey) -> BTreeSet<ObjectKey> {
        if self.places.is_empty() {
            return BTreeSet::new();
        }
        let controller = controller.to_owned();
        let Some(origin) = self.origins.remove(&(controller.clone(), key.clone())) else {
            return BTreeSet::new();
        };
        let at = (controller, origin);
        let Some(place) = self.places.get_mut(&at) else {
            return BTreeSet::new();
        };
        place.objects.remove(key);
        place.stay.remove(key);
        if !place.objects.is_empty() {
            return BTreeSet::new();
        }
        let freed = self.places.remove(&at).unwrap_or_default().stay;
        for key in &freed {
            self.origins.remove(&(at.0.clone(), key.clone()));
        }
        freed
    }

    /// The origins of a controller that yield misplaced objects.
    pub(super) fn origins(&self, controller: &str) -> impl Iterator<Item = &Value> {
        let of_it = self.places.keys().filter(move |(by, _)| by == controller);
        of_it.map(|(_, origin)| origin)
    }

    /// How many origins yield misplaced objects.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

impl Writer {
    /// Sets what a controller derives for an object; `None` if it no longer derives it. Returns
    /// the objects that have to be checked.
    pub fn set(
        &self,
        key: &ObjectKey,
        controller: &str,
        desired: Option<Desired>,
    ) -> Vec<ObjectKey> {
        self.changing(|state| state.set(key, controller, desired))
    }

    /// The origins of a controller that yield misplaced objects.
    pub fn misplaced(&self, controller: &str) -> Vec<Value> {
        self.state()
            .misplaced
            .origins(controller)
            .cloned()
            .collect()
    }

    /// How many origins yield misplaced objects.
    pub fn count_misplaced(&self) -> usize {
        self.state().misplaced.len()
    }

    /// Reports that an object cannot be where it is derived; `None` if it can.
    pub(super) fn misplacement(&self, key: &ObjectKey) -> Option<Next> {
        let problems = self.state().misplacements(key)?;
        self.report_problems(key, &problems);
        if !problems.is_empty() {
            return Some(Next::Change);
        }
        self.changing(|state| state.remove(key));
        Some(Next::Settled)
    }
}

impl State {
    /// Sets what a controller wants of an object. Returns the objects that have to be looked at.
    pub(super) fn set(
        &mut self,
        key: &ObjectKey,
        controller: &str,
        desired: Option<Desired>,
    ) -> Vec<ObjectKey> {
        let (changed, freed) = match desired {
            Some(desired) => self.want(key, controller, desired),
            None => self.unwant(key, controller),
        };
        let mut all: Vec<ObjectKey> = changed.then(|| key.clone()).into_iter().collect();
        for key in freed {
            let (withdrawn, _) = self.unwant(&key, controller);
            all.extend(withdrawn.then_some(key));
        }
        for key in &all {
            self.queued(key);
        }
        all
    }

    fn want(
        &mut self,
        key: &ObjectKey,
        controller: &str,
        desired: Desired,
    ) -> (bool, BTreeSet<ObjectKey>) {
        let origin = self.misplaced(key).map(|_| &desired.origin);
        let freed = self.misplaced.wanted(controller, key, origin);
        let synced = self.synced(&key.kind);
        let entry = self.entries.entry(key.clone()).or_insert_with(|| {
            Box::new(TargetEntry {
                live: if synced { Live::Unseen } else { Live::Unknown },
                ..TargetEntry::default()
            })
        });
        let held = entry.unhold(controller);
        let changed = entry.change(|wanted| wanted.want(desired)) || held;
        (changed, freed)
    }

    fn unwant(&mut self, key: &ObjectKey, controller: &str) -> (bool, BTreeSet<ObjectKey>) {
        let unchanged = (false, BTreeSet::new());
        let entry = self.entries.get_mut(key);
        let Some(entry) = entry.filter(|entry| !entry.is_held(controller)) else {
            return unchanged;
        };
        let origin = entry.wanted.origin_of(controller);
        if origin.is_some_and(|origin| self.misplaced.keeps(controller, origin, key)) {
            return unchanged;
        }
        let changed = entry.change(|wanted| wanted.withdraw(controller));
        (changed, self.misplaced.remove(controller, key))
    }

    /// Finds the misplaced objects of a kind whose scope has become known.
    pub(super) fn find_misplaced(&mut self, kind: &GroupKind) {
        let mut wanted = Vec::new();
        for (key, entry) in self.of_kind(kind) {
            let writers = entry.wanted.writers();
            wanted.extend(writers.map(|by| (by.clone(), key.clone())));
        }
        for (by, key) in wanted {
            if self.misplaced(&key).is_some() {
                let controller = &by.author.controller;
                self.misplaced.add(controller, &by.origin, &key);
            }
        }
    }

    /// Why an object cannot be where it is derived.
    fn misplaced(&self, key: &ObjectKey) -> Option<Cause> {
        if let Some(boundary) = self.outside(key) {
            let namespace = boundary.to_owned();
            return Some(Cause::Outside { namespace });
        }
        let kind = self.kinds.get(&key.kind);
        bad_key(key, kind.map(|kind| kind.namespaced))
    }

    /// The problems of an object that cannot be where it is derived; none if no controller wants it
    /// any more.
    pub(super) fn misplacements(&self, key: &ObjectKey) -> Option<Vec<Problem>> {
        let cause = self.misplaced(key)?;
        let writers = self.entries.get(key).map(|entry| entry.wanted.writers());
        let writers = writers.into_iter().flatten();
        Some(writers.map(|by| by.problem(cause.clone())).collect())
    }
}
