//! What the controllers of one Operator want of one object.
//!
//! Writers have the rank of their controller; origins within one controller are ranked by the
//! circuit. The first Updater is written, other Updaters wait. Patchers and Appliers add layers
//! to it. If two of them set a field to different values, that is a conflict, and the first one
//! gets the field:
//!
//! ```text
//! Updater  a: 1  b: 1
//! Patcher        b: 2  c: 2
//! Applier              c: 3  d: 3     conflict: c is set by the Patcher
//! object   a: 1  b: 2  c: 2  d: 3
//! ```

mod prepare;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::places::{Appended, Unplaced, place};
use document::Value;
use fieldset::{Contest, FieldPath, MergeKeys, is_relative, leaves, merge};
use object::marks::{field_manager, set_annotation};
use object::{ObjectKey, OperatorId};
use operator::spec::{Target, TargetType};

use prepare::prepare;
pub use prepare::with_valid_owners;

use super::TargetKind;
use super::problem::{Cause, Conflict, Problem};
use super::written::Written;
use fieldset::compare::equal;

/// A target of a controller, as a writer.
#[derive(Clone, Debug)]
pub struct Author {
    /// The Operator.
    pub operator: OperatorId,
    /// The controller.
    pub controller: String,
    /// The position of the controller in the Operator; the lowest comes first.
    pub rank: usize,
    /// The kind and the type of the target.
    pub target: Target,
    /// The field manager of its writes.
    pub manager: String,
    /// The annotation with its record.
    pub set: String,
}

impl Author {
    /// A target of a controller.
    pub fn new(operator: &OperatorId, controller: &str, rank: usize, target: Target) -> Self {
        Self {
            operator: operator.clone(),
            controller: controller.to_owned(),
            rank,
            target,
            manager: field_manager(&operator.name, controller),
            set: set_annotation(&operator.name, controller),
        }
    }
}

/// A source object in the origin of a document, which may be an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its uid.
    pub uid: String,
    /// Its namespace; `""` if it is cluster-scoped.
    pub namespace: String,
}

/// A document that a controller derives for an object.
#[derive(Clone, Debug)]
pub struct Desired {
    /// The writer.
    pub author: Arc<Author>,
    /// The document.
    pub document: Value,
    /// The origin: objects, positions, or the key of a group.
    pub origin: Value,
    /// The source objects in the origin, if the document has owner references.
    pub owners: Arc<[Owner]>,
}

impl Desired {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.author, &other.author)
            && self.document == other.document
            && self.origin == other.origin
            && self.owners == other.owners
    }

    /// A problem of this document.
    pub fn problem(&self, cause: Cause) -> Problem {
        Problem {
            controller: self.author.controller.clone(),
            origin: self.origin.clone(),
            cause,
        }
    }
}

/// Everything that is wanted of an object.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Sorted by rank; one for each controller.
    writers: Vec<Desired>,
    /// The controllers that no longer want the object, until their values are removed.
    withdrawn: BTreeSet<String>,
    /// The controllers that no longer yield the object but still patch it, until their claim is
    /// released.
    released: BTreeSet<String>,
}

