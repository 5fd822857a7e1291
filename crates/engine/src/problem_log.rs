//! The current problems of an Operator: sources of its status, its Events and its error
//! metrics.

mod entries;
mod standing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cluster::object::Unreadable;
use cluster::source::Unavailable;
use dataflow::RunError;
use document::Value;
use entries::{ActiveError, Entries};
use object::{GroupKind, ObjectKey, ObjectName};
use operator::{Controller, Operator};
use standing::Place;
use target::problem::{Cause, Happened, Problem, Report};

use super::controller_task::ControllerTask;
use super::guard::Guard;
use super::masks::Masks;
use super::measures::Measures;
use super::newest::{ErrorSite, newest};
use super::views::RefusedWrite;
use super::{EngineEvents, unread};
use crate::inbox::{Inbox, Port, PortState};
use crate::status::{ControllerStatus, Counts, OperatorStatus, Ready, ReportedError};

/// The current problems of targets and views.
pub(super) struct ProblemLog {
    events: Arc<dyn EngineEvents>,
    inbox: Arc<Inbox>,
    measures: Measures,
    masks: Arc<Masks>,
    entries: Mutex<Entries>,
}

impl ProblemLog {
    pub(super) fn new(
        events: Arc<dyn EngineEvents>,
        inbox: Arc<Inbox>,
        measures: Measures,
        masks: Arc<Masks>,
    ) -> Self {
        Self {
            events,
            inbox,
            measures,
            masks,
            entries: Mutex::default(),
        }
    }

    /// An error of a pipeline, as status and Events show it.
    fn of_pipeline(&self, controller: &Controller, error: &RunError) -> ReportedError {
        let report = self.masks.report(controller, error);
        ReportedError {
            code: report.code.to_owned(),
            stage: report.stage,
            origin: report.origin,
            message: report.message,
        }
    }

    /// A source object that cannot be read, as status and Events show it.
    fn of_source(
        &self,
        controller: &Controller,
        object: &(usize, ObjectName),
        why: &Unreadable,
    ) -> ReportedError {
        let mut reported = unread::reported(controller, object, why);
        reported.origin = self.masks.origin(&controller.name, &reported.origin);
        reported
    }

    /// An error of a target, as status and Events show it.
    fn of_target(&self, key: &ObjectKey, problem: &Problem) -> ReportedError {
        let object = self.masks.target(&problem.controller, key);
        let problem = self.masks.problem(key, problem);
        ReportedError {
            code: problem.code().to_owned(),
            stage: "target".to_owned(),
            message: format!("{object}: {problem}"),
            origin: problem.origin,
        }
    }

