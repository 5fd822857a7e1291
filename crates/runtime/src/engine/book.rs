//! What is wrong, for the status and for whoever listens.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataflow::{ObjectName, RunError};
use document::Value;
use operator::offline::Report as RunReport;
use operator::{Controller, Operator};
use store::Collection;

use super::EngineEvents;
use super::controller::ControllerTask;
use super::measures::Measures;
use super::unread;
use crate::source::inbox::{Port, PortState};
use crate::source::{Inbox, Unavailable};
use crate::status::{ControllerStatus, Counts, MAX_ERRORS, OperatorStatus, Ready, Trouble};
use crate::target::problem::{Cause, Happened, Report};
use crate::target::{ObjectKey, Problem};

/// What stands against targets and views.
pub(super) struct Book {
    events: Arc<dyn EngineEvents>,
    inbox: Arc<Inbox>,
    measures: Measures,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    targets: BTreeMap<ObjectKey, Vec<Problem>>,
    views: BTreeMap<(Collection, ObjectName), (String, Trouble)>,
    /// What is held of views, by controller.
    held: BTreeMap<(String, (Collection, ObjectName)), Trouble>,
    /// The objects with problems, newest first.
    newest: VecDeque<ObjectKey>,
    /// The kinds of targets that cannot be watched, by group and kind: there drift is not
    /// seen, and what is left behind is not found.
    unwatched: BTreeMap<(String, String), Unavailable>,
}

/// An error of a pipeline as it is told.
pub(super) fn trouble(controller: &Controller, error: &RunError) -> Trouble {
    let report = RunReport::new(controller, error);
    Trouble {
        code: report.code.to_owned(),
        stage: report.stage,
        origin: report.origin,
        message: report.message,
    }
}

