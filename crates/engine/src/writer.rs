//! Writes target objects: the driver of [`target::decide`] on a cluster.
//!
//! For each object a [`Writer`] keeps three things: what the controllers of one Operator want
//! of it, what the target watches have delivered, and what the answers to its own writes
//! contained. [`Writer::converge`] is one run of the scheduler for one object. It asks `decide`
//! for the next request, sends it, stores the answer, and asks again, until nothing is left to
//! do or only time or an event can help:
//!
//! ```text
//! wanted ──┐
//! watch ───┼─▶ decide ─▶ create, replace, patch, delete, read ─▶ server
//! answers ─┘                                                        │
//!    ▲                                                              │
//!    └──────────── the object, a conflict, a refusal ◀──────────────┘
//! ```
//!
//! Every decision uses the latest state, so drift, retries, restarts and resyncs all take the
//! same path. The scheduler never runs two of these loops for one object at the same time.

mod awaited;
mod cycle;
mod entry;
mod fight;
mod holdings;
mod places;
mod request;
mod rivals;
mod run;
mod standing;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::object::Unreadable;
pub(crate) use cycle::CYCLE_PAUSE;
use document::Value;
use entry::WaitsFor;
use kube::Client;
use object::{GroupKind, ObjectKey, OperatorId};
use run::{Run, SLOW_RETRY};
pub use standing::Progress;
use state::State;
use target::TargetKind;
use target::answer::{Failure, Outcome, judge};
use target::desired::Desired;
use target::live::Leftover;
use target::peers::Peers;
use target::problem::{Cause, Problem, Report};
use tokio::sync::{Notify, Semaphore, watch};

use crate::echoes::Echoes;
use crate::workers::Workers;

/// How many requests of one Operator may be under way. The process has only so many connections, and
/// an Operator whose requests hang must not take all of them.
const MAX_REQUESTS: usize = 64;
/// How often an object is checked while it is unknown whether the cluster serves its kind.
const LOOK_UP_AGAIN: Duration = Duration::from_secs(30);

/// When an object has to be checked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Not before something changes: it has its derived state.
    Settled,
    /// When something changes: it does not have its derived state, but nothing can be done now.
    Change,
    /// After this time, or when something changes.
    After(Duration),
}

/// A run that did not reach the derived state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct WriteError {
    /// The object.
    pub key: ObjectKey,
    /// What prevents it.
    pub problem: Box<Problem>,
    /// When to try again; if `None`, after a growing pause.
    pub retry: Option<Duration>,
}

/// Writes the target objects of one Operator.
pub struct Writer {
    operator: OperatorId,
    client: Client,
    report: Arc<dyn Report>,
    /// How often a refused object is tried again although nothing changed, by controller.
    refused_again: BTreeMap<String, Duration>,
    /// Whether messages of the server may quote a Secret.
    hides: Box<dyn Fn() -> bool + Send + Sync>,
    state: Mutex<State>,
    requests: Semaphore,
    /// Whether no further request is sent.
    closed: AtomicBool,
    /// Records what is written, to find cycles.
    echoes: Echoes,
    /// The threads for decisions about large objects.
    workers: Workers,
    /// Notifies when an object begins to wait for its namespace.
    namespace_waits: watch::Sender<()>,
    /// Notifies when an object may not be as derived.
    behind: Notify,
    /// The Operators that exist.
    peers: watch::Receiver<Peers>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("operator", &self.operator.name)
            .finish_non_exhaustive()
    }
}

/// The state: desired and observed objects.
impl Writer {
    /// A writer for an Operator. The client acts as the Operator's account.
    pub fn new(operator: &OperatorId, client: Client, report: Arc<dyn Report>) -> Self {
        Self {
            operator: operator.clone(),
            client,
            report,
            refused_again: BTreeMap::new(),
            hides: Box::new(|| false),
            state: Mutex::default(),
            requests: Semaphore::new(MAX_REQUESTS),
            closed: AtomicBool::new(false),
            echoes: Echoes::default(),
            workers: Workers::default(),
            namespace_waits: watch::Sender::default(),
            behind: Notify::new(),
            peers: watch::channel(Peers::default()).1,
        }
    }

