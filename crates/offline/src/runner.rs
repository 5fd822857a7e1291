//! The runner: it feeds the changes of objects to the controllers and writes what they derive, until
//! nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use dataflow::fields::{Header, Keep};
use dataflow::{Budget, Circuit};
use document::{Key, Value};
use expr::{Env, Time};
use object::{GroupKind, ObjectKey, ObjectName, group_of};
use operator::Report;
use operator::spec::{Controller, ONE_SHOT, Operator, Source, SourceKind};
use target::desired::with_valid_owners;
use target::in_place::{InPlace, Own};
use target::owners::Owners;

use crate::batch::{Batch, Event, EventType, OfflineError, describe};
use crate::cluster::Cluster;
use crate::pending::{Change, Pending};
use crate::stored::{self, Stored};
use crate::ticks::Ticks;
use crate::write::DesiredObjects;

/// An Operator on objects in memory.
#[derive(Debug)]
pub struct Offline {
    pub(crate) operator: Operator,
    pub(crate) circuits: Vec<Circuit>,
    /// For each input of each controller, the part of the objects that is stored.
    pub(crate) keeps: Vec<Vec<Keep>>,
    /// The order in which the controllers run: one that writes a kind before those that read it,
    /// except in cycles.
    pub(crate) order: Vec<usize>,
    /// For each controller, the targets whose objects it changes in place.
    pub(crate) in_place: Vec<InPlace>,
    /// For each controller, the source objects that may be owners.
    pub(crate) owners: Vec<Owners>,
    /// Where the objects of each kind are stored.
    pub(crate) kinds: BTreeMap<GroupKind, Stored>,
    pub(crate) cluster: Cluster,
    /// For each controller, the objects that arrived and are not stored in the cluster.
    pub(crate) pending: Vec<Pending>,
    pub(crate) desired: DesiredObjects,
    /// The last states of the objects that a controller patches itself and compares with a
    /// predicate, as they entered: by controller, input and name.
    pub(crate) compared: BTreeMap<(usize, usize, ObjectName), Value>,
    pub(crate) started: bool,
    /// The ticks of each controller, once the time has started.
    pub(crate) ticks: Option<Vec<Ticks>>,
}

/// Whether the events of a batch are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// Changes; more objects may follow.
    Changes,
    /// All objects, as after a complete list.
    AllObjects,
}

/// How many times the controllers of a cycle run in one batch.
pub const MAX_ROUNDS: usize = 64;

impl Offline {
    /// An Operator without objects.
    pub fn new(operator: Operator, budget: Budget) -> Self {
        let circuits = operator
            .controllers
            .iter()
            .map(|controller| {
                let kinds: Vec<_> = controller
                    .targets
                    .iter()
                    .map(|target| dataflow::apply::OutputKind::from(&target.resource))
                    .collect();
                Circuit::new(&controller.pipeline, &kinds, budget)
            })
            .collect();
        Self {
            pending: nothing_pending(&operator),
            kinds: stored::kinds(&operator),
            order: operator.order(),
            circuits,
            keeps: operator.controllers.iter().map(Controller::keeps).collect(),
            in_place: operator.controllers.iter().map(InPlace::new).collect(),
            owners: operator
                .controllers
                .iter()
                .map(|controller| Owners::new(controller.inputs.len()))
                .collect(),
            cluster: Cluster::new(&operator),
            desired: DesiredObjects::default(),
            compared: BTreeMap::new(),
            operator,
            started: false,
            ticks: None,
        }
    }

    /// Sets the time from which the periods of Periodic sources count.
    pub fn start_at(&mut self, now: Time) {
        let controllers = self.operator.controllers.iter();
        let ticks = controllers.map(|controller| Ticks::new(controller, now.seconds()));
        self.ticks = Some(ticks.collect());
    }

    /// Lets the time pass: evaluates what is due, and Periodic sources whose period has passed
    /// tick. The first call starts the time, unless [`Offline::start_at`] did.
    pub fn tick(&mut self, env: &Env) -> Result<Batch, OfflineError> {
        let Some(now) = time(env) else {
            return self.run(env);
        };
        if self.ticks.is_none() {
            self.start_at(now);
        }
        let ticks = self.ticks.iter_mut().flatten();
        let ticking = ticks.map(|ticks| ticks.pass(now.seconds())).collect();
        self.run_all(ticking, Given::Changes, env)
    }

