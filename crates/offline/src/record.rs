//! Evaluates the controllers again, to explain what they derive.

use dataflow::Recording;
use expr::Env;
use operator::Operator;

use crate::{Offline, OfflineError};

impl Offline {
    /// The Operator.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// What the stages of each controller yield for the current objects.
    pub fn record(&self, env: &Env) -> Result<Vec<Recording>, OfflineError> {
        let controllers = self.operator.controllers.iter().zip(&self.circuits);
        let recorded = controllers.map(|(controller, circuit)| {
            circuit.record(env).map_err(|error| OfflineError::Budget {
                controller: controller.name.clone(),
                error,
            })
        });
        recorded.collect()
    }
}
