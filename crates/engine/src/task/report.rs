//! What a task reports: the status of its Operator, and metrics.

use super::Task;
use crate::inbox::PortState;
use crate::status::OperatorStatus;

impl Task {
    /// Publishes the status if it has changed.
    pub(super) fn tell_status(&mut self) {
        let numbers = 0..self.controllers.len();
        let syncing: Vec<Option<String>> = numbers.map(|number| self.syncing(number)).collect();
        let status = self.problem_log.status(
            &self.operator,
            &self.controllers,
            &self.ports,
            |number| self.held(number),
            &syncing,
        );
        let swept = self.sweep.is_done();
        let status = OperatorStatus {
            kinds: Some(self.kinds.clone().with(&self.kinds_elsewhere)),
            orphans: swept.then(|| self.writes.writer.orphans()),
            unlisted: self.unlisted(),
            ..status
        };
        self.measure(&status);
        self.status.send_if_modified(|old| {
            let news = *old != status;
            if news {
                *old = status;
            }
            news
        });
    }

    /// Updates the metrics.
    fn measure(&self, status: &OperatorStatus) {
        self.measures.queue().depth(self.writes.waiting());
        if let Some(orphans) = status.orphans {
            self.context.metrics.orphans(&self.operator.name, orphans);
        }
        for (number, controller) in self.operator.controllers.iter().enumerate() {
            let Some(metrics) = self.measures.of(&controller.name) else {
                continue;
            };
            for (kind, objects) in self.controllers[number].outputs_by_kind() {
                metrics.target(kind, objects);
            }
            metrics.standing_errors(status.controllers[number].counts.errors);
            for (input, source) in controller.inputs.iter().enumerate() {
                let port = self.ports.get(&(number, input));
                let synced = port.is_some_and(PortState::synced);
                let objects = self.controllers[number].circuit.objects(input);
                metrics.source(&controller.sources[*source].name, objects, synced);
            }
        }
    }
}
