//! Typed checks: what a document looks like after every stage, from the schemas of the sources to
//! that of the target.
//!
//! ```text
//! Catalog ─▶ source ─▶ stage ─▶ … ─▶ output ─▶ target     its schema
//!                                       └────▶ view ─▶ source of other controllers
//! ```
//!
//! [`check`] is what `deltic check` runs. It may report too little, but never an error for a pipeline
//! that can work. Its work is bounded by a [`Budget`]: beyond it everything is unknown.

mod call;
mod cel;
mod columns;
mod compare;
mod fractions;
mod inference;
mod kinds;
mod matches;
mod patch;
mod path;
mod selector;
#[cfg(test)]
mod soundness;
mod stage;
mod target;
mod texts;
mod time;
mod whole;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use dataflow::pipeline::Input;
use document::{Key, Location, Value};
use object::{GroupKind, KindRef, VIEW_SUFFIX};
use schema::{Budget, Catalog, Fields, Found, KindSchema, Type};

use crate::problem::Problem;
use crate::spec::{Controller, Draft, Operator, Source, SourceKind, Target, TargetType};
use inference::Inference;

/// Checks Operators that are given together with their manifests. Returns the problems of each. An
/// Operator may read the views of the others.
pub fn check(operators: &[(&Draft, &Value)], catalog: &Catalog) -> Vec<Vec<Problem>> {
    let mut views = Views::new(operators.iter().map(|(draft, _)| &draft.operator));
    // Views of Operators that come later are unknown in the first round.
    for (draft, manifest) in operators {
        infer(draft, manifest, catalog, &mut views);
    }
    let complete = operators.iter().all(|(draft, _)| draft.complete);
    let results = operators
        .iter()
        .enumerate()
        .map(|(number, (draft, manifest))| {
            let operator = &draft.operator;
            let (mut problems, documents) = infer(draft, manifest, catalog, &mut views.clone());
            let mut before = operators[..number].iter();
            if before.any(|(other, _)| other.operator.name == operator.name) {
                problems.push(duplicate(&operator.name));
            }
            problems.extend(kinds::check(operator, manifest, catalog, &views));
            problems.extend(columns::check(operator, manifest, &views));
            // Those about whole objects are given when the Operator is read. A controller that cannot
            // be read may write the view.
            problems.retain(|problem| {
                problem.code != WHOLE_OBJECT && (complete || problem.code != "unwritten-view")
            });
            for controller in &operator.controllers {
                let at = controller.at.key("pipeline");
                let pipeline = kinds::part(manifest, &at);
                written::check(pipeline, &at, &mut problems);
                let sources = controller.sources.iter().map(|source| {
                    let object = source_object(source, catalog, &views);
                    (source.name.as_str(), object)
                });
                let sources: Vec<_> = sources.collect();
                let known = texts::Known {
                    sources: &sources,
                    documents: &documents,
                };
                known.check(pipeline, &at, &mut problems);
            }
            // A map that is an error is reported already.
            problems.retain(|problem| {
                let map = problem.at.parent().map(|(map, _)| map);
                problem.code != written::OPERATOR_IN_MAP
                    || map.is_none_or(|map| !draft.broken.contains(map))
            });
            let allowed = crate::spec::reader::allowed(manifest);
            problems.retain(|problem| !problem.is_allowed(&allowed));
            problems
        });
    results.collect()
}

/// The problem of an Operator that has the name of another one.
fn duplicate(name: &str) -> Problem {
    let at = Location::root().key("metadata").key("name");
    let message = format!("two Operators have the name {name}");
    let problem = Problem::warning("duplicate-operator", &at, message);
    problem.with_help("a cluster has one of them, and they would share their views: rename one")
}

/// The code of the warning about whole objects, which is given when an Operator is created.
pub const WHOLE_OBJECT: &str = "whole-object";

/// What is known about the controllers that read what they or others write.
pub(crate) struct Feedback {
    /// The problems of whole source objects that are written back.
    pub(crate) whole: Vec<Problem>,
    outputs: Vec<Output>,
}

/// The documents of a branch for a target.
#[derive(Debug)]
struct Output {
    /// The location of the controller.
    controller: Location,
    target: usize,
    document: Type,
}

