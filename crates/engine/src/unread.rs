//! Source objects that cannot be read.
//!
//! While a process runs, the circuit keeps the last readable version, so that the output of the
//! object stays. After a restart there is no such version, and the object must not be taken for
//! absent. What was derived from it is not swept (see [`sweep`](super::sweep)), and nothing
//! that is derived without it replaces what is there:
//!
//! ```text
//! Pods a, b ──▶ @gather ──▶ ConfigMap: [a, b]
//! restart, Pod b is unreadable: the output is [a], and is not written
//! ```
//!
//! The same holds for a tuple without its soft partner, and for another
//! origin that would take over the name.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::object::Unreadable;
use dataflow::Origin;
use dataflow::pipeline::StageKind;
use document::Value;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::Controller;
use operator::spec::TargetType;
use target::Desired;

use super::Task;
use crate::in_error::{Claimed, InError, Objects, kind_of};
use crate::inbox::UnreadableObjects;
use crate::kinds::writes;
use crate::status::ReportedError;
use crate::upstream::Loss;

/// The origin that consists of one object of an input.
fn origin(controller: &Controller, input: usize, name: &ObjectName) -> Value {
    let origin = Origin::object(u32::try_from(input).unwrap_or(u32::MAX), name.clone());
    origin.describe(&controller.pipeline.sources)
}

/// Whether two controllers write objects of the same kind.
fn share_a_kind(one: &Controller, other: &Controller) -> bool {
    let mut targets = one.targets.iter();
    targets.any(|target| writes(other, &target.resource.group_kind()))
}

/// The error for an object that cannot be read.
pub(super) fn reported(
    controller: &Controller,
    (input, name): &(usize, ObjectName),
    why: &Unreadable,
) -> ReportedError {
    ReportedError {
        code: Unreadable::CODE.to_owned(),
        stage: format!("sources[{}]", controller.inputs[*input]),
        origin: origin(controller, *input, name),
        message: format!("{why}; objects derived from it stay as they were"),
    }
}

/// Whether a pipeline has a stage whose output combines many objects.
pub(super) fn groups(controller: &Controller) -> bool {
    let mut stages = stages(controller);
    stages.any(StageKind::groups)
}

/// Whether a missing object changes the output of a pipeline, instead of only reducing it.
pub(super) fn combines(controller: &Controller) -> bool {
    let mut stages = stages(controller);
    stages.any(|stage| stage.groups() || stage.is_soft())
}

fn stages(controller: &Controller) -> impl Iterator<Item = &StageKind> {
    let branches = controller.pipeline.branches.iter();
    let stages = branches.flat_map(|branch| &branch.stages);
    stages.map(|stage| &stage.kind)
}

/// What a controller does not know since it started: objects that have not been read, and origins in
/// error that no longer know what they yielded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    /// The objects that have not been read.
    objects: Objects,
    /// The origins that are in error since the start.
    forgotten: Arc<InError>,
    /// Whether every output of the controller may depend on them.
    in_all: bool,
}

impl Unread {
    /// Whether nothing is unknown.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && !self.in_all && self.forgotten.is_empty()
    }

    /// Whether what is on a target object may be the output of the controller for what it does not
    /// know. `wanted` is the origin from which the object is to be written now, `own` whether the mark is
    /// one of the controller.
    pub(super) fn may_have_written(
        &self,
        kind: &GroupKind,
        mark: &Claimed<'_>,
        wanted: Option<&Claimed<'_>>,
        own: bool,
    ) -> bool {
        if own && (self.in_all || self.objects.may_be_in(mark)) {
            return true;
        }
        let same = || wanted.is_some_and(|wanted| mark.is(wanted));
        self.objects.has_one_of(mark) || (self.forgotten.covers(kind, mark) && !same())
    }
}

/// What is not known of the objects that a controller writes: by itself, and by others that write
/// objects of the same kinds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Doubts(Vec<(usize, Arc<Unread>)>);

impl Doubts {
    /// What a controller does not know.
    pub(super) fn of(&self, number: usize) -> Option<&Unread> {
        let mut all = self.0.iter();
        let found = all.find(|(controller, _)| *controller == number);
        found.map(|(_, unread)| unread.as_ref())
    }
}

