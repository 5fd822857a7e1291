//! What stands around a writer in tests: the target watch, a simple scheduler, and a
//! record of what is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use document::{Value, json};
use operator::spec::{Resource, Target, TargetType};
use runtime::target::problem::Happened;
use runtime::target::{
    Author, Desired, Next, ObjectKey, Owner, Problem, Report, WriteError, Writer,
};
use tokio::time::Instant;

use super::{Change, HORIZON, KINDS, Sim, set, shown};

pub const OPERATOR: &str = "op";

/// What was reported.
#[derive(Default)]
pub struct Reported {
    pub problems: Mutex<BTreeMap<ObjectKey, Vec<Problem>>>,
    pub happened: Mutex<Vec<(ObjectKey, Happened)>>,
    /// All codes that ever stood, in order.
    pub codes: Mutex<Vec<&'static str>>,
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

/// A controller's target.
#[derive(Clone)]
pub struct Who(pub Arc<Author>);

impl Who {
    pub fn new(controller: &str, rank: usize, kind: TargetType) -> Self {
        Self::of(OPERATOR, controller, rank, target(kind))
    }

    pub fn of(operator: &str, controller: &str, rank: usize, target: Target) -> Self {
        Self(Arc::new(Author::new(operator, controller, rank, target)))
    }

    pub fn wants(&self, document: &Value) -> Desired {
        Desired {
            author: self.0.clone(),
            document: document.clone(),
            origin: json!([{"kind": "Source", "name": "s"}]),
            owners: Arc::new([]),
        }
    }

