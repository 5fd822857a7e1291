//! Converging objects: the driver of [`target::decide`] on a cluster.
//!
//! A [`Writer`] holds what one operator wants of objects, what its target watches have
//! shown of them, and what its writes returned. [`Writer::converge`] is what one run of
//! the scheduler does for one object: it never uses an old snapshot, because it decides
//! anew after every answer. Runs for one object never overlap; the scheduler sees to it.

mod entry;
mod fight;
mod request;
mod run;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::object::Unreadable;
use document::Value;
use entry::WaitsFor;
use kube::Client;
use object::{GroupKind, ObjectKey};
use run::{Run, SLOW_RETRY};
use state::State;
use target::TargetKind;
use target::answer::{Failure, Outcome, judge};
use target::desired::Desired;
use target::live::Leftover;
use target::problem::{Cause, Problem, Report};
use tokio::sync::watch;

/// When to look at an object again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is right.
    Settled,
    /// When something changes.
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
    /// What stands against it.
    pub problem: Box<Problem>,
    /// When to try again; without it, after a growing pause.
    pub retry: Option<Duration>,
}

/// Converges the target objects of one operator.
pub struct Writer {
    operator: String,
    client: Client,
    report: Arc<dyn Report>,
    /// How often a refused object is tried though nothing changed, by controller.
    refused_again: BTreeMap<String, Duration>,
    /// Whether what a server says of objects may quote a Secret.
    hides: Box<dyn Fn() -> bool + Send + Sync>,
    state: Mutex<State>,
    /// Tells that an object has begun to wait for its namespace.
    namespace_waits: watch::Sender<()>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

/// What is known and wanted.
impl Writer {
    /// A writer for an operator. The client has the operator's rights.
    pub fn new(operator: &str, client: Client, report: Arc<dyn Report>) -> Self {
        Self {
            operator: operator.to_owned(),
            client,
            report,
            refused_again: BTreeMap::new(),
            hides: Box::new(|| false),
            state: Mutex::default(),
            namespace_waits: watch::Sender::default(),
        }
    }

    /// Tries refused objects of a controller this often though nothing changed, if that is
    /// more often than every 10 minutes. Of several controllers the longest time counts.
    #[must_use]
    pub fn retry_refused(mut self, controller: &str, every: Duration) -> Self {
        let every = every.min(SLOW_RETRY);
        self.refused_again.insert(controller.to_owned(), every);
        self
    }

    /// How long after a refusal an object is tried again though nothing changed.
    fn refused_again(&self, key: &ObjectKey) -> Duration {
        let mut state = self.state();
        let controllers = state.get(key).into_iter();
        let controllers = controllers.flat_map(|entry| entry.wanted.controllers());
        let times = controllers.filter_map(|controller| self.refused_again.get(controller));
        times.max().copied().unwrap_or(SLOW_RETRY)
    }

    /// Says when the text of a server is not shown, because it may quote a Secret.
    #[must_use]
    pub fn hide_values(mut self, hides: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.hides = Box::new(hides);
        self
    }

    /// What a failed request for an object means.
    fn judge(&self, failure: &Failure, key: &ObjectKey) -> Outcome {
        judge(failure, key, (self.hides)())
    }

