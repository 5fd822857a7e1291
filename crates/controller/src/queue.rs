//! The queue between the code that triggers runs and the [`Runner`](crate::Runner).
//!
//! [`queue`] makes both ends. A [`Queue`] can be cloned and triggers keys from any thread without
//! waiting; the [`Receiver`] is passed to a runner. Between them is a [`Scheduler`], not a channel:
//! triggers of a key merge when they arrive, so that a slow runner costs memory per key, not per
//! trigger.

use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures::task::AtomicWaker;
use tokio::time::Instant;

use crate::runner::Observer;
use crate::schedule::{Due, Scheduler, Triggered};

/// Why a key runs. The span of the run shows it, and observers count it.
///
/// When triggers merge, the reason of the one with the earliest run time is kept.
pub trait Reason: fmt::Display {
    /// A successful run requested another one.
    fn requeue() -> Self;
    /// A run failed and is tried again.
    fn retry() -> Self;
    /// One word for counters, from a small fixed set.
    fn label(&self) -> &'static str;
}

/// What follows from a run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It succeeded; the key waits for the next trigger.
    Done,
    /// It succeeded; the key runs again after this time, for the reason [`Reason::requeue`].
    Requeue(Duration),
    /// It failed; the key runs again after this time, for the reason [`Reason::retry`].
    Retry(Duration),
    /// It failed; the key waits for the next trigger.
    Failed,
}

/// Makes a queue with a debounce window, and the receiver for a runner.
pub fn queue<T, R>(debounce: Duration) -> (Queue<T, R>, Receiver<T, R>) {
    let state = State {
        scheduler: Scheduler::new(debounce),
        closed: false,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        waker: AtomicWaker::new(),
        handles: AtomicUsize::new(1),
        observer: OnceLock::new(),
    });
    (
        Queue {
            shared: Arc::clone(&shared),
        },
        Receiver { shared },
    )
}

/// A handle that triggers runs.
///
/// As long as a handle exists, the runner waits for triggers. When the last one is dropped, the
/// runner runs the keys that are scheduled and ends. After a shutdown, triggers are ignored.
pub struct Queue<T, R> {
    shared: Arc<Shared<T, R>>,
}

/// The runner's end of a queue.
pub struct Receiver<T, R> {
    shared: Arc<Shared<T, R>>,
}

struct Shared<T, R> {
    state: Mutex<State<T, R>>,
    /// The waker of the task that polls the runner.
    waker: AtomicWaker,
    /// The number of `Queue`s.
    handles: AtomicUsize,
    /// The observer of the runner.
    observer: OnceLock<Arc<dyn Observer<T, R>>>,
}

struct State<T, R> {
    scheduler: Scheduler<T, R>,
    /// Set by a shutdown and when the receiver is dropped: nothing is scheduled any more.
    closed: bool,
}

impl<T: Hash + Eq + Clone, R> Queue<T, R> {
    /// Requests a run of `key`, `delay` from now.
    ///
    /// If the key is already scheduled for that time or earlier, nothing changes; if it runs, it
    /// will run once more.
    pub fn trigger(&self, key: T, reason: R, delay: Duration) {
        self.shared.trigger(key, reason, delay);
    }

    /// Requests a run of each key, `delay` from now.
    pub fn trigger_all(&self, keys: impl IntoIterator<Item = T>, reason: &R, delay: Duration)
    where
        R: Clone,
    {
        for key in keys {
            self.shared.trigger(key, reason.clone(), delay);
        }
    }
}

impl<T, R> Queue<T, R> {
    /// How many keys are due and wait for a free slot (`workqueue_depth`).
    pub fn depth(&self) -> usize {
        self.shared.lock().scheduler.due(Instant::now())
    }

    /// Sets the debounce window of later triggers.
    pub fn set_debounce(&self, debounce: Duration) {
        self.shared.lock().scheduler.set_debounce(debounce);
    }
}

impl<T, R> Clone for Queue<T, R> {
    fn clone(&self) -> Self {
        self.shared.handles.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T, R> Drop for Queue<T, R> {
    fn drop(&mut self) {
        // Whoever observes that the handle is gone must also observe its triggers.
        if self.shared.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.waker.wake();
        }
    }
}

impl<T, R> fmt::Debug for Queue<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl<T, R> fmt::Debug for Receiver<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl<T, R> Receiver<T, R> {
    /// Wakes this task when a key is scheduled or the last handle is dropped.
    pub(crate) fn register(&self, waker: &Waker) {
        self.shared.waker.register(waker);
    }

    /// Splits the keys into pools.
    pub(crate) fn set_pools(&self, limits: impl IntoIterator<Item = usize>) {
        self.shared.lock().scheduler.set_pools(limits);
    }

    /// Calls `observer` for keys that are added from now on. Only the first observer is used.
    pub(crate) fn observe(&self, observer: Arc<dyn Observer<T, R>>) {
        let _ = self.shared.observer.set(observer);
    }

    /// When the next key can start.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.shared.lock().scheduler.next_at()
    }

    /// Whether nothing runs and nothing will run again.
    pub(crate) fn is_exhausted(&self) -> bool {
        let handles = self.shared.handles.load(Ordering::Acquire);
        handles == 0 && self.shared.lock().scheduler.is_empty()
    }
}

impl<T: Hash + Eq + Clone, R: Reason> Receiver<T, R> {
    /// Takes the first key that is due and whose pool has a free slot.
    pub(crate) fn start(
        &self,
        now: Instant,
        pool_of: impl FnMut(&T) -> usize,
    ) -> Option<Due<T, R>> {
        self.shared.lock().scheduler.start_in(now, pool_of)
    }

    /// Ends the run of `key` and schedules `next`.
    pub(crate) fn finish(&self, key: &T, next: Next, now: Instant) {
        let mut state = self.shared.lock();
        state.scheduler.finish(key);
        let triggered = match next {
            Next::Requeue(delay) => state.trigger(key.clone(), R::requeue(), now, delay),
            Next::Retry(delay) => state.trigger(key.clone(), R::retry(), now, delay),
            Next::Done | Next::Failed => return,
        };
        drop(state);
        self.shared.observe(triggered);
    }
}

impl<T: Hash + Eq + Clone, R> Receiver<T, R> {
    /// As [`Queue::trigger`], for the runner.
    pub(crate) fn trigger(&self, key: T, reason: R, delay: Duration) {
        self.shared.trigger(key, reason, delay);
    }

    /// Drops scheduled keys and ignores later triggers.
    pub(crate) fn close(&self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.scheduler.clear();
    }
}

impl<T, R> Drop for Receiver<T, R> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.scheduler = Scheduler::new(Duration::ZERO);
    }
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        // If a key's `Hash` or `Eq` panicked, that thread propagates the panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observe(&self, triggered: Triggered) {
        if triggered == Triggered::Added
            && let Some(observer) = self.observer.get()
        {
            observer.added();
        }
    }
}

impl<T: Hash + Eq + Clone, R> Shared<T, R> {
    fn trigger(&self, key: T, reason: R, delay: Duration) {
        let triggered = self.lock().trigger(key, reason, Instant::now(), delay);
        self.observe(triggered);
        if triggered != Triggered::Merged {
            self.waker.wake();
        }
    }
}

impl<T: Hash + Eq + Clone, R> State<T, R> {
    fn trigger(&mut self, key: T, reason: R, now: Instant, delay: Duration) -> Triggered {
        if self.closed {
            return Triggered::Merged;
        }
        self.scheduler.trigger(key, reason, now, delay)
    }
}
