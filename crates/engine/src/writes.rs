//! The writes of an Operator: a queue of object keys, and a runner that converges the objects.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cluster::client::Identity;
use cluster::source::discovery::Resolved;
use cluster::source::{Arrival, Sink, Unavailable};
use controller::{Next, Queue, Reason, Retries, Runner, queue};
use futures::StreamExt;
use object::{GroupKind, KindRef, ObjectKey, ObjectName, marks};
use operator::{Controller, Operator};
use target::{self, Desired, TargetKind};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinError, JoinHandle};
use tracing::Instrument;

use super::Context;
use super::guard::{Boundary, Guard};
use super::limits::Limits;
use super::measures::{Measures, Runs};
use super::namespaces::Namespaces;
use super::problem_log::ProblemLog;
use crate::writer::{WriteError, Writer};

/// Why an object is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteReason {
    /// A controller has changed what it derives for it.
    Derived,
    /// The object, its kind or its namespace has changed on the cluster.
    TargetChanged,
    /// An earlier run left it behind.
    Leftover,
    /// The period of a periodic check is over.
    Periodic,
    /// The last run asked for it.
    Requeue,
    /// The last run failed.
    Retry,
}

impl Reason for WriteReason {
    fn requeue() -> Self {
        Self::Requeue
    }

    fn retry() -> Self {
        Self::Retry
    }

    fn label(&self) -> &'static str {
        match self {
            Self::Derived => "Derived",
            Self::TargetChanged => "TargetChanged",
            Self::Leftover => "Leftover",
            Self::Periodic => "Periodic",
            Self::Requeue => "Requeue",
            Self::Retry => "Retry",
        }
    }
}

impl fmt::Display for WriteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// Each target watch holds a clone until its first list is complete. Writing starts when all
/// clones are dropped: before that, each object would have to be read before it is written.
type PendingLists = mpsc::Sender<Infallible>;

/// How long writing waits at most for the first lists of target watches.
const MAX_LIST_WAIT: Duration = Duration::from_secs(30);

/// The writes of an Operator.
pub(super) struct Writes {
    pub(super) writer: Arc<Writer>,
    queue: Queue<ObjectKey, WriteReason>,
    /// Cloned for each target watch, and dropped when all of them have a clone.
    pending_lists: Option<PendingLists>,
    /// Nothing is written before this is used.
    lead: Option<oneshot::Sender<()>>,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    namespaces: AbortHandle,
}

impl Writes {
    /// Starts the runner.
    pub(super) fn start(
        context: &Context,
        operator: &Operator,
        writer: Arc<Writer>,
        measures: &Measures,
        guard: &Guard,
    ) -> Self {
        let (queue, receiver) = queue(Duration::ZERO);
        let identity = Identity::from(operator.service_account.as_ref());
        let namespaces = Namespaces::new(writer.clone(), queue.clone());
        let (client, passed) = (context.clients.of(&identity), guard.clone());
        let only = context.namespace.clone();
        let namespaces = async move {
            passed.pass(Boundary::Namespaces);
            namespaces.run(client, only).await;
        };
        let (stop, stopped) = oneshot::channel();
        let (pending_lists, mut all_listed) = mpsc::channel(1);
        let (lead, leads) = oneshot::channel();
        let limits = Limits::new(operator, writer.clone());
        let (pauses, pools) = (limits.clone(), limits.pools());
        let mut retries = Retries::new(Limits::default_backoff(), context.clock.random());
        let shared = writer.clone();
        let passed = guard.clone();
        let run = move |key: &ObjectKey, _: &WriteReason| {
            passed.pass(Boundary::Queue);
            let (writer, key) = (shared.clone(), key.clone());
            let guard = passed.clone();
            // Spawned, so that runs for several objects use all threads of the process.
            let run = async move {
                guard.pass(Boundary::Write);
                writer.converge(&key).await
            };
            let run = tokio::spawn(run.in_current_span());
            let guard = passed.clone();
            async move {
                let done = run.await;
                if done.as_ref().is_err_and(JoinError::is_panic) {
                    guard.crashed(Boundary::Write);
                }
                done.ok()
            }
        };
        let settle =
            move |key: &ObjectKey, outcome: &Option<Result<crate::writer::Next, WriteError>>| {
                follow_up(&mut retries, &pauses, key, outcome.as_ref())
            };
        let names = writer.clone();
        let runner = Runner::new(receiver, run, settle)
            .pools(pools, move |key| limits.pool(key))
            .gate(async move {
                let _ = tokio::time::timeout(MAX_LIST_WAIT, all_listed.recv()).await;
                // A replica that stands by derives everything, and writes nothing.
                if leads.await.is_err() {
                    std::future::pending::<()>().await;
                }
                Ok::<(), Infallible>(())
            })
            .observe(Arc::new(Runs::new(measures.clone(), writer.clone())))
            .shown_as(move |key| names.describe(key))
            .shutdown_on(async move {
                let _ = stopped.await;
            });
        let task = guard.spawn(Boundary::Queue, async move {
            let mut runner = std::pin::pin!(runner);
            while runner.next().await.is_some() {}
        });
        Self {
            writer,
            queue,
            pending_lists: Some(pending_lists),
            lead: Some(lead),
            stop: Some(stop),
            task: Some(task),
            namespaces: guard.spawn(Boundary::Namespaces, namespaces).abort_handle(),
        }
    }