    /// Notes how many objects each controller held before, for
    /// [`Writer::held_before`].
    #[must_use]
    pub fn count_held_before(self, count: bool) -> Self {
        self.state().held_before = count.then(BTreeMap::new);
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is valid between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cluster serves this kind (or serves it otherwise than before). Gives the
    /// objects to look at again.
    pub fn serve(&self, kind: TargetKind) -> Vec<ObjectKey> {
        self.state().serve(kind)
    }

    /// The cluster serves this kind no more: its objects wait.
    pub fn unserve(&self, group: &str, kind: &str) {
        self.state().unserve(&GroupKind::new(group, kind));
    }

    /// Changes whenever an object begins to wait for its namespace.
    pub fn namespace_waits(&self) -> watch::Receiver<()> {
        self.namespace_waits.subscribe()
    }

    /// The namespaces that objects wait for.
    pub fn awaited_namespaces(&self) -> BTreeSet<String> {
        self.state().awaited_namespaces()
    }

    /// Whether somebody watches namespaces and calls [`Writer::namespace_changed`].
    /// Otherwise objects that wait are tried more often, which status says. Gives the
    /// objects to look at again.
    pub fn watches_namespaces(&self, watched: bool) -> Vec<ObjectKey> {
        self.state().watches_namespaces(watched)
    }

    /// Something happened to a namespace. Gives the objects that waited for it.
    pub fn namespace_changed(&self, namespace: &str) -> Vec<ObjectKey> {
        self.state().namespace_changed(namespace)
    }

    /// A controller derives this for an object now, or nothing any more. Says whether
    /// the object is to be looked at.
    pub fn set(&self, key: &ObjectKey, controller: &str, desired: Option<Desired>) -> bool {
        self.state().set(key, controller, desired)
    }

    /// The objects that are wanted, or of one controller.
    pub fn keys(&self, controller: Option<&str>) -> Vec<ObjectKey> {
        self.state().keys(controller)
    }

    /// Whose document an object gets, or got last; `None` if nobody wants or wanted it.
    pub fn controller_of(&self, key: &ObjectKey) -> Option<String> {
        let mut state = self.state();
        let entry = state.get(key)?;
        Some(entry.controller().to_owned())
    }

    /// The controllers that write an object, or wrote what is still to be removed from it.
    pub fn controllers_of(&self, key: &ObjectKey) -> Vec<String> {
        let mut state = self.state();
        let entry = state.get(key).into_iter();
        let controllers = entry.flat_map(|entry| entry.wanted.controllers());
        controllers.map(str::to_owned).collect()
    }

    /// The target watch has shown an object. Gives its key if it is to be looked at.
    pub fn observe(&self, group: &str, kind: &str, object: &Value) -> Option<ObjectKey> {
        let key = ObjectKey::of(group, kind, object)?;
        self.state().observe(key, object, None, &self.operator)
    }

    /// As [`Writer::observe`], of an object that cannot be read; `object` is its metadata.
    pub fn observe_unreadable(
        &self,
        group: &str,
        kind: &str,
        object: &Value,
        why: &Unreadable,
    ) -> Option<ObjectKey> {
        let key = ObjectKey::of(group, kind, object)?;
        self.state().observe(key, object, Some(why), &self.operator)
    }

    /// The target watch has shown that an object is gone, or that it has lost our label.
    /// Gives its key if it is to be looked at.
    pub fn forget(&self, group: &str, kind: &str, object: &Value) -> Option<ObjectKey> {
        let key = ObjectKey::of(group, kind, object)?;
        self.state().forget(key, object, &self.operator)
    }

    /// The target watch of a kind lists anew: what it does not show until
    /// [`Writer::listed`] is not there.
    pub fn listing(&self, group: &str, kind: &str) {
        self.state().listing(GroupKind::new(group, kind));
    }

    /// The list is complete. Gives the objects that it did not show.
    pub fn listed(&self, group: &str, kind: &str) -> Vec<ObjectKey> {
        let kind = GroupKind::new(group, kind);
        self.state().listed(&kind, &self.operator)
    }

    /// Whether the target watch of a kind has been complete once.
    pub fn synced(&self, group: &str, kind: &str) -> bool {
        self.state().synced(&GroupKind::new(group, kind))
    }

    /// What the controllers of this operator have left on objects that they do not derive
    /// any more. To be asked when all sources and target watches have synced; `keep` says
    /// what stays nevertheless (its origin is in error). Each is to be given to
    /// [`Writer::withdraw`] and looked at.
    pub fn stale(&self, mut keep: impl FnMut(&Leftover) -> bool) -> Vec<Leftover> {
        let mut leftovers = self.state().leftovers(&self.operator);
        leftovers.retain(|leftover| !keep(leftover));
        leftovers
    }

    /// What the controllers of this operator have left on one object, whether they derive
    /// it still or not; `None` before the target watch of its kind is complete.
    pub fn marks(&self, key: &ObjectKey) -> Option<Vec<Leftover>> {
        let state = self.state();
        let synced = state.synced(&key.kind);
        synced.then(|| state.marks(key, &self.operator))
    }

    /// What a controller has left on an object may go.
    pub fn withdraw(&self, leftover: &Leftover) -> bool {
        self.set(&leftover.key, &leftover.controller, None)
    }

    /// Whether something is removed from the cluster when a controller wants nothing of an
    /// object any more: the object itself, or what was patched onto it.
    pub fn removes(&self, key: &ObjectKey, controller: &str) -> bool {
        self.state().removes(key, controller, &self.operator)
    }

    /// A controller wants nothing of an object any more, but what it wrote is not removed
    /// until it [is released](Writer::release) (`maxDeletions`), or the object wanted again.
    /// The object is to be looked at.
    pub fn hold(&self, key: &ObjectKey, controller: &str) {
        self.state().hold(key, controller);
    }

    /// How many removals of a controller are held.
    pub fn held(&self, controller: &str) -> usize {
        self.state().held(controller)
    }

    /// Lets all held removals go on. Gives the objects to look at.
    pub fn release(&self) -> Vec<ObjectKey> {
        self.state().release()
    }

    /// How many objects a controller had written when the target watches were first
    /// complete: what it held before this process wrote anything. Known only after
    /// [`Writer::count_held_before`].
    pub fn held_before(&self, controller: &str) -> usize {
        let state = self.state();
        let counts = state.held_before.as_ref();
        let count = counts.and_then(|counts| counts.get(controller));
        count.copied().unwrap_or_default()
    }
}

impl Writer {
    /// Brings an object to its derived state, as far as that goes now.
    pub async fn converge(&self, key: &ObjectKey) -> Result<Next, WriteError> {
        let Some(kind) = self.state().kind(key) else {
            return Ok(self.no_kind(key));
        };
        Run::new(self, key, kind).go().await
    }

    fn no_kind(&self, key: &ObjectKey) -> Next {
        let mut state = self.state();
        let Some(entry) = state.get(key) else {
            return Next::Settled;
        };
        let now = tokio::time::Instant::now().into_std();
        entry.waits = Some((WaitsFor::Kind, now));
        let problem = entry.problem(Cause::NoKind);
        drop(state);
        self.tell(key, &[problem]);
        Next::Change
    }

    /// Tells what stands against an object, if that is news.
    fn tell(&self, key: &ObjectKey, problems: &[Problem]) {
        let mut state = self.state();
        let told = match state.get(key) {
            Some(entry) => entry.told(problems),
            None => !problems.is_empty(),
        };
        drop(state);
        if told {
            self.report.problems(key, problems);
        }
    }
}
