//! The surroundings of a writer in tests: the target watch, a simple scheduler, and a record of
//! reports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use document::{Value, json};
use engine::writer::{Next, WriteError, Writer};
use object::{GroupKind, KindRef, ObjectKey, OperatorId};
use operator::spec::{Target, TargetType};
use simulation::api::kind::{KINDS, Kind};
use simulation::api::store::{Event, Stored};
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;
use simulation::faults::Fault;
use simulation::fields::unset;
use simulation::trace::Sent;
use target::problem::Happened;
use target::{Author, Desired, Owner, Problem, Report, TargetKind};
use tokio::time::Instant;

pub(crate) const OPERATOR: &str = "op";
/// The uid of the Operator.
pub(crate) const UID: &str = "u1";

/// A system counts as settled if nothing is due for this long.
const HORIZON: Duration = Duration::from_hours(2);

/// A server without network delays.
#[derive(Clone)]
pub(crate) struct Sim(pub(crate) Server);

impl Default for Sim {
    fn default() -> Self {
        let server = Server::new(Virtual::start(), 1);
        server.with(|state| state.faults.no_delays());
        Self(server)
    }
}

impl Sim {
    pub(crate) fn client(&self) -> kube::Client {
        self.0.client(&Caller::new("writer"))
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Value> {
        self.0.get(key)
    }

    /// Somebody else writes an object.
    pub(crate) fn foreign(
        &self,
        key: &ObjectKey,
        manager: &str,
        change: impl FnOnce(&Value) -> Value,
    ) {
        let live = self
            .get(key)
            .map(|live| unset(&live, &["metadata", "managedFields"]));
        let object = change(live.as_ref().unwrap_or(&Value::NULL));
        self.0.put(key, manager, &object);
    }

    pub(crate) fn foreign_delete(&self, key: &ObjectKey) {
        self.0.delete(key);
    }

    /// Sets the faults of the next requests.
    pub(crate) fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.0.with(|state| state.faults.script(faults));
    }

    /// Somebody merges this into an object right before its next write is carried out.
    pub(crate) fn race(&self, key: &ObjectKey, patch: Value) {
        self.0.with(|state| state.races.push((key.clone(), patch)));
    }

    /// Whether some of these have not happened yet.
    pub(crate) fn has_races(&self) -> bool {
        self.0.with(|state| !state.races.is_empty())
    }

    /// The requests since the last call.
    pub(crate) fn take_sent(&self) -> Vec<Sent> {
        self.0.with(|state| state.trace.take_sent())
    }

    fn version(&self) -> u64 {
        self.0.with(|state| state.store.version())
    }
}

/// A kind in the form that a writer needs.
pub(crate) fn target_kind(kind: &Kind) -> TargetKind {
    let name = GroupKind::new(kind.group, kind.name);
    TargetKind {
        namespaced: kind.namespaced,
        status: kind.status,
        ..TargetKind::new(name, kind.version, kind.plural)
    }
}

/// An object without the fields that differ from run to run.
pub(crate) fn timeless(object: &Value) -> Value {
    let fields = [
        "creationTimestamp",
        "uid",
        "resourceVersion",
        "generation",
        "managedFields",
    ];
    fields.iter().fold(object.clone(), |object, field| {
        unset(&object, &["metadata", field])
    })
}

/// Collects reports.
#[derive(Default)]
pub(crate) struct Reported {
    pub(crate) problems: Mutex<BTreeMap<ObjectKey, Vec<Problem>>>,
    pub(crate) happened: Mutex<Vec<(ObjectKey, Happened)>>,
    /// All codes that were ever reported, in order.
    pub(crate) codes: Mutex<Vec<&'static str>>,
}

impl Report for Reported {
    fn problems(&self, key: &ObjectKey, problems: &[Problem]) {
        let codes = problems.iter().map(Problem::code);
        self.codes.lock().unwrap().extend(codes);
        let mut all = self.problems.lock().unwrap();
        if problems.is_empty() {
            all.remove(key);
        } else {
            all.insert(key.clone(), problems.to_vec());
        }
    }

    fn happened(&self, key: &ObjectKey, _controller: &str, what: Happened) {
        self.happened.lock().unwrap().push((key.clone(), what));
    }
}

/// A target of a controller.
#[derive(Clone)]
pub(crate) struct Actor(pub(crate) Arc<Author>);

impl Actor {
    pub(crate) fn new(controller: &str, rank: usize, kind: TargetType) -> Self {
        Self::of(OPERATOR, controller, rank, target(kind))
    }

