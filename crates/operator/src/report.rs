//! Errors of a pipeline at run time, as people see them.

use document::Value;

use crate::spec::Controller;

/// Something that went wrong while a pipeline ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The controller.
    pub controller: String,
    /// The stage, as a place in the controller's spec.
    pub stage: String,
    /// Which objects, see [`dataflow::Origin::describe`].
    pub origin: Value,
    /// The stable code.
    pub code: &'static str,
    /// What happened, and where in the spec.
    pub message: String,
}

impl Report {
    /// Of an error of this controller's pipeline.
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
        let mut message = error.failure.to_string();
        if let dataflow::Failure::Conflict { winner, .. } = &error.failure {
            let winner = winner.describe(&controller.pipeline.sources);
            message = format!("{message}: {winner}");
        } else if stage != place && stage != "output" {
            message = format!("{message}, at {at}");
        }
        Self {
            controller: controller.name.clone(),
            stage,
            origin: error.origin.describe(&controller.pipeline.sources),
            code: error.failure.code(),
            message,
        }
    }
}