impl Wanted {
    /// Whether the same writers want the same.
    pub fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.writers.iter().zip(&other.writers);
        self.withdrawn == other.withdrawn
            && self.released == other.released
            && self.writers.len() == other.writers.len()
            && pairs.all(|(one, other)| one.is_same(other))
    }

    /// Sets what a controller wants. Returns whether it has changed.
    pub fn want(&mut self, desired: Desired) -> bool {
        let controller = &desired.author.controller;
        self.withdrawn.remove(controller);
        if self.writers.iter().any(|other| other.is_same(&desired)) {
            return false;
        }
        self.writers
            .retain(|other| other.author.controller != *controller);
        let rank = |desired: &Desired| (desired.author.rank, desired.author.controller.clone());
        let at = self
            .writers
            .partition_point(|other| rank(other) < rank(&desired));
        // Most objects have one writer, and a vector would grow to four.
        self.writers.reserve_exact(1);
        self.writers.insert(at, desired);
        true
    }

    /// Records that a controller no longer wants the object. Returns whether that is new.
    pub fn withdraw(&mut self, controller: &str) -> bool {
        self.writers
            .retain(|desired| desired.author.controller != controller);
        self.withdrawn.insert(controller.to_owned())
    }

    /// Records that the claim of a controller may be released: it only patches the object since
    /// its target has another type. Returns whether that is new.
    pub fn release(&mut self, controller: &str) -> bool {
        self.released.insert(controller.to_owned())
    }

    /// Whether the claim of a controller may be released.
    pub(crate) fn is_released(&self, controller: &str) -> bool {
        self.is_withdrawn(controller) || self.released.contains(controller)
    }

    /// Whether a controller no longer wants the object, and its values may be removed.
    pub fn is_withdrawn(&self, controller: &str) -> bool {
        self.withdrawn.contains(controller)
    }

    /// Records that the values of withdrawn controllers are removed.
    pub fn settle(&mut self) {
        self.withdrawn.clear();
        self.released.clear();
    }

    /// Whether no controller wants the object or has values on it.
    pub fn is_empty(&self) -> bool {
        self.writers.is_empty() && self.withdrawn.is_empty()
    }

    /// The first of the withdrawn controllers, or `""`.
    pub fn first_withdrawn(&self) -> &str {
        self.withdrawn.first().map_or("", String::as_str)
    }

    /// The controllers that want this object, or have values on it that are still to be
    /// removed.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        let writers = self
            .writers()
            .map(|desired| desired.author.controller.as_str());
        writers.chain(self.withdrawn.iter().map(String::as_str))
    }

    /// Whether values of a withdrawn controller are still to be removed.
    pub fn has_withdrawn(&self) -> bool {
        !self.withdrawn.is_empty() || !self.released.is_empty()
    }

    /// The writers, by rank.
    pub fn writers(&self) -> impl Iterator<Item = &Desired> {
        self.writers.iter()
    }

    /// Whether a controller wants this object.
    pub fn is_wanted_by(&self, controller: &str) -> bool {
        self.writers()
            .any(|desired| desired.author.controller == controller)
    }

    /// The origin of the document that a controller wants.
    pub fn origin_of(&self, controller: &str) -> Option<&Value> {
        let mut writers = self.writers();
        let desired = writers.find(|desired| desired.author.controller == controller);
        desired.map(|desired| &desired.origin)
    }

    /// Whether a controller yields this object, and does not only patch it.
    pub fn is_yielded_by(&self, controller: &str) -> bool {
        self.writers().any(|desired| {
            let author = &desired.author;
            author.controller == controller && author.target.kind != TargetType::Patcher
        })
    }

    /// Whether an Updater wants this object.
    pub(crate) fn has_updater(&self) -> bool {
        self.has(TargetType::Updater)
    }

    /// Whether an Applier wants this object.
    pub(crate) fn has_applier(&self) -> bool {
        self.has(TargetType::Applier)
    }

    fn has(&self, kind: TargetType) -> bool {
        self.writers()
            .any(|desired| desired.author.target.kind == kind)
    }

    /// Whether a controller adds a layer to the document of another controller's Updater.
    pub fn is_layer(&self, controller: &str) -> bool {
        let is_updater = |desired: &Desired| desired.author.target.kind == TargetType::Updater;
        let own = |desired: &Desired| desired.author.controller == controller;
        self.writers().any(|one| own(one) && !is_updater(one))
            && self.writers().any(|one| !own(one) && is_updater(one))
    }

    /// The leaves that Patchers and Appliers set on an object, which is null if it does not exist.
    pub(crate) fn leaves(
        &self,
        key: &ObjectKey,
        kind: &TargetKind,
        live: &Value,
    ) -> Vec<(FieldPath, Value)> {
        let ranking = self.ranking(key, kind, live);
        let layers = ranking.layers.iter();
        layers
            .flat_map(|layer| leaves(&layer.document, &kind.keys))
            .collect()
    }

    /// The writers of an object by rank, and their conflicts. The object is null if it does not
    /// exist.
    pub(crate) fn ranking(&self, key: &ObjectKey, kind: &TargetKind, live: &Value) -> Ranking<'_> {
        let mut ranking = Ranking::default();
        for desired in self.writers() {
            let document = prepare(desired, key, &mut ranking.problems);
            let layer = Layer {
                desired,
                document,
                added: Vec::new(),
            };
            if desired.author.target.kind != TargetType::Updater {
                ranking.layers.push(layer);
                continue;
            }
            match &ranking.updater {
                None => ranking.updater = Some(layer),
                Some(first) if equal(&first.document, &layer.document) => {}
                Some(first) => {
                    let conflict = Conflict::Object {
                        winner: first.desired.author.controller.clone(),
                        origin: first.desired.origin.clone(),
                    };
                    let problem = desired.problem(Cause::Conflict(conflict));
                    ranking.problems.push(problem);
                }
            }
        }
        ranking.place(key, kind, live);
        ranking.contest(&kind.keys);
        ranking
    }
}