    /// Sets from where the writer learns which other Operators exist. Without it all of them do.
    #[must_use]
    pub fn with_peers(mut self, peers: watch::Receiver<Peers>) -> Self {
        self.peers = peers;
        self
    }

    /// The Operator that writes.
    pub fn operator(&self) -> &OperatorId {
        &self.operator
    }

    fn peers(&self) -> Peers {
        self.peers.borrow().clone()
    }

    /// Sets how often the refused objects of a controller are tried again although nothing
    /// changed. The interval is 10 minutes at most. If several controllers write an object, the
    /// longest interval counts.
    #[must_use]
    pub fn retry_refused(mut self, controller: &str, every: Duration) -> Self {
        let every = every.min(SLOW_RETRY);
        self.refused_again.insert(controller.to_owned(), every);
        self
    }

    /// Sets the only namespace whose objects are written (`--namespace`). Objects outside of it,
    /// cluster-scoped ones included, are left alone, whatever their marks say.
    #[must_use]
    pub fn within(self, namespace: Option<String>) -> Self {
        self.state().boundary = namespace.map(Into::into);
        self
    }

    /// How long after a refusal an object is tried again although nothing changed.
    fn refused_again(&self, key: &ObjectKey) -> Duration {
        let mut state = self.state();
        let controllers = state.get(key).into_iter();
        let controllers = controllers.flat_map(|entry| entry.wanted.controllers());
        let times = controllers.filter_map(|controller| self.refused_again.get(controller));
        times.max().copied().unwrap_or(SLOW_RETRY)
    }

    /// Sets a function that returns whether to suppress messages of the server, because they
    /// may quote a Secret.
    #[must_use]
    pub fn hide_values(mut self, hides: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.hides = Box::new(hides);
        self
    }

    /// An object in log lines and traces.
    pub fn describe(&self, key: &ObjectKey) -> String {
        self.report.describe(key)
    }

    /// Sets the threads for decisions about large objects.
    #[must_use]
    pub fn on(mut self, workers: Workers) -> Self {
        self.workers = workers;
        self
    }

    /// Sets what records the writes, to find cycles.
    #[must_use]
    pub fn echoing(mut self, echoes: Echoes) -> Self {
        self.echoes = echoes;
        self
    }

    /// Sets how many writes of this process have caused each other until the last
    /// [`Writer::set`] of an object; 0 if something else caused it.
    pub(crate) fn caused(&self, key: &ObjectKey, depth: u32) {
        self.state().caused(key, depth);
    }

    /// Whether an object is held because of a cycle.
    pub(crate) fn has_cycles(&self) -> bool {
        !self.state().cycles.is_empty()
    }

    /// Ends the holds because of cycles on the objects of a controller. Returns the objects to
    /// check.
    pub(crate) fn release_cycles(&self, controller: &str) -> Vec<ObjectKey> {
        self.state().release_cycles(controller)
    }

    /// What a failed request for an object means.
    fn judge(&self, failure: &Failure, key: &ObjectKey) -> Outcome {
        judge(failure, key, (self.hides)())
    }

    /// Enables [`Writer::held_before`]: the writer counts how many objects each controller had
    /// written before this process started.
    #[must_use]
    pub fn count_held_before(self, count: bool) -> Self {
        self.state().held_before = count.then(BTreeMap::new);
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is valid between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the cluster serves this kind, or that its API has changed. Returns the
    /// objects to check again.
    pub fn serve(&self, kind: TargetKind) -> Vec<ObjectKey> {
        self.state().serve(kind)
    }

    /// Records why it is unknown whether the cluster serves this kind. Its objects wait.
    pub fn cannot_look_up(&self, group: &str, kind: &str, why: &str) {
        let kind = GroupKind::new(group, kind);
        self.state().cannot_look_up(kind, why);
    }

    /// Changes whenever an object begins to wait for its namespace.
    pub fn namespace_waits(&self) -> watch::Receiver<()> {
        self.namespace_waits.subscribe()
    }

    /// The namespaces that objects wait for.
    pub fn awaited_namespaces(&self) -> BTreeSet<String> {
        self.state().awaited_namespaces()
    }

    /// Sets whether namespaces are watched, and [`Writer::namespace_changed`] is called. If
    /// not, objects that wait for their namespace are tried more often, and the status shows
    /// it. Returns the objects to check again.
    pub fn watches_namespaces(&self, watched: bool) -> Vec<ObjectKey> {
        self.state().watches_namespaces(watched)
    }

    /// Records an event for a namespace. Returns the objects that waited for it.
    pub fn namespace_changed(&self, namespace: &str) -> Vec<ObjectKey> {
        self.state().namespace_changed(namespace)
    }

    /// Sets what a controller derives for an object; `None` if it no longer derives it. Returns
    /// whether the object has to be checked.
    pub fn set(&self, key: &ObjectKey, controller: &str, desired: Option<Desired>) -> bool {
        self.changing(|state| state.set(key, controller, desired))
    }

    /// Changes the state, and notifies if an object is or was not as derived.
    fn changing<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let behind = state.is_behind();
        let result = change(&mut state);
        let behind = behind || state.is_behind();
        drop(state);
        if behind {
            self.behind.notify_one();
        }
        result
    }

