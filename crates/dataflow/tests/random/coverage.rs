//! What the random runs have reached.

use std::collections::BTreeMap;

/// Counts situations, to check that the random runs reach them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage(pub(crate) BTreeMap<String, u64>);

impl Coverage {
    /// Counts a situation.
    pub(crate) fn count(&mut self, what: impl Into<String>, times: usize) {
        if times > 0 {
            *self.0.entry(what.into()).or_default() += times as u64;
        }
    }

    /// Adds the counts of other runs.
    pub(crate) fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(what.clone()).or_default() += times;
        }
    }
}
