//! `@distinct`: puts out one document for each set of equal documents.
//!
//! The stage counts how many origins have each document. A change of the output happens only
//! when a count leaves or reaches 0. The document itself is the key in the output's origin.
//!
//! ```text
//! origin a  {app: web}  ─▶  {app: web}              count 1
//! origin b  {app: web}  ─▶  no change               count 2
//! origin a  is gone     ─▶  no change               count 1
//! origin b  is gone     ─▶  {app: web} is removed   count 0
//! ```

use document::Value;

use super::{Change, Detach, GroupKey, HashMap, StepContext};
use crate::origin::Origin;

/// A running `@distinct`.
#[derive(Debug, Default)]
pub(crate) struct DistinctState {
    /// The number of origins that have each document; never 0.
    counts: HashMap<GroupKey, usize>,
}

impl DistinctState {
    pub(crate) fn step(&mut self, changes: &mut Vec<Change>, cx: &mut StepContext<'_>) {
        // The documents of this step, and whether each was present before.
        let mut before: Vec<(GroupKey, bool)> = Vec::new();
        let mut seen: HashMap<GroupKey, ()> = HashMap::default();
        for change in changes.drain(..) {
            if !cx.goes_on() {
                break;
            }
            for (document, joins) in [(change.old, false), (change.new, true)] {
                let Some(document) = document.map(GroupKey::from) else {
                    continue;
                };
                if seen.insert(document.clone(), ()).is_none() {
                    before.push((document.clone(), self.counts.contains_key(&document)));
                }
                self.count(document, joins);
            }
        }
        for (document, was) in before {
            if !cx.goes_on() {
                break;
            }
            let is = self.counts.get_key_value(&document);
            let (document, is) = match is {
                Some((known, _)) => (known.value.clone(), true),
                None => (document.value.detach(), false),
            };
            let origin = Origin::group(document.clone());
            changes.extend(Change::new(
                origin,
                was.then(|| document.clone()),
                is.then_some(document),
            ));
        }
    }

    fn count(&mut self, document: GroupKey, joins: bool) {
        match self.counts.get_mut(&document) {
            Some(count) if joins => *count += 1,
            Some(1) => {
                self.counts.remove(&document);
            }
            Some(count) => *count -= 1,
            None if joins => {
                self.counts.insert(document.detach(), 1);
            }
            None => {}
        }
    }

    /// The document of this key, if it is present.
    pub(crate) fn current(&self, document: &Value) -> Option<Value> {
        let key = GroupKey::from(document.clone());
        self.counts.contains_key(&key).then_some(key.value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}
