//! The order in which errors occurred.
//!
//! A status lists the newest errors first. Circuits and the inbox only know which errors exist
//! now. So each error gets a number when it is first reported, and keeps it until it is
//! cleared. An error that a retry or a new version of the object only confirms keeps its number
//! too, so that the list does not change.

use std::cmp::Reverse;
use std::collections::HashMap;

use dataflow::{Origin, RunError};
use object::ObjectName;

use crate::status::MAX_ERRORS;

/// A position in the order in which errors occurred.
pub(super) type ErrorNumber = u64;

/// The place of an error in a controller's sources or pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ErrorSite {
    /// An object that cannot be read, by input and name.
    Object(usize, ObjectName),
    /// A stage that fails on an origin.
    Stage {
        branch: usize,
        stage: usize,
        origin: Origin,
        /// Distinguishes a conflict from a failure of the same stage on the same origin.
        code: &'static str,
    },
}

impl From<&RunError> for ErrorSite {
    fn from(error: &RunError) -> Self {
        Self::Stage {
            branch: error.branch,
            stage: error.stage,
            origin: error.origin.clone(),
            code: error.failure.code(),
        }
    }
}

/// The numbers of the errors of one Operator.
#[derive(Debug, Default)]
pub(super) struct ErrorNumbers {
    last: ErrorNumber,
    /// The numbers of errors in sources and pipelines, by controller.
    sites: HashMap<String, HashMap<ErrorSite, ErrorNumber>>,
}

impl ErrorNumbers {
    /// The number for errors that occur now. Errors that occur together share a number.
    pub(super) fn next(&mut self) -> ErrorNumber {
        self.last += 1;
        self.last
    }

    /// Records errors of a controller; known ones keep their numbers.
    pub(super) fn report(&mut self, controller: &str, sites: impl IntoIterator<Item = ErrorSite>) {
        let number = self.next();
        let known = self.sites.entry(controller.to_owned()).or_default();
        for site in sites {
            known.entry(site).or_insert(number);
        }
    }

    /// The numbers of all current errors of a controller. All others are forgotten. An error
    /// that is cleared and occurs again between two calls keeps its number.
    pub(super) fn current(&mut self, controller: &str, sites: Vec<ErrorSite>) -> Vec<ErrorNumber> {
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

    /// Whether no error of a source or pipeline is recorded.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }
}

/// The newest errors first, at most [`MAX_ERRORS`]. Errors that occurred together keep their
/// order.
pub(super) fn newest<T>(
    mut errors: Vec<(ErrorNumber, T)>,
) -> impl Iterator<Item = (ErrorNumber, T)> {
    errors.sort_by_key(|(number, _)| Reverse(*number));
    errors.into_iter().take(MAX_ERRORS)
}