    /// The key of an object that arrives; `None` without a name.
    fn key(&self, object: &Value) -> Option<ObjectKey> {
        let name = ObjectName::of(object)?;
        let kind = object.get("kind").as_str()?;
        let group = match object.get("apiVersion").as_str() {
            Some(version) => group_of(version),
            // An object without apiVersion can only be of a kind that a controller reads.
            None => self
                .operator
                .controllers
                .iter()
                .flat_map(|controller| &controller.sources)
                .find(|source| source.resource.kind == kind)
                .map_or("", |source| &source.resource.group),
        };
        let (group, kind) = (Key::new(group), Key::new(kind));
        Some(ObjectKey {
            kind: GroupKind { group, kind },
            name,
        })
    }

    /// Runs a batch of events, and evaluates what is due. If the object of an event has no name, the
    /// batch is an error and changes nothing.
    pub fn batch(&mut self, events: &[Event], env: &Env) -> Result<Batch, OfflineError> {
        for event in events {
            self.key_of(&event.object)?;
        }
        for event in events {
            self.add(event)?;
        }
        self.run(env)
    }

    fn key_of(&self, object: &Value) -> Result<ObjectKey, OfflineError> {
        let key = self.key(object);
        key.ok_or_else(|| OfflineError::NoName(describe(object)))
    }

    /// Adds an event to the next batch, which [`Offline::run`] runs. Of an object that is only
    /// read, no more is stored than the pipelines read. An object without a name is an error, and
    /// changes nothing.
    pub fn add(&mut self, event: &Event) -> Result<(), OfflineError> {
        let key = self.key_of(&event.object)?;
        let object = Some(&event.object).filter(|_| event.kind != EventType::Deleted);
        if self.is_another(&key, object) {
            self.desired.forget(&key);
        }
        let object = object.map(|object| self.desired.take_over(&key, &self.operator, object));
        match self.kinds.get(&key.kind) {
            None => {}
            Some(Stored::InSources) => self.pass(&key, object.as_ref()),
            Some(Stored::InCluster) => {
                let is_derived = self.desired.has(&key);
                let key = self.desired.shared(key);
                self.cluster.input(key, object, is_derived);
            }
        }
        Ok(())
    }

    /// Runs the batch of the events that were added, and evaluates what is due.
    pub fn run(&mut self, env: &Env) -> Result<Batch, OfflineError> {
        self.run_all(self.no_ticks(), Given::Changes, env)
    }

    /// Runs the batch of the added events, which contain all objects. Patches that are recorded on
    /// objects and no longer derived are taken back, as on a cluster once all sources are synced.
    pub fn run_complete(&mut self, env: &Env) -> Result<Batch, OfflineError> {
        self.run_all(self.no_ticks(), Given::AllObjects, env)
    }

    fn no_ticks(&self) -> Vec<bool> {
        vec![false; self.circuits.len()]
    }

    /// Runs a batch. `ticking` tells for each controller whether a Periodic source ticks.
    fn run_all(
        &mut self,
        ticking: Vec<bool>,
        given: Given,
        env: &Env,
    ) -> Result<Batch, OfflineError> {
        let mut pending = std::mem::take(&mut self.pending);
        self.pending = nothing_pending(&self.operator);
        self.feed_changes(&mut pending);
        for (pending, ticks) in pending.iter_mut().zip(ticking) {
            pending.ticks = ticks;
        }
        if !self.started {
            self.started = true;
            self.one_shots(&mut pending);
        }
        let mut errors = Vec::new();
        self.repair(&mut pending, &mut errors);
        self.rounds(pending, env, &mut errors)?;
        if given == Given::AllObjects {
            let pending = self.take_back_unwanted(&mut errors);
            self.rounds(pending, env, &mut errors)?;
        }
        let events = self.cluster.end();
        Ok(Batch { events, errors })
    }

