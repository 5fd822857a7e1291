//! An Operator with its objects, evaluated again to be explained: the basis of `deltic trace` and
//! `deltic why`.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use dataflow::pipeline::{Input, Stage};
use dataflow::provenance::{Point, Provenance};
use dataflow::{Origin, Recording};
use document::{Location, Value, one_line};
use expr::{Env, Functions, Items};
use object::{GroupKind, ObjectKey, ObjectName};
use operator::secrets::HIDDEN;
use operator::{Controller, Operator, describe_origin};

use crate::reason::StagePlace;
use crate::recorded::Recorded;
use crate::secret::SecretTexts;
use crate::wanted::Wanted;

/// What the controllers of an Operator derive, stage by stage.
#[derive(Debug)]
pub struct Story<'a> {
    /// The Operator.
    pub operator: &'a Operator,
    /// What was recorded of each controller.
    pub recordings: &'a [Recording],
    pub(crate) functions: &'a Functions,
    pub(crate) env: &'a Env,
    provenances: Vec<Provenance<'a>>,
    pub(crate) secrets: &'a SecretTexts,
    /// The objects that exist, if they are known.
    pub(crate) existing: Option<&'a BTreeSet<ObjectKey>>,
    /// The Updater that is written for each object. They are found when they are first needed.
    pub(crate) first_updaters: OnceCell<BTreeMap<ObjectKey, TargetObject>>,
}

/// An object that a controller derives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetObject {
    /// The controller, by position.
    pub controller: usize,
    /// The target of the controller, by position.
    pub target: usize,
    /// The object.
    pub name: ObjectName,
}

/// An object that a controller reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoryObject {
    /// The controller, by position.
    pub controller: usize,
    /// The input of the pipeline, by position.
    pub input: usize,
    /// The object.
    pub name: ObjectName,
}

impl<'a> Story<'a> {
    pub(crate) fn new(recorded: &'a Recorded) -> Self {
        let operator = &*recorded.operator;
        let (functions, env) = (&recorded.functions, &recorded.env);
        let controllers = operator.controllers.iter().zip(&recorded.recordings);
        let provenances = controllers
            .map(|(controller, recording)| {
                Provenance::new(&controller.pipeline, recording, functions, env)
            })
            .collect();
        Self {
            operator,
            recordings: &recorded.recordings,
            functions,
            env,
            provenances,
            secrets: &recorded.secrets,
            existing: recorded.existing.as_ref(),
            first_updaters: OnceCell::new(),
        }
    }

    /// Whether the time of the explanation is over, so that it must be discarded.
    pub fn is_interrupted(&self) -> bool {
        self.env.is_interrupted()
    }

