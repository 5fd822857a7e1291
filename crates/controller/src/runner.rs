//! Runs the keys of a queue when they are due, and yields the runs that have ended.
//!
//! A [`Runner`] is a stream over the [`Receiver`] of a [queue](crate::queue()). While it is
//! polled it starts the keys that are due and yields one [`Done`] for each run that has ended:
//!
//! - nothing starts before the [gate](Runner::gate) has opened;
//! - a key runs once at a time; triggers during its run give one more run;
//! - at most [`concurrency`](Runner::concurrency) keys run at a time, and in each
//!   [pool](Runner::pools) at most as many as its limit;
//! - after a run, the `settle` function decides what [follows](Next);
//! - after a [shutdown](Runner::shutdown_on) nothing starts, current runs finish, and the stream
//!   ends. It also ends when all handles of the queue are dropped and no key is scheduled or runs.
//!
//! Keys can have any type: object references in a [`Controller`](crate::Controller), keys of target
//! objects in the writer of derived objects.

use std::convert::Infallible;
use std::fmt;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Instrument;

use crate::queue::{Next, Reason, Receiver};

/// Runs the keys of a queue. See the [module](self) for the rules.
///
/// ```
/// use std::time::Duration;
/// use controller::{Next, Reason, Runner, queue};
/// use futures::StreamExt;
///
/// #[derive(Clone)]
/// enum Why { Changed, Again }
///
/// impl Reason for Why {
///     fn requeue() -> Self { Why::Again }
///     fn retry() -> Self { Why::Again }
///     fn label(&self) -> &'static str {
///         match self { Why::Changed => "changed", Why::Again => "again" }
///     }
/// }
///
/// impl std::fmt::Display for Why {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str(self.label())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (queue, receiver) = queue::<&str, Why>(Duration::ZERO);
/// queue.trigger("web", Why::Changed, Duration::ZERO);
/// queue.trigger("db", Why::Changed, Duration::ZERO);
/// queue.trigger("web", Why::Changed, Duration::ZERO);
/// drop(queue);
///
/// let write = |key: &&str, _: &Why| std::future::ready(key.len());
/// let runner = Runner::new(receiver, write, |_, _| Next::Done).concurrency(16);
/// let written: Vec<_> = runner.map(|Ok(done)| (done.key, done.output)).collect().await;
/// assert_eq!(written, [("web", 3), ("db", 2)]);
/// # }
/// ```
pub struct Runner<T, R, O, Run, Settle, G = Infallible> {
    receiver: Receiver<T, R>,
    run: Run,
    settle: Settle,
    limit: usize,
    pool_of: Option<PoolOf<T>>,
    gate: Gate<G>,
    /// When the gate opened, if it was ever shut.
    opened: Option<Instant>,
    shutdown: Option<BoxFuture<'static, ()>>,
    phase: Phase,
    running: FuturesUnordered<BoxFuture<'static, Ended<T, R, O>>>,
    /// A timer for the next run time. It is made on first use, because it needs the tokio runtime.
    timer: Option<Pin<Box<Sleep>>>,
    observer: Option<Arc<dyn Observer<T, R>>>,
    shown_as: Option<ShownAs<T>>,
}

/// Returns the position of a key's pool.
type PoolOf<T> = Box<dyn Fn(&T) -> usize + Send>;
/// Returns the text of a key in spans.
type ShownAs<T> = Box<dyn Fn(&T) -> String + Send>;

enum Gate<G> {
    Open,
    Shut(BoxFuture<'static, Result<(), G>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Nothing starts any more.
    Stopping,
    /// The stream has ended.
    Ended,
}

struct Ended<T, R, O> {
    key: T,
    reason: R,
    started: Instant,
    output: O,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done<T, R, O> {
    /// The key that ran.
    pub key: T,
    /// Why it ran.
    pub reason: R,
    /// The output of the run.
    pub output: O,
    /// What follows from it.
    pub next: Next,
}

/// Hooks for metrics, such as `workqueue_queue_duration_seconds`. They must not block. The number of
/// waiting keys is [`Queue::depth`](crate::Queue::depth).
pub trait Observer<T, R>: Send + Sync {
    /// A key that was not scheduled is now scheduled. Called in the task that triggers it.
    fn added(&self) {}

    /// A run starts; it has waited for this long since its run time, or since the gate opened if that
    /// was later.
    fn started(&self, key: &T, reason: &R, waited: Duration) {
        let _ = (key, reason, waited);
    }