    /// Takes back the patches that objects have, by their records, and that no controller derives.
    /// A controller with an error takes nothing back.
    fn take_back_unwanted(&mut self, errors: &mut Vec<Report>) -> Vec<Pending> {
        let in_error = self.circuits.iter().map(|one| !one.errors().is_empty());
        let in_error: Vec<bool> = in_error.collect();
        for key in self.desired.withdraw_unwanted(&self.operator, &in_error) {
            self.desired
                .write(&key, &self.operator, &mut self.cluster, errors);
        }
        let mut pending = nothing_pending(&self.operator);
        self.feed_changes(&mut pending);
        pending
    }

    /// Whether this is not the object that was known under its name, but another one, or none.
    fn is_another(&self, key: &ObjectKey, object: Option<&Value>) -> bool {
        let uid = |object: &Value| object.get("metadata").get("uid").clone();
        let Some(object) = object else {
            return true;
        };
        let known = self.cluster.get(key).map(uid).unwrap_or_default();
        let new = uid(object);
        !known.is_null() && !new.is_null() && known != new
    }

    /// Passes an object to the sources that admit it, which are all that store it.
    fn pass(&mut self, key: &ObjectKey, object: Option<&Value>) {
        let object = object.map(|object| (Header::of(object), object));
        let controllers = self.operator.controllers.iter().zip(&self.keeps);
        for ((controller, keeps), pending) in controllers.zip(&mut self.pending) {
            for (input, source) in controller.inputs.iter().enumerate() {
                let source = &controller.sources[*source];
                if !reads(source, key) {
                    continue;
                }
                let admitted = object.as_ref().filter(|(header, _)| source.admits(header));
                let kept = admitted.map(|(_, object)| keeps[input].of(object).detached());
                pending.add(input, key.name.clone(), kept);
            }
        }
    }

    /// Adds the change of an object to the inputs of all controllers that read its kind.
    fn feed(&mut self, key: &ObjectKey, old: Option<&Value>, pending: &mut [Pending]) {
        let new = self.cluster.get(key);
        let change = Change::new(old, new);
        let controllers = self.operator.controllers.iter().zip(&self.keeps);
        for (number, (controller, keeps)) in controllers.enumerate() {
            for (input, source) in controller.inputs.iter().enumerate() {
                let source = &controller.sources[*source];
                if !reads(source, key) {
                    continue;
                }
                let pending = &mut pending[number];
                if !controller.patches_input(input) {
                    pending.change((input, &key.name), source, &keeps[input], &change);
                    continue;
                }
                let own = Own::new(&self.operator, &controller.name);
                let entered = |object| self.desired.entered(key, &own, object);
                let new = new.map(entered);
                let at = (number, input, key.name.clone());
                let change = Change::new(self.compared.get(&at), new.as_ref());
                pending.change((input, &key.name), source, &keeps[input], &change);
                match new.filter(|_| source.predicate.is_some()) {
                    Some(new) => drop(self.compared.insert(at, new)),
                    None => drop(self.compared.remove(&at)),
                }
            }
        }
    }

    /// Adds the objects of `OneShot` sources, at the start.
    fn one_shots(&self, pending: &mut [Pending]) {
        let controllers = self.operator.controllers.iter().zip(&self.keeps);
        for ((controller, keeps), pending) in controllers.zip(pending) {
            for (input, source) in controller.inputs.iter().enumerate() {
                let source = &controller.sources[*source];
                if source.kind == SourceKind::OneShot {
                    let name = ObjectName::new("", ONE_SHOT);
                    let kept = keeps[input].of(&source.one_shot());
                    pending.add(input, name, Some(kept));
                }
            }
        }
    }

    /// Writes targets again that an event of this batch has changed.
    fn repair(&mut self, pending: &mut [Pending], errors: &mut Vec<Report>) {
        for key in self.cluster.take_touched() {
            self.desired
                .write(&key, &self.operator, &mut self.cluster, errors);
        }
        self.feed_changes(pending);
    }

