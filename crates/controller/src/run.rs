//! The parts of [`Controller::run`](crate::Controller::run): one attempt to reconcile an object,
//! and the stream that feeds triggers to the runner and yields its results.

use std::hash::Hash;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::stream::{self, SelectAll};
use futures::{Stream, StreamExt, TryFuture, TryFutureExt};
use kube::Resource;
use kube::runtime::controller::{Action, Error, ReconcileReason, RunnerError};
use kube::runtime::reflector::store::WriterDropped;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use tokio::task::JoinHandle;
use tracing::Instrument;

use crate::queue::{Next, Queue};
use crate::runner::Runner;
use crate::trigger::{self, Requests};

/// How many triggers are received before the runner is polled.
const TRIGGERS_PER_POLL: usize = 1024;

/// The outcome of an attempt to reconcile an object.
pub(crate) enum Outcome<K: Resource, E> {
    Reconciled(Action),
    /// It failed; the object is for the error policy.
    Failed(E, Arc<K>),
    /// The object is not in the store.
    Missing,
    /// The store has the object under this name, which runs instead.
    Elsewhere(ObjectRef<K>),
}

/// A run of the reconciler with its object, or why it does not run.
pub(crate) type Begun<K, E> = Result<(Task<Result<Action, E>>, Arc<K>), Outcome<K, E>>;

/// Looks the object up in the store and, if it is there, reconciles it in its own task.
pub(crate) fn begin<K, Fut>(
    store: &Store<K>,
    key: &ObjectRef<K>,
    reconcile: impl FnOnce(Arc<K>) -> Fut,
) -> Begun<K, Fut::Error>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
    Fut: TryFuture<Ok = Action> + Send + 'static,
    Fut::Error: Send + 'static,
{
    let object = store.get(key).ok_or(Outcome::Missing)?;
    if object.meta().namespace != key.namespace {
        let mut key = key.clone();
        key.namespace.clone_from(&object.meta().namespace);
        return Err(Outcome::Elsewhere(key));
    }
    let future = TryFutureExt::into_future(reconcile(Arc::clone(&object)));
    Ok((Task::spawn(future), object))
}

/// Waits for the outcome of a run.
pub(crate) async fn conclude<K, E>(begun: Begun<K, E>) -> Outcome<K, E>
where
    K: Resource,
    E: Send + 'static,
{
    let (task, object) = match begun {
        Ok(begun) => begun,
        Err(outcome) => return outcome,
    };
    match task.join().await {
        Ok(action) => Outcome::Reconciled(action),
        Err(error) => Outcome::Failed(error, object),
    }
}

/// A task that is cancelled when this is dropped.
pub(crate) struct Task<O>(JoinHandle<O>);

impl<O: Send + 'static> Task<O> {
    fn spawn(future: impl Future<Output = O> + Send + 'static) -> Self {
        Self(tokio::spawn(future.in_current_span()))
    }

    async fn join(mut self) -> O {
        match (&mut self.0).await {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The tokio runtime is shutting down, so this future will not be polled again.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

impl<O> Drop for Task<O> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a controller yields for each attempt, and for each error of a watch.
pub(crate) type Reconciled<K, E> = Result<(ObjectRef<K>, Action), Error<E, watcher::Error>>;

/// Feeds triggers to the queue until all have ended, and turns the runner's output into results.
pub(crate) fn drive<K, E, Run, Settle, Fut>(
    triggers: Vec<Requests<K>>,
    queue: Queue<ObjectRef<K>, ReconcileReason>,
    store: Store<K>,
    mut runner: Runner<ObjectRef<K>, ReconcileReason, Outcome<K, E>, Run, Settle, WriterDropped>,
) -> impl Stream<Item = Reconciled<K, E>>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
    E: std::error::Error + 'static,
    Run: FnMut(&ObjectRef<K>, &ReconcileReason) -> Fut,
    Fut: Future<Output = Outcome<K, E>> + Send + 'static,
    Settle: FnMut(&ObjectRef<K>, &Outcome<K, E>) -> Next,
{
    // The handle of the queue is dropped with the triggers, so that the runner can end after them.
    let mut intake = Some(Intake {
        triggers: stream::select_all(triggers),
        queue,
        store,
    });
    stream::poll_fn(move |cx| {
        loop {
            match intake.as_mut().map(|open| open.poll(cx)) {
                Some(Poll::Ready(Some(error))) => {
                    return Poll::Ready(Some(Err(Error::QueueError(error))));
                }
                Some(Poll::Ready(None)) => intake = None,
                Some(Poll::Pending) | None => {}
            }
            let polled = runner.poll_next_unpin(cx);
            if runner.is_stopping() {
                intake = None;
            }
            let done = match ready!(polled) {
                Some(Ok(done)) => done,
                Some(Err(error)) => return Poll::Ready(Some(Err(unready(error)))),
                None => return Poll::Ready(None),
            };
            let key = done.key;
            return Poll::Ready(Some(match done.output {
                Outcome::Reconciled(action) => Ok((key, action)),
                Outcome::Failed(error, _) => {
                    Err(Error::ReconcilerFailed(error, Box::new(key.erase())))
                }
                Outcome::Missing => Err(Error::ObjectNotFound(Box::new(key.erase()))),
                Outcome::Elsewhere(key) => {
                    runner.trigger(key, done.reason, Duration::ZERO);
                    continue;
                }
            }));
        }
    })
}

fn unready<E>(error: WriterDropped) -> Error<E, watcher::Error> {
    Error::RunnerError(RunnerError::Readiness(error))
}

/// Receives triggers and puts them into the queue.
struct Intake<K: Resource + Clone + 'static>
where
    K::DynamicType: Eq + Hash + Clone,
{
    triggers: SelectAll<Requests<K>>,
    queue: Queue<ObjectRef<K>, ReconcileReason>,
    store: Store<K>,
}

impl<K: Resource + Clone + 'static> Intake<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Receives the triggers that are ready. Yields errors of watches; `None` when all have ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<watcher::Error>> {
        for _ in 0..TRIGGERS_PER_POLL {
            match ready!(self.triggers.poll_next_unpin(cx)) {
                Some(Ok(request)) => {
                    let key = trigger::canonical(&self.store, request.obj_ref);
                    self.queue.trigger(key, request.reason, Duration::ZERO);
                }
                Some(Err(error)) => return Poll::Ready(Some(error)),
                None => return Poll::Ready(None),
            }
        }
        // More triggers may be ready, for which nothing else would wake this task.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