impl Task {
    /// Stores which objects cannot be read now, and reports the new ones.
    pub(super) fn cannot_read(&mut self, unreadable: UnreadableObjects) {
        let mut of_controllers = vec![BTreeMap::new(); self.controllers.len()];
        for (((number, input), name), why) in unreadable {
            of_controllers[number].insert((input, name), why);
        }
        let tasks = self.controllers.iter_mut().zip(of_controllers);
        for ((task, now), controller) in tasks.zip(&self.operator.controllers) {
            let before = task.set_unreadable(now);
            let current = task.unreadable().iter();
            for (object, why) in current.filter(|(object, why)| before.get(*object) != Some(*why)) {
                self.problem_log.unreadable(controller, object, why);
            }
        }
    }

    /// What is not known of the objects that each controller writes.
    pub(super) fn doubts(&mut self) -> Vec<Doubts> {
        let losses = self.losses();
        let lossy = losses.iter().enumerate();
        let lossy = lossy.filter(|(_, loss)| **loss != Loss::Nothing);
        let unread: Vec<(usize, Arc<Unread>)> = lossy
            .map(|(number, loss)| (number, self.unread(number, *loss)))
            .filter(|(_, unread)| !unread.is_empty())
            .collect();
        let controllers = &self.operator.controllers;
        let all = controllers.iter().enumerate().map(|(number, controller)| {
            let unread = unread.iter();
            let concern =
                |other: usize| other == number || share_a_kind(controller, &controllers[other]);
            Doubts(
                unread
                    .filter(|(other, _)| concern(*other))
                    .cloned()
                    .collect(),
            )
        });
        all.collect()
    }

    /// What a controller does not know since it started.
    fn unread(&self, number: usize, loss: Loss) -> Arc<Unread> {
        let controller = &self.operator.controllers[number];
        let mut objects = Objects::default();
        for (input, name) in self.never_read(number) {
            objects.insert(kind_of(controller, *input), name);
        }
        Arc::new(Unread {
            objects,
            forgotten: self.controllers[number].forgotten.index().clone(),
            in_all: loss == Loss::Contents,
        })
    }

    /// The objects that cannot be read, and that a controller has not read since it started.
    fn never_read(&self, number: usize) -> impl Iterator<Item = &(usize, ObjectName)> {
        let task = &self.controllers[number];
        let objects = task.unreadable().keys();
        objects.filter(|(input, name)| !task.circuit.holds(*input, name))
    }

    /// What the output of a controller lacks because of its own sources and its own errors.
    pub(super) fn lost_by_errors(&self, number: usize) -> Loss {
        let forgotten = &self.controllers[number].forgotten;
        let unread = self.never_read(number).next().is_some();
        let combined = unread && groups(&self.operator.controllers[number]);
        if combined || forgotten.is_combined() {
            return Loss::Contents;
        }
        if unread || !forgotten.is_empty() {
            return Loss::Objects;
        }
        Loss::Nothing
    }

    /// Whether a controller has to wait with an object, because that was derived from what it does not
    /// know, or an earlier generation of it did not know.
    pub(super) fn is_unread(
        &self,
        number: usize,
        doubts: &Doubts,
        key: &ObjectKey,
        desired: Option<&Desired>,
    ) -> bool {
        let Some(unread) = doubts.of(number) else {
            return false;
        };
        let writer = &self.writes.writer;
        writer.await_delivery(key);
        // Unknown until the target watch has synced.
        let Some(marks) = writer.marks(key) else {
            return true;
        };
        let controllers = &self.operator.controllers;
        let wanted = desired.map(|desired| Claimed::new(&desired.origin, controllers.get(number)));
        let updates = |desired: &Desired| desired.author.target.kind == TargetType::Updater;
        let replaces = desired.is_some_and(updates);
        marks.iter().any(|mark| {
            let by = self.controller_of(mark);
            // What another controller has written may be what this one derives since an edit.
            let own = by.is_none_or(|by| by == number);
            let claimed = Claimed::new(&mark.origin, by.and_then(|by| controllers.get(by)));
            (own || replaces) && unread.may_have_written(&key.kind, &claimed, wanted.as_ref(), own)
        })
    }
}
