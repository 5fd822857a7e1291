//! The current errors of targets and views, by controller and age: the number of a controller's
//! errors and the newest of them cost the same, however many there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use object::ObjectKey;

use crate::newest::ErrorNumber;
use crate::status::MAX_ERRORS;

/// The place of an error in a target or a view. Errors that occurred together are shown in this
/// order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A problem of a target, by its position among those of the object.
    Target(ObjectKey, usize),
    /// A write to a view that was refused.
    View(ObjectKey),
    /// A removal from a view that is held.
    Held(ObjectKey),
}

/// The current errors of each controller that has any.
#[derive(Debug, Default)]
pub(super) struct Standing(BTreeMap<String, Errors>);

#[derive(Debug, Default)]
struct Errors {
    newest_first: BTreeSet<(Reverse<ErrorNumber>, Place)>,
    /// How many of them are held removals.
    held: usize,
}

impl Standing {
    /// Adds an error. `held`: it is a removal that is held.
    pub(super) fn add(&mut self, controller: &str, number: ErrorNumber, place: Place, held: bool) {
        let errors = self.0.entry(controller.to_owned()).or_default();
        if errors.newest_first.insert((Reverse(number), place)) {
            errors.held += usize::from(held);
        }
    }

    /// Removes an error that was added.
    pub(super) fn remove(
        &mut self,
        controller: &str,
        number: ErrorNumber,
        place: Place,
        held: bool,
    ) {
        let Some(errors) = self.0.get_mut(controller) else {
            return;
        };
        if errors.newest_first.remove(&(Reverse(number), place)) {
            errors.held -= usize::from(held);
        }
        if errors.newest_first.is_empty() {
            self.0.remove(controller);
        }
    }

    /// The controllers that have errors.
    pub(super) fn controllers(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The number of a controller's errors, and how many of them are held removals.
    pub(super) fn count(&self, controller: &str) -> (usize, usize) {
        let errors = self.0.get(controller);
        errors.map_or((0, 0), |errors| (errors.newest_first.len(), errors.held))
    }

    /// The newest errors of a controller, as many as a status shows.
    pub(super) fn newest(&self, controller: &str) -> impl Iterator<Item = (ErrorNumber, &Place)> {
        let errors = self.0.get(controller);
        let errors = errors.into_iter().flat_map(|errors| &errors.newest_first);
        let newest = errors.take(MAX_ERRORS);
        newest.map(|(Reverse(number), place)| (*number, place))
    }
}
