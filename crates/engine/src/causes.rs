//! What caused the changes of views, for `maxDeletions`.
//!
//! Removals count if they come of a list, a re-list or an edit, and not
//! if they come of a single event; what passes through a view has the cause that it had
//! before. The store knows nothing of causes. So an operator says beforehand that its
//! changes of a view count from now on, and, when all that it reads is synced, up to which
//! version they did. A reader compares the version of each event:
//!
//! ```text
//! begin(V)   write 7, 8, 9   end(V, 9)   write 10
//!            ╰── count ───╯              ╰─ a single event
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::GroupKind;
use tokio::sync::watch;

/// The causes of the changes of all views. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    marks: Mutex<BTreeMap<GroupKind, Mark>>,
    /// Tells that changes do not count any more.
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Mark {
    /// Who fills the view.
    operator: String,
    /// Whether all changes count for now.
    open: bool,
    /// Changes up to this version count.
    up_to: u64,
    /// The last of them.
    last: u64,
}

impl Causes {
    /// What an operator changes in a view counts from now on.
    pub(super) fn begin(&self, operator: &str, collection: &GroupKind) {
        let mut marks = self.marks();
        let mark = marks.entry(collection.clone()).or_default();
        operator.clone_into(&mut mark.operator);
        mark.open = true;
    }

    /// What is changed after this version is caused by single events.
    pub(super) fn end(&self, collection: &GroupKind, version: u64) {
        let mut marks = self.marks();
        let Some(mark) = marks.get_mut(collection).filter(|mark| mark.open) else {
            return;
        };
        mark.open = false;
        mark.last = mark.last.max(version);
        mark.up_to = mark.up_to.max(version);
        self.0.ended.send_replace(());
    }

    /// An operator changes nothing any more; the store is at this version.
    pub(crate) fn forget(&self, operator: &str, version: u64) {
        for mark in self.marks().values_mut() {
            if mark.operator == operator && mark.open {
                mark.open = false;
                mark.up_to = version;
            }
        }
        self.0.ended.send_replace(());
    }

    /// Whether the change that led to this version counts.
    pub(super) fn is_bulk(&self, collection: &GroupKind, version: u64) -> bool {
        let marks = self.marks();
        let mark = marks.get(collection);
        mark.is_some_and(|mark| mark.open || version <= mark.up_to)
    }

    /// Whether who knows a view up to `version` knows all changes that count together.
    pub(super) fn is_over(&self, collection: &GroupKind, version: u64) -> bool {
        let marks = self.marks();
        let mark = marks.get(collection);
        mark.is_none_or(|mark| !mark.open && mark.last <= version)
    }

    /// Changes whenever [`Causes::is_over`] may have become true.
    pub(super) fn ended(&self) -> watch::Receiver<()> {
        self.0.ended.subscribe()
    }

    fn marks(&self) -> MutexGuard<'_, BTreeMap<GroupKind, Mark>> {
        self.0.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_count_from_the_beginning_to_the_last() {
        let (causes, view) = (Causes::default(), GroupKind::new("g", "V"));
        assert!(!causes.is_bulk(&view, 5) && causes.is_over(&view, 0));
        causes.begin("o", &view);
        assert!(causes.is_bulk(&view, 7) && !causes.is_over(&view, 7));
        assert!(!causes.is_bulk(&GroupKind::new("g", "W"), 7));
        causes.end(&view, 9);
        assert!(causes.is_bulk(&view, 9) && !causes.is_bulk(&view, 10));
        assert!(!causes.is_over(&view, 8) && causes.is_over(&view, 9));
        // What ended stays so.
        causes.end(&view, 20);
        assert!(!causes.is_bulk(&view, 10));
    }

    #[test]
    fn readers_of_an_operator_that_is_gone_do_not_wait() {
        let (causes, view) = (Causes::default(), GroupKind::new("g", "V"));
        causes.begin("o", &view);
        causes.forget("other", 9);
        assert!(!causes.is_over(&view, 9));
        causes.forget("o", 9);
        assert!(causes.is_bulk(&view, 9) && causes.is_over(&view, 3));
    }
}