    /// A run has ended after this long.
    fn finished(&self, key: &T, reason: &R, took: Duration, next: Next) {
        let _ = (key, reason, took, next);
    }
}

/// A limit, where 0 means none.
fn unless_zero(limit: u16) -> usize {
    if limit == 0 { usize::MAX } else { limit.into() }
}

impl<T, R, O, Run, Settle> Runner<T, R, O, Run, Settle> {
    /// A runner of the keys of a queue, without limits and with an open gate.
    ///
    /// `run` makes the future of a run from its key and reason; `settle` decides what follows from
    /// its output. Both are called in the task that polls the runner. Each run is in a span
    /// `reconcile` with the fields `object.ref` and `object.reason`.
    pub fn new<Fut>(receiver: Receiver<T, R>, run: Run, settle: Settle) -> Self
    where
        T: Hash + Eq + Clone + fmt::Display + Send + 'static,
        R: Reason + Send + 'static,
        Run: FnMut(&T, &R) -> Fut,
        Fut: Future<Output = O> + Send + 'static,
        Settle: FnMut(&T, &O) -> Next,
    {
        Self {
            receiver,
            run,
            settle,
            limit: usize::MAX,
            pool_of: None,
            gate: Gate::Open,
            opened: None,
            shutdown: None,
            phase: Phase::Running,
            running: FuturesUnordered::new(),
            timer: None,
            observer: None,
            shown_as: None,
        }
    }
}

impl<T, R, O, Run, Settle, G> Runner<T, R, O, Run, Settle, G> {
    /// Sets how many keys run at a time; 0 means no limit.
    #[must_use]
    pub fn concurrency(mut self, limit: u16) -> Self {
        self.limit = unless_zero(limit);
        self
    }

    /// Starts nothing before `ready` completes. Triggers are received and merged meanwhile. If
    /// `ready` fails, the stream yields the error and ends.
    #[must_use]
    pub fn gate<G2>(
        self,
        ready: impl Future<Output = Result<(), G2>> + Send + 'static,
    ) -> Runner<T, R, O, Run, Settle, G2> {
        Runner {
            receiver: self.receiver,
            run: self.run,
            settle: self.settle,
            limit: self.limit,
            pool_of: self.pool_of,
            gate: Gate::Shut(ready.boxed()),
            opened: None,
            shutdown: self.shutdown,
            phase: self.phase,
            running: self.running,
            timer: self.timer,
            observer: self.observer,
            shown_as: self.shown_as,
        }
    }

    /// When `stop` completes, no further run starts, current runs finish, and the stream ends. A
    /// second call replaces the first.
    #[must_use]
    pub fn shutdown_on(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.shutdown = Some(stop.boxed());
        self
    }

    /// Splits the keys into pools, each with a limit on how many run at a time; 0 means no limit. A
    /// full pool does not delay keys of other pools. `pool_of` returns the position of a key's pool
    /// in `limits`. It is called while the queue is locked, so it must not trigger keys. All pools
    /// together are limited by [`concurrency`](Runner::concurrency).
    #[must_use]
    pub fn pools(
        mut self,
        limits: impl IntoIterator<Item = u16>,
        pool_of: impl Fn(&T) -> usize + Send + 'static,
    ) -> Self {
        self.receiver.set_pools(limits.into_iter().map(unless_zero));
        self.pool_of = Some(Box::new(pool_of));
        self
    }

    /// Calls `observer` when a key is added to the queue, and at the start and end of each run.
    #[must_use]
    pub fn observe(mut self, observer: Arc<dyn Observer<T, R>>) -> Self {
        self.receiver.observe(Arc::clone(&observer));
        self.observer = Some(observer);
        self
    }

    /// Sets the text of a key in the field `object.ref` of spans, for keys that not everybody may
    /// see. Without it, the key is printed.
    #[must_use]
    pub fn shown_as(mut self, shown_as: impl Fn(&T) -> String + Send + 'static) -> Self {
        self.shown_as = Some(Box::new(shown_as));
        self
    }

