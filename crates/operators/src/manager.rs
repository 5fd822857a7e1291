//! Follows the watch of Operator objects, and runs a task for each Operator.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cluster::connect::{describe, innermost};
use cluster::lease::Leadership;
use cluster::object::{Object, lost_event};
use controller::{Backoff, Pause};
use engine::clock::Clock;
use engine::guard::FailPoints;
use engine::workers::Workers;
use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt};
use metrics::Metrics;
use object::LabelSelector;
use object::relist::Known;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};

use crate::crd;
use crate::cycles::ViewGraph;
use crate::engines::Engines;
use crate::events::Events;
use crate::health::Health;
use crate::operator_task::OperatorTask;
use crate::policy::Policy;
use crate::resource::OperatorObject;

/// Watches Operator objects and runs a task for each.
pub struct Operators {
    shared: Arc<Shared>,
    /// The Operators that this process runs, by their labels; `None` for all.
    selector: Option<LabelSelector>,
    health: Health,
    lives: BTreeMap<String, watch::Sender<Seen>>,
    tasks: JoinSet<()>,
    /// The Operator of each task.
    names: HashMap<Id, String>,
    /// The Operators that exist, by name.
    known: Known<String>,
    /// While a list is under way: the Operators that it has shown. Their tasks start when it
    /// completes.
    listed: BTreeMap<String, Object>,
    /// The names of all Operators; `None` before a list is complete, and while the watch starts
    /// again.
    existing: Option<BTreeSet<String>>,
    pause: Pause,
    /// The pauses after tasks that failed, by Operator.
    crashes: BTreeMap<String, Pause>,
}

impl fmt::Debug for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operators")
            .field("lives", &self.lives.keys())
            .finish_non_exhaustive()
    }
}

/// The services that the tasks of all Operators share.
pub(crate) struct Shared {
    pub(crate) api: Api<Object>,
    pub(crate) engines: Arc<dyn Engines>,
    pub(crate) policy: Policy,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    pub(crate) leadership: Leadership,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) views: ViewGraph,
    pub(crate) fail_points: FailPoints,
    /// The threads on which specs are read.
    pub(crate) readers: Workers,
    /// The thread on which Operators are checked for warnings.
    pub(crate) checks: Workers,
}

impl Shared {
    /// Forgets an Operator that no longer exists, or that another process runs.
    pub(crate) fn forget(&self, name: &str) {
        self.views.remove(name);
        self.engines.forget(name);
        self.metrics.deleted(name);
    }
}

/// The last state of an Operator, for its task.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// It exists.
    There(OperatorObject),
    /// It was deleted.
    Gone,
    /// It exists, but another process runs it.
    Elsewhere,
    /// The process is stopping.
    Stop,
}

/// The pauses after failures of the watch.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
/// Why the views of an Operator that another process runs are not available.
const ELSEWHERE: &str = "this process does not run the Operator (--operator-selector)";
/// The longest pause while the CRD is missing.
const MISSING: Duration = Duration::from_secs(3);

/// The services that [`Operators`] uses.
pub struct Services {
    /// Reads Operators, and writes their status.
    pub client: Client,
    /// Starts engines.
    pub engines: Arc<dyn Engines>,
    /// The rules that Operators must comply with.
    pub policy: Policy,
    /// The Operators to run, by their labels; `None` for all.
    pub selector: Option<LabelSelector>,
    /// Publishes Events.
    pub events: Events,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The readiness of the process: whether Operators can be read.
    pub health: Health,
    /// Whether this process leads. While it stands by, its engines run, and nothing is written.
    pub leadership: Leadership,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Where tests make the tasks of Operators fail.
    pub fail_points: FailPoints,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

impl Operators {
    /// Starts without Operators.
    pub fn new(parts: Services) -> Self {
        Self {
            shared: Arc::new(Shared {
                api: Api::all_with(parts.client, &crd::resource()),
                engines: parts.engines,
                policy: parts.policy,
                events: parts.events,
                metrics: parts.metrics,
                leadership: parts.leadership,
                clock: parts.clock,
                views: ViewGraph::default(),
                fail_points: parts.fail_points,
                readers: Workers::default(),
                checks: Workers::new(1),
            }),
            selector: parts.selector,
            health: parts.health,
            lives: BTreeMap::new(),
            tasks: JoinSet::new(),
            names: HashMap::new(),
            known: Known::default(),
            listed: BTreeMap::new(),
            existing: None,
            pause: Pause::new(PAUSES),
            crashes: BTreeMap::new(),
        }
    }