    pub(crate) fn of(operator: &str, controller: &str, rank: usize, target: Target) -> Self {
        Self(Arc::new(Author::new(
            &OperatorId::new(operator, UID),
            controller,
            rank,
            target,
        )))
    }

    pub(crate) fn wants(&self, document: &Value) -> Desired {
        Desired {
            author: self.0.clone(),
            document: document.clone(),
            origin: json!([{"kind": "Source", "name": "s"}]),
            owners: Arc::new([]),
        }
    }

    pub(crate) fn wants_owned(&self, document: &Value, owners: &[(&str, &str)]) -> Desired {
        let owners = owners.iter().map(|(uid, namespace)| Owner {
            uid: (*uid).to_owned(),
            namespace: (*namespace).to_owned(),
        });
        Desired {
            owners: owners.collect(),
            ..self.wants(document)
        }
    }
}

/// A target with default options.
pub(crate) fn target(kind: TargetType) -> Target {
    let resource = KindRef {
        group: "example.com".to_owned(),
        version: None,
        kind: "Widget".to_owned(),
    };
    Target::new(resource, kind)
}

/// A writer with its surroundings.
pub(crate) struct Harness {
    pub(crate) sim: Sim,
    pub(crate) writer: Arc<Writer>,
    pub(crate) reported: Arc<Reported>,
    /// What controllers want. It survives restarts.
    pub(crate) wanted: BTreeMap<(ObjectKey, String), Desired>,
    due: BTreeMap<ObjectKey, Instant>,
    attempts: BTreeMap<ObjectKey, u32>,
    /// The version up to which the watch has delivered changes.
    shown: u64,
    /// Whether the watch delivers nothing for now.
    pub(crate) lag: bool,
    /// The last result for each object.
    pub(crate) last: BTreeMap<ObjectKey, Result<Next, WriteError>>,
}

impl Harness {
    pub(crate) fn new(sim: Sim) -> Self {
        let mut harness = Self::unlisted(sim);
        harness.list();
        harness
    }

    /// A writer whose target watch has not delivered anything yet.
    pub(crate) fn unlisted(sim: Sim) -> Self {
        let reported = Arc::new(Reported::default());
        let shown = sim.version();
        let harness = Self {
            writer: Arc::new(Writer::new(
                &OperatorId::new(OPERATOR, UID),
                sim.client(),
                reported.clone(),
            )),
            sim,
            reported,
            wanted: BTreeMap::new(),
            due: BTreeMap::new(),
            attempts: BTreeMap::new(),
            shown,
            lag: false,
            last: BTreeMap::new(),
        };
        for kind in KINDS {
            harness.writer.serve(target_kind(kind));
        }
        harness
    }

    /// A new process: the memory is lost, the sources are the same.
    pub(crate) fn restart(&mut self) {
        let reported = Arc::new(Reported::default());
        let writer = Writer::new(
            &OperatorId::new(OPERATOR, UID),
            self.sim.client(),
            reported.clone(),
        );
        self.writer = Arc::new(writer);
        self.reported = reported;
        self.due.clear();
        self.attempts.clear();
        self.list();
        let wanted = self.wanted.clone();
        for ((key, controller), desired) in wanted {
            self.writer.set(&key, &controller, Some(desired));
            self.due.insert(key, Instant::now());
        }
        self.sweep();
    }

    /// Removes the leftovers of earlier processes.
    pub(crate) fn sweep(&mut self) {
        for leftover in self.writer.leftovers(|_| false) {
            self.writer.withdraw(&leftover.key, &leftover.controller);
            self.due.insert(leftover.key, Instant::now());
        }
    }

    /// Delivers a complete list of all kinds.
    pub(crate) fn list(&mut self) {
        self.shown = self.sim.version();
        let objects: Vec<(ObjectKey, Value)> = self.sim.0.with(|state| {
            let all = state.store.objects();
            all.map(|(key, stored)| (key.clone(), Stored::shown(stored)))
                .collect()
        });
        for kind in KINDS {
            self.writer.serve(target_kind(kind));
            self.writer.listing(kind.group, kind.name);
        }
        for (key, object) in objects {
            let (group, kind) = (key.kind.group.as_str(), key.kind.kind.as_str());
            if let Some(key) = self.writer.observe(group, kind, &object) {
                self.due.insert(key, Instant::now());
            }
        }
        for kind in KINDS {
            for key in self.writer.listed(kind.group, kind.name) {
                self.due.insert(key, Instant::now());
            }
        }
    }

