//! Runs a case, and checks what must hold after every batch.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use dataflow::apply::OutputKind;
use dataflow::fields::{Keep, Kept};
use dataflow::scratch::{Objects, Scratch, State};
use dataflow::{Budget, Circuit, Failure, Origin, Pipeline, RunError, SourceEvent, StepResult};
use document::{Location, Value, json};
use expr::{Env, Functions, Limits};
use object::{NameRule, ObjectName, Placement};

use super::{Batch, Case, Coverage, Event, Random};

/// The objects of each target.
type Targets = Vec<BTreeMap<ObjectName, Value>>;

/// The origins of the objects of each target.
type Origins = Vec<BTreeMap<ObjectName, Origin>>;

/// The identity of an error.
type ErrorId = (usize, usize, Origin, &'static str, Option<Origin>);

/// Runs a case; `Ok(None)` if its pipeline does not parse.
pub(crate) fn check(case: &Case) -> Result<Option<Coverage>, String> {
    let pipeline = Pipeline::parse(
        &case.pipeline,
        &Location::root(),
        &case.sources,
        &case.targets,
        &Functions::builtin(),
    );
    let Ok(pipeline) = pipeline else {
        return Ok(None);
    };
    let mut run = Run::new(case, &pipeline);
    for (i, batch) in case.history.iter().enumerate() {
        run.batch(batch)
            .map_err(|error| format!("batch {i}: {error}"))?;
    }
    let reached = run.targets.iter().any(|objects| !objects.is_empty());
    run.coverage
        .count("runs with target objects at the end", usize::from(reached));
    run.restart().map_err(|error| format!("restart: {error}"))?;
    run.delete_all()
        .map_err(|error| format!("all deleted: {error}"))?;
    Ok(Some(run.coverage))
}

struct Run<'a> {
    pipeline: &'a Pipeline,
    kinds: Vec<OutputKind>,
    random: Random,
    /// The fields that each source keeps.
    keeps: Vec<Keep>,
    circuit: Circuit,
    /// A circuit that gets the events of each batch in another order, with objects read from JSON.
    shuffled: Circuit,
    scratch: Scratch,
    objects: Objects,
    state: State,
    /// The target objects after the changes of all steps.
    targets: Targets,
    /// The origins of these objects.
    origins: Origins,
    standing: BTreeSet<ErrorId>,
    /// Whether a stage has failed so far.
    failed: bool,
    /// Whether the pipeline reads the time.
    timed: bool,
    /// The Unix time of the last batch.
    now: u64,
    /// Whether derived documents may be out of bounds.
    bounded: bool,
    limits: Limits,
    coverage: Coverage,
}

