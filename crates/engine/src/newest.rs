//! In which order errors came up.
//!
//! A status lists the newest errors first. Circuits and the inbox only know which errors stand
//! now, so each error gets a number when it is reported and keeps it until it is cleared. An
//! error that a retry or a new version of its object only confirms stays where it is in the
//! list: a status that is read again shows the same.

use std::cmp::Reverse;
use std::collections::HashMap;

use dataflow::{Origin, RunError};
use object::ObjectName;

use crate::status::MAX_ERRORS;

/// The position of an error in the order in which errors came up.
pub(super) type Number = u64;

/// What an error of a controller's source or pipeline is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Site {
    /// An object that cannot be read, by input and name.
    Object(usize, ObjectName),
    /// A stage that fails on an origin.
    Stage {
        branch: usize,
        stage: usize,
        origin: Origin,
        /// A conflict may stand beside a failure of the same stage.
        code: &'static str,
    },
}

impl From<&RunError> for Site {
    fn from(error: &RunError) -> Self {
        Self::Stage {
            branch: error.branch,
            stage: error.stage,
            origin: error.origin.clone(),
            code: error.failure.code(),
        }
    }
}

/// The numbers of the errors of one operator.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    last: Number,
    /// Of the errors of sources and pipelines, by controller.
    sites: HashMap<String, HashMap<Site, Number>>,
}

impl Numbers {
    /// For what comes up now. Errors that come up together share a number.
    pub(super) fn next(&mut self) -> Number {
        self.last += 1;
        self.last
    }

    /// Errors of a controller came up, or are reported again.
    pub(super) fn report(&mut self, controller: &str, sites: impl IntoIterator<Item = Site>) {
        let number = self.next();
        let known = self.sites.entry(controller.to_owned()).or_default();
        for site in sites {
            known.entry(site).or_insert(number);
        }
    }

    /// The numbers of all errors of a controller that stand; the others are forgotten. An error
    /// that is cleared and comes back between two calls keeps its number.
    pub(super) fn standing(&mut self, controller: &str, sites: Vec<Site>) -> Vec<Number> {
        let mut known = self.sites.remove(controller).unwrap_or_default();
        let mut kept = HashMap::with_capacity(sites.len());
        let mut numbers = Vec::with_capacity(sites.len());
        for site in sites {
            let number = known.remove(&site).unwrap_or(self.last);
            numbers.push(number);
            kept.insert(site, number);
        }
        if !kept.is_empty() {
            self.sites.insert(controller.to_owned(), kept);
        }
        numbers
    }

    /// Whether no error of a source or a pipeline is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }
}

/// The newest errors first, as many as a status lists. Those that came up together stay in
/// their order.
pub(super) fn newest<T>(mut errors: Vec<(Number, T)>) -> impl Iterator<Item = T> {
    errors.sort_by_key(|(number, _)| Reverse(*number));
    errors.into_iter().take(MAX_ERRORS).map(|(_, error)| error)
}
