//! Source objects that cannot be read.
//!
//! The pipeline keeps the last version that could be read, so that what is derived from the
//! object stays. After a restart there is none, and the object must not count as absent:
//! what was derived from it is not swept (`sweep`), and nothing is written over it, as a
//! list without its element, a tuple without its soft partner, or what would come next.

use std::collections::{BTreeMap, BTreeSet};

use cluster::object::Unreadable;
use dataflow::Origin;
use dataflow::pipeline::StageKind;
use document::Value;
use object::{ObjectKey, ObjectName};
use operator::Controller;

use super::Task;
use crate::inbox::UnreadableObjects;
use crate::status::ReportedError;
use crate::writer::Writer;

/// An object of an input, as origins name it.
fn origin(controller: &Controller, input: usize, name: &ObjectName) -> Value {
    let origin = Origin::object(u32::try_from(input).unwrap_or(u32::MAX), name.clone());
    origin.describe(&controller.pipeline.sources)
}

/// Whether an origin names an object for which `is_one` holds. A source that an edit of the
/// Operator has renamed may be any of those that there are now.
pub(super) fn names(
    sources: &[String],
    origin: &Value,
    is_one: impl Fn(&(usize, ObjectName)) -> bool,
) -> bool {
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

/// The error of an object that cannot be read.
pub(super) fn reported(
    controller: &Controller,
    (input, name): &(usize, ObjectName),
    why: &Unreadable,
) -> ReportedError {
    ReportedError {
        code: Unreadable::CODE.to_owned(),
        stage: format!("sources[{}]", controller.inputs[*input]),
        origin: origin(controller, *input, name),
        message: format!("{why}; what is derived from it stays as it was"),
    }
}

/// Whether a pipeline has a stage whose output stands for many objects.
pub(super) fn groups(controller: &Controller) -> bool {
    let mut stages = stages(controller);
    stages.any(StageKind::groups)
}

/// Whether a pipeline derives something else, not just less, where an object is missing.
fn combines(controller: &Controller) -> bool {
    let mut stages = stages(controller);
    stages.any(|stage| stage.groups() || stage.is_soft())
}

fn stages(controller: &Controller) -> impl Iterator<Item = &StageKind> {
    let branches = controller.pipeline.branches.iter();
    let stages = branches.flat_map(|branch| &branch.stages);
    stages.map(|stage| &stage.kind)
}

/// What a controller must not write over, because it has not read all since it started.
#[derive(Debug, Default)]
pub(super) struct Unread {
    /// The other controllers, who have read all that they wrote.
    others: Vec<String>,
    /// The names of its sources.
    sources: Vec<String>,
    /// The objects that have not been read, by input and name.
    objects: BTreeSet<(usize, ObjectName)>,
    /// Whether they may be in all that it derived.
    in_all: bool,
}

impl Unread {
    /// Whether what is on an object was derived from something that has not been read.
    pub(super) fn protects(&self, writer: &Writer, key: &ObjectKey) -> bool {
        if self.objects.is_empty() && !self.in_all {
            return false;
        }
        // Until the target watch is complete, nobody knows.
        let Some(marks) = writer.marks(key) else {
            return true;
        };
        let mut ours = marks
            .iter()
            .filter(|mark| !self.others.contains(&mark.controller));
        let is_one = |object: &(usize, ObjectName)| self.objects.contains(object);
        ours.any(|mark| self.in_all || names(&self.sources, &mark.origin, is_one))
    }
}

impl Task {
    /// Takes note of all objects that cannot be read now, and reports those that could be
    /// read before.
    pub(super) fn cannot_read(&mut self, unreadable: UnreadableObjects) {
        let mut of_controllers = vec![BTreeMap::new(); self.controllers.len()];
        for (((number, input), name), why) in unreadable {
            of_controllers[number].insert((input, name), why);
        }
        let tasks = self.controllers.iter_mut().zip(of_controllers);
        for ((task, now), controller) in tasks.zip(&self.operator.controllers) {
            let before = std::mem::replace(&mut task.unreadable, now);
            let task = &*task;
            if before
                .keys()
                .any(|object| !task.unreadable.contains_key(object))
            {
                self.sweep.error_gone();
            }
            let news = task.unreadable.iter();
            for (object, why) in news.filter(|(object, why)| before.get(*object) != Some(*why)) {
                self.problem_log.unreadable(controller, object, why);
            }
        }
    }

    /// What a controller has not read since it started.
    pub(super) fn unread(&self, number: usize) -> Unread {
        let controllers = &self.operator.controllers;
        let never_read = |number: usize| {
            let task = &self.controllers[number];
            let objects = task.unreadable.keys();
            objects.filter(|(input, name)| !task.circuit.holds(*input, name))
        };
        if self
            .controllers
            .iter()
            .all(|task| task.unreadable.is_empty())
        {
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
        }
    }

    /// Writes what open controllers have derived, as far as that may be written now.
    pub(super) fn write_pending(&mut self) {
        for number in 0..self.controllers.len() {
            let task = &mut self.controllers[number];
            if !task.open || task.pending.is_empty() {
                continue;
            }
            let pending = std::mem::take(&mut task.pending);
            let unread = self.unread(number);
            let controller = &self.operator.controllers[number];
            for (key, desired) in pending {
                if unread.protects(&self.writes.writer, &key) {
                    self.controllers[number].pending.insert(key, desired);
                } else {
                    self.writes.want(&key, controller, desired);
                }
            }
        }
    }
}