/// Where the objects of a target may be.
fn placement(seed: u64) -> Option<Placement> {
    let mut random = Random::new(seed);
    let anywhere = random.chance(50);
    let placement = Placement {
        namespaced: random.pick(&[None, Some(false), Some(true)]).to_owned(),
        boundary: random.chance(30).then(|| "x".into()),
        names: *random.pick(&[NameRule::Any, NameRule::Subdomain]),
    };
    (!anywhere).then_some(placement)
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, pipeline: &'a Pipeline) -> Self {
        let kinds: Vec<OutputKind> = case
            .targets
            .iter()
            .enumerate()
            .map(|(number, kind)| OutputKind {
                api_version: json!("v1"),
                kind: kind.into(),
                placement: placement(case.seed.wrapping_add(number as u64)),
            })
            .collect();
        let fields = dataflow::fields::needs(pipeline);
        let mut coverage = Coverage::default();
        coverage.pipeline(pipeline);
        Self {
            pipeline,
            random: Random::new(case.seed.wrapping_add(1)),
            keeps: fields.iter().map(Keep::fields).collect(),
            circuit: Circuit::new(pipeline, &kinds, Budget::default()),
            shuffled: Circuit::new(pipeline, &kinds, Budget::default()),
            scratch: Scratch::new(pipeline.clone(), kinds.clone()),
            objects: Objects::new(),
            state: State::default(),
            targets: vec![BTreeMap::new(); kinds.len()],
            origins: vec![BTreeMap::new(); kinds.len()],
            standing: BTreeSet::new(),
            failed: false,
            timed: pipeline.reads_now(),
            now: 0,
            bounded: case.is_bounded(),
            limits: case.limits,
            coverage,
            kinds,
        }
    }

    /// The time of a step. It advances only if the pipeline reads it; otherwise whole states can be
    /// compared.
    fn env(&self) -> Env {
        let seconds = if self.timed { self.now } else { 0 };
        let text = format!("1970-01-01T00:{:02}:{:02}Z", seconds / 60, seconds % 60);
        let mut env = Env::new(Value::from(text), 7);
        env.limits = self.limits;
        env
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), String> {
        self.now += u64::from(batch.after);
        let env = self.env();
        let (tick, batch) = (batch.tick, batch.events.as_slice());
        let due = self.circuit.next_deadline();
        let due = due.is_some_and(|deadline| deadline.unsigned_abs() <= self.now);
        for event in batch {
            let key = (event.source, event.name.clone());
            match &event.object {
                Some(object) => self.objects.insert(key, self.pruned(event.source, object)),
                None => self.objects.remove(&key),
            };
        }
        self.state = if tick {
            self.scratch.tick(&self.objects, &self.state, &env)
        } else {
            self.scratch.eval(&self.objects, &self.state, &env)
        };
        let input = events(batch, |event, object| self.keeps[event.source].of(object));
        let step = advance(&mut self.circuit, input, &env, tick)?;
        self.sum_up(&step)?;
        same(&self.targets, &self.state.targets)?;
        same(&self.origins, &self.state.origins)?;
        self.compare_errors(&step)?;
        self.compare_deadlines()?;
        self.compare_shuffled(batch, &step, (&env, tick))?;
        self.compare_pure(&env)?;
        if batch.is_empty() && !tick && !due {
            self.coverage.count("batches with nothing to do", 1);
            if !step.changes.is_empty() || !step.errors.is_empty() {
                return Err("something happens, though nothing is due".to_owned());
            }
        }
        self.coverage.count("deadlines", usize::from(due));
        self.coverage
            .count("ticks", usize::from(self.timed && tick));
        self.cover_state(&step);
        Ok(())
    }

    /// Checks the time at which both have to evaluate something again.
    fn compare_deadlines(&self) -> Result<(), String> {
        let (found, expected) = (self.circuit.next_deadline(), self.state.next_deadline());
        if found != expected {
            return Err(format!(
                "the next deadline is {found:?}, expected {expected:?}"
            ));
        }
        Ok(())
    }

    /// The objects for the from-scratch evaluator. They are pruned where something may be too large,
    /// because fields that are not read must not count there.
    fn pruned(&self, source: usize, object: &Value) -> Value {
        if self.bounded {
            self.keeps[source].of(object).into_document()
        } else {
            object.clone()
        }
    }

    /// Applies the changes of a step, and checks them against the state before.
    fn sum_up(&mut self, step: &StepResult) -> Result<(), String> {
        let targets = self.targets.iter_mut().zip(&mut self.origins);
        for (target, (objects, origins)) in targets.enumerate() {
            let changes = step.changes.iter().filter(|change| change.target == target);
            let mut last = None;
            for change in changes {
                let key = &change.key;
                let place = (change.new.is_some(), key.clone());
                if last.as_ref().is_some_and(|last| *last >= place) {
                    return Err(format!(
                        "change of {key:?} is out of order: deletes first, then by key, each key once"
                    ));
                }
                let taken = change.old_object();
                let origin = change.origin.clone();
                let (old, from) = match &change.new {
                    Some(new) => (
                        objects.insert(key.clone(), new.clone()),
                        origins.insert(key.clone(), origin),
                    ),
                    None => (objects.remove(key), origins.remove(key)),
                };
                let succeeds = from.is_some_and(|from| from != change.origin);
                if taken == change.new && !succeeds {
                    return Err(format!("change of {key:?} changes nothing"));
                }
                if old != taken {
                    return Err(format!(
                        "change of {key:?} takes {taken:?} back, but there is {old:?}"
                    ));
                }
                last = Some(place);
            }
        }
        Ok(())
    }

    fn compare_errors(&mut self, step: &StepResult) -> Result<(), String> {
        let found = self.circuit.errors();
        let places: Vec<_> = found
            .iter()
            .map(|error| (error.branch, error.stage, &error.origin))
            .collect();
        if !places.is_sorted() {
            return Err(format!("errors are not sorted: {found:?}"));
        }
        let found = ids(&found);
        let expected = ids(&self.state.errors);
        if found != expected {
            return Err(format!(
                "errors are {:?}, expected {:?}",
                found.difference(&expected).collect::<Vec<_>>(),
                expected.difference(&found).collect::<Vec<_>>(),
            ));
        }
        let hides = self.state.errors.iter().any(|error| {
            let failure = &error.failure;
            !matches!(failure, Failure::Conflict { .. }) && !failure.is_misplaced()
        });
        if self.circuit.hides() != hides {
            return Err(format!(
                "the circuit hides something: {}",
                self.circuit.hides()
            ));
        }
        let reported = ids(&step.errors);
        if let Some(error) = reported.difference(&found).next() {
            return Err(format!("the step reports {error:?}, which does not stand"));
        }
        let fresh = found.difference(&self.standing);
        if let Some(error) = fresh.clone().find(|error| !reported.contains(*error)) {
            return Err(format!("the step does not report {error:?}, which is new"));
        }
        self.standing = found;
        Ok(())
    }

    /// Runs the batch in a random order, in which only events of the same object keep their order.
    /// The result must be the same.
    fn compare_shuffled(
        &mut self,
        batch: &[Event],
        step: &StepResult,
        (env, tick): (&Env, bool),
    ) -> Result<(), String> {
        let mut by_object: BTreeMap<_, Vec<&Event>> = BTreeMap::new();
        for event in batch {
            by_object
                .entry((event.source, event.name.clone()))
                .or_default()
                .push(event);
        }
        let mut order: Vec<_> = batch
            .iter()
            .map(|event| (event.source, event.name.clone()))
            .collect();
        self.random.shuffle(&mut order);
        let shuffled: Vec<Event> = order
            .iter()
            .filter_map(|object| Some(by_object.get_mut(object)?.remove(0).clone()))
            .collect();
        let input = events(&shuffled, |event, object| self.read(event.source, object));
        let other = advance(&mut self.shuffled, input, env, tick)?;
        if other.changes != step.changes {
            return Err(format!(
                "another order of events changes {:?}, not {:?}",
                other.changes, step.changes
            ));
        }
        if ids(&self.shuffled.errors()) != self.standing {
            return Err("another order of events gives other errors".to_owned());
        }
        if ids(&other.errors) != ids(&step.errors) {
            return Err("another order of events reports other errors".to_owned());
        }
        Ok(())
    }

    /// An object, read from JSON as on a cluster.
    fn read(&self, source: usize, object: &Value) -> Kept {
        let read = self.keeps[source].read(object.to_string().as_bytes());
        read.expect("what is written out can be read")
    }

    /// Checks that the state is a function of the objects while nothing has failed.
    fn compare_pure(&mut self, env: &Env) -> Result<(), String> {
        self.failed |= has_failures(&self.state);
        if self.failed || self.timed {
            return Ok(());
        }
        self.coverage.count("batches without a failure so far", 1);
        let fresh = self.scratch.eval(&self.objects, &State::default(), env);
        if fresh != self.state {
            return Err("the state hangs on history, though nothing failed".to_owned());
        }
        Ok(())
    }

    /// Checks that a new circuit that gets all objects at once equals a new evaluation.
    fn restart(&mut self) -> Result<(), String> {
        let env = self.env();
        let expected = self.scratch.eval(&self.objects, &State::default(), &env);
        let mut circuit = Circuit::new(self.pipeline, &self.kinds, Budget::default());
        let objects = self.objects.iter();
        let events = objects.map(|((source, name), object)| SourceEvent {
            source: *source,
            name: name.clone(),
            object: Some(self.keeps[*source].of(object)),
        });
        let step = advance(&mut circuit, events.collect(), &env, false)?;
        let mut targets: Targets = vec![BTreeMap::new(); self.kinds.len()];
        let mut origins: Origins = vec![BTreeMap::new(); self.kinds.len()];
        for change in step.changes {
            origins[change.target].insert(change.key.clone(), change.origin);
            targets[change.target].extend(change.new.map(|new| (change.key, new)));
        }
        same(&targets, &expected.targets)?;
        same(&origins, &expected.origins)?;
        if ids(&circuit.errors()) != ids(&expected.errors) {
            return Err(format!(
                "errors are {:?}, expected {:?}",
                circuit.errors(),
                expected.errors
            ));
        }
        Ok(())
    }

    /// Deletes all objects and checks that no state is left.
    fn delete_all(&mut self) -> Result<(), String> {
        let mut names: Vec<_> = self.objects.keys().cloned().collect();
        self.random.shuffle(&mut names);
        let at_once = 1 + self.random.below(4);
        for names in names.chunks(at_once) {
            let event = |(source, name): &(usize, ObjectName)| Event {
                source: *source,
                name: name.clone(),
                object: None,
            };
            self.batch(&Batch {
                after: 1,
                tick: false,
                events: names.iter().map(event).collect(),
            })?;
        }
        if self.targets.iter().any(|objects| !objects.is_empty()) {
            return Err(format!("targets are left: {:?}", self.targets));
        }
        if !self.standing.is_empty() {
            return Err(format!("errors are left: {:?}", self.standing));
        }
        if !self.circuit.is_empty() || !self.shuffled.is_empty() {
            return Err("the circuit still holds something".to_owned());
        }
        Ok(())
    }

    fn cover_state(&mut self, step: &StepResult) {
        self.coverage.count("batches", 1);
        self.coverage.count("held results", self.state.held());
        if self.timed {
            self.coverage
                .count("held results over time", self.state.held());
        }
        self.coverage
            .count("rows without a soft partner", self.state.without_partner());
        for error in &self.state.errors {
            self.coverage
                .count(format!("error {}", error.failure.code()), 1);
            let branch = &self.pipeline.branches[error.branch];
            let stage = branch
                .stages
                .get(error.stage)
                .map_or("output", |stage| stage.kind.name());
            self.coverage.count(format!("error at {stage}"), 1);
            if let Failure::Bounds { .. } | Failure::GroupBounds { .. } = error.failure {
                self.coverage.count(format!("out of bounds at {stage}"), 1);
            }
        }
        for change in &step.changes {
            let what = match (change.old_object(), &change.new) {
                (None, _) => "added",
                (_, None) => "deleted",
                (Some(old), Some(new)) if old == *new => "from another origin",
                _ => "updated",
            };
            self.coverage.count(format!("target object {what}"), 1);
        }
    }
}