impl Book {
    pub(super) fn new(
        events: Arc<dyn EngineEvents>,
        inbox: Arc<Inbox>,
        measures: Measures,
    ) -> Self {
        Self {
            events,
            inbox,
            measures,
            entries: Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A write to a view was refused, or not any more.
    pub(super) fn view(
        &self,
        controller: &str,
        collection: &Collection,
        name: &ObjectName,
        refused: Option<String>,
    ) {
        let key = (collection.clone(), name.clone());
        let mut entries = self.entries();
        let Some(message) = refused else {
            entries.views.remove(&key);
            return;
        };
        let trouble = Trouble {
            code: "conflict".to_owned(),
            stage: "target".to_owned(),
            origin: Value::list([]),
            message: format!("{collection} {name}: {message}"),
        };
        entries
            .views
            .insert(key, (controller.to_owned(), trouble.clone()));
        drop(entries);
        self.events.trouble(controller, &trouble);
    }

    /// The removal of something in a view is held (`maxDeletions`), or not any more.
    pub(super) fn held(&self, controller: &str, place: &(Collection, ObjectName), held: bool) {
        let key = (controller.to_owned(), place.clone());
        let mut entries = self.entries();
        if !held {
            entries.held.remove(&key);
            return;
        }
        let (collection, name) = place;
        let problem = Problem {
            controller: controller.to_owned(),
            origin: Value::list([]),
            cause: Cause::DeletionHeld,
        };
        let trouble = Trouble {
            code: problem.code().to_owned(),
            stage: "target".to_owned(),
            origin: problem.origin.clone(),
            message: format!("{collection} {name}: {problem}"),
        };
        let known = entries.held.insert(key, trouble.clone());
        drop(entries);
        if known.is_none() {
            let metrics = self.measures.of(controller);
            metrics.inspect(|metrics| metrics.error(problem.code()));
            self.events.trouble(controller, &trouble);
        }
    }

    /// The objects of a target's kind cannot be watched, or can again.
    pub(super) fn target_watch(&self, group: &str, kind: &str, why: Option<&Unavailable>) {
        let key = (group.to_owned(), kind.to_owned());
        let mut entries = self.entries();
        match why {
            Some(why) => entries.unwatched.insert(key, why.clone()),
            None => entries.unwatched.remove(&key),
        };
        drop(entries);
        self.inbox.poke();
    }

    /// Why a controller's targets cannot be watched.
    fn unwatched(&self, controller: &Controller) -> Option<String> {
        let entries = self.entries();
        controller.targets.iter().find_map(|target| {
            let resource = &target.resource;
            let key = (resource.group.clone(), resource.kind.clone());
            let why = entries.unwatched.get(&key)?;
            Some(format!("target {}: {}", resource.kind, why.message))
        })
    }

    /// How the operator stands. `held` says why a controller is not done though it works.
    pub(super) fn status(
        &self,
        operator: &Operator,
        tasks: &[ControllerTask],
        ports: &BTreeMap<Port, PortState>,
        held: impl Fn(usize) -> Option<String>,
    ) -> OperatorStatus {
        let controllers = operator.controllers.iter().zip(tasks).enumerate();
        let controllers = controllers.map(|(number, (controller, task))| {
            let (count, own) = own_errors(controller, task);
            let (count, errors) = self.errors(&controller.name, count, own);
            let mut ready = ready(number, controller, task, ports, count);
            if matches!(ready, Ready::True | Ready::Failing)
                && let Some(why) = self.unwatched(controller).or_else(|| held(number))
            {
                ready = Ready::False(why);
            }
            ControllerStatus {
                name: controller.name.clone(),
                ready,
                errors,
                counts: Counts {
                    sources: controller.sources.len(),
                    objects: task.circuit.len(),
                    targets: task.outputs,
                    errors: count,
                    held: self.count_held(&controller.name),
                },
            }
        });
        OperatorStatus {
            controllers: controllers.chain(self.gone(operator)).collect(),
        }
    }

    /// The controllers that are not in the spec any more, as long as something stands
    /// against what they left.
    fn gone(&self, operator: &Operator) -> Vec<ControllerStatus> {
        let entries = self.entries();
        let of_targets = entries.targets.values().flatten();
        let of_targets = of_targets.map(|problem| &problem.controller);
        let of_views = entries.held.keys().map(|(controller, _)| controller);
        let mut names: BTreeSet<String> = of_targets.chain(of_views).cloned().collect();
        drop(entries);
        for controller in &operator.controllers {
            names.remove(&controller.name);
        }
        // What nobody wants any more is nobody's.
        names.remove("");
        let gone = names.into_iter().map(|name| {
            let (count, errors) = self.errors(&name, 0, Vec::new());
            let counts = Counts {
                errors: count,
                held: self.count_held(&name),
                ..Counts::default()
            };
            ControllerStatus {
                name,
                ready: Ready::Failing,
                errors,
                counts,
            }
        });
        gone.collect()
    }

    /// How many removals of a controller are held.
    fn count_held(&self, controller: &str) -> usize {
        let entries = self.entries();
        let of_targets = entries.targets.values().flatten();
        let of_targets = of_targets.filter(|problem| {
            problem.controller == controller && problem.cause == Cause::DeletionHeld
        });
        let of_views = entries.held.keys().filter(|(by, _)| by == controller);
        of_targets.count() + of_views.count()
    }

    /// How many errors a controller has, and the newest. `count` are its own, and `own` is
    /// what of them may be listed.
    fn errors(&self, controller: &str, count: usize, own: Vec<Trouble>) -> (usize, Vec<Trouble>) {
        let entries = self.entries();
        let of_targets = entries.newest.iter().flat_map(|key| {
            let problems = entries.targets.get(key).into_iter().flatten();
            problems.map(move |problem| (key, problem))
        });
        let of_targets = of_targets
            .filter(|(_, problem)| problem.controller == controller)
            .map(|(key, problem)| of_target(key, problem));
        let of_views = entries.views.values();
        let of_views = of_views.filter(|(name, _)| *name == controller);
        let of_views = of_views.map(|(_, trouble)| trouble.clone());
        let held = entries.held.iter().filter(|((by, _), _)| *by == controller);
        let held = held.map(|(_, trouble)| trouble.clone());
        let rest: Vec<Trouble> = of_targets.chain(of_views).chain(held).collect();
        let count = count + rest.len();
        let all = own.into_iter().chain(rest).take(MAX_ERRORS);
        (count, all.collect())
    }
}

/// How many errors the sources and the pipeline of a controller have, and which may be
/// listed.
fn own_errors(controller: &Controller, task: &ControllerTask) -> (usize, Vec<Trouble>) {
    let of_pipeline = task.circuit.errors();
    let count = task.unreadable.len() + of_pipeline.len();
    let of_pipeline = of_pipeline.iter().map(|error| trouble(controller, error));
    let of_sources = task.unreadable.iter();
    let of_sources = of_sources.map(|(object, why)| unread::trouble(controller, object, why));
    let all = of_sources.take(MAX_ERRORS).chain(of_pipeline);
    (count, all.collect())
}

fn of_target(key: &ObjectKey, problem: &Problem) -> Trouble {
    Trouble {
        code: problem.code().to_owned(),
        stage: "target".to_owned(),
        origin: problem.origin.clone(),
        message: format!("{key}: {problem}"),
    }
}

fn ready(
    number: usize,
    controller: &Controller,
    task: &ControllerTask,
    ports: &BTreeMap<Port, PortState>,
    errors: usize,
) -> Ready {
    if let Some(stopped) = &task.stopped {
        return Ready::Stopped(stopped.clone());
    }
    for (input, source) in controller.inputs.iter().enumerate() {
        let name = &controller.sources[*source].name;
        let state = ports.get(&(number, input)).cloned().unwrap_or_default();
        if let Some(why) = state.unavailable {
            return Ready::False(format!("source {name}: {}", why.message));
        }
        if !state.listed {
            return Ready::False(format!("source {name} is not read yet"));
        }
    }
    if !task.open {
        return Ready::False("waiting for the views that it reads".to_owned());
    }
    let waiting = task.removals.waiting();
    if waiting > 0 {
        let message = format!("{waiting} removals wait until all sources are synced");
        return Ready::False(message);
    }
    if errors > 0 {
        return Ready::Failing;
    }
    Ready::True
}

impl Report for Book {
    fn problems(&self, key: &ObjectKey, problems: &[Problem]) {
        let mut entries = self.entries();
        entries.newest.retain(|other| other != key);
        let known = if problems.is_empty() {
            entries.targets.remove(key)
        } else {
            entries.newest.push_front(key.clone());
            entries.targets.insert(key.clone(), problems.to_vec())
        };
        drop(entries);
        let known = known.unwrap_or_default();
        for problem in problems.iter().filter(|problem| !known.contains(problem)) {
            let metrics = self.measures.of(&problem.controller);
            metrics.inspect(|metrics| metrics.error(problem.code()));
            self.events
                .trouble(&problem.controller, &of_target(key, problem));
        }
        self.inbox.poke();
    }

    fn happened(&self, key: &ObjectKey, controller: &str, what: Happened) {
        match what {
            Happened::Adopted => self.events.adopted(key, controller),
        }
    }

    fn sent(&self, _key: &ObjectKey, controller: &str, verb: &'static str, code: u16) {
        let metrics = self.measures.of(controller);
        metrics.inspect(|metrics| metrics.wrote(verb, code));
    }
}