    /// Adds all changes of objects to the inputs.
    fn feed_changes(&mut self, pending: &mut [Pending]) {
        let mut remembered = self.desired.take_remembered();
        for (key, old) in self.cluster.take_changes() {
            remembered.remove(&key);
            self.feed(&key, old.as_ref(), pending);
        }
        for key in remembered {
            let same = self.cluster.get(&key).cloned();
            self.feed(&key, same.as_ref(), pending);
        }
    }

    /// Runs the controllers until nothing changes.
    fn rounds(
        &mut self,
        mut pending: Vec<Pending>,
        env: &Env,
        errors: &mut Vec<Report>,
    ) -> Result<(), OfflineError> {
        let now = time(env).map(Time::seconds);
        for _ in 0..MAX_ROUNDS {
            for position in 0..self.order.len() {
                let number = self.order[position];
                let deadline = self.circuits[number].next_deadline();
                let is_due = now.zip(deadline).is_some_and(|(now, due)| due <= now);
                if !is_due && pending[number].is_empty() {
                    continue;
                }
                self.step(number, env, &mut pending, errors)?;
            }
            if pending.iter().all(Pending::is_empty) {
                return Ok(());
            }
        }
        for (controller, pending) in self.operator.controllers.iter().zip(pending) {
            if !pending.is_empty() {
                errors.push(Report {
                    controller: controller.name.clone(),
                    stage: String::new(),
                    origin: Value::list([]),
                    code: "cycle",
                    message: format!("still changing after {MAX_ROUNDS} rounds: the controllers read what they write and never settle"),
                });
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        number: usize,
        env: &Env,
        pending: &mut [Pending],
        errors: &mut Vec<Report>,
    ) -> Result<(), OfflineError> {
        let controller = &self.operator.controllers[number];
        let ticks = std::mem::take(&mut pending[number].ticks);
        let batch = pending[number].take();
        self.in_place[number].enter(&batch);
        for event in &batch {
            self.owners[number].note(event);
        }
        let circuit = &mut self.circuits[number];
        let step = if ticks {
            circuit.tick(batch, env)
        } else {
            circuit.step(batch, env)
        };
        let step = step.map_err(|error| OfflineError::Budget {
            controller: controller.name.clone(),
            error,
        })?;
        errors.extend(
            step.errors
                .iter()
                .map(|error| Report::new(controller, error)),
        );
        let mut keys = BTreeSet::new();
        let current = || self.circuits[number].errors();
        let mut changes = self.in_place[number].patches(step.changes, current);
        // Any order will do, and from the end their memory is freed on the way.
        while let Some(change) = changes.pop() {
            if changes.len() < changes.capacity() / 2 {
                changes.shrink_to_fit();
            }
            let resource = &controller.targets[change.target].resource;
            let key = self.desired.shared(ObjectKey {
                kind: resource.group_kind(),
                name: change.key,
            });
            let owners = || self.owners[number].of(&change.origin);
            let new = change
                .new
                .map(|document| with_valid_owners(document, owners, key.namespace()));
            if self.desired.set(&key, number, change.target, new) {
                keys.insert(key);
            }
        }
        for key in keys {
            self.desired
                .write(&key, &self.operator, &mut self.cluster, errors);
        }
        self.feed_changes(pending);
        Ok(())
    }

    /// Whether a controller derives an object that does not exist: a Patcher waits for it.
    pub fn waits_for_objects(&self) -> bool {
        let mut keys = self.desired.keys();
        keys.any(|key| self.cluster.get(key).is_none())
    }

    /// All target objects as they are now, in key order.
    pub fn targets(&self) -> Vec<Value> {
        self.desired
            .keys()
            .filter_map(|key| self.cluster.get(key).cloned())
            .collect()
    }
}

fn nothing_pending(operator: &Operator) -> Vec<Pending> {
    let controllers = operator.controllers.iter();
    controllers.map(|_| Pending::default()).collect()
}

/// Whether a source watches the kind of an object.
fn reads(source: &Source, key: &ObjectKey) -> bool {
    source.kind == SourceKind::Watcher && source.resource.is(&key.kind)
}

/// The time of an environment.
fn time(env: &Env) -> Option<Time> {
    env.now.as_str().and_then(Time::parse)
}
