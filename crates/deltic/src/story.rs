//! An Operator with its objects, evaluated again to be explained: the basis of `deltic trace` and
//! `deltic why`.

use std::collections::BTreeSet;

use dataflow::pipeline::{Input, Stage};
use dataflow::provenance::Provenance;
use dataflow::{Origin, Recording};
use document::Value;
use expr::{Env, Functions};
use object::{GroupKind, ObjectName};
use offline::Offline;
use operator::{Controller, Operator};

use crate::exit::Stop;
use crate::input;
use crate::output::describe_origin;
use crate::secret::SecretTexts;

/// What the controllers of an Operator derive, stage by stage.
pub(crate) struct Story<'a> {
    pub(crate) operator: &'a Operator,
    pub(crate) recordings: &'a [Recording],
    provenances: Vec<Provenance<'a>>,
    secrets: SecretTexts,
}

/// The recordings of all controllers, which a [`Story`] reads.
pub(crate) fn record(offline: &Offline, env: &Env) -> Result<Vec<Recording>, Stop> {
    offline
        .record(env)
        .map_err(|error| Stop::failed(input::error(error.code(), error.to_string())))
}

/// An object that a controller derives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetObject {
    pub(crate) controller: usize,
    pub(crate) target: usize,
    pub(crate) name: ObjectName,
}

/// An object that a controller reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceObject {
    pub(crate) controller: usize,
    /// The input of the pipeline, by position.
    pub(crate) input: usize,
    pub(crate) name: ObjectName,
}

impl<'a> Story<'a> {
    pub(crate) fn new(
        operator: &'a Operator,
        recordings: &'a [Recording],
        functions: &'a Functions,
        env: &'a Env,
    ) -> Self {
        let controllers = operator.controllers.iter().zip(recordings);
        let provenances = controllers
            .clone()
            .map(|(controller, recording)| {
                Provenance::new(&controller.pipeline, recording, functions, env)
            })
            .collect();
        let mut secrets = SecretTexts::default();
        for (controller, recording) in controllers {
            for (input, documents) in inputs(controller, recording) {
                if source_kind(controller, input).is_secret() {
                    documents.for_each(|(_, document)| secrets.add(document));
                }
            }
        }
        Self {
            operator,
            recordings,
            provenances,
            secrets,
        }
    }

    pub(crate) fn provenance(&self, controller: usize) -> &Provenance<'a> {
        &self.provenances[controller]
    }

    pub(crate) fn controller(&self, controller: usize) -> &'a Controller {
        &self.operator.controllers[controller]
    }

    /// The kind of the objects of an input.
    pub(crate) fn source_kind(&self, controller: usize, input: usize) -> GroupKind {
        source_kind(self.controller(controller), input)
    }

    /// The kind of the objects of a target.
    pub(crate) fn target_kind(&self, controller: usize, target: usize) -> GroupKind {
        self.controller(controller).targets[target]
            .resource
            .group_kind()
    }

    /// The location of a stage inside its controller.
    pub(crate) fn place(&self, controller: usize, stage: &Stage) -> String {
        let at = stage.at.to_string();
        let prefix = format!("{}.", self.controller(controller).at);
        let inside = at.strip_prefix(&prefix).unwrap_or(&at);
        let name = format!(".{}", stage.kind.name());
        inside.strip_suffix(&name).unwrap_or(inside).to_owned()
    }

    /// An origin in words.
    pub(crate) fn origin(&self, controller: usize, origin: &Origin) -> String {
        let sources = &self.controller(controller).pipeline.sources;
        describe_origin(&self.masked(&origin.describe(sources), false))
    }

    /// A document without the values of Secrets.
    pub(crate) fn masked(&self, document: &Value, secret: bool) -> Value {
        self.secrets.masked(document, secret)
    }

    /// The derived objects with this kind and name.
    pub(crate) fn targets(&self, wanted: &Wanted) -> Vec<TargetObject> {
        let mut found = Vec::new();
        for (controller, recording) in self.recordings.iter().enumerate() {
            for output in &recording.outputs {
                let kind = self.target_kind(controller, output.target);
                if wanted.is(&kind, &output.key) {
                    found.push(TargetObject {
                        controller,
                        target: output.target,
                        name: output.key.clone(),
                    });
                }
            }
        }
        found
    }

    /// The objects with this kind and name that controllers read.
    pub(crate) fn sources(&self, wanted: &Wanted) -> BTreeSet<SourceObject> {
        let mut found = BTreeSet::new();
        for (number, recording) in self.recordings.iter().enumerate() {
            let controller = self.controller(number);
            for (input, documents) in inputs(controller, recording) {
                let kind = source_kind(controller, input);
                let names = documents.map(|(name, _)| name);
                let matching = names.filter(|name| wanted.is(&kind, name));
                found.extend(matching.map(|name| SourceObject {
                    controller: number,
                    input,
                    name: name.clone(),
                }));
            }
        }
        found
    }

    /// Who derives an object that a controller reads.
    pub(crate) fn writer(&self, object: &SourceObject) -> Option<TargetObject> {
        let kind = self.source_kind(object.controller, object.input);
        let wanted = Wanted::exactly(&kind, &object.name);
        self.targets(&wanted).into_iter().next()
    }
}

fn source_kind(controller: &Controller, input: usize) -> GroupKind {
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

/// `kind/namespace/name` for people.
pub(crate) fn shown(kind: &GroupKind, name: &ObjectName) -> String {
    let kind = kind.kind.as_str().to_lowercase();
    let text = match name.namespace() {
        "" => format!("{kind}/{}", name.name()),
        namespace => format!("{kind}/{namespace}/{}", name.name()),
    };
    text.replace(char::is_control, " ")
}

/// The object that the user asks about: `KIND/NAME`, `KIND/NAMESPACE/NAME` or
/// `KIND/NAME.NAMESPACE`.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// In lower case, perhaps with the group: `deployment.apps`.
    kind: String,
    name: Name,
}

#[derive(Clone, Debug)]
enum Name {
    /// As the user typed it.
    Typed(String),
    Exactly(ObjectName),
}

impl Wanted {
    pub(crate) fn parse(text: &str) -> Result<Self, Stop> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(Self {
                kind: kind.to_lowercase(),
                name: Name::Typed(name.to_owned()),
            }),
            _ => Err(Stop::usage(&format!(
                "expected an object such as pod/web, pod/shop/web or pod/web.shop, found {text:?}"
            ))),
        }
    }

    pub(crate) fn exactly(kind: &GroupKind, name: &ObjectName) -> Self {
        Self {
            kind: full_name(kind),
            name: Name::Exactly(name.clone()),
        }
    }

    fn is(&self, kind: &GroupKind, name: &ObjectName) -> bool {
        let short = kind.kind.as_str().to_lowercase();
        let kind = self.kind == short || self.kind == full_name(kind);
        kind && match &self.name {
            Name::Exactly(wanted) => wanted == name,
            Name::Typed(text) => {
                let (namespace, name) = (name.namespace(), name.name());
                text == name
                    || *text == format!("{namespace}/{name}")
                    || *text == format!("{name}.{namespace}")
            }
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Name::Typed(name) => write!(f, "{}/{name}", self.kind),
            Name::Exactly(name) => write!(f, "{}/{}/{}", self.kind, name.namespace(), name.name()),
        }
    }
}

/// `deployment.apps`, or `pod` of the core group.
fn full_name(kind: &GroupKind) -> String {
    match kind.group.as_str() {
        "" => kind.kind.as_str().to_lowercase(),
        group => format!("{}.{group}", kind.kind.as_str()).to_lowercase(),
    }
}
