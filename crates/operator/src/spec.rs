//! The spec of an Operator, read from a manifest with all its problems.

mod reader;

use std::time::Duration;

use dataflow::Pipeline;
use dataflow::fields::{self, Header, HeaderFields, Intake, Keep};
use document::{Location, Path, Value, json};
use expr::Functions;
use object::{KindRef, LabelSelector};

use crate::predicate::Predicate;
use crate::problem::{Problem, Severity};

/// An Operator, ready to run.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its name, a DNS label.
    pub name: String,
    /// What becomes of derived objects when it is deleted.
    pub deletion_policy: DeletionPolicy,
    /// The account whose rights it has.
    pub service_account: Option<ServiceAccount>,
    /// How many objects may be removed at once of those that a controller left which is
    /// not in the spec any more. For the others it is in their [`Options`].
    pub max_deletions: Option<MaxDeletions>,
    /// Its controllers.
    pub controllers: Vec<Controller>,
}

impl Operator {
    /// The controllers in topological order of what they read and write; within a cycle
    /// in the order of the spec.
    pub fn order(&self) -> Vec<usize> {
        let controllers = &self.controllers;
        let mut order: Vec<usize> = Vec::new();
        while order.len() < controllers.len() {
            let waiting = |i: &usize| !order.contains(i);
            let ready = (0..controllers.len()).filter(waiting).find(|&i| {
                (0..controllers.len())
                    .filter(waiting)
                    .all(|j| j == i || !controllers[j].feeds(&controllers[i]))
            });
            let next = ready.or_else(|| (0..controllers.len()).find(waiting));
            order.extend(next);
        }
        order
    }
}

/// `spec.deletionPolicy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// Derived objects stay.
    #[default]
    Orphan,
    /// Derived objects are deleted.
    Delete,
}

/// `spec.serviceAccount`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A controller: sources, a pipeline, targets.
#[derive(Clone, Debug)]
pub struct Controller {
    /// Its name, unique in the Operator.
    pub name: String,
    /// All sources; those without pipeline input too.
    pub sources: Vec<Source>,
    /// For each source of the pipeline, its position in `sources`.
    pub inputs: Vec<usize>,
    /// What it computes.
    pub pipeline: Pipeline,
    /// Where the results go.
    pub targets: Vec<Target>,
    /// How it runs.
    pub options: Options,
    /// Where it stands in the manifest.
    pub at: Location,
}

impl Controller {
    /// Whether another controller (or this one) reads a kind that this one writes.
    pub fn feeds(&self, reader: &Self) -> bool {
        self.targets.iter().any(|target| {
            reader.inputs.iter().any(|input| {
                let source = &reader.sources[*input].resource;
                source.group == target.resource.group && source.kind == target.resource.kind
            })
        })
    }
}

impl Controller {
    /// For each source of the pipeline, what is stored of its objects.
    pub fn keeps(&self) -> Vec<Keep> {
        let fields = fields::needs(&self.pipeline);
        let inputs = self.inputs.iter().zip(&fields);
        inputs
            .map(|(source, fields)| Keep::new(fields, self.intake(&self.sources[*source])))
            .collect()
    }

    /// What its pipeline sees of the objects of a source.
    fn intake(&self, source: &Source) -> Intake {
        let owners = ["metadata", "ownerReferences"];
        let mut targets = 0..self.targets.len();
        Intake {
            view: source.resource.is_view(),
            secret: source.resource.is_secret(),
            versions: self.pipeline.reads_versions,
            uid: targets.any(|target| self.pipeline.may_yield(target, &owners)),
        }
    }
}

/// Something that a controller reads.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it watches.
    pub resource: KindRef,
    /// Its name in the pipeline: the Kind, or what `as` says.
    pub name: String,
    /// Only objects of this namespace.
    pub namespace: Option<String>,
    /// Only objects with these labels.
    pub selector: Option<LabelSelector>,
    /// Only these updates.
    pub predicate: Option<Predicate>,
    /// How it reads.
    pub kind: SourceKind,
}

