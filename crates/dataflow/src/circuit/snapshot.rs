//! The objects of a circuit at one moment, to be evaluated again.

use document::Value;
use expr::Env;
use object::ObjectName;

use super::{Budget, BudgetError, Circuit, SourceEvent};
use crate::apply::OutputKind;
use crate::fields::Kept;
use crate::pipeline::Pipeline;
use crate::recording::Recording;
use crate::running::source::SourceState;

/// The objects that the sources of a circuit hold, with its pipeline. No object is copied: their
/// documents are shared. The circuit may go on while the snapshot is evaluated elsewhere.
#[derive(Debug)]
pub struct Snapshot {
    pipeline: Pipeline,
    kinds: Vec<OutputKind>,
    budget: Budget,
    objects: Vec<SourceEvent>,
}

impl Circuit {
    /// The objects that the sources hold.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            pipeline: self.pipeline.clone(),
            kinds: self.kinds.iter().map(|kind| (**kind).clone()).collect(),
            budget: self.budget,
            objects: self.sources.iter().flat_map(SourceState::events).collect(),
        }
    }

    /// Evaluates all objects again, in a new circuit, and records what each stage yields. Outputs
    /// that this circuit holds because of an error are not in it.
    pub fn record(&self, env: &Env) -> Result<Recording, BudgetError> {
        self.snapshot().record(env)
    }
}

impl Snapshot {
    /// The objects of a source.
    pub fn objects(&self, source: usize) -> impl Iterator<Item = (&ObjectName, &Value)> {
        let objects = self
            .objects
            .iter()
            .filter(move |event| event.source == source);
        objects.filter_map(|event| Some((&event.name, event.object.as_ref().map(Kept::document)?)))
    }

    /// Evaluates the objects in a new circuit, and records what each stage yields.
    pub fn record(self, env: &Env) -> Result<Recording, BudgetError> {
        let mut circuit = Circuit::new(&self.pipeline, &self.kinds, self.budget);
        let mut recording = Recording::new(&self.pipeline);
        let step = circuit.step_all(self.objects, env, false, Some(&mut recording))?;
        recording.errors = step.errors;
        recording.outputs = step.changes;
        Ok(recording)
    }
}