/// The cheap part of the checks: whether a whole source object is written back, and which
/// controllers see what is written.
pub(crate) fn feedback(operator: &Operator, broken: &[Location]) -> Feedback {
    let mut views = Views::new([operator]);
    let mut inference = Inference::new(Budget::new(20_000), broken);
    infer_all(operator, &Catalog::empty(), &mut views, &mut inference);
    let mut whole = inference.problems;
    whole.retain(|problem| problem.code == WHOLE_OBJECT);
    Feedback {
        whole,
        outputs: inference.outputs,
    }
}

impl Feedback {
    /// Whether a controller may see what another one writes, or it itself.
    pub(crate) fn is_seen(&self, writer: &Controller, reader: &Controller) -> bool {
        let itself = writer.at == reader.at;
        self.outputs_of(writer).any(|(target, document)| {
            reader.inputs_of(&target.resource).next().is_some()
                && !(itself && (target.in_place || whole::is_apart(writer, target, document)))
                && !whole::is_excluded(writer, target, document, reader)
        })
    }

    /// Whether a controller replaces the objects that it reads by a part of them.
    pub(crate) fn writes_part(&self, controller: &Controller) -> bool {
        self.outputs_of(controller)
            .any(|(target, document)| whole::is_part(controller, target, document))
    }

    fn outputs_of<'a>(
        &'a self,
        controller: &'a Controller,
    ) -> impl Iterator<Item = (&'a Target, &'a Type)> {
        let outputs = self.outputs.iter();
        let outputs = outputs.filter(|output| output.controller == controller.at);
        outputs.map(|output| (&controller.targets[output.target], &output.document))
    }
}

/// The types of the views that an Operator writes, as far as they follow from its own manifest and
/// the kinds of Kubernetes.
pub(crate) fn view_types(operator: &Operator) -> BTreeMap<GroupKind, ViewType> {
    let mut views = Views::new([operator]);
    let mut inference = Inference::new(Budget::new(20_000), &[]);
    infer_all(operator, &Catalog::default(), &mut views, &mut inference);
    let Views {
        expected,
        types,
        in_namespaces,
        ..
    } = views;
    let complete = |kind: &GroupKind| expected.get(kind) == Some(&0);
    let types = types.into_iter().filter(|(kind, _)| complete(kind));
    let typed = types.map(|(kind, objects)| {
        let cluster_scoped = !in_namespaces.contains(&kind);
        let view = ViewType {
            objects,
            cluster_scoped,
        };
        (kind, view)
    });
    typed.collect()
}

/// What is known about the objects that an Operator writes to a view.
#[derive(Clone, Debug)]
pub(crate) struct ViewType {
    /// Their type.
    pub(crate) objects: Type,
    /// Whether no controller sets a namespace.
    pub(crate) cluster_scoped: bool,
}

/// The views of Operators.
#[derive(Clone, Debug, Default)]
struct Views {
    /// By name of the Operator, the kinds that it writes.
    written: BTreeMap<String, Vec<String>>,
    /// The types of views that are known completely.
    types: BTreeMap<GroupKind, Type>,
    /// How many controllers have still to write a view.
    expected: BTreeMap<GroupKind, usize>,
    /// The views that a controller reads.
    read: BTreeSet<GroupKind>,
    /// The views to which a controller may write objects with a namespace.
    in_namespaces: BTreeSet<GroupKind>,
}

