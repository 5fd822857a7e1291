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

use std::collections::{BTreeMap, BTreeSet};

use cluster::object::Unreadable;
use dataflow::Origin;
use dataflow::pipeline::StageKind;
use document::Value;
use object::{ObjectKey, ObjectName};
use operator::Controller;
use target::Desired;
use target::claim::is_opaque;

use super::Task;
use crate::forgotten::Forgotten;
use crate::inbox::UnreadableObjects;
use crate::status::ReportedError;
use crate::writer::Writer;

/// The origin that consists of one object of an input.
fn origin(controller: &Controller, input: usize, name: &ObjectName) -> Value {
    let origin = Origin::object(u32::try_from(input).unwrap_or(u32::MAX), name.clone());
    origin.describe(&controller.pipeline.sources)
}

/// Whether an origin may contain an object for which `is_one` holds. A source that no longer exists
/// may have been renamed, so its objects are looked up in all sources. An opaque origin may
/// contain any object.
pub(super) fn names(
    sources: &[String],
    origin: &Value,
    is_one: impl Fn(&(usize, ObjectName)) -> bool,
) -> bool {
    if is_opaque(origin) {
        return true;
    }
    let mut parts = origin.as_list().into_iter().flatten();
    parts.any(|part| {
        let Some(name) = part.get("name").as_str() else {
            return false;
        };
        let namespace = part.get("namespace").as_str().unwrap_or_default();
        let source = part.get("source").as_str();
        let is_source = |name: &String| Some(name.as_str()) == source;
        let inputs = match sources.iter().position(is_source) {
            Some(input) => input..input + 1,
            None => 0..sources.len(),
        };
        let mut objects = inputs.map(|input| (input, ObjectName::new(namespace, name)));
        objects.any(|object| is_one(&object))
    })
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
fn combines(controller: &Controller) -> bool {
    let mut stages = stages(controller);
    stages.any(|stage| stage.groups() || stage.is_soft())
}

fn stages(controller: &Controller) -> impl Iterator<Item = &StageKind> {
    let branches = controller.pipeline.branches.iter();
    let stages = branches.flat_map(|branch| &branch.stages);
    stages.map(|stage| &stage.kind)
}

/// The source objects that a controller has not read since it started. Their output must not be
/// overwritten.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    /// The other controllers, which have read everything that they wrote.
    others: Vec<String>,
    /// The names of its sources.
    sources: Vec<String>,
    /// The objects that have not been read, by input and name.
    objects: BTreeSet<(usize, ObjectName)>,
    /// Whether every output of the controller may depend on them.
    in_all: bool,
    /// The origins that are in error since the start.
    forgotten: Forgotten,
}

impl Unread {
    /// Whether no object is protected.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && !self.in_all && self.forgotten.is_empty()
    }

    /// Whether the content of a target object was derived from an object that has not been read, or
    /// from an origin in error that no longer knows it.
    pub(super) fn protects(
        &self,
        writer: &Writer,
        key: &ObjectKey,
        desired: Option<&Desired>,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        writer.await_delivery(key);
        // Unknown until the target watch has synced.
        let Some(marks) = writer.marks(key) else {
            return true;
        };
        let mut ours = marks
            .iter()
            .filter(|mark| !self.others.contains(&mark.controller));
        let is_one = |object: &(usize, ObjectName)| self.objects.contains(object);
        let wanted = desired.map(|desired| &desired.origin);
        let some = !self.objects.is_empty();
        ours.any(|mark| {
            self.in_all
                || (some && names(&self.sources, &mark.origin, is_one))
                || self.forgotten.protects(&mark.origin, wanted)
        })
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
            let task = &*task;
            if before
                .keys()
                .any(|object| !task.unreadable().contains_key(object))
            {
                self.sweep.error_gone();
            }
            let current = task.unreadable().iter();
            for (object, why) in current.filter(|(object, why)| before.get(*object) != Some(*why)) {
                self.problem_log.unreadable(controller, object, why);
            }
        }
    }

    /// The objects that a controller has not read since it started.
    pub(super) fn unread(&self, number: usize) -> Unread {
        let controllers = &self.operator.controllers;
        let never_read = |number: usize| {
            let task = &self.controllers[number];
            let objects = task.unreadable().keys();
            objects.filter(|(input, name)| !task.circuit.holds(*input, name))
        };
        let mut all = self.controllers.iter();
        let forgotten = &self.controllers[number].forgotten;
        if forgotten.is_empty() && all.all(|task| task.unreadable().is_empty()) {
            return Unread::default();
        }
        let controller = &controllers[number];
        let objects: BTreeSet<_> = never_read(number).cloned().collect();
        let feeders = self.graph.feeders(number).iter().copied();
        let mut upstream = feeders.clone();
        let lacks = upstream.any(|feeder| never_read(feeder).next().is_some());
        let mut chain = std::iter::once(number).chain(feeders);
        let others = controllers.iter().map(|other| &other.name);
        Unread {
            others: others
                .filter(|name| **name != controller.name)
                .cloned()
                .collect(),
            in_all: (!objects.is_empty() && groups(controller))
                || (lacks && chain.any(|number| combines(&controllers[number]))),
            sources: controller.pipeline.sources.clone(),
            objects,
            forgotten: forgotten.clone(),
        }
    }
}
