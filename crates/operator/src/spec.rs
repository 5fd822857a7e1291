//! The Operator as it is read from a manifest.

pub(crate) mod reader;

use std::time::Duration;

use dataflow::fields::{self, Header, HeaderFields, Intake, Keep};
use dataflow::{Pipeline, Topology};
use document::{Location, Path, Value, json};
use expr::Functions;
use object::{Column, GroupKind, KindRef, LabelSelector};

use crate::places::Places;
use crate::predicate::Predicate;
use crate::problem::{Problem, Severity};
use crate::secrets::SecretParts;

/// A valid Operator.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its name, a DNS label.
    pub name: String,
    /// What happens to derived objects when it is deleted.
    pub deletion_policy: DeletionPolicy,
    /// The account that its requests impersonate.
    pub service_account: Option<ServiceAccount>,
    /// The limit on removing objects of controllers that are no longer in the spec. The limits of
    /// the current controllers are in their [`Options`].
    pub max_deletions: Option<MaxDeletions>,
    /// Its controllers.
    pub controllers: Vec<Controller>,
}

impl Operator {
    /// Says where the parts of its manifest are in a file. Run-time errors then name the place.
    pub fn set_places(&mut self, places: &Places) {
        for controller in &mut self.controllers {
            controller.places = places.clone();
        }
    }

    /// The controllers in topological order of the kinds that they read and write. Controllers of
    /// a cycle are in the order of the spec.
    pub fn order(&self) -> Vec<usize> {
        self.topology().order()
    }

    /// For each controller the other controllers that it reads from, directly or indirectly, in
    /// the order of the spec.
    pub fn feeders(&self) -> Vec<Vec<usize>> {
        self.topology().feeders()
    }

    /// Which controllers read the kinds that others write.
    pub(crate) fn topology(&self) -> Topology {
        Topology::new(self.controllers.iter().map(|controller| {
            let inputs = controller.inputs.iter();
            let sources = inputs.map(|input| controller.sources[*input].resource.group_kind());
            let targets = controller.targets.iter();
            let targets = targets.map(|target| target.resource.group_kind());
            (sources.collect::<Vec<GroupKind>>(), targets.collect())
        }))
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
    /// All sources, including those that are no input of the pipeline (Periodic).
    pub sources: Vec<Source>,
    /// For each source of the pipeline, its position in `sources`.
    pub inputs: Vec<usize>,
    /// The pipeline.
    pub pipeline: Pipeline,
    /// The kinds that it writes.
    pub targets: Vec<Target>,
    /// The settings of how it runs.
    pub options: Options,
    /// Its location in the manifest.
    pub at: Location,
    /// Where the parts of the manifest are in a file, if it was read from one.
    pub places: Places,
    /// The parts of its documents that may contain values of Secrets.
    pub secret_parts: SecretParts,
}

impl Controller {
    /// The inputs that read a kind.
    pub fn inputs_of<'a>(&'a self, kind: &'a KindRef) -> impl Iterator<Item = usize> + 'a {
        let inputs = self.inputs.iter().enumerate();
        let reads = move |(_, source): &(usize, &usize)| {
            let source = &self.sources[**source].resource;
            source.group == kind.group && source.kind == kind.kind
        };
        inputs.filter(reads).map(|(input, _)| input)
    }

    /// Whether one of its Patchers writes the kind of an input.
    pub fn patches_input(&self, input: usize) -> bool {
        let source = &self.sources[self.inputs[input]].resource;
        let mut in_place = self.targets.iter().filter(|target| target.in_place);
        in_place.any(|target| {
            target.resource.group == source.group && target.resource.kind == source.kind
        })
    }
}

impl Controller {
    /// For each source of the pipeline, the part of its objects that is stored.
    pub fn keeps(&self) -> Vec<Keep> {
        let fields = fields::needs(&self.pipeline);
        let inputs = self.inputs.iter().zip(&fields);
        inputs
            .map(|(source, fields)| Keep::new(fields, self.intake(&self.sources[*source])))
            .collect()
    }

