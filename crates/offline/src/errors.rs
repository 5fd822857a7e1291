//! The errors that an Operator has at the moment.

use operator::Report;

use crate::{Batch, Offline};

/// The codes of errors of writes.
const WRITTEN: [&str; 4] = ["conflict", "cycle", "not-kept", "record-too-large"];

impl Offline {
    /// All current errors of the pipelines.
    pub fn errors(&self) -> Vec<Report> {
        let circuits = self.operator.controllers.iter().zip(&self.circuits);
        circuits
            .flat_map(|(controller, circuit)| {
                circuit
                    .errors()
                    .into_iter()
                    .map(|error| Report::new(controller, &error))
            })
            .collect()
    }

    /// The current errors after a batch: those of the pipelines, and those of writes, which only
    /// the batch has.
    pub fn current_errors(&self, batch: &Batch) -> Vec<Report> {
        let mut errors = self.errors();
        for report in &batch.errors {
            let written = WRITTEN.contains(&report.code);
            if written && !errors.contains(report) {
                errors.push(report.clone());
            }
        }
        errors
    }
}