/// What to write to one object: its writers by rank.
#[derive(Debug, Default)]
pub(crate) struct Ranking<'a> {
    /// The Updater that is written.
    pub(crate) updater: Option<Layer<'a>>,
    /// Patchers and Appliers by rank, without the fields that they lost.
    pub(crate) layers: Vec<Layer<'a>>,
    pub(crate) problems: Vec<Problem>,
}

/// A writer, with the document to send.
#[derive(Debug)]
pub(crate) struct Layer<'a> {
    pub(crate) desired: &'a Desired,
    /// For an Updater and an Applier: the fields, with labels, annotations and ownerReferences.
    /// For a Patcher: the patch, in which null removes. Without the fields that only identify
    /// the object.
    pub(crate) document: Value,
    /// The list elements without key fields that it appends.
    pub(crate) added: Vec<FieldPath>,
}

impl Layer<'_> {
    /// What it sets; without the status unless it may set that.
    pub(crate) fn patch(&self, with_status: bool) -> Value {
        match self.document.as_map() {
            Some(fields) if !with_status => fields.without("status").into(),
            _ => self.document.clone(),
        }
    }
}

impl Ranking<'_> {
    /// Gives appended list elements their positions in the document of the Updater or the object.
    fn place(&mut self, key: &ObjectKey, kind: &TargetKind, live: &Value) {
        let mut layers = self.layers.iter();
        let Some(first) = layers.find(|layer| is_relative(&layer.document)) else {
            return;
        };
        let records = Written::of_operator(live, &first.desired.author.operator, key);
        let (mut base, has_updater) = (live.clone(), self.updater.is_some());
        let mut patches: Vec<&mut Layer<'_>> = self.layers.iter_mut().collect();
        if let Some(updater) = &self.updater {
            base = updater.document.clone();
            // As `folded` merges them.
            patches.reverse();
        }
        let patches = patches.into_iter().map(|layer| {
            let author = &layer.desired.author;
            let own = |one: &&Written| one.controller == author.controller && !has_updater;
            let own = records.iter().find(own);
            Unplaced {
                patch: &mut layer.document,
                added: &mut layer.added,
                in_place: author.target.in_place,
                before: own.map(Appended::Written),
            }
        });
        place(&base, &mut patches.collect::<Vec<_>>(), &kind.keys);
    }

    /// Removes from each layer the fields that earlier layers set.
    fn contest(&mut self, keys: &MergeKeys) {
        let mut contest = Contest::new(keys);
        for i in 0..self.layers.len() {
            let layer = &mut self.layers[i];
            let applies = layer.desired.author.target.kind == TargetType::Applier;
            for (place, winner) in contest.enter(&mut layer.document, i, applies) {
                let winner = self.layers[winner].desired;
                let conflict = Conflict::Field {
                    field: place.to_string(),
                    winner: winner.author.controller.clone(),
                    origin: winner.origin.clone(),
                };
                let problem = self.layers[i].desired.problem(Cause::Conflict(conflict));
                self.problems.push(problem);
            }
        }
    }

    /// The document of the Updater with all layers, the first on top. A status that is written
    /// separately has no layers; see [`Ranking::layered_status`].
    pub(crate) fn folded(&self, kind: &TargetKind) -> Option<Value> {
        let base = self.updater.as_ref()?.document.clone();
        let layers = self.layers.iter().rev();
        let merged = layers.fold(base, |base, layer| {
            merge(&base, &layer.patch(!kind.status), &kind.keys)
        });
        Some(merged)
    }

    /// The status that the layers set, the first on top; null if they set none.
    pub(crate) fn layered_status(&self, keys: &MergeKeys) -> Value {
        let layers = self.layers.iter().rev();
        let statuses = layers.map(|layer| layer.document.get("status"));
        let given = statuses.filter(|status| !status.is_null());
        given.fold(Value::NULL, |all, status| {
            if all.is_null() {
                status.clone()
            } else {
                merge(&all, status, keys)
            }
        })
    }
}