    /// Runs the Operators of the cluster until `shutdown` completes. Then stops them and waits for
    /// their tasks, at most for `grace`. Returns whether all tasks have ended by then.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>, grace: Duration) -> bool {
        let mut shutdown = pin!(shutdown);
        'listed: loop {
            let events = watcher::watcher(self.shared.api.clone(), watcher::Config::default());
            let mut events = pin!(events);
            loop {
                tokio::select! {
                    biased;
                    () = &mut shutdown => break 'listed,
                    goes_on = self.follow(events.as_mut()) => if !goes_on {
                        break;
                    },
                }
            }
        }
        tokio::time::timeout(grace, self.stop()).await.is_ok()
    }

    /// Handles the next event, or the end of a task. Returns whether the watch continues;
    /// otherwise it must be started again.
    async fn follow(
        &mut self,
        mut events: impl Stream<Item = watcher::Result<Event<Object>>> + Unpin,
    ) -> bool {
        tokio::select! {
            biased;
            Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
            event = events.next() => match event {
                Some(Ok(event)) => self.event(event),
                Some(Err(error)) => {
                    self.failed(&error).await;
                    // The CRD may have been replaced, or an event was lost. Only a list shows the
                    // current state.
                    let restarted = matches!(error, watcher::Error::WatchStartFailed(_));
                    let goes_on = !restarted && !lost_event(&error);
                    if !goes_on {
                        self.unknown();
                    }
                    return goes_on;
                }
                None => {
                    self.unknown();
                    return false;
                }
            },
        }
        true
    }

    fn event(&mut self, event: Event<Object>) {
        match event {
            Event::Init => {
                self.known.begin();
                self.listed.clear();
            }
            Event::InitApply(object) | Event::Apply(object) | Event::Delete(object)
                if object.name_any().is_empty() =>
            {
                tracing::warn!("ignoring an Operator without a name");
            }
            Event::InitApply(object) => {
                self.known.show(object.name_any());
                self.listed.insert(object.name_any(), object);
            }
            Event::InitDone => {
                self.listed();
                self.well();
            }
            Event::Apply(object) => {
                self.known.show(object.name_any());
                self.exists(object.name_any(), true);
                self.there(object);
                self.well();
            }
            Event::Delete(object) => {
                self.known.remove(&object.name_any());
                self.exists(object.name_any(), false);
                self.gone(&object.name_any());
                self.well();
            }
        }
        let there = self
            .lives
            .values()
            .filter(|seen| matches!(*seen.borrow(), Seen::There(_)));
        self.shared.metrics.operators(there.count());
    }

    /// The list is complete: Operators that it does not contain are gone.
    fn listed(&mut self) {
        for name in self.known.complete().unwrap_or_default() {
            self.gone(&name);
        }
        self.existing = Some(self.listed.keys().cloned().collect());
        self.shared.engines.exist(self.existing.clone());
        for object in std::mem::take(&mut self.listed).into_values() {
            self.there(object);
        }
    }

    /// An event shows that an Operator exists, or that it does not.
    fn exists(&mut self, name: String, exists: bool) {
        let Some(existing) = &mut self.existing else {
            return;
        };
        let changed = if exists {
            existing.insert(name)
        } else {
            existing.remove(&name)
        };
        if changed {
            self.shared.engines.exist(self.existing.clone());
        }
    }

    /// Until the next list is complete, it is not known which Operators exist.
    fn unknown(&mut self) {
        self.existing = None;
        self.shared.engines.exist(None);
    }

    fn well(&mut self) {
        self.pause.reset();
        self.health.ready();
    }

    fn there(&mut self, object: Object) {
        let name = object.name_any();
        let selector = self.selector.as_ref();
        if selector.is_some_and(|selector| !selector.admits(&object.value())) {
            return self.elsewhere(&name);
        }
        let seen = Seen::There(object.into());
        match self.lives.get(&name) {
            // If its task has just ended, `ended` starts it again.
            Some(life) => drop(life.send_replace(seen)),
            None => self.begin(name, seen, Duration::ZERO),
        }
    }

    fn gone(&mut self, name: &str) {
        match self.lives.get(name) {
            Some(life) => drop(life.send_replace(Seen::Gone)),
            None => self.shared.engines.forget(name),
        }
    }

    /// Another process runs an Operator: to readers in this one, its views are not available.
    fn elsewhere(&self, name: &str) {
        match self.lives.get(name) {
            Some(life) => drop(life.send_replace(Seen::Elsewhere)),
            None => self.shared.engines.down(name, ELSEWHERE),
        }
    }

    fn begin(&mut self, name: String, seen: Seen, pause: Duration) {
        let why = "the Operator has not started yet";
        self.shared.engines.down(&name, why);
        let (sender, receiver) = watch::channel(seen);
        let life = OperatorTask::new(self.shared.clone(), name.clone(), receiver);
        let task = self.tasks.spawn(life.after(pause).run());
        self.names.insert(task.id(), name.clone());
        self.lives.insert(name, sender);
    }

    /// A task ended: its Operator was deleted, or the task failed. It is started again if the
    /// Operator exists, after a failure with a growing pause.
    fn ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let Some(name) = self.names.remove(&id) else {
            return;
        };
        let failed = ended.is_err();
        let pause = if let Err(error) = ended {
            tracing::error!(operator = name, %error, "the task of an Operator failed");
            self.shared.metrics.crashed(&name);
            let pause = self.crashes.entry(name.clone());
            pause.or_insert_with(|| Pause::new(PAUSES)).grow()
        } else {
            self.crashes.remove(&name);
            Duration::ZERO
        };
        let seen = self.lives.remove(&name);
        let seen = seen.map_or(Seen::Gone, |seen| seen.borrow().clone());
        match seen {
            Seen::There(_) => self.begin(name, seen, pause),
            Seen::Elsewhere => self.elsewhere(&name),
            // A task that ends well does this itself.
            Seen::Gone if failed => {
                self.shared.forget(&name);
            }
            Seen::Gone | Seen::Stop => {}
        }
    }

    /// The watch failed. The running engines continue.
    async fn failed(&mut self, error: &watcher::Error) {
        let why = unreadable(error);
        let text = why.clone().unwrap_or_else(|| innermost(error));
        tracing::warn!(error = text, "cannot watch Operators");
        let longest = match why {
            Some(ref why) => {
                self.health.not_ready(why.clone());
                if is_missing(error) {
                    MISSING
                } else {
                    PAUSES.max
                }
            }
            // The stream reconnects by itself.
            None => PAUSES.max,
        };
        tokio::time::sleep(self.pause.grow().min(longest)).await;
    }

    async fn stop(mut self) {
        self.health.not_ready("stopping");
        for life in self.lives.values() {
            life.send_replace(Seen::Stop);
        }
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Why Operators cannot be read; `None` if the watch was only interrupted.
fn unreadable(error: &watcher::Error) -> Option<String> {
    match error {
        watcher::Error::InitialListFailed(_) if is_missing(error) => Some(format!(
            "the cluster has no {}: `deltic crd` prints it, `deltic install` installs it",
            crd::NAME
        )),
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 403 => {
            Some(format!("Operators may not be listed: {}", status.message))
        }
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            Some(format!("Operators cannot be read: {}", describe(error)))
        }
        watcher::Error::WatchError(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => None,
    }
}

fn is_missing(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404
    )
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_missing_kind_is_explained_without_the_structs_of_the_client() {
        let status = |code| {
            let status = Status::failure("404 page not found", "NotFound").with_code(code);
            watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status)))
        };
        let missing = unreadable(&status(404)).unwrap();
        assert!(missing.contains("deltic install"), "{missing}");
        let other = unreadable(&status(500)).unwrap();
        assert_eq!(other, "Operators cannot be read: 404 page not found");
    }
}