    /// How the objects of a source enter the pipeline.
    fn intake(&self, source: &Source) -> Intake {
        let owners = ["metadata", "ownerReferences"];
        let mut targets = 0..self.targets.len();
        Intake {
            view: source.resource.is_view(),
            secret: source.resource.is_secret(),
            versions: self.pipeline.versions,
            uid: targets.any(|target| self.pipeline.may_yield(target, &owners)),
        }
    }
}

/// A kind of objects that a controller reads.
#[derive(Clone, Debug)]
pub struct Source {
    /// The kind.
    pub resource: KindRef,
    /// Its name in the pipeline: the value of `as`, or the Kind.
    pub name: String,
    /// The namespace of the objects; `None`: all.
    pub namespace: Option<String>,
    /// The labels that the objects must have; `None`: any.
    pub selector: Option<LabelSelector>,
    /// Which updates are passed on; `None`: all.
    pub predicate: Option<Predicate>,
    /// What the source delivers.
    pub kind: SourceKind,
}

impl Source {
    /// Whether namespace and labels of an object are those of this source.
    pub fn admits(&self, object: &Header) -> bool {
        let (namespace, selector) = (self.namespace.as_deref(), self.selector.as_ref());
        namespace.is_none_or(|namespace| object.namespace.as_str() == Some(namespace))
            && selector.is_none_or(|selector| selector.admits_labels(&object.labels))
    }

    /// The header fields that its selector and predicate compare.
    pub fn header(&self) -> HeaderFields {
        let predicate = self.predicate.as_ref();
        let mut header = predicate.map_or_else(HeaderFields::default, Predicate::header);
        header.labels |= self.selector.is_some();
        header
    }

    /// The object that a `OneShot` source delivers at the start.
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
    /// All objects and their changes.
    Watcher,
    /// One object at the start.
    OneShot,
    /// No objects: every period targets are compared and repaired.
    Periodic(Duration),
}

/// A kind of objects that a controller writes.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings that are independent of each other"
)]
pub struct Target {
    /// The kind.
    pub resource: KindRef,
    /// How objects are written.
    pub kind: TargetType,
    /// Whether an existing object without a claim is refused instead of adopted.
    pub refuse_existing: bool,
    /// Whether an Applier takes fields from other managers.
    pub force: bool,
    /// Whether an object is deleted and created again to change an immutable field.
    pub recreate: bool,
    /// Paths of fields that others manage.
    pub ignore: Vec<Path>,
    /// The columns in which a view is shown, beside name and age. Without any, they follow from
    /// the pipeline.
    pub columns: Vec<Column>,
    /// The paths of the output at which the pipeline has a literal `null`: a Patcher removes these
    /// fields.
    pub written_nulls: Vec<Vec<String>>,
    /// For Secrets: the keys of `data` whose value is a literal of the pipeline.
    pub literal_data: Vec<String>,
    /// Whether it is a Patcher whose controller reads the same kind, and so changes objects in
    /// place. Its controller does not see what it has set.
    pub in_place: bool,
    /// For a target whose objects are changed in place: the parts of them that its controller
    /// reads, one for each source of their kind.
    pub reads: Vec<Keep>,
}

impl Target {
    /// A target with default options.
    pub fn new(resource: KindRef, kind: TargetType) -> Self {
        Self {
            resource,
            kind,
            refuse_existing: false,
            force: false,
            recreate: false,
            ignore: Vec::new(),
            columns: Vec::new(),
            written_nulls: Vec::new(),
            literal_data: Vec::new(),
            in_place: false,
            reads: Vec::new(),
        }
    }
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

impl TargetType {
    /// Its name in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Updater => "Updater",
            Self::Patcher => "Patcher",
            Self::Applier => "Applier",
        }
    }
}

