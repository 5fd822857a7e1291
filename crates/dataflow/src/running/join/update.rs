//! The common update: one document changes, but not its keys.
//!
//! Then its partners stay the same, and one search finds all tuples. Their old joined documents
//! are the new ones with the old version of the document. The general case needs two searches.

use super::HardJoin;
use crate::running::{Change, StepContext};

impl HardJoin {
    /// Handles a step in which one document changes, its partners stay the same, and nothing
    /// fails. `None` if the step is of another kind.
    pub(super) fn same_partners(
        &mut self,
        changes: &mut [Vec<Change>],
        cx: &mut StepContext<'_>,
    ) -> Option<Vec<Change>> {
        if !self.failing.is_empty() || !self.plan.keys_decide {
            return None;
        }
        let mut all = changes
            .iter_mut()
            .enumerate()
            .filter(|(_, changes)| !changes.is_empty());
        let (number, changes) = all.next()?;
        if all.next().is_some() {
            return None;
        }
        let [change] = changes.as_mut_slice() else {
            return None;
        };
        let (Some(old), Some(new)) = (&change.old, &change.new) else {
            return None;
        };
        let slot = self.tables[number].find(&change.origin)?;
        if !self.tables[number].replace(slot, new, cx.env) {
            return None;
        }
        let mut found = Vec::new();
        self.enumerate(number, slot, cx.env, cx.meter, &mut found);
        let mut keys = self.keys.iter();
        let (key, _) = keys.find(|(_, table)| *table == number)?.clone();
        let mut changed = Vec::with_capacity(found.len());
        for found in found {
            let before = found.compound.as_map()?.replace(&[(&key, old)]).into();
            let origin = self.origin(&found.tuple);
            if let Some(failure) = found.failure {
                cx.report(&origin, &failure);
                self.fail(&found.tuple, Some(before), Some(failure));
                continue;
            }
            changed.push(Change {
                origin,
                old: Some(before),
                new: Some(found.compound),
            });
        }
        changes.clear();
        Some(changed)
    }
}