impl Views {
    fn new<'a>(operators: impl IntoIterator<Item = &'a Operator>) -> Self {
        let mut views = Self::default();
        for operator in operators {
            for source in operator.controllers.iter().flat_map(|c| &c.sources) {
                views.read.insert(source.resource.group_kind());
            }
            let written = views.written.entry(operator.name.clone()).or_default();
            for target in operator.controllers.iter().flat_map(|c| &c.targets) {
                let kind = target.resource.group_kind();
                if kind.is_view() {
                    written.push(target.resource.kind.clone());
                    *views.expected.entry(kind).or_default() += 1;
                }
            }
        }
        views
    }

    /// Whether a controller reads a view.
    fn is_read(&self, view: &KindRef) -> bool {
        self.read.contains(&view.group_kind())
    }

    /// The kinds that an Operator writes, if it is known.
    fn written_by(&self, operator: &str) -> Option<&[String]> {
        self.written.get(operator).map(Vec::as_slice)
    }

    /// The Operators that write views of a kind.
    fn writers_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        let writes = move |kinds: &[String]| kinds.iter().any(|other| other == kind);
        let written = self.written.iter();
        let written = written.filter(move |(_, kinds)| writes(kinds));
        written.map(|(operator, _)| operator.as_str())
    }

    /// The type of a view's objects. It is unknown while a controller that writes it has not been
    /// checked, as in a cycle.
    fn object(&self, view: &KindRef) -> Type {
        let kind = view.group_kind();
        let complete = self.expected.get(&kind) == Some(&0);
        let found = self.types.get(&kind).filter(|_| complete);
        found.cloned().unwrap_or_else(path::unknown_object)
    }

    fn write(&mut self, view: &KindRef, document: Option<&Type>, budget: &Budget) {
        let kind = view.group_kind();
        if let Some(expected) = self.expected.get_mut(&kind) {
            *expected = expected.saturating_sub(1);
        }
        if document.is_none_or(|document| !target::metadata(document, "namespace").is_null()) {
            self.in_namespaces.insert(kind.clone());
        }
        // A Patcher changes objects of others.
        let object = document.map_or_else(path::unknown_object, view_object);
        // Readers may be in another manifest.
        let object = object.without_places(budget);
        let all = match self.types.get(&kind) {
            Some(before) => before.union(&object, budget),
            None => object,
        };
        self.types.insert(kind, all);
    }
}

/// The type of view objects, as their readers see them.
fn view_object(document: &Type) -> Type {
    let Some(fields) = document.fields().filter(|_| !document.any) else {
        return path::unknown_object();
    };
    let strings = || Type::map_of(Type::string()).or_null();
    let metadata = [
        ("name", Type::string()),
        ("namespace", Type::string().or_null()),
        ("labels", strings()),
        ("annotations", strings()),
        ("ownerReferences", Type::any()),
        ("finalizers", Type::any()),
        ("creationTimestamp", Type::string().or_null()),
        ("deletionTimestamp", Type::string().or_null()),
        ("generation", Type::integer().or_null()),
        ("resourceVersion", Type::string().or_null()),
        ("uid", Type::string().or_null()),
    ];
    let metadata = metadata.map(|(name, field)| (Key::new(name), field));
    let mut named = fields.named.clone();
    named.insert(Key::new("apiVersion"), Type::string());
    named.insert(Key::new("kind"), Type::string());
    named.insert(Key::new("metadata"), Type::map(Fields::closed(metadata)));
    // Users may write the status of a view object.
    let status = named.entry(Key::new("status")).or_insert_with(Type::any);
    status.null = true;
    Type::map(Fields::new(named, fields.rest.clone()))
}

/// Infers the types of an Operator's documents. Returns the findings, and the documents of stages.
fn infer(
    draft: &Draft,
    manifest: &Value,
    catalog: &Catalog,
    views: &mut Views,
) -> (Vec<Problem>, Vec<(Location, Type)>) {
    let mut inference = Inference::new(Budget::default(), &draft.broken);
    infer_all(&draft.operator, catalog, views, &mut inference);
    let mut problems = inference.problems;
    matches::explain_wrong_types(&mut problems);
    let emptied = inference.only_metadata.iter();
    problems.extend(emptied.map(|(controller, number, kind)| {
        target::only_metadata(&kinds::target_at(manifest, controller, *number), kind)
    }));
    (problems, inference.documents)
}

fn infer_all(operator: &Operator, catalog: &Catalog, views: &mut Views, inference: &mut Inference) {
    for number in operator.order() {
        controller(&operator.controllers[number], catalog, views, inference);
    }
}

