//! A case that runs: on the circuit, from scratch, and on a new circuit, with one result.

use std::collections::{BTreeMap, BTreeSet};

use dataflow::apply::OutputKind;
use dataflow::fields::Keep;
use dataflow::scratch::{Objects, Scratch, State};
use dataflow::{Budget, Circuit, Failure, Pipeline, RunError, SourceEvent, StepResult};
use document::{Value, json};
use expr::{Env, Time};
use object::ObjectName;

use crate::{is_periodic, kinds_of, list, text};

/// The objects of all targets.
type Targets = BTreeMap<(usize, ObjectName), Value>;

/// A running case.
pub(crate) struct RunningCase {
    /// The Kinds of the sources.
    source_kinds: Vec<String>,
    kinds: Vec<OutputKind>,
    chosen: Vec<String>,
    /// The chosen values by target, object and field.
    choices: BTreeMap<(usize, ObjectName, String), Value>,
    timed: bool,
    env: Env,
    ticks: Vec<Ticks>,
    /// Whether a Periodic source ticks in the next step.
    tick: bool,
    /// The fields that each source keeps.
    keeps: Vec<Keep>,
    circuit: Circuit,
    targets: Targets,
    scratch: Scratch,
    objects: Objects,
    state: State,
}

impl RunningCase {
    pub(crate) fn new(case: &Value, pipeline: &Pipeline) -> Self {
        let kinds: Vec<OutputKind> = pipeline
            .targets
            .iter()
            .map(|kind| OutputKind {
                api_version: json!("test.view.dcontroller.io/v1alpha1"),
                kind: kind.as_str().into(),
                placement: None,
            })
            .collect();
        Self {
            source_kinds: kinds_of(case.get("sources")),
            chosen: kinds_of(case.get("chosen")),
            choices: BTreeMap::new(),
            timed: case.get("pipeline").to_string().contains("@now"),
            env: case.get("now").as_str().map_or_else(Env::default, env_at),
            ticks: periods(case),
            tick: false,
            keeps: dataflow::fields::needs(pipeline)
                .iter()
                .map(Keep::fields)
                .collect(),
            circuit: Circuit::new(pipeline, &kinds, Budget::default()),
            targets: Targets::new(),
            scratch: Scratch::new(pipeline.clone(), kinds.clone()),
            objects: Objects::new(),
            state: State::default(),
            kinds,
        }
    }

    /// The events of a batch. Sets the time if the batch has one.
    pub(crate) fn batch(&mut self, step: &Value) -> Vec<SourceEvent> {
        if !step.get("now").is_null() {
            self.env = Env::new(step.get("now").clone(), 0);
        }
        self.tick = false;
        if let Some(time) = step.at(0).get("time").as_str() {
            self.env = env_at(time);
            let now = seconds(&self.env);
            for ticks in &mut self.ticks {
                self.tick |= ticks.is_due(now);
            }
        }
        let events = match step.as_list() {
            Some(_) => list(step),
            None => list(step.get("events")),
        };
        let mut batch = Vec::new();
        for event in events
            .iter()
            .filter(|event| !["sync", "tick"].contains(&text(event.get("op")).as_str()))
        {
            let object = event.get("object");
            let name = ObjectName::of(object).expect("an object of a case has a name");
            let before = batch.len();
            for (source, kind) in self.source_kinds.iter().enumerate() {
                let only = event.get("source").as_str();
                let named = &self.circuit.pipeline().sources[source];
                if *kind == text(object.get("kind")) && only.is_none_or(|only| only == named) {
                    batch.push(SourceEvent {
                        source,
                        name: name.clone(),
                        object: (text(event.get("op")) != "delete")
                            .then(|| self.keeps[source].of(object)),
                    });
                }
            }
            assert!(batch.len() > before, "no source takes {event}");
        }
        batch
    }

