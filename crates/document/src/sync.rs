//! Atomics and memory for reference counts.
//!
//! They come from the standard library, but in tests with `--cfg loom` from loom. It runs each
//! test many times: in all orders that its threads can take, and with all values that the
//! memory model lets an atomic load return. `just loom` runs these tests.

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

/// Records where memory is used and freed, so that loom can check that all uses happen before
/// it is freed. Outside of loom it has no size and does nothing.
#[derive(Default)]
pub(crate) struct Access(#[cfg(all(test, loom))] loom::cell::UnsafeCell<()>);

#[allow(clippy::unused_self, reason = "only loom uses it")]
impl Access {
    /// The memory is used now.
    #[inline]
    pub(crate) fn uses(&self) {
        #[cfg(all(test, loom))]
        self.0.with(|_| ());
    }

    /// The memory is freed now, and there are no more uses.
    #[inline]
    pub(crate) fn ends(&self) {
        #[cfg(all(test, loom))]
        self.0.with_mut(|_| ());
    }
}

/// Which outcomes of a decision occurred in the runs of a model.
#[cfg(all(test, loom))]
#[derive(Clone, Default)]
pub(crate) struct Seen(std::sync::Arc<[std::sync::atomic::AtomicBool; 2]>);

#[cfg(all(test, loom))]
impl Seen {
    pub(crate) fn note(&self, outcome: bool) {
        self.0[usize::from(outcome)].store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Checks that both outcomes occurred: otherwise the model tests nothing.
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
