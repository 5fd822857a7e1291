//! Who else yields an object, and what keeps it from being written.
//!
//! Of several origins the first is written; of several Updaters that of the first controller. The others
//! wait, unless they yield the same. A Patcher waits for its object.

use std::collections::{BTreeMap, BTreeSet};

use dataflow::{Origin, TargetChange};
use object::{ObjectKey, ObjectName};
use operator::spec::TargetType;

use crate::reason::{StagePlace, first_few};
use crate::story::{Story, TargetObject};

/// The Updater that is written instead of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) object: TargetObject,
    /// Whether it yields the same object.
    pub(crate) same: bool,
}

impl Story<'_> {
    /// Why an object is not written as a target yields it, in words; `None` if nothing prevents it.
    pub fn waits(&self, object: &TargetObject) -> Option<String> {
        let missing = self.waits_for_object(object);
        missing.or_else(|| {
            let rival = self.rival(object).filter(|rival| !rival.same)?;
            let name = self.target_name(object);
            let first = &self.controller(rival.object.controller).name;
            Some(format!(
                "{name} is also written by controller {first}, which comes first (conflict)"
            ))
        })
    }

    /// Whether a Patcher waits for an object that does not exist, in words.
    pub fn waits_for_object(&self, object: &TargetObject) -> Option<String> {
        let existing = self.existing?;
        let waits = self.target_type(object) == TargetType::Patcher
            && !existing.contains(&self.target_key(object));
        waits.then(|| {
            let name = self.target_name(object);
            format!("{name} does not exist, and a Patcher creates nothing")
        })
    }

    /// All objects that a controller yields.
    pub fn outputs(&self, controller: usize) -> impl Iterator<Item = TargetObject> {
        let outputs = self.recordings[controller].outputs.iter();
        outputs.map(move |output| TargetObject {
            controller,
            target: output.target,
            name: output.key.clone(),
        })
    }

    /// The Updater that is written, if it is another one.
    pub(crate) fn rival(&self, object: &TargetObject) -> Option<Rival> {
        if self.target_type(object) != TargetType::Updater {
            return None;
        }
        let first = (self.first_updaters).get_or_init(|| self.all_first_updaters());
        let first = first.get(&self.target_key(object))?;
        // One that refuses objects of others may wait itself.
        let refuses = self.controller(first.controller).targets[first.target].refuse_existing;
        if first == object || refuses {
            return None;
        }
        let document = |object| self.output(object).map(|output| &output.new);
        Some(Rival {
            object: first.clone(),
            same: document(first) == document(object),
        })
    }

    fn all_first_updaters(&self) -> BTreeMap<ObjectKey, TargetObject> {
        let mut first = BTreeMap::new();
        for controller in 0..self.recordings.len() {
            let updaters: BTreeSet<TargetObject> = self
                .outputs(controller)
                .filter(|object| self.target_type(object) == TargetType::Updater)
                .collect();
            for object in updaters {
                first.entry(self.target_key(&object)).or_insert(object);
            }
        }
        first
    }

    fn target_type(&self, object: &TargetObject) -> TargetType {
        self.controller(object.controller).targets[object.target].kind
    }

    pub(crate) fn target_key(&self, object: &TargetObject) -> ObjectKey {
        ObjectKey {
            kind: self.target_kind(object.controller, object.target),
            name: object.name.clone(),
        }
    }

    fn output(&self, object: &TargetObject) -> Option<&TargetChange> {
        let mut outputs = self.recordings[object.controller].outputs.iter();
        outputs.find(|output| output.target == object.target && output.key == object.name)
    }

    /// The object that a document at the end of a branch becomes although another origin is written,
    /// with that origin.
    pub(crate) fn merged(
        &self,
        place: StagePlace,
        origin: &Origin,
    ) -> Option<(TargetObject, &Origin)> {
        let provenance = self.provenance(place.controller);
        let stages = &self.recordings[place.controller].branches[place.branch].stages;
        let at_end = place.stage == stages.len();
        let document = provenance
            .document(place.before(), origin)
            .filter(|_| at_end)?;
        let object = TargetObject {
            controller: place.controller,
            target: self.branch_target(place)?,
            name: ObjectName::of(document)?,
        };
        let written = &self.output(&object)?.origin;
        Some((object, written))
    }

    /// The other origins that yield the same object, in words; `None` if there are none.
    pub(crate) fn also_yielded(&self, object: &TargetObject) -> Option<String> {
        let all = self.other_origins(object);
        let name = |origin: &&Origin| self.origin(object.controller, origin);
        (!all.is_empty()).then(|| first_few(&all, name))
    }

    /// The origins of documents that are merged with the one that is written.
    fn other_origins(&self, object: &TargetObject) -> Vec<&Origin> {
        let controller = object.controller;
        let recording = &self.recordings[controller];
        let written = (self.provenance(controller)).output(object.target, &object.name);
        let mut found = Vec::new();
        for (branch, recorded) in recording.branches.iter().enumerate() {
            let place = StagePlace {
                controller,
                branch,
                stage: recorded.stages.len(),
            };
            if self.branch_target(place) != Some(object.target) {
                continue;
            }
            for (origin, document) in recorded.last().into_iter().flatten() {
                let same_name = ObjectName::of(document).as_ref() == Some(&object.name);
                let is_written = || {
                    let written = written.as_ref();
                    written.is_some_and(|(at, one)| (*at, one) == (place.before(), origin))
                };
                if same_name && !is_written() && !self.failed_at_end(place, origin) {
                    found.push(origin);
                }
            }
        }
        found
    }

    /// Whether a document is in error at the output of its branch: it is no object, or loses a conflict.
    fn failed_at_end(&self, place: StagePlace, origin: &Origin) -> bool {
        let recording = &self.recordings[place.controller];
        // Errors of outputs name the branch, if there are several.
        let named = usize::from(recording.branches.len() > 1);
        recording.errors.iter().any(|error| {
            (error.branch, error.stage) == (place.branch, place.stage)
                && error.origin.components().get(named..) == Some(origin.components())
        })
    }
}