    /// Whether a shutdown has begun, or the stream has ended.
    pub fn is_stopping(&self) -> bool {
        self.phase != Phase::Running
    }
}

impl<T, R, O, Run, Settle, Fut, G> Runner<T, R, O, Run, Settle, G>
where
    T: Hash + Eq + Clone + fmt::Display + Send + 'static,
    R: Reason + Send + 'static,
    Run: FnMut(&T, &R) -> Fut,
    Fut: Future<Output = O> + Send + 'static,
    Settle: FnMut(&T, &O) -> Next,
{
    /// Requests a run of `key`, as [`Queue::trigger`](crate::Queue::trigger) does.
    pub fn trigger(&self, key: T, reason: R, delay: Duration) {
        self.receiver.trigger(key, reason, delay);
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) {
        if let Some(stop) = &mut self.shutdown
            && stop.poll_unpin(cx).is_ready()
        {
            self.shutdown = None;
            self.phase = Phase::Stopping;
            self.receiver.close();
            tracing::debug!(
                running = self.running.len(),
                "stopping: no further run starts"
            );
        }
    }

    /// Opens the gate once it is ready. An error ends the runner.
    fn poll_gate(&mut self, cx: &mut Context<'_>) -> Result<(), G> {
        if let Gate::Shut(ready) = &mut self.gate
            && let Poll::Ready(result) = ready.poll_unpin(cx)
        {
            self.gate = Gate::Open;
            self.opened = Some(Instant::now());
            return result;
        }
        Ok(())
    }

    /// Takes one run that has ended and schedules what follows from it.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Option<Done<T, R, O>> {
        let Poll::Ready(Some(ended)) = self.running.poll_next_unpin(cx) else {
            return None;
        };
        let Ended {
            key,
            reason,
            started,
            output,
        } = ended;
        let next = (self.settle)(&key, &output);
        let now = Instant::now();
        self.receiver.finish(&key, next, now);
        if let Some(observer) = &self.observer {
            observer.finished(&key, &reason, now - started, next);
        }
        Some(Done {
            key,
            reason,
            output,
            next,
        })
    }

    fn may_start(&self) -> bool {
        matches!(self.gate, Gate::Open) && !self.is_stopping() && self.running.len() < self.limit
    }

    /// Starts the keys that are due, within the limits. Returns whether any was started.
    fn start_due(&mut self) -> bool {
        let before = self.running.len();
        while self.may_start() {
            let now = Instant::now();
            let pool_of = |key: &T| self.pool_of.as_ref().map_or(0, |pool_of| pool_of(key));
            let Some(due) = self.receiver.start(now, pool_of) else {
                break;
            };
            if let Some(observer) = &self.observer {
                let since = self.opened.map_or(due.at, |opened| opened.max(due.at));
                let waited = now.saturating_duration_since(since);
                observer.started(&due.key, &due.reason, waited);
            }
            let (key, reason) = (due.key, due.reason);
            let span = self.span(&key, &reason);
            let future = span.in_scope(|| (self.run)(&key, &reason)).instrument(span);
            let ended = future.map(move |output| Ended {
                key,
                reason,
                started: now,
                output,
            });
            self.running.push(ended.boxed());
        }
        self.running.len() > before
    }

    fn span(&self, key: &T, reason: &R) -> tracing::Span {
        let shown = || match &self.shown_as {
            Some(shown_as) => shown_as(key),
            None => key.to_string(),
        };
        tracing::info_span!("reconcile", "object.ref" = %shown(), "object.reason" = %reason)
    }

    /// Whether the next key is due. If not, this task is woken at its run time.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.may_start() {
            return false;
        }
        let Some(at) = self.receiver.next_at() else {
            return false;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.poll_unpin(cx).is_ready()
    }
}

/// No field is structurally pinned: futures are boxed.
impl<T, R, O, Run, Settle, G> Unpin for Runner<T, R, O, Run, Settle, G> {}

impl<T, R, O, Run, Settle, Fut, G> Stream for Runner<T, R, O, Run, Settle, G>
where
    T: Hash + Eq + Clone + fmt::Display + Send + 'static,
    R: Reason + Send + 'static,
    Run: FnMut(&T, &R) -> Fut,
    Fut: Future<Output = O> + Send + 'static,
    Settle: FnMut(&T, &O) -> Next,
{
    type Item = Result<Done<T, R, O>, G>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.phase == Phase::Ended {
            return Poll::Ready(None);
        }
        // Registered before the queue is read, so that later triggers wake this task.
        this.receiver.register(cx.waker());
        this.poll_shutdown(cx);
        if let Err(error) = this.poll_gate(cx)
            && !this.is_stopping()
        {
            this.phase = Phase::Ended;
            this.receiver.close();
            return Poll::Ready(Some(Err(error)));
        }
        loop {
            let done = this.poll_ended(cx);
            // Free slots are filled before the caller gets the result, which may take it a while.
            let started = this.start_due();
            if let Some(done) = done {
                return Poll::Ready(Some(Ok(done)));
            }
            if started {
                // New futures must be polled once, so that they can wake this task.
                continue;
            }
            if this.running.is_empty() && (this.is_stopping() || this.receiver.is_exhausted()) {
                this.phase = Phase::Ended;
                this.receiver.close();
                return Poll::Ready(None);
            }
            if !this.poll_timer(cx) {
                return Poll::Pending;
            }
        }
    }
}

impl<T, R, O, Run, Settle, G> fmt::Debug for Runner<T, R, O, Run, Settle, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.running.len();
        f.debug_struct("Runner")
            .field("phase", &self.phase)
            .field("running", &running)
            .finish_non_exhaustive()
    }
}