    /// Explains what was recorded of a controller.
    pub fn provenance(&self, controller: usize) -> &Provenance<'a> {
        &self.provenances[controller]
    }

    /// A controller by position.
    pub fn controller(&self, controller: usize) -> &'a Controller {
        &self.operator.controllers[controller]
    }

    /// The kind of the objects of an input.
    pub fn source_kind(&self, controller: usize, input: usize) -> GroupKind {
        source_kind(self.controller(controller), input)
    }

    /// The kind of the objects of a target.
    pub fn target_kind(&self, controller: usize, target: usize) -> GroupKind {
        self.controller(controller).targets[target]
            .resource
            .group_kind()
    }

    /// An object that a controller reads, by its kind and name.
    pub(crate) fn source_key(
        &self,
        controller: usize,
        input: usize,
        name: &ObjectName,
    ) -> ObjectKey {
        ObjectKey {
            kind: self.source_kind(controller, input),
            name: name.clone(),
        }
    }

    /// The location of a stage inside its controller.
    pub fn place(&self, controller: usize, stage: &Stage) -> String {
        self.controller(controller).place(stage)
    }

    /// An origin in words.
    pub fn origin(&self, controller: usize, origin: &Origin) -> String {
        let controller = self.controller(controller);
        let secrets = &controller.secret_parts;
        let origin = secrets.describe(origin, &controller.pipeline.sources);
        describe_origin(&self.secrets.masked(&origin, false))
    }

    /// A document at a point, without the values of Secrets and what is derived from them.
    pub fn masked(&self, controller: usize, at: Point, document: &Value) -> Value {
        let parts = self.controller(controller).secret_parts.at(at);
        self.secrets.masked(&parts.masked(document), false)
    }

    /// The value of an expression on a document at a point, without the values of Secrets.
    pub fn masked_value(&self, controller: usize, at: Point, spec: &Value, value: &Value) -> Value {
        let expr = expr::compile(spec, &Location::root(), self.functions, Items::None);
        let secrets = &self.controller(controller).secret_parts;
        let hides = match &expr {
            Ok(expr) => secrets.reaches(expr, at),
            Err(_) => !secrets.at(at).is_none(),
        };
        if hides {
            return HIDDEN.into();
        }
        self.secrets.masked(value, false)
    }

    /// A source object for people. Its name is not shown if it is derived from a Secret.
    pub fn source_name(&self, object: &StoryObject) -> String {
        let kind = self.source_kind(object.controller, object.input);
        let secrets = &self.controller(object.controller).secret_parts;
        name_or_hidden(&kind, &object.name, secrets.names_source(object.input))
    }

    /// A target object for people. Its name is not shown if it is derived from a Secret.
    pub fn target_name(&self, object: &TargetObject) -> String {
        let kind = self.target_kind(object.controller, object.target);
        name_or_hidden(
            &kind,
            &object.name,
            self.hides_target(object.controller, object.target),
        )
    }

    /// Whether the names of target objects are derived from a Secret.
    fn hides_target(&self, controller: usize, target: usize) -> bool {
        let controller = self.controller(controller);
        let secrets = &controller.secret_parts;
        secrets.names_target(&controller.pipeline, target)
    }

    /// Whether the names of the objects that a branch yields are derived from a Secret.
    pub(crate) fn hides_target_of(&self, place: StagePlace) -> bool {
        let target = self.branch_target(place);
        target.is_some_and(|target| self.hides_target(place.controller, target))
    }

    /// The target of a branch.
    pub(crate) fn branch_target(&self, place: StagePlace) -> Option<usize> {
        let branches = &self.controller(place.controller).pipeline.branches;
        branches[place.branch].output.target
    }

    /// A target object without the values of Secrets. Of a Secret, no value is shown.
    pub fn masked_target(&self, object: &TargetObject, at: Point, document: &Value) -> Value {
        let kind = self.target_kind(object.controller, object.target);
        let masked = self.masked(object.controller, at, document);
        self.secrets.masked(&masked, kind.is_secret())
    }

    /// The derived objects with this kind and name.
    pub fn targets(&self, wanted: &Wanted) -> Vec<TargetObject> {
        let mut found = Vec::new();
        for controller in 0..self.recordings.len() {
            found.extend(self.outputs(controller).filter(|object| {
                let kind = self.target_kind(controller, object.target);
                wanted.is(&kind, &object.name)
            }));
        }
        found
    }

    /// The objects with this kind and name that controllers read.
    pub fn sources(&self, wanted: &Wanted) -> BTreeSet<StoryObject> {
        let mut found = BTreeSet::new();
        for (number, recording) in self.recordings.iter().enumerate() {
            let controller = self.controller(number);
            for (input, documents) in inputs(controller, recording) {
                let kind = source_kind(controller, input);
                let names = documents.map(|(name, _)| name);
                let matching = names.filter(|name| wanted.is(&kind, name));
                found.extend(matching.map(|name| StoryObject {
                    controller: number,
                    input,
                    name: name.clone(),
                }));
            }
        }
        found
    }

    /// All objects that controllers read or derive, without those whose names are derived from a Secret.
    pub fn known(&self) -> BTreeSet<ObjectKey> {
        let mut found = BTreeSet::new();
        for (number, recording) in self.recordings.iter().enumerate() {
            let controller = self.controller(number);
            for (input, documents) in inputs(controller, recording) {
                if !controller.secret_parts.names_source(input) {
                    found.extend(documents.map(|(name, _)| self.source_key(number, input, name)));
                }
            }
            let shown = self.outputs(number);
            let shown = shown.filter(|object| !self.hides_target(number, object.target));
            found.extend(shown.map(|object| self.target_key(&object)));
        }
        found
    }

    /// Who derives an object that a controller reads.
    pub fn writer(&self, object: &StoryObject) -> Option<TargetObject> {
        let kind = self.source_kind(object.controller, object.input);
        let wanted = Wanted::exactly(&kind, &object.name);
        self.targets(&wanted).into_iter().next()
    }
}

pub(crate) fn source_kind(controller: &Controller, input: usize) -> GroupKind {
    controller.sources[controller.inputs[input]]
        .resource
        .group_kind()
}

/// The objects of each input of a pipeline.
fn inputs<'a>(
    controller: &'a Controller,
    recording: &'a Recording,
) -> impl Iterator<Item = (usize, impl Iterator<Item = (&'a ObjectName, &'a Value)>)> {
    let branches = controller.pipeline.branches.iter().zip(&recording.branches);
    branches.flat_map(|(branch, recorded)| {
        let inputs = branch.inputs.iter().zip(&recorded.inputs);
        inputs.filter_map(|(input, documents)| match input {
            Input::Source(source) => {
                let named = documents
                    .iter()
                    .filter_map(|(origin, document)| Some((origin.object_name()?, document)));
                Some((*source, named))
            }
            Input::Stream(_) => None,
        })
    })
}

fn name_or_hidden(kind: &GroupKind, name: &ObjectName, hides: bool) -> String {
    if hides {
        return format!("{}/{HIDDEN}", kind.kind.as_str().to_lowercase());
    }
    shown(kind, name)
}

/// `kind/namespace/name` for people.
pub fn shown(kind: &GroupKind, name: &ObjectName) -> String {
    let kind = kind.kind.as_str().to_lowercase();
    let text = match name.namespace() {
        "" => format!("{kind}/{}", name.name()),
        namespace => format!("{kind}/{namespace}/{}", name.name()),
    };
    one_line(&text).into_owned()
}
