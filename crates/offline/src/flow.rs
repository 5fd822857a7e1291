//! How many documents pass through a controller: why it derives nothing, for example.

use object::GroupKind;

use crate::Offline;

/// The documents of one controller at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The name of the controller.
    pub controller: String,
    /// For each source that the pipeline reads, its kind and the number of objects that it
    /// admits.
    pub sources: Vec<(GroupKind, usize)>,
    /// The branches of the pipeline.
    pub branches: Vec<FlowBranch>,
}

/// The stages of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBranch {
    /// For each stage, its location in the controller and the number of documents that it yields.
    pub stages: Vec<(String, usize)>,
}

impl Offline {
    /// How many documents pass through each controller.
    pub fn flows(&self) -> Vec<Flow> {
        let controllers = self.operator.controllers.iter().zip(&self.circuits);
        let flow = |(controller, circuit): (&operator::spec::Controller, &dataflow::Circuit)| {
            let prefix = format!("{}.", controller.at);
            let source = |(input, source): (usize, &usize)| {
                let kind = controller.sources[*source].resource.group_kind();
                (kind, circuit.objects(input))
            };
            let branch = |(number, branch): (usize, &dataflow::pipeline::Branch)| {
                let places = branch.stages.iter().map(|stage| {
                    let at = stage.at.to_string();
                    at.strip_prefix(&prefix).unwrap_or(&at).to_owned()
                });
                let documents = circuit.documents(number).iter().copied();
                FlowBranch {
                    stages: places.zip(documents).collect(),
                }
            };
            Flow {
                controller: controller.name.clone(),
                sources: controller.inputs.iter().enumerate().map(source).collect(),
                branches: (controller.pipeline.branches.iter().enumerate())
                    .map(branch)
                    .collect(),
            }
        };
        controllers.map(flow).collect()
    }
}