    pub(crate) fn want(&mut self, key: &ObjectKey, desired: &Desired) {
        let controller = desired.author.controller.clone();
        if self.writer.set(key, &controller, Some(desired.clone())) {
            self.due.insert(key.clone(), Instant::now());
        }
        self.wanted
            .insert((key.clone(), controller), desired.clone());
    }

    pub(crate) fn withdraw(&mut self, key: &ObjectKey, controller: &str) {
        self.wanted.remove(&(key.clone(), controller.to_owned()));
        if self.writer.set(key, controller, None) {
            self.due.insert(key.clone(), Instant::now());
        }
    }

    /// Holds the removal of a controller's object or fields.
    pub(crate) async fn hold(&mut self, key: &ObjectKey, controller: &str) {
        self.wanted.remove(&(key.clone(), controller.to_owned()));
        self.writer.hold(key, controller);
        self.due.insert(key.clone(), Instant::now());
        self.settle().await;
    }

    /// Delivers the changes on the server to the writer.
    pub(crate) fn pump(&mut self) {
        if self.lag {
            return;
        }
        let events: Vec<Event> = self.sim.0.with(|state| {
            let since = state.store.since(self.shown);
            since.cloned().collect()
        });
        self.shown = self.sim.version();
        for event in events {
            let (group, kind) = (event.key.kind.group.as_str(), event.key.kind.kind.as_str());
            let key = if event.gone {
                self.writer.forget(group, kind, &event.new)
            } else {
                self.writer.observe(group, kind, &event.new)
            };
            if let Some(key) = key {
                self.due.insert(key, Instant::now());
            }
        }
    }

    /// Runs one object that is due before the horizon. Returns whether there was one.
    pub(crate) async fn step(&mut self, horizon: Duration) -> bool {
        self.pump();
        let first = self.due.iter().min_by_key(|(_, due)| **due);
        let Some((key, due)) = first.map(|(key, due)| (key.clone(), *due)) else {
            return false;
        };
        if due > Instant::now() + horizon {
            return false;
        }
        tokio::time::sleep_until(due).await;
        self.due.remove(&key);
        self.run(&key).await;
        true
    }

    pub(crate) async fn run(&mut self, key: &ObjectKey) {
        let result = self.writer.converge(key).await;
        let attempts = self.attempts.entry(key.clone()).or_default();
        let after = match &result {
            Ok(Next::Settled | Next::Change) => None,
            Ok(Next::After(after)) => Some(*after),
            Err(error) => {
                *attempts += 1;
                let backoff = Duration::from_millis(500 << (*attempts).min(6));
                Some(error.retry.unwrap_or(backoff))
            }
        };
        if result.is_ok() {
            *attempts = 0;
        }
        self.last.insert(key.clone(), result);
        if let Some(after) = after {
            self.due.insert(key.clone(), Instant::now() + after);
        }
    }

    /// Runs until nothing is due soon.
    pub(crate) async fn settle(&mut self) {
        self.settle_within(Duration::from_mins(2)).await;
    }

    pub(crate) async fn settle_within(&mut self, horizon: Duration) {
        let end = Instant::now() + HORIZON;
        while self.step(horizon).await {
            assert!(Instant::now() < end, "it does not settle: {:?}", self.last);
        }
    }

    /// Checks all objects again.
    pub(crate) async fn check_again(&mut self) {
        for key in self.writer.keys(None) {
            self.due.insert(key, Instant::now());
        }
        self.settle().await;
    }

    pub(crate) fn codes(&self, key: &ObjectKey) -> BTreeSet<&'static str> {
        let problems = self.reported.problems.lock().unwrap();
        let problems = problems.get(key).into_iter().flatten();
        problems.map(Problem::code).collect()
    }

    pub(crate) fn messages(&self, key: &ObjectKey) -> Vec<String> {
        let problems = self.reported.problems.lock().unwrap();
        let problems = problems.get(key).into_iter().flatten();
        problems.map(ToString::to_string).collect()
    }

    pub(crate) fn live(&self, key: &ObjectKey) -> Value {
        self.sim.get(key).unwrap_or_default()
    }
}

pub(crate) fn widget(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Widget", "ns", name)
}

pub(crate) fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "ns", name)
}

/// A document with this spec.
pub(crate) fn spec(spec: &Value) -> Value {
    json!({"metadata": {"name": "a", "namespace": "ns"}, "spec": (spec.clone())})
}
