//! An Operator with its objects, evaluated again to be explained.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataflow::{BudgetError, Recording, Snapshot};
use expr::{Env, Functions};
use object::ObjectKey;
use operator::{Controller, Operator};

use crate::secret::SecretTexts;
use crate::story::{Story, source_kind};

/// What the stages of an Operator's controllers yield: what a [`Story`] reads.
#[derive(Debug)]
pub struct Recorded {
    pub(crate) operator: Arc<Operator>,
    /// One for each controller.
    pub(crate) recordings: Vec<Recording>,
    pub(crate) functions: Functions,
    pub(crate) env: Env,
    pub(crate) secrets: SecretTexts,
    pub(crate) existing: Option<BTreeSet<ObjectKey>>,
}

/// Why an Operator cannot be evaluated again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("controller {controller}: {error}")]
pub struct RecordError {
    /// The name of the controller.
    pub controller: String,
    /// The limit that it exceeded.
    pub error: BudgetError,
}

impl Recorded {
    /// Evaluates controllers on the objects of their snapshots. One that has no snapshot, or that
    /// does not concern the question, yields nothing.
    pub fn new(
        operator: Arc<Operator>,
        snapshots: impl IntoIterator<Item = Option<Snapshot>>,
        concerns: impl Fn(usize) -> bool,
        env: Env,
    ) -> Result<Self, RecordError> {
        let mut secrets = SecretTexts::default();
        let mut recordings = Vec::new();
        for ((number, controller), snapshot) in
            operator.controllers.iter().enumerate().zip(snapshots)
        {
            if let Some(snapshot) = &snapshot {
                collect(controller, snapshot, &mut secrets);
            }
            let recording = match snapshot.filter(|_| concerns(number)) {
                Some(snapshot) => snapshot.record(&env).map_err(|error| RecordError {
                    controller: controller.name.clone(),
                    error,
                })?,
                None => Recording::new(&controller.pipeline),
            };
            recordings.push(recording);
        }
        Ok(Self {
            operator,
            recordings,
            functions: Functions::builtin(),
            env,
            secrets,
            existing: None,
        })
    }

    /// Sets which target objects exist, so that explanations can say for which objects a Patcher
    /// waits.
    #[must_use]
    pub fn with_existing(self, objects: BTreeSet<ObjectKey>) -> Self {
        Self {
            existing: Some(objects),
            ..self
        }
    }

    /// What the controllers derive, stage by stage.
    pub fn story(&self) -> Story<'_> {
        Story::new(self)
    }
}

/// Collects the values of the Secrets that a controller reads.
fn collect(controller: &Controller, snapshot: &Snapshot, secrets: &mut SecretTexts) {
    for input in 0..controller.inputs.len() {
        if source_kind(controller, input).is_secret() {
            let objects = snapshot.objects(input);
            objects.for_each(|(_, object)| secrets.add(object));
        }
    }
}