/// `options` of a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How long changes of an object are collected before it is written.
    pub debounce: Duration,
    /// How many objects are written at the same time.
    pub concurrency: usize,
    /// How often all targets are compared again.
    pub resync: Option<Duration>,
    /// The first pause after a failed write.
    pub retry_initial: Duration,
    /// The longest pause after failed writes.
    pub retry_max: Duration,
    /// How many objects a list, a re-list or an edit may remove: the controller's own
    /// `maxDeletions`, or that of the spec.
    pub max_deletions: Option<MaxDeletions>,
}

/// `maxDeletions`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxDeletions {
    /// This number of objects.
    Count(u32),
    /// This percentage of the objects before the removal.
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

/// Reads an Operator. Returns all problems and, unless one of them is an error, the Operator.
pub fn read(manifest: &Value, table: &Functions) -> (Option<Operator>, Vec<Problem>) {
    let (draft, problems) = Draft::read(manifest, table);
    let valid = draft.filter(Draft::is_valid);
    (valid.map(|draft| draft.operator), problems)
}

/// An Operator as far as it can be read: with mistakes, it can be checked further, but not run.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The Operator, without the controllers, sources and targets that cannot be read.
    pub operator: Operator,
    /// The locations of errors. A wrong expression is null in the Operator.
    pub(crate) broken: Vec<Location>,
    /// Whether all controllers, sources and targets are there.
    pub(crate) complete: bool,
}

impl Draft {
    /// Reads an Operator. Returns all problems and what could be read.
    pub fn read(manifest: &Value, table: &Functions) -> (Option<Self>, Vec<Problem>) {
        let mut reader = reader::SpecReader::new(table);
        let operator = reader.operator(manifest);
        let draft = operator.map(|operator| Self {
            operator,
            broken: reader.broken(),
            complete: !reader.incomplete,
        });
        (draft, reader.problems)
    }

    /// Whether the Operator has no errors.
    pub fn is_valid(&self) -> bool {
        self.broken.is_empty() && self.complete
    }
}

impl From<Operator> for Draft {
    fn from(operator: Operator) -> Self {
        Self {
            operator,
            broken: Vec::new(),
            complete: true,
        }
    }
}

/// Reads the name and the account of an Operator, whose controllers may be invalid. It gets none.
pub fn without_controllers(manifest: &Value) -> Result<Operator, Problem> {
    let table = Functions::builtin();
    let mut reader = reader::SpecReader::new(&table);
    let operator = reader.without_controllers(manifest);
    let mut errors = reader.problems.into_iter();
    let error = errors.find(|problem| problem.severity == Severity::Error);
    match (operator, error) {
        (Some(operator), None) => Ok(operator),
        (_, Some(error)) => Err(error),
        (None, None) => {
            let message = "the Operator has no valid name";
            Err(Problem::error("bad-name", &Location::root(), message))
        }
    }
}

/// The problem of a manifest whose `kind` is not Operator.
pub fn wrong_kind(manifest: &Value) -> Option<Problem> {
    let at = Location::root().key("kind");
    let (message, help) = match manifest.get("kind").as_str() {
        Some("Operator") => return None,
        None if manifest.get("kind").is_null() => {
            ("`kind` is missing".to_owned(), Some("add kind: Operator"))
        }
        None => ("`kind` must be the string Operator".to_owned(), None),
        Some(kind) => {
            let help = expr::nearest(kind, ["Operator"]).map(|_| "did you mean Operator?");
            (format!("expected kind Operator, found {kind}"), help)
        }
    };
    let problem = Problem::error("no-operator", &at, message);
    Some(match help {
        Some(help) => problem.with_help(help),
        None => problem,
    })
}

/// Whether `apiVersion` and `kind` of a manifest are those of an Operator.
pub fn is_operator(manifest: &Value) -> bool {
    manifest.get("kind").as_str() == Some("Operator")
        && manifest
            .get("apiVersion")
            .as_str()
            .is_some_and(|version| object::group_of(version) == object::GROUP)
}
