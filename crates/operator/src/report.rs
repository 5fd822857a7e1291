//! Run-time errors of a pipeline, as they are shown to people.

use document::Value;

use crate::origin::describe_origin;
use crate::secrets::HIDDEN;
use crate::spec::Controller;

/// A run-time error of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The name of the controller.
    pub controller: String,
    /// The location of the stage in the controller's spec.
    pub stage: String,
    /// The objects that it belongs to; see [`dataflow::Origin::describe`].
    pub origin: Value,
    /// The stable code.
    pub code: &'static str,
    /// The message, with the location in the spec, and in the file if there is one.
    pub message: String,
}

impl Report {
    /// Makes a report of an error in this controller's pipeline.
    pub fn new(controller: &Controller, error: &dataflow::RunError) -> Self {
        let at = error.failure.at().to_string();
        let prefix = format!("{}.", controller.at);
        let place = at.strip_prefix(&prefix).unwrap_or(&at);
        let stages = &controller.pipeline.branches[error.branch].stages;
        let stage = match stages.get(error.stage) {
            Some(stage) => {
                let stage = stage.at.to_string();
                stage.strip_prefix(&prefix).unwrap_or(&stage).to_owned()
            }
            None => "output".to_owned(),
        };
        let sources = &controller.pipeline.sources;
        let secrets = &controller.secret_parts;
        let mut message = shown(controller, error).to_string();
        if let dataflow::Failure::Conflict { winner, .. } = &error.failure {
            let winner = secrets.describe(winner, sources);
            message = format!("{message}: {}", describe_origin(&winner));
        } else if stage != place && stage != "output" {
            message = format!("{message}, at {at}");
        }
        if let Some(place) = controller.places.find(error.failure.at()) {
            message = format!("{message} ({place})");
        }
        Self {
            controller: controller.name.clone(),
            stage,
            origin: secrets.describe(&error.origin, sources),
            code: error.failure.code(),
            message,
        }
    }
}

/// An error without values of Secrets: only the name of an object can be one.
fn shown(controller: &Controller, error: &dataflow::RunError) -> dataflow::Failure {
    let mut shown = error.failure.clone();
    let target = controller.pipeline.branches[error.branch].output.target;
    let secrets = &controller.secret_parts;
    if let dataflow::Failure::Conflict { key, .. } = &mut shown
        && target.is_some_and(|target| secrets.names_target(&controller.pipeline, target))
    {
        HIDDEN.clone_into(key);
    }
    shown
}