    /// Runs a batch on both engines and compares them.
    pub(crate) fn step(&mut self, batch: &[SourceEvent]) -> Result<StepResult, String> {
        for event in batch {
            let key = (event.source, event.name.clone());
            match &event.object {
                // The oracle gets the pruned objects too: pruning hides versions, and decides
                // whether the input of a stage with `"@now"` is the same.
                Some(object) => self.objects.insert(key, object.document().clone()),
                None => self.objects.remove(&key),
            };
        }
        let step = if self.tick {
            self.state = self.scratch.tick(&self.objects, &self.state, &self.env);
            self.circuit.tick(batch, &self.env)
        } else {
            self.state = self.scratch.eval(&self.objects, &self.state, &self.env);
            self.circuit.step(batch, &self.env)
        };
        let step = step.map_err(|error| error.to_string())?;
        if self.circuit.next_deadline() != self.state.next_deadline() {
            return Err("the next deadline is another one from scratch".to_owned());
        }
        sum_up(&mut self.targets, &step)?;
        let scratch = flat(&self.state);
        if self.targets != scratch {
            let (found, scratch) = (objects_of(&self.targets), objects_of(&scratch));
            return Err(format!("found {found}, from scratch {scratch}"));
        }
        let conflict = |error: &RunError| matches!(error.failure, Failure::Conflict { .. });
        if !self.timed && self.state.errors.iter().all(conflict) {
            self.restart()?;
        }
        self.choose()?;
        Ok(step)
    }

    /// Compares with a new circuit that gets all objects at once.
    fn restart(&self) -> Result<(), String> {
        let mut circuit = Circuit::new(self.circuit.pipeline(), &self.kinds, Budget::default());
        let events = self
            .objects
            .iter()
            .rev()
            .map(|((source, name), object)| SourceEvent {
                source: *source,
                name: name.clone(),
                object: Some(self.keeps[*source].of(object)),
            });
        let step = circuit.step(events.collect::<Vec<_>>(), &self.env);
        let mut targets = Targets::new();
        sum_up(&mut targets, &step.map_err(|error| error.to_string())?)?;
        if targets != self.targets {
            let (found, restarted) = (objects_of(&self.targets), objects_of(&targets));
            return Err(format!("found {found}, after a restart {restarted}"));
        }
        Ok(())
    }

    /// Checks that chosen values do not change.
    fn choose(&mut self) -> Result<(), String> {
        for ((target, name), object) in &self.targets {
            for field in &self.chosen {
                let place = (*target, name.clone(), field.clone());
                let value = object.get(field);
                let choice = self.choices.entry(place).or_insert_with(|| value.clone());
                if choice != value {
                    return Err(format!("{field} of {name:?} was {choice} and is {value}"));
                }
            }
        }
        Ok(())
    }

    /// Compares the target objects.
    pub(crate) fn check_state(&self, expect: &Value) -> Result<(), String> {
        let mut wanted = Targets::new();
        for object in list(expect) {
            let kind = object.get("kind");
            let target = self.kinds.iter().position(|target| target.kind == *kind);
            let target = target.unwrap_or_default();
            let fields = json!({
                "apiVersion": (self.kinds[target].api_version.clone()),
                "kind": (self.kinds[target].kind.clone()),
            });
            let name = ObjectName::of(&object).expect("an expected object has a name");
            wanted.insert((target, name), document::merge(&fields, &object));
        }
        let found = self.targets.iter().map(|(key, object)| {
            let fields = object.as_map().into_iter().flatten();
            let fields = fields.filter(|(field, _)| !self.chosen.contains(&field.to_string()));
            let fields: document::Map = fields.cloned().collect();
            (key.clone(), fields.into())
        });
        let found: Targets = found.collect();
        if found != wanted {
            let (found, wanted) = (objects_of(&found), objects_of(&wanted));
            return Err(format!("expected {wanted}, found {found}"));
        }
        Ok(())
    }

    /// Compares the reported errors and the current errors.
    pub(crate) fn check_errors(&self, expect: &Value, step: &StepResult) -> Result<(), String> {
        let reported = &step.errors;
        let expected = expect.get("error");
        if expected.as_bool() == Some(true) && reported.is_empty() {
            return Err("expected an error".to_owned());
        }
        if !expect.get("errors").is_null() {
            self.same_errors("reports", expect.get("errors"), reported)?;
        } else if expected.is_null() && !reported.is_empty() {
            return Err("unexpected error".to_owned());
        }
        if !expect.get("standing").is_null() {
            let standing = expect.get("standing");
            self.same_errors("has", standing, &self.circuit.errors())?;
            self.same_errors("has from scratch", standing, &self.state.errors)?;
        }
        Ok(())
    }