    /// All target watches are subscribed. Writing starts when their lists have completed.
    pub(super) fn subscribed(&mut self) {
        self.pending_lists = None;
    }

    /// This process leads: writing may start.
    pub(super) fn lead(&mut self) {
        if let Some(lead) = self.lead.take() {
            // The runner is gone only after a stop.
            let _ = lead.send(());
        }
    }

    /// Sets what a controller derives for an object; `None` if it no longer derives it.
    pub(super) fn want(&self, key: &ObjectKey, by: &Controller, desired: Option<Desired>) {
        self.want_caused(key, by, desired, 0);
    }

    /// As [`Writes::want`]; `depth` is 0 if not only writes of this process caused it.
    pub(super) fn want_caused(
        &self,
        key: &ObjectKey,
        by: &Controller,
        desired: Option<Desired>,
        depth: u32,
    ) {
        if self.writer.set(key, &by.name, desired) {
            self.writer.caused(key, depth);
            let delay = by.options.debounce;
            self.queue.trigger(key.clone(), WriteReason::Derived, delay);
        }
    }

    /// Queues objects to be checked.
    pub(super) fn look(&self, keys: impl IntoIterator<Item = ObjectKey>, reason: WriteReason) {
        self.queue.trigger_all(keys, &reason, Duration::ZERO);
    }

    /// Checks the objects of other Operators: these may no longer exist.
    pub(super) fn look_at_contested(&self) {
        self.look(self.writer.contested(), WriteReason::TargetChanged);
    }

    /// Compares all objects with their derived state.
    pub(super) fn repair_all(&self) {
        self.look(self.writer.keys(None), WriteReason::Periodic);
    }

    /// The number of objects in the queue.
    pub(super) fn waiting(&self) -> usize {
        self.queue.depth()
    }