    pub fn wants_owned(&self, document: &Value, owners: &[(&str, &str)]) -> Desired {
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

/// A target with nothing special.
pub fn target(kind: TargetType) -> Target {
    Target {
        resource: Resource {
            group: "example.com".to_owned(),
            version: None,
            kind: "Widget".to_owned(),
        },
        kind,
        refuse_existing: false,
        force: false,
        recreate: false,
        ignore: Vec::new(),
        written_nulls: Vec::new(),
        literal_data: Vec::new(),
    }
}

/// A writer with its surroundings.
pub struct Harness {
    pub sim: Sim,
    pub writer: Writer,
    pub reported: Arc<Reported>,
    /// Which controller wants what: it survives restarts.
    pub wanted: BTreeMap<(ObjectKey, String), Desired>,
    due: BTreeMap<ObjectKey, Instant>,
    attempts: BTreeMap<ObjectKey, u32>,
    /// How many changes of the server the watch has shown.
    shown: usize,
    /// Whether the watch shows nothing for now.
    pub lag: bool,
    /// The last result of each object.
    pub last: BTreeMap<ObjectKey, Result<Next, WriteError>>,
}

impl Harness {
    pub fn new(sim: Sim) -> Self {
        let reported = Arc::new(Reported::default());
        let shown = sim.lock().changes.len();
        let mut harness = Self {
            writer: Writer::new(OPERATOR, sim.client(), reported.clone()),
            sim,
            reported,
            wanted: BTreeMap::new(),
            due: BTreeMap::new(),
            attempts: BTreeMap::new(),
            shown,
            lag: false,
            last: BTreeMap::new(),
        };
        harness.list();
        harness
    }

    /// A new process: what was in memory is gone, the sources are the same.
    pub fn restart(&mut self) {
        let reported = Arc::new(Reported::default());
        self.writer = Writer::new(OPERATOR, self.sim.client(), reported.clone());
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

    /// What is left of earlier lives goes.
    pub fn sweep(&mut self) {
        for leftover in self.writer.stale(|_| false) {
            self.writer.withdraw(&leftover);
            self.due.insert(leftover.key, Instant::now());
        }
    }

    /// A complete list of all kinds.
    pub fn list(&mut self) {
        let objects: Vec<(ObjectKey, Value)> = {
            let inner = self.sim.lock();
            self.shown = inner.changes.len();
            let all = inner.objects.iter();
            all.map(|(key, stored)| (key.clone(), shown(stored)))
                .collect()
        };
        for kind in &KINDS {
            self.writer.serve(kind.target());
            self.writer.listing(kind.group, kind.name);
        }
        for (key, object) in objects {
            let (group, kind) = (key.group.as_str(), key.kind.as_str());
            if let Some(key) = self.writer.observe(group, kind, &object) {
                self.due.insert(key, Instant::now());
            }
        }
        for kind in &KINDS {
            for key in self.writer.listed(kind.group, kind.name) {
                self.due.insert(key, Instant::now());
            }
        }
    }

    pub fn want(&mut self, key: &ObjectKey, desired: &Desired) {
        let controller = desired.author.controller.clone();
        if self.writer.set(key, &controller, Some(desired.clone())) {
            self.due.insert(key.clone(), Instant::now());
        }
        self.wanted
            .insert((key.clone(), controller), desired.clone());
    }

    pub fn withdraw(&mut self, key: &ObjectKey, controller: &str) {
        self.wanted.remove(&(key.clone(), controller.to_owned()));
        if self.writer.set(key, controller, None) {
            self.due.insert(key.clone(), Instant::now());
        }
    }

    /// Holds the removal of what a controller wrote.
    pub async fn hold(&mut self, key: &ObjectKey, controller: &str) {
        self.wanted.remove(&(key.clone(), controller.to_owned()));
        self.writer.hold(key, controller);
        self.due.insert(key.clone(), Instant::now());
        self.settle().await;
    }

    /// Shows the writer what has changed on the server.
    pub fn pump(&mut self) {
        if self.lag {
            return;
        }
        let changes: Vec<Change> = {
            let inner = self.sim.lock();
            inner.changes[self.shown..].to_vec()
        };
        self.shown += changes.len();
        for change in changes {
            let (group, kind) = (change.key.group.as_str(), change.key.kind.as_str());
            let key = match (&change.new, &change.old) {
                (Some(new), _) => self.writer.observe(group, kind, new),
                (None, Some(old)) => {
                    let version = Value::from(change.version.to_string());
                    let gone = set(old, &["metadata", "resourceVersion"], version);
                    self.writer.forget(group, kind, &gone)
                }
                (None, None) => None,
            };
            if let Some(key) = key {
                self.due.insert(key, Instant::now());
            }
        }
    }

    /// Runs one object that is due. Says whether there was one before the horizon.
    pub async fn step(&mut self, horizon: Duration) -> bool {
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

    pub async fn run(&mut self, key: &ObjectKey) {
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
    pub async fn settle(&mut self) {
        self.settle_within(Duration::from_mins(2)).await;
    }

    pub async fn settle_within(&mut self, horizon: Duration) {
        let end = Instant::now() + HORIZON;
        while self.step(horizon).await {
            assert!(Instant::now() < end, "no end: {:?}", self.last);
        }
    }

    /// Looks at everything again.
    pub async fn look_again(&mut self) {
        for key in self.writer.keys(None) {
            self.due.insert(key, Instant::now());
        }
        self.settle().await;
    }

    pub fn codes(&self, key: &ObjectKey) -> BTreeSet<&'static str> {
        let problems = self.reported.problems.lock().unwrap();
        let problems = problems.get(key).into_iter().flatten();
        problems.map(Problem::code).collect()
    }

    pub fn messages(&self, key: &ObjectKey) -> Vec<String> {
        let problems = self.reported.problems.lock().unwrap();
        let problems = problems.get(key).into_iter().flatten();
        problems.map(ToString::to_string).collect()
    }

    pub fn live(&self, key: &ObjectKey) -> Value {
        self.sim.get(key).unwrap_or_default()
    }
}

pub fn widget(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Widget", "ns", name)
}

pub fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "ns", name)
}

/// A document with this spec.
pub fn spec(spec: &Value) -> Value {
    json!({"metadata": {"name": "a", "namespace": "ns"}, "spec": (spec.clone())})
}