    /// Gets the panics of the engine.
    pub(super) fn guard(&self) -> &Guard {
        self.inbox.guard()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports that a step of a controller failed on some of its documents.
    pub(super) fn failed(&self, controller: &Controller, errors: &[RunError]) {
        if errors.is_empty() {
            return;
        }
        let sites = errors.iter().map(ErrorSite::from);
        self.entries().numbers.report(&controller.name, sites);
        let metrics = self.measures.of(&controller.name);
        for error in errors {
            metrics.inspect(|metrics| metrics.error(error.failure.code()));
            self.events
                .reported(&controller.name, &self.of_pipeline(controller, error));
        }
    }

    /// Reports a source object that cannot be read.
    pub(super) fn unreadable(
        &self,
        controller: &Controller,
        object: &(usize, ObjectName),
        why: &Unreadable,
    ) {
        let site = ErrorSite::Object(object.0, object.1.clone());
        self.entries().numbers.report(&controller.name, [site]);
        let metrics = self.measures.of(&controller.name);
        metrics.inspect(|metrics| metrics.error(Unreadable::CODE));
        self.events
            .reported(&controller.name, &self.of_source(controller, object, why));
    }

    /// Reports that a write to a view was refused, or clears that.
    pub(super) fn view(&self, controller: &str, key: &ObjectKey, refused: Option<RefusedWrite>) {
        let mut entries = self.entries();
        let Some(refused) = refused else {
            entries.clear_view(key);
            return;
        };
        let message = if self.masks.hides_keys(controller, &key.kind) {
            refused.hidden
        } else {
            refused.message
        };
        let reported = ReportedError {
            code: refused.code.to_owned(),
            stage: "target".to_owned(),
            origin: Value::list([]),
            message: format!("{}: {message}", self.masks.view_object(controller, key)),
        };
        if entries
            .views
            .get(key)
            .is_some_and(|(_, _, known)| *known == reported)
        {
            return;
        }
        entries.clear_view(key);
        let number = entries.numbers.next();
        let place = Place::View(key.clone());
        entries.standing.add(controller, number, place, false);
        let entry = (number, controller.to_owned(), reported.clone());
        entries.views.insert(key.clone(), entry);
        drop(entries);
        self.events.reported(controller, &reported);
    }

    /// Reports that a removal from a view is held (`maxDeletions`), or clears that.
    pub(super) fn held(&self, controller: &str, key: &ObjectKey, held: bool) {
        let of_controller = (controller.to_owned(), key.clone());
        let mut entries = self.entries();
        if !held {
            if let Some((number, _)) = entries.held.remove(&of_controller) {
                let place = Place::Held(key.clone());
                entries.standing.remove(controller, number, place, true);
            }
            return;
        }
        let problem = Problem {
            controller: controller.to_owned(),
            origin: Value::list([]),
            cause: Cause::DeletionHeld,
        };
        let reported = ReportedError {
            code: problem.code().to_owned(),
            stage: "target".to_owned(),
            origin: problem.origin.clone(),
            message: format!("{}: {problem}", self.masks.view_object(controller, key)),
        };
        let is_new = !entries.held.contains_key(&of_controller);
        if is_new {
            let number = entries.numbers.next();
            let place = Place::Held(key.clone());
            entries.standing.add(controller, number, place, true);
            entries
                .held
                .insert(of_controller, (number, reported.clone()));
        }
        drop(entries);
        if is_new {
            let metrics = self.measures.of(controller);
            metrics.inspect(|metrics| metrics.error(problem.code()));
            self.events.reported(controller, &reported);
        }
    }

    /// Reports that a target kind cannot be watched, or clears that.
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

    /// Wakes the engine.
    pub(super) fn poke(&self) {
        self.inbox.poke();
    }

    /// Why objects of these kinds cannot be listed.
    pub(super) fn unlisted<'a>(&self, kinds: impl Iterator<Item = &'a GroupKind>) -> Vec<String> {
        let entries = self.entries();
        let unlisted = kinds.filter_map(|kind| {
            let key = (
                kind.group.as_str().to_owned(),
                kind.kind.as_str().to_owned(),
            );
            let why = entries.unwatched.get(&key)?;
            (!why.is_kind_gone()).then(|| why.message.clone())
        });
        unlisted.collect()
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

    /// The status of the Operator. `held` returns why a controller without errors is not ready,
    /// `syncing` which of its objects are not as derived.
    pub(super) fn status(
        &self,
        operator: &Operator,
        tasks: &[ControllerTask],
        ports: &BTreeMap<Port, PortState>,
        held: impl Fn(usize) -> Option<String>,
        syncing: &[Option<String>],
    ) -> OperatorStatus {
        let controllers = operator.controllers.iter().zip(tasks).enumerate();
        let controllers = controllers.map(|(number, (controller, task))| {
            let (count, errors) = self.errors(&controller.name, Some((controller, task)));
            let mut ready = ready(number, controller, task, ports, count);
            if matches!(ready, Ready::True | Ready::Failing)
                && let Some(why) = self.unwatched(controller).or_else(|| held(number))
            {
                ready = Ready::False(why);
            }
            if ready == Ready::True
                && let Some(why) = syncing.get(number).cloned().flatten()
            {
                ready = Ready::Syncing(why);
            }
            ControllerStatus {
                name: controller.name.clone(),
                ready,
                errors,
                counts: Counts {
                    sources: controller.sources.len(),
                    objects: task.circuit.len(),
                    targets: task.outputs(),
                    errors: count,
                    held: self.count_held(&controller.name),
                },
            }
        });
        OperatorStatus {
            controllers: controllers
                .chain(self.removed_controllers(operator))
                .collect(),
            ..OperatorStatus::default()
        }
    }

    /// Controllers that are no longer in the spec but have left objects with problems.
    fn removed_controllers(&self, operator: &Operator) -> Vec<ControllerStatus> {
        let in_spec = |name: &str| operator.controllers.iter().any(|c| c.name == name);
        let entries = self.entries();
        let names = entries.standing.controllers();
        // Objects that no controller wants any more have problems without one.
        let names = names.filter(|name| !name.is_empty() && !in_spec(name));
        let names: Vec<String> = names.map(str::to_owned).collect();
        drop(entries);
        let gone = names.into_iter().map(|name| {
            let (count, errors) = self.errors(&name, None);
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
        self.entries().standing.count(controller).1
    }

    /// The number of a controller's errors, and the newest of them; `own` is `None` for a
    /// controller that is no longer in the spec.
    fn errors(
        &self,
        name: &str,
        own: Option<(&Controller, &ControllerTask)>,
    ) -> (usize, Vec<ReportedError>) {
        let mut entries = self.entries();
        let (mut count, _) = entries.standing.count(name);
        let mut all = Vec::new();
        if let Some((controller, task)) = own {
            entries.read_own(controller, task);
        }
        if let Some((controller, own)) = own.and_then(|(c, _)| Some((c, entries.own.get(name)?))) {
            count += own.count;
            let newest = own.newest.iter();
            all.extend(newest.map(|(number, own)| (*number, ActiveError::Own(controller, own))));
        }
        let others = entries.standing.newest(name);
        all.extend(others.filter_map(|(number, at)| Some((number, entries.at(name, at)?))));
        let newest = newest(all).map(|(_, error)| error.reported(self));
        (count, newest.collect())
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
    if let Some(exceeded) = task.exceeded_before.as_ref().filter(|_| !task.open) {
        return Ready::Stopped(format!("{exceeded}; it is being tried again"));
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

impl Report for ProblemLog {
    fn problems(&self, key: &ObjectKey, problems: &[Problem]) {
        let mut entries = self.entries();
        let known = entries.targets.get(key).map_or(&[][..], Vec::as_slice);
        let known_number = |problem: &Problem| {
            let known = known.iter().find(|(_, known)| known == problem);
            known.map(|(number, _)| *number)
        };
        let numbers: Vec<_> = problems.iter().map(known_number).collect();
        let next = entries.numbers.next();
        let numbers = numbers.into_iter().map(|number| number.unwrap_or(next));
        let known = entries.set_target(key, numbers.zip(problems.iter().cloned()).collect());
        drop(entries);
        let is_new = |problem: &&Problem| known.iter().all(|(_, known)| known != *problem);
        for problem in problems.iter().filter(is_new) {
            let metrics = self.measures.of(&problem.controller);
            metrics.inspect(|metrics| metrics.error(problem.code()));
            self.events
                .reported(&problem.controller, &self.of_target(key, problem));
        }
        self.inbox.poke();
    }

    fn changed(&self) {
        self.poke();
    }

    fn happened(&self, key: &ObjectKey, controller: &str, what: Happened) {
        match what {
            Happened::Adopted => {
                let name = self.masks.name(controller, key);
                self.events.adopted(&key.kind, name, controller);
            }
        }
    }

    fn describe(&self, key: &ObjectKey) -> String {
        self.masks.logged(key)
    }

    fn sent(&self, _key: &ObjectKey, controller: &str, verb: &'static str, code: u16) {
        let metrics = self.measures.of(controller);
        metrics.inspect(|metrics| metrics.wrote(verb, code));
    }
}

#[cfg(test)]
mod tests;