    /// Starts no more runs, and waits for those in progress.
    pub(super) async fn stop(&mut self) {
        self.stop.take();
        self.namespaces.abort();
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for Writes {
    fn drop(&mut self) {
        // A run that is under way ends after its request.
        self.writer.close();
        self.namespaces.abort();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// When an object is checked again.
fn follow_up(
    retries: &mut Retries<ObjectKey>,
    limits: &Limits,
    key: &ObjectKey,
    outcome: Option<&Result<crate::writer::Next, WriteError>>,
) -> Next {
    match outcome {
        Some(Ok(next)) => {
            retries.reset(key);
            match next {
                crate::writer::Next::Settled | crate::writer::Next::Change => Next::Done,
                crate::writer::Next::After(delay) => Next::Requeue(*delay),
            }
        }
        Some(Err(WriteError {
            retry: Some(delay), ..
        })) => Next::Retry(*delay),
        Some(Err(_)) | None => Next::Retry(retries.failed_with(key, limits.backoff(key))),
    }
}

/// Passes the events of a target watch on to the writer.
pub(super) struct TargetSink {
    group: String,
    kind: String,
    writer: Arc<Writer>,
    queue: Queue<ObjectKey, WriteReason>,
    problem_log: Arc<ProblemLog>,
    /// Whether the Operator patches such objects, and needs the merge keys of their lists.
    patched: bool,
    /// The label of the objects that it gets; `None` for all objects.
    label: Option<String>,
    pending_lists: Mutex<Option<PendingLists>>,
    /// Whether the kind is no longer a target: the engine waits until no object is left.
    former: bool,
}

impl TargetSink {
    pub(super) fn new(
        resource: &KindRef,
        patched: bool,
        writes: &Writes,
        problem_log: Arc<ProblemLog>,
    ) -> Self {
        Self {
            group: resource.group.clone(),
            kind: resource.kind.clone(),
            writer: writes.writer.clone(),
            queue: writes.queue.clone(),
            problem_log,
            patched,
            label: None,
            pending_lists: Mutex::new(writes.pending_lists.clone()),
            former: false,
        }
    }

    /// The sink of a kind that is no longer a target.
    pub(super) fn of_former(mut self) -> Self {
        self.former = true;
        self
    }

    /// Wakes the engine if it waits for this object, or for objects to be gone.
    fn wake(&self) {
        if self.former || self.writer.has_delivered() {
            self.problem_log.poke();
        }
    }

    /// Gets only the objects whose label names this Operator.
    pub(super) fn of(mut self, operator: &str) -> Self {
        self.label = Some(marks::operator_label(operator));
        self
    }

    /// Ends the wait for this watch: its list has completed, or cannot be had.
    fn list_done(&self) {
        *self
            .pending_lists
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn look(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        self.queue
            .trigger_all(keys, &WriteReason::TargetChanged, Duration::ZERO);
    }
}

impl Sink for TargetSink {
    fn operator(&self) -> Option<&str> {
        self.label.as_deref()
    }

    fn apply(&self, _name: &ObjectName, object: &Arrival, _listing: bool) {
        let (writer, group, kind) = (&self.writer, &self.group, &self.kind);
        match object.whole() {
            Ok(object) => self.look(writer.observe(group, kind, &object)),
            Err(why) => self.look(writer.observe_unreadable(group, kind, &object.bare(), &why)),
        }
        self.wake();
    }

    fn delete(&self, _name: &ObjectName, last: Option<&Arrival>) {
        // Without a last version: the writer itself finds objects that a list does not include.
        let last = last.map(Arrival::bare);
        let last = last.and_then(|last| self.writer.forget(&self.group, &self.kind, &last));
        self.look(last);
        self.wake();
    }

    fn wants_lists(&self) -> bool {
        self.patched
    }

    fn resolved(&self, resolved: &Resolved) {
        let resource = &resolved.resource;
        let name = GroupKind::new(&resource.group, &resource.kind);
        let mut kind = TargetKind::new(name, &resource.version, &resource.plural);
        kind.namespaced = resolved.namespaced;
        kind.status = resolved.status;
        for (list, keys) in &resolved.lists {
            kind.keys = kind.keys.with(list.clone(), keys.clone());
        }
        if self.former {
            self.look(self.writer.serve(kind));
            return;
        }
        self.look(self.writer.offer(kind));
        self.problem_log.poke();
    }

    fn listing(&self) {
        self.problem_log.guard().pass(Boundary::Target);
        self.writer.listing(&self.group, &self.kind);
    }

    fn synced(&self) {
        self.look(self.writer.listed(&self.group, &self.kind));
        self.problem_log.target_watch(&self.group, &self.kind, None);
        self.list_done();
    }

    fn unavailable(&self, why: &Unavailable) {
        if why.is_kind_missing() {
            let gone = why.is_kind_gone();
            self.writer.unserve(&self.group, &self.kind, gone);
        } else {
            self.writer
                .cannot_look_up(&self.group, &self.kind, &why.message);
        }
        self.problem_log
            .target_watch(&self.group, &self.kind, Some(why));
        self.list_done();
    }

    fn crashed(&self) {
        self.problem_log.guard().crashed(Boundary::Target);
    }
}

#[cfg(test)]
mod tests;