    /// Waits until an object may not be as derived, or may be so again.
    pub async fn fell_behind(&self) {
        self.behind.notified().await;
    }

    /// The objects that any controller wants, or those that this controller wants.
    pub fn keys(&self, controller: Option<&str>) -> Vec<ObjectKey> {
        self.state().keys(controller)
    }

    /// The controller that writes an object, or wrote it last; `None` if there is none.
    pub fn controller_of(&self, key: &ObjectKey) -> Option<String> {
        let mut state = self.state();
        let entry = state.get(key)?;
        Some(entry.controller().to_owned())
    }

    /// The controllers that write an object, or whose fields still have to be removed from it.
    pub fn controllers_of(&self, key: &ObjectKey) -> Vec<String> {
        let mut state = self.state();
        let entry = state.get(key).into_iter();
        let controllers = entry.flat_map(|entry| entry.wanted.controllers());
        controllers.map(str::to_owned).collect()
    }

    /// Stores an object that the target watch has delivered. Returns its key if it has to be
    /// checked.
    pub fn observe(&self, group: &str, kind: &str, object: &Value) -> Option<ObjectKey> {
        let key = ObjectKey::of_kind(group, kind, object)?;
        self.noting_orphans(|state| state.observe(key, object, None, &self.operator))
    }

    /// As [`Writer::observe`], for an object that cannot be read; `object` is its metadata.
    pub fn observe_unreadable(
        &self,
        group: &str,
        kind: &str,
        object: &Value,
        why: &Unreadable,
    ) -> Option<ObjectKey> {
        let key = ObjectKey::of_kind(group, kind, object)?;
        self.noting_orphans(|state| state.observe(key, object, Some(why), &self.operator))
    }

    /// Records that the target watch has delivered the deletion of an object, or the loss of
    /// our label. Returns its key if it has to be checked.
    pub fn forget(&self, group: &str, kind: &str, object: &Value) -> Option<ObjectKey> {
        let key = ObjectKey::of_kind(group, kind, object)?;
        self.noting_orphans(|state| state.forget(key, object, &self.operator))
    }

    /// Records that the target watch of a kind starts a list. Objects that are not delivered
    /// before [`Writer::listed`] do not exist.
    pub fn listing(&self, group: &str, kind: &str) {
        self.state().listing(GroupKind::new(group, kind));
    }

    /// Records that the list is complete. Returns the known objects that are not in it.
    pub fn listed(&self, group: &str, kind: &str) -> Vec<ObjectKey> {
        let kind = GroupKind::new(group, kind);
        self.noting_orphans(|state| state.listed(&kind, &self.operator))
    }

    /// Whether a list of the target watch of a kind has completed.
    pub fn synced(&self, group: &str, kind: &str) -> bool {
        self.state().synced(&GroupKind::new(group, kind))
    }

    /// The objects that carry marks of this Operator's controllers but are no longer derived.
    /// Only meaningful when all sources and target watches have synced. `keep` selects those to
    /// leave alone, for example because their origin is in error. The caller passes each one to
    /// [`Writer::withdraw`] and checks the object.
    pub fn leftovers(&self, mut keep: impl FnMut(&Leftover) -> bool) -> Vec<Leftover> {
        let mut state = self.state();
        state.note_doubts();
        let mut leftovers = state.leftovers(&self.operator);
        drop(state);
        leftovers.retain(|leftover| !keep(leftover));
        leftovers
    }

