//! What counting references needs: atomics and memory.
//!
//! They are those of the standard library. Tests that are compiled with `--cfg loom` get
//! those of loom, which runs a test again and again: in the orders that its threads can take,
//! and with the values that the memory model lets an atomic read. Run them with `just loom`.

#[cfg(all(test, loom))]
pub(crate) use loom::{
    alloc::{alloc, dealloc},
    sync::atomic::{AtomicU32, AtomicU64, fence},
};
#[cfg(not(all(test, loom)))]
pub(crate) use std::{
    alloc::{alloc, dealloc},
    sync::atomic::{AtomicU32, AtomicU64, fence},
};

/// Says where memory is used and where it is freed, for loom to check that every use happens
/// before the memory is freed. Otherwise it takes no room and does nothing.
#[derive(Default)]
pub(crate) struct Access(#[cfg(all(test, loom))] loom::cell::UnsafeCell<()>);

#[allow(clippy::unused_self, reason = "only loom looks at it")]
impl Access {
    /// The memory is used now.
    #[inline]
    pub(crate) fn uses(&self) {
        #[cfg(all(test, loom))]
        self.0.with(|_| ());
    }

    /// The memory is freed now: nobody uses it any more.
    #[inline]
    pub(crate) fn ends(&self) {
        #[cfg(all(test, loom))]
        self.0.with_mut(|_| ());
    }
}

/// Which outcomes of a decision a model has seen in all of its orders.
#[cfg(all(test, loom))]
#[derive(Clone, Default)]
pub(crate) struct Seen(std::sync::Arc<[std::sync::atomic::AtomicBool; 2]>);

#[cfg(all(test, loom))]
impl Seen {
    pub(crate) fn note(&self, outcome: bool) {
        self.0[usize::from(outcome)].store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// A model that sees one outcome alone checks nothing.
    pub(crate) fn check(&self) {
        for outcome in [false, true] {
            let seen = &self.0[usize::from(outcome)];
            assert!(
                seen.load(std::sync::atomic::Ordering::Relaxed),
                "never {outcome}"
            );
        }
    }
}