fn controller(
    controller: &Controller,
    catalog: &Catalog,
    views: &mut Views,
    inference: &mut Inference,
) {
    let sources: Vec<Type> = controller
        .inputs
        .iter()
        .enumerate()
        .map(|(input, source)| {
            let object = source_object(&controller.sources[*source], catalog, views);
            path::from_source(object, input)
        })
        .collect();
    inference.reads_views = controller.sources.iter().any(|one| one.resource.is_view());
    let pipeline = &controller.pipeline;
    let mut streams: BTreeMap<usize, Type> = BTreeMap::new();
    let mut outputs: BTreeMap<usize, Type> = BTreeMap::new();
    for number in &pipeline.order {
        let branch = &pipeline.branches[*number];
        let inputs: Vec<Type> = branch
            .inputs
            .iter()
            .map(|input| match input {
                Input::Source(source) => sources.get(*source).cloned(),
                Input::Stream(stream) => streams.get(stream).cloned(),
            })
            .map(|input| input.unwrap_or_else(Type::any))
            .collect();
        let mut document = inputs.first().cloned().unwrap_or_else(Type::any);
        for (i, stage) in branch.stages.iter().enumerate() {
            document = if i == 0 {
                inference.stage(stage, &inputs)
            } else {
                inference.stage(stage, &[document])
            };
        }
        // A target with mistakes is not there.
        let output = branch.output.target;
        let output = output.and_then(|number| Some((number, controller.targets.get(number)?)));
        if let Some((number, target)) = output {
            let at = branch.stages.last().map_or(&branch.at, |stage| &stage.at);
            let schema = schema_of(&target.resource, catalog);
            // An object that is written back in part is reported as a cycle.
            let is_part = whole::is_part(controller, target, &document);
            inference.output(&document, target, schema.as_ref(), at, is_part);
            if !is_part && target::is_emptied(&document, target, schema.as_ref()) {
                let kind = target.resource.kind.clone();
                let found = (controller.at.clone(), number, kind);
                if !inference.only_metadata.contains(&found) {
                    inference.only_metadata.push(found);
                }
            }
            if let Some(problem) = whole::check(controller, target, &document, at) {
                inference.report(problem);
            }
            inference.outputs.push(Output {
                controller: controller.at.clone(),
                target: number,
                document: document.clone(),
            });
            add(&mut outputs, number, &document, &inference.budget);
        }
        if let Some(stream) = branch.output.stream {
            add(&mut streams, stream, &document, &inference.budget);
        }
    }
    for (number, target) in controller.targets.iter().enumerate() {
        if target.resource.is_view() {
            let patches = target.kind == TargetType::Patcher;
            let document = outputs.get(&number).filter(|_| !patches);
            views.write(&target.resource, document, &inference.budget);
        }
    }
}

fn add(types: &mut BTreeMap<usize, Type>, number: usize, document: &Type, budget: &Budget) {
    let all = match types.get(&number) {
        Some(before) => before.union(document, budget),
        None => document.clone(),
    };
    types.insert(number, all);
}

fn schema_of(kind: &KindRef, catalog: &Catalog) -> Option<KindSchema> {
    match catalog.find(kind) {
        Found::Kind(schema) => Some(schema),
        Found::NoKind | Found::NoVersion(_) | Found::NoGroup | Found::Unknown => None,
    }
}

/// The type of the objects of a source, as they enter the pipeline.
fn source_object(source: &Source, catalog: &Catalog, views: &Views) -> Type {
    if source.kind == SourceKind::OneShot {
        return path::unknown_object();
    }
    if source.resource.group.ends_with(VIEW_SUFFIX) {
        return views.object(&source.resource);
    }
    let Some(schema) = schema_of(&source.resource, catalog) else {
        return path::unknown_object();
    };
    let Some(fields) = schema.object.fields() else {
        return path::unknown_object();
    };
    let mut named = fields.named.clone();
    let metadata = Type::defined("ObjectMeta");
    let metadata = match metadata.fields() {
        Some(fields) => {
            let mut named = fields.named.clone();
            let namespace = if schema.namespaced {
                Type::string()
            } else {
                Type::null()
            };
            named.insert(Key::new("namespace"), namespace);
            Type::map(Fields::new(named, None))
        }
        None => metadata,
    };
    named.insert(Key::new("metadata"), metadata);
    if source.resource.is_secret() {
        // Values that are not UTF-8 are opaque.
        named.insert(Key::new("data"), Type::map_of(Type::any()).or_null());
    }
    Type::map(Fields::new(named, fields.rest.clone()))
}
