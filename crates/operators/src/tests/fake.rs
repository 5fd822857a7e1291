//! Engines that only record the calls they get.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use document::Value;
use engine::status::OperatorStatus;
use engine::{EngineEvents, Left, Resume};
use futures::future::BoxFuture;
use object::GroupKind;
use operator::Operator;
use tokio::sync::watch;

use super::super::{Engines, Run};

#[derive(Clone, Default)]
pub(super) struct Fake(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    log: Vec<String>,
    status: BTreeMap<String, watch::Sender<OperatorStatus>>,
    events: BTreeMap<String, Arc<dyn EngineEvents>>,
    /// The kinds that each engine was started with.
    kinds: BTreeMap<String, Value>,
    existing: Option<BTreeSet<String>>,
    /// How many rounds the deletion of all objects takes.
    rounds: u32,
    /// How many starts panic.
    panics: u32,
    /// Whether engines panic when they stop.
    stops_badly: bool,
    /// The Operators whose views were removed.
    forgotten: Vec<String>,
}

struct FakeRun {
    name: String,
    fake: Fake,
    status: watch::Receiver<OperatorStatus>,
}

impl Fake {
    fn with<T>(&self, see: impl FnOnce(&mut State) -> T) -> T {
        see(&mut self.0.lock().unwrap())
    }

    fn note(&self, what: &str, name: &str) {
        self.with(|state| state.log.push(format!("{what} {name}")));
    }

    /// The calls since the last time.
    pub(super) fn log(&self) -> Vec<String> {
        self.with(|state| std::mem::take(&mut state.log))
    }

    pub(super) fn rounds(&self, rounds: u32) {
        self.with(|state| state.rounds = rounds);
    }

    /// Sets the status of an engine.
    pub(super) fn says(&self, name: &str, status: OperatorStatus) {
        self.with(|state| state.status[name].send_replace(status));
    }

    /// Makes the next starts panic.
    pub(super) fn panics(&self, starts: u32) {
        self.with(|state| state.panics = starts);
    }

    /// Makes engines panic when they stop.
    pub(super) fn stops_badly(&self) {
        self.with(|state| state.stops_badly = true);
    }

    /// The Operators whose views were removed.
    pub(super) fn forgotten(&self) -> Vec<String> {
        self.with(|state| state.forgotten.clone())
    }

    /// The kinds that the last engine of an Operator was started with.
    pub(super) fn kinds(&self, name: &str) -> Value {
        self.with(|state| state.kinds[name].clone())
    }

    /// The names of all Operators, if they are known.
    pub(super) fn existing(&self) -> Option<BTreeSet<String>> {
        self.with(|state| state.existing.clone())
    }

    pub(super) fn crash(&self, name: &str) {
        self.with(|state| state.status.remove(name));
    }

    pub(super) fn events(&self, name: &str) -> Arc<dyn EngineEvents> {
        self.with(|state| state.events[name].clone())
    }
}

impl Engines for Fake {
    fn start(
        &self,
        operator: Operator,
        resume: Resume,
        events: Arc<dyn EngineEvents>,
    ) -> Box<dyn Run> {
        let panics = self.with(|state| {
            let panics = state.panics > 0;
            state.panics = state.panics.saturating_sub(1);
            panics
        });
        assert!(!panics, "a start that panics");
        let (sender, status) = watch::channel(OperatorStatus::default());
        self.with(|state| {
            state.status.insert(operator.name.clone(), sender);
            state.events.insert(operator.name.clone(), events);
            let kinds = resume.kinds.print();
            state.kinds.insert(operator.name.clone(), kinds);
        });
        let kinds = operator.controllers.iter().flat_map(|c| &c.targets);
        let kinds: Vec<_> = kinds.map(|target| target.resource.kind.as_str()).collect();
        let mut what = format!("{} {}", operator.name, kinds.join(","));
        for controller in resume.held {
            what = format!("{what} holding {controller}");
        }
        self.note("start", &what);
        Box::new(FakeRun {
            name: operator.name,
            fake: self.clone(),
            status,
        })
    }

    fn down(&self, _: &str, _: &str) {}

    fn exist(&self, names: Option<BTreeSet<String>>) {
        self.with(|state| state.existing = names);
    }

    fn forget(&self, operator: &str) {
        self.with(|state| state.forgotten.push(operator.to_owned()));
    }
}

impl Run for FakeRun {
    fn status(&self) -> watch::Receiver<OperatorStatus> {
        self.status.clone()
    }

    fn lead(&self) {}

    fn stop(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let badly = self.fake.with(|state| state.stops_badly);
            assert!(!badly, "an engine that panics when it stops");
            self.fake.note("stop", &self.name);
        })
    }

    fn delete_all(&self) -> BoxFuture<'_, Option<Left>> {
        self.fake.note("delete", &self.name);
        let left = self.fake.with(|state| {
            state.rounds = state.rounds.saturating_sub(1);
            usize::try_from(state.rounds).unwrap()
        });
        let left = (left > 0).then(|| (GroupKind::new("apps", "Deployment"), left));
        let kinds = left.into_iter().collect();
        Box::pin(async move { Some(Left { kinds, waits: None }) })
    }

    fn allow_deletions(&self, allowed: bool) {
        let note = if allowed { "allow" } else { "hold" };
        self.fake.note(note, &self.name);
    }
}