/// Runs a batch on a circuit.
fn advance(
    circuit: &mut Circuit,
    batch: Vec<SourceEvent>,
    env: &Env,
    tick: bool,
) -> Result<StepResult, String> {
    let step = if tick {
        circuit.tick(batch, env)
    } else {
        circuit.step(batch, env)
    };
    step.map_err(|error| format!("budget: {error}"))
}

/// The events of a batch for a circuit.
fn events(batch: &[Event], keep: impl Fn(&Event, &Value) -> Kept) -> Vec<SourceEvent> {
    let event = |event: &Event| SourceEvent {
        source: event.source,
        name: event.name.clone(),
        object: event.object.as_ref().map(|object| keep(event, object)),
    };
    batch.iter().map(event).collect()
}

/// Checks what is known of the objects of each target.
fn same<T: PartialEq + Debug>(
    found: &[BTreeMap<ObjectName, T>],
    expected: &[BTreeMap<ObjectName, T>],
) -> Result<(), String> {
    for (target, (found, expected)) in found.iter().zip(expected).enumerate() {
        let keys: BTreeSet<&ObjectName> = found.keys().chain(expected.keys()).collect();
        for key in keys {
            let (found, expected) = (found.get(key), expected.get(key));
            if found != expected {
                return Err(format!(
                    "target {target}, {key:?}: found {found:?}, expected {expected:?}"
                ));
            }
        }
    }
    Ok(())
}

fn has_failures(state: &State) -> bool {
    let conflict = |error: &RunError| matches!(error.failure, Failure::Conflict { .. });
    !state.errors.iter().all(conflict)
}

fn ids(errors: &[RunError]) -> BTreeSet<ErrorId> {
    let id = |error: &RunError| {
        let winner = match &error.failure {
            Failure::Conflict { winner, .. } => Some(winner.clone()),
            _ => None,
        };
        let code = error.failure.code();
        (
            error.branch,
            error.stage,
            error.origin.clone(),
            code,
            winner,
        )
    };
    errors.iter().map(id).collect()
}
