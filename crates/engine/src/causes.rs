//! Which changes of views count for `maxDeletions`.
//!
//! A removal counts if a list, a re-list or an edit of the Operator caused it, but not if a
//! single watch event did. A removal that passes through a view keeps its cause, but the store
//! does not record causes. So an Operator announces that its changes of a view count from now
//! on. When everything that it reads has synced, it announces the last version that counted.
//! Readers compare the version of each event:
//!
//! ```text
//! begin(V)   write 7, 8, 9   end(V, 9)   write 10
//!            ╰── count ───╯              ╰─ does not count
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::GroupKind;
use store::Notice;
use tokio::sync::watch;

/// The counted changes of all views. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    views: Mutex<BTreeMap<GroupKind, CountedVersions>>,
    /// Notifies when changes of a view stop counting.
    ended: Mutex<Notice<()>>,
}

#[derive(Debug, Default)]
struct CountedVersions {
    /// The Operator that fills the view.
    operator: String,
    /// Whether all changes count at present.
    open: bool,
    /// Changes up to this version count.
    up_to: u64,
    /// The version that a reader must have read to know all changes that count.
    last: u64,
}

impl Causes {
    /// From now on, the changes that an Operator makes in a view count.
    pub(super) fn begin(&self, operator: &str, collection: &GroupKind) {
        let mut views = self.views();
        let counted = views.entry(collection.clone()).or_default();
        operator.clone_into(&mut counted.operator);
        counted.open = true;
    }

    /// Changes after this version do not count.
    pub(super) fn end(&self, collection: &GroupKind, version: u64) {
        let mut views = self.views();
        let Some(counted) = views.get_mut(collection).filter(|counted| counted.open) else {
            return;
        };
        counted.open = false;
        counted.last = counted.last.max(version);
        counted.up_to = counted.up_to.max(version);
        self.notice().set(());
    }

    /// The Operator has stopped; the store is at this version.
    pub(crate) fn forget(&self, operator: &str, version: u64) {
        for counted in self.views().values_mut() {
            if counted.operator == operator && counted.open {
                counted.open = false;
                counted.up_to = version;
            }
        }
        self.notice().set(());
    }

    /// Whether the changes of a view count at present.
    pub(super) fn is_open(&self, collection: &GroupKind) -> bool {
        let views = self.views();
        views.get(collection).is_some_and(|counted| counted.open)
    }

    /// Whether the change with this version counts.
    pub(super) fn is_bulk(&self, collection: &GroupKind, version: u64) -> bool {
        let views = self.views();
        let counted = views.get(collection);
        counted.is_some_and(|counted| counted.open || version <= counted.up_to)
    }

    /// Whether a reader that has read a view up to `version` has read all changes that count.
    pub(super) fn is_over(&self, collection: &GroupKind, version: u64) -> bool {
        let views = self.views();
        let counted = views.get(collection);
        counted.is_none_or(|counted| !counted.open && counted.last <= version)
    }

    /// Notifies whenever [`Causes::is_over`] may have become true.
    pub(super) fn ended(&self) -> watch::Receiver<()> {
        self.notice().subscribe()
    }

    fn notice(&self) -> MutexGuard<'_, Notice<()>> {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn views(&self) -> MutexGuard<'_, BTreeMap<GroupKind, CountedVersions>> {
        self.0.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_count_between_begin_and_end() {
        let (causes, view) = (Causes::default(), GroupKind::new("g", "V"));
        assert!(!causes.is_bulk(&view, 5) && causes.is_over(&view, 0));
        causes.begin("o", &view);
        assert!(causes.is_bulk(&view, 7) && !causes.is_over(&view, 7));
        assert!(!causes.is_bulk(&GroupKind::new("g", "W"), 7));
        causes.end(&view, 9);
        assert!(causes.is_bulk(&view, 9) && !causes.is_bulk(&view, 10));
        assert!(!causes.is_over(&view, 8) && causes.is_over(&view, 9));
        // A second end has no effect.
        causes.end(&view, 20);
        assert!(!causes.is_bulk(&view, 10));
    }

    #[test]
    fn readers_do_not_wait_for_an_operator_that_has_stopped() {
        let (causes, view) = (Causes::default(), GroupKind::new("g", "V"));
        causes.begin("o", &view);
        causes.forget("other", 9);
        assert!(!causes.is_over(&view, 9));
        causes.forget("o", 9);
        assert!(causes.is_bulk(&view, 9) && causes.is_over(&view, 3));
    }
}