    /// The marks of this Operator's controllers on one object, whether or not it is still
    /// derived; `None` before the target watch of its kind has synced.
    pub fn marks(&self, key: &ObjectKey) -> Option<Vec<Leftover>> {
        let state = self.state();
        let synced = state.synced(&key.kind);
        synced.then(|| state.marks(key, &self.operator))
    }

    /// Allows the removal of what a controller has left on an object. If it still patches the object,
    /// because its target has another type now, only its claim is released. Returns whether the
    /// object has to be checked.
    pub fn withdraw(&self, key: &ObjectKey, controller: &str) -> bool {
        self.changing(|state| state.withdraw(key, controller))
    }

    /// Whether something is removed from the cluster when a controller no longer wants an
    /// object: the object itself, or the fields that it patched.
    pub fn removes(&self, key: &ObjectKey, controller: &str) -> bool {
        self.state().removes(key, controller, &self.operator)
    }

    /// Records that a controller no longer wants an object, but keeps what it wrote there until
    /// [`Writer::release`] (`maxDeletions`), or until it is derived again. The caller checks
    /// the object.
    pub fn hold(&self, key: &ObjectKey, controller: &str) {
        self.state().hold(key, controller);
    }

    /// How many removals of a controller are held.
    pub fn held(&self, controller: &str) -> usize {
        self.state().held(controller)
    }

    /// Allows all held removals. Returns the objects to check.
    pub fn release(&self) -> Vec<ObjectKey> {
        self.state().release()
    }

    /// How many objects of a controller are not as derived.
    pub fn progress(&self, controller: &str) -> Progress {
        self.state().progress(controller)
    }

    /// How many objects a controller had written when the target watches first synced, that is,
    /// before this process wrote anything. Needs [`Writer::count_held_before`].
    pub fn held_before(&self, controller: &str) -> usize {
        let state = self.state();
        let counts = state.held_before.as_ref();
        let count = counts.and_then(|counts| counts.get(controller));
        count.copied().unwrap_or_default()
    }
}

impl Writer {
    /// Sends no further request. Runs that are under way end when their request is answered.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.requests.close();
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Brings an object to its derived state, as far as possible now.
    pub async fn converge(&self, key: &ObjectKey) -> Result<Next, WriteError> {
        let Some(kind) = self.state().kind(key) else {
            return Ok(self.no_kind(key));
        };
        match self.misplacement(key) {
            Some(next) => Ok(next),
            None => Run::new(self, key, kind).go().await,
        }
    }

    fn no_kind(&self, key: &ObjectKey) -> Next {
        let mut state = self.state();
        if state.drop_gone(key) {
            drop(state);
            self.report_problems(key, &[]);
            return Next::Settled;
        }
        let cause = state.unknown(&key.kind);
        let Some(entry) = state.get(key) else {
            return Next::Settled;
        };
        let now = tokio::time::Instant::now().into_std();
        entry.waits = Some((WaitsFor::Kind, now));
        let is_missing = cause == Cause::NoKind;
        let problem = entry.problem(cause);
        drop(state);
        self.report_problems(key, &[problem]);
        if is_missing {
            return Next::Change;
        }
        // The reason may change, and then the problem says so.
        Next::After(LOOK_UP_AGAIN)
    }

    /// Reports the problems of an object, if they have changed.
    fn report_problems(&self, key: &ObjectKey, problems: &[Problem]) {
        let mut state = self.state();
        let uncleared = state.uncleared.remove(key);
        let (changed, problems) = match state.get(key) {
            Some(entry) => (entry.set_problems(problems) || uncleared, problems),
            // The entry is gone, and its problems with it: a watch can remove it at any time.
            None => (true, &[][..]),
        };
        drop(state);
        if !problems.is_empty() {
            self.changing(|state| state.ran(key, true, None));
        }
        if changed {
            self.report.problems(key, problems);
        }
    }
}
