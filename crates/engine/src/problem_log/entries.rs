//! The current errors of an Operator: where they are, and how old.

use std::collections::{BTreeMap, HashMap};

use cluster::object::Unreadable;
use cluster::source::Unavailable;
use dataflow::RunError;
use object::{ObjectKey, ObjectName};
use operator::Controller;
use target::problem::{Cause, Problem};

use super::ProblemLog;
use super::standing::{Place, Standing};
use crate::controller_task::ControllerTask;
use crate::newest::{ErrorNumber, ErrorNumbers, ErrorSite, newest};
use crate::status::ReportedError;

#[derive(Default)]
pub(super) struct Entries {
    pub(super) numbers: ErrorNumbers,
    pub(super) targets: BTreeMap<ObjectKey, Vec<(ErrorNumber, Problem)>>,
    pub(super) views: BTreeMap<ObjectKey, (ErrorNumber, String, ReportedError)>,
    /// Removals from views that are held, by controller and object.
    pub(super) held: BTreeMap<(String, ObjectKey), (ErrorNumber, ReportedError)>,
    /// The errors of these three, by controller.
    pub(super) standing: Standing,
    /// The errors of sources and pipelines, by controller.
    pub(super) own: HashMap<String, OwnErrors>,
    /// The target kinds that cannot be watched, by group and kind. Their drift goes unnoticed,
    /// and leftovers are not found.
    pub(super) unwatched: BTreeMap<(String, String), Unavailable>,
}

/// The errors of a controller's sources and pipeline.
pub(super) struct OwnErrors {
    /// When they were read ([`ControllerTask::revision`]).
    revision: u64,
    pub(super) count: usize,
    /// As many as a status shows.
    pub(super) newest: Vec<(ErrorNumber, OwnError)>,
}

pub(super) enum OwnError {
    Unreadable((usize, ObjectName), Unreadable),
    Failed(RunError),
}

/// A current error of a controller.
pub(super) enum ActiveError<'a> {
    Own(&'a Controller, &'a OwnError),
    Target(&'a ObjectKey, &'a Problem),
    View(&'a ReportedError),
}

impl ActiveError<'_> {
    pub(super) fn reported(self, log: &ProblemLog) -> ReportedError {
        match self {
            Self::Own(controller, OwnError::Unreadable(object, why)) => {
                log.of_source(controller, object, why)
            }
            Self::Own(controller, OwnError::Failed(error)) => log.of_pipeline(controller, error),
            Self::Target(key, problem) => log.of_target(key, problem),
            Self::View(reported) => reported.clone(),
        }
    }
}

impl Entries {
    /// Reads the errors of a controller's sources and pipeline, if they may have changed since the
    /// last time.
    pub(super) fn read_own(&mut self, controller: &Controller, task: &ControllerTask) {
        let name = &controller.name;
        if self.own.get(name).map(|own| own.revision) != Some(task.revision()) {
            let own = OwnErrors::read(name, task, &mut self.numbers);
            self.own.insert(name.clone(), own);
        }
    }

    /// The error at a place.
    pub(super) fn at(&self, controller: &str, place: &Place) -> Option<ActiveError<'_>> {
        Some(match place {
            Place::Target(key, position) => {
                let (key, problems) = self.targets.get_key_value(key)?;
                ActiveError::Target(key, &problems.get(*position)?.1)
            }
            Place::View(object) => ActiveError::View(&self.views.get(object)?.2),
            Place::Held(object) => {
                let key = (controller.to_owned(), object.clone());
                ActiveError::View(&self.held.get(&key)?.1)
            }
        })
    }

    /// Sets the problems of a target. Returns the old ones.
    pub(super) fn set_target(
        &mut self,
        key: &ObjectKey,
        problems: Vec<(ErrorNumber, Problem)>,
    ) -> Vec<(ErrorNumber, Problem)> {
        let old = self.targets.remove(key).unwrap_or_default();
        let standing = &mut self.standing;
        for (position, (number, problem)) in old.iter().enumerate() {
            let place = Place::Target(key.clone(), position);
            standing.remove(&problem.controller, *number, place, is_held(problem));
        }
        for (position, (number, problem)) in problems.iter().enumerate() {
            let place = Place::Target(key.clone(), position);
            standing.add(&problem.controller, *number, place, is_held(problem));
        }
        if !problems.is_empty() {
            self.targets.insert(key.clone(), problems);
        }
        old
    }

    /// Forgets that a write to a view was refused.
    pub(super) fn clear_view(&mut self, key: &ObjectKey) {
        if let Some((number, controller, _)) = self.views.remove(key) {
            let place = Place::View(key.clone());
            self.standing.remove(&controller, number, place, false);
        }
    }
}

fn is_held(problem: &Problem) -> bool {
    problem.cause == Cause::DeletionHeld
}

impl OwnErrors {
    fn read(controller: &str, task: &ControllerTask, numbers: &mut ErrorNumbers) -> Self {
        let failed = task.circuit.errors();
        let unreadable = task.unreadable().iter();
        let objects = unreadable
            .clone()
            .map(|((input, name), _)| ErrorSite::Object(*input, name.clone()));
        let sites = objects.chain(failed.iter().map(ErrorSite::from)).collect();
        let numbers = numbers.current(controller, sites);
        let unreadable =
            unreadable.map(|(object, why)| OwnError::Unreadable(object.clone(), why.clone()));
        let errors = unreadable.chain(failed.into_iter().map(OwnError::Failed));
        let count = numbers.len();
        let newest = newest(numbers.into_iter().zip(errors).collect()).collect();
        Self {
            revision: task.revision(),
            count,
            newest,
        }
    }
}