impl Source {
    /// Whether it reads this object at all, by namespace and labels.
    pub fn admits(&self, object: &Header) -> bool {
        let (namespace, selector) = (self.namespace.as_deref(), self.selector.as_ref());
        namespace.is_none_or(|namespace| object.namespace.as_str() == Some(namespace))
            && selector.is_none_or(|selector| selector.admits_labels(&object.labels))
    }

    /// What it has to know of the objects to decide which of them it reads.
    pub fn header(&self) -> HeaderFields {
        let predicate = self.predicate.as_ref();
        let mut header = predicate.map_or_else(HeaderFields::default, Predicate::header);
        header.labels |= self.selector.is_some();
        header
    }

    /// The object that stands for a start, for a `OneShot` source.
    pub fn one_shot(&self) -> Value {
        json!({
            "apiVersion": (self.resource.api_version()),
            "kind": (self.resource.kind.as_str()),
            "metadata": {"name": ONE_SHOT},
        })
    }
}

/// The name of the object of a `OneShot` source.
pub const ONE_SHOT: &str = "one-shot-trigger";

/// `type` of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// All objects, and every change.
    Watcher,
    /// One object at the start.
    OneShot,
    /// No input: a tick on which targets are repaired.
    Periodic(Duration),
}

/// Something that a controller writes.
#[derive(Clone, Debug)]
pub struct Target {
    /// What it writes.
    pub resource: KindRef,
    /// How it writes.
    pub kind: TargetType,
    /// Whether an object that nobody claims may be taken over.
    pub refuse_existing: bool,
    /// Whether fields of other managers are taken.
    pub force: bool,
    /// Whether an immutable field may be changed by deleting and creating.
    pub recreate: bool,
    /// Fields that belong to others.
    pub ignore: Vec<Path>,
    /// The places of the output where `null` is written in the pipeline: a Patcher
    /// removes these fields.
    pub written_nulls: Vec<Vec<String>>,
    /// The keys of `data` whose value is written in the pipeline, for Secrets.
    pub literal_data: Vec<String>,
}

/// `type` of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetType {
    /// Creates and replaces objects.
    #[default]
    Updater,
    /// Merges into objects that exist.
    Patcher,
    /// Server-side apply.
    Applier,
}

/// `options` of a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How long triggers are collected.
    pub debounce: Duration,
    /// How many objects are written at once.
    pub concurrency: usize,
    /// How often everything is compared anew.
    pub resync: Option<Duration>,
    /// The first pause after a failed write.
    pub retry_initial: Duration,
    /// The longest pause after failed writes.
    pub retry_max: Duration,
    /// How many objects a list, a re-list or an edit may remove: its own
    /// `maxDeletions`, or that of the spec.
    pub max_deletions: Option<MaxDeletions>,
}

/// `maxDeletions`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxDeletions {
    /// So many.
    Count(u32),
    /// This share of what there was before.
    Percent(u8),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            debounce: Duration::ZERO,
            concurrency: 16,
            resync: None,
            retry_initial: Duration::from_millis(500),
            retry_max: Duration::from_mins(5),
            max_deletions: None,
        }
    }
}

/// Reads an Operator. All problems are given; without an error among them, there is an
/// Operator.
pub fn read(manifest: &Value, table: &Functions) -> (Option<Operator>, Vec<Problem>) {
    let mut reader = reader::SpecReader::new(table);
    let operator = reader.operator(manifest);
    let problems = reader.problems;
    let refused = problems
        .iter()
        .any(|problem| problem.severity == Severity::Error);
    (operator.filter(|_| !refused), problems)
}

/// Whether a manifest says that it is an Operator.
pub fn is_operator(manifest: &Value) -> bool {
    manifest.get("kind").as_str() == Some("Operator")
        && manifest
            .get("apiVersion")
            .as_str()
            .is_some_and(|version| object::group_of(version) == "dcontroller.io")
}
