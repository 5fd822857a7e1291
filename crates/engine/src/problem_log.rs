//! The current problems of an Operator: sources of its status, its Events and its error
//! metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cluster::object::Unreadable;
use cluster::source::Unavailable;
use dataflow::RunError;
use document::Value;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::{Controller, Operator};
use target::problem::{Cause, Happened, Problem, Report};

use super::controller_task::ControllerTask;
use super::guard::Guard;
use super::masks::Masks;
use super::measures::Measures;
use super::newest::{ErrorNumber, ErrorNumbers, ErrorSite, newest};
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

#[derive(Default)]
struct Entries {
    numbers: ErrorNumbers,
    targets: BTreeMap<ObjectKey, Vec<(ErrorNumber, Problem)>>,
    views: BTreeMap<(GroupKind, ObjectName), (ErrorNumber, String, ReportedError)>,
    /// Removals from views that are held, by controller and object.
    held: BTreeMap<(String, (GroupKind, ObjectName)), (ErrorNumber, ReportedError)>,
    /// The target kinds that cannot be watched, by group and kind. Their drift goes unnoticed,
    /// and leftovers are not found.
    unwatched: BTreeMap<(String, String), Unavailable>,
}

/// A current error of a controller.
enum ActiveError<'a> {
    Unreadable(&'a Controller, &'a (usize, ObjectName), &'a Unreadable),
    Failed(&'a Controller, &'a RunError),
    Target(&'a ObjectKey, &'a Problem),
    View(&'a ReportedError),
}

impl ActiveError<'_> {
    fn reported(self, log: &ProblemLog) -> ReportedError {
        match self {
            Self::Unreadable(controller, object, why) => log.of_source(controller, object, why),
            Self::Failed(controller, error) => log.of_pipeline(controller, error),
            Self::Target(key, problem) => log.of_target(key, problem),
            Self::View(reported) => reported.clone(),
        }
    }
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
    pub(super) fn view(
        &self,
        controller: &str,
        collection: &GroupKind,
        name: &ObjectName,
        refused: Option<(&'static str, String)>,
    ) {
        let key = (collection.clone(), name.clone());
        let mut entries = self.entries();
        let Some((code, message)) = refused else {
            entries.views.remove(&key);
            return;
        };
        let reported = ReportedError {
            code: code.to_owned(),
            stage: "target".to_owned(),
            origin: Value::list([]),
            message: format!(
                "{}: {message}",
                self.masks.view_object(controller, collection, name)
            ),
        };
        if entries
            .views
            .get(&key)
            .is_some_and(|(_, _, known)| *known == reported)
        {
            return;
        }
        let number = entries.numbers.next();
        let entry = (number, controller.to_owned(), reported.clone());
        entries.views.insert(key, entry);
        drop(entries);
        self.events.reported(controller, &reported);
    }

    /// Reports that a removal from a view is held (`maxDeletions`), or clears that.
    pub(super) fn held(&self, controller: &str, place: &(GroupKind, ObjectName), held: bool) {
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
        let reported = ReportedError {
            code: problem.code().to_owned(),
            stage: "target".to_owned(),
            origin: problem.origin.clone(),
            message: format!(
                "{}: {problem}",
                self.masks.view_object(controller, collection, name)
            ),
        };
        let is_new = !entries.held.contains_key(&key);
        if is_new {
            let number = entries.numbers.next();
            entries.held.insert(key, (number, reported.clone()));
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
        let entries = self.entries();
        let of_targets = entries.targets.values().flatten();
        let of_targets = of_targets.map(|(_, problem)| &problem.controller);
        let of_views = entries.held.keys().map(|(controller, _)| controller);
        let mut names: BTreeSet<String> = of_targets.chain(of_views).cloned().collect();
        drop(entries);
        for controller in &operator.controllers {
            names.remove(&controller.name);
        }
        // Problems of objects that no controller wants any more.
        names.remove("");
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
        let entries = self.entries();
        let of_targets = entries.targets.values().flatten();
        let of_targets = of_targets.filter(|(_, problem)| {
            problem.controller == controller && problem.cause == Cause::DeletionHeld
        });
        let of_views = entries.held.keys().filter(|(by, _)| by == controller);
        of_targets.count() + of_views.count()
    }

    /// The number of a controller's errors, and the newest of them; `own` is `None` for a
    /// controller that is no longer in the spec.
    fn errors(
        &self,
        name: &str,
        own: Option<(&Controller, &ControllerTask)>,
    ) -> (usize, Vec<ReportedError>) {
        let failed = own.map_or_else(Vec::new, |(_, task)| task.circuit.errors());
        let mut entries = self.entries();
        let mut all = own.map_or_else(Vec::new, |(controller, task)| {
            own_errors(controller, task, &failed, &mut entries.numbers)
        });
        for (key, problems) in &entries.targets {
            let problems = problems.iter().filter(|(_, p)| p.controller == name);
            all.extend(problems.map(|(number, p)| (*number, ActiveError::Target(key, p))));
        }
        let of_views = entries.views.values().filter(|(_, by, _)| by == name);
        all.extend(of_views.map(|(number, _, reported)| (*number, ActiveError::View(reported))));
        let held = entries.held.iter().filter(|((by, _), _)| by == name);
        all.extend(held.map(|(_, (number, reported))| (*number, ActiveError::View(reported))));
        let count = all.len();
        let newest = newest(all).map(|error| error.reported(self));
        (count, newest.collect())
    }
}

/// The errors of a controller's sources, and the errors `failed` of its pipeline.
fn own_errors<'a>(
    controller: &'a Controller,
    task: &'a ControllerTask,
    failed: &'a [RunError],
    numbers: &mut ErrorNumbers,
) -> Vec<(ErrorNumber, ActiveError<'a>)> {
    let objects = task.unreadable.keys();
    let objects = objects.map(|(input, name)| ErrorSite::Object(*input, name.clone()));
    let sites = objects.chain(failed.iter().map(ErrorSite::from)).collect();
    let numbers = numbers.current(&controller.name, sites);
    let unreadable = task.unreadable.iter();
    let unreadable =
        unreadable.map(|(object, why)| ActiveError::Unreadable(controller, object, why));
    let failed = failed
        .iter()
        .map(|error| ActiveError::Failed(controller, error));
    numbers.into_iter().zip(unreadable.chain(failed)).collect()
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
        let known = entries.targets.remove(key).unwrap_or_default();
        if !problems.is_empty() {
            let next = entries.numbers.next();
            let number = |problem: &Problem| {
                let known = known.iter().find(|(_, known)| known == problem);
                known.map_or(next, |(number, _)| *number)
            };
            let problems = problems.iter().map(|p| (number(p), p.clone())).collect();
            entries.targets.insert(key.clone(), problems);
        }
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