    fn same_errors(&self, what: &str, expect: &Value, errors: &[RunError]) -> Result<(), String> {
        let sources = &self.circuit.pipeline().sources;
        let found: Vec<Value> = errors.iter().map(|error| plain(error, sources)).collect();
        let expected = list(expect);
        let fits = |(expected, found): (&Value, &Value)| {
            let mut fields = expected.as_map().into_iter().flatten();
            fields.all(|(field, value)| found.get(field.as_str()) == value)
        };
        if expected.len() != found.len() || !expected.iter().zip(&found).all(fits) {
            let found = Value::from(found);
            return Err(format!("{what} the errors {found}, expected {expect}"));
        }
        Ok(())
    }

    /// Deletes all objects and checks that no state is left.
    pub(crate) fn delete_all(&mut self) -> Result<(), String> {
        let events = self.objects.keys().map(|(source, name)| SourceEvent {
            source: *source,
            name: name.clone(),
            object: None,
        });
        let events: Vec<_> = events.collect();
        self.step(&events)?;
        if !self.targets.is_empty() || !self.circuit.errors().is_empty() {
            return Err("something is left".to_owned());
        }
        if !self.circuit.is_empty() {
            return Err("the circuit still holds something".to_owned());
        }
        Ok(())
    }
}

/// The ticks of a Periodic source.
struct Ticks {
    /// In seconds.
    period: i64,
    /// The Unix time of the last tick, or of the start.
    last: i64,
}

impl Ticks {
    fn is_due(&mut self, now: i64) -> bool {
        let due = now - self.last >= self.period;
        if due {
            self.last = now;
        }
        due
    }
}

/// The Periodic sources of a case. Their periods are whole minutes.
fn periods(case: &Value) -> Vec<Ticks> {
    let sources = list(case.get("sources"));
    let periodic = sources.iter().filter(|source| is_periodic(source));
    periodic
        .map(|source| {
            let period = source.get("parameters").get("period");
            let minutes = period.as_str().unwrap_or("5m").trim_end_matches('m');
            Ticks {
                period: minutes.parse::<i64>().expect("a period of minutes") * 60,
                last: seconds(&env_at(&text(case.get("now")))),
            }
        })
        .collect()
}

/// The environment at a time, which is cut to whole seconds.
fn env_at(time: &str) -> Env {
    let time = Time::parse(time).expect("a time");
    let whole = Time::of_unix(time.seconds()).expect("a time of this age");
    Env::new(whole.to_string().into(), 0)
}

fn seconds(env: &Env) -> i64 {
    Time::parse(&text(&env.now)).expect("a time").seconds()
}

/// Applies the changes of a step.
fn sum_up(targets: &mut Targets, step: &StepResult) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut last = None;
    for change in &step.changes {
        let key = (change.target, change.key.clone());
        let place = (change.target, change.new.is_some(), change.key.clone());
        if last.as_ref().is_some_and(|last| *last >= place) || !seen.insert(key.clone()) {
            return Err(format!("the change of {key:?} is out of order"));
        }
        last = Some(place);
        if targets.get(&key) != change.old_object().as_ref() {
            return Err(format!("the change of {key:?} does not fit what was there"));
        }
        match &change.new {
            Some(new) => targets.insert(key, new.clone()),
            None => targets.remove(&key),
        };
    }
    Ok(())
}

fn flat(state: &State) -> Targets {
    let targets = state.targets.iter().enumerate();
    targets
        .flat_map(|(target, objects)| {
            let objects = objects.iter();
            objects.map(move |(name, object)| ((target, name.clone()), object.clone()))
        })
        .collect()
}

fn objects_of(targets: &Targets) -> Value {
    targets.values().cloned().collect()
}

fn number(position: usize) -> i64 {
    i64::try_from(position).expect("a position is small")
}

/// An error in the form of the cases.
fn plain(error: &RunError, sources: &[String]) -> Value {
    let winner = match &error.failure {
        Failure::Conflict { winner, .. } => winner.describe(sources),
        _ => Value::NULL,
    };
    json!({
        "branch": (number(error.branch)),
        "stage": (number(error.stage)),
        "origin": (error.origin.describe(sources)),
        "code": (error.failure.code()),
        "winner": winner,
    })
}
