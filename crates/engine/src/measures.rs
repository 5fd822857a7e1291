//! The metrics of a running Operator: of its controllers, and of its queue.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use controller::{Next, Observer};
use metrics::{ControllerMetrics, Ended, Metrics, QueueMetrics};
use object::ObjectKey;
use operator::Operator;

use super::writes::WriteReason;
use crate::writer::Writer;

/// The metrics of an Operator's controllers, and of their queue.
#[derive(Clone, Debug)]
pub(super) struct Measures {
    controllers: Arc<BTreeMap<String, ControllerMetrics>>,
    queue: QueueMetrics,
}

impl Measures {
    pub(super) fn new(metrics: &Metrics, operator: &Operator) -> Self {
        let controllers = operator.controllers.iter().map(|controller| {
            let metrics = metrics.controller(&operator.name, &controller.name);
            metrics.concurrency(controller.options.concurrency);
            (controller.name.clone(), metrics)
        });
        Self {
            controllers: Arc::new(controllers.collect()),
            queue: metrics.queue(&operator.name),
        }
    }

    /// The metrics of a controller; `None` if it is no longer in the spec.
    pub(super) fn of(&self, controller: &str) -> Option<&ControllerMetrics> {
        self.controllers.get(controller)
    }

    /// The metrics of the queue that all controllers share.
    pub(super) fn queue(&self) -> &QueueMetrics {
        &self.queue
    }
}

/// Counts the runs of the writer, each for the controller that writes the object.
pub(super) struct Runs {
    measures: Measures,
    writer: Arc<Writer>,
    /// The metrics that a run in progress is counted for. When it ends, the object may not
    /// belong to any controller.
    running: Mutex<HashMap<ObjectKey, ControllerMetrics>>,
}

impl Runs {
    pub(super) fn new(measures: Measures, writer: Arc<Writer>) -> Self {
        Self {
            measures,
            writer,
            running: Mutex::default(),
        }
    }
}

impl Observer<ObjectKey, WriteReason> for Runs {
    fn added(&self) {
        self.measures.queue().added();
    }

    fn started(&self, key: &ObjectKey, reason: &WriteReason, waited: Duration) {
        self.measures.queue().started(waited);
        let controller = self.writer.controller_of(key);
        let metrics = controller.and_then(|controller| self.measures.of(&controller).cloned());
        if let Some(metrics) = metrics {
            metrics.started(controller::Reason::label(reason));
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.insert(key.clone(), metrics);
        }
    }

    fn finished(&self, key: &ObjectKey, _reason: &WriteReason, took: Duration, next: Next) {
        let queue = self.measures.queue();
        queue.ended(took);
        if matches!(next, Next::Retry(_)) {
            queue.retried();
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = running.remove(key) {
            let how = match next {
                Next::Done => Ended::Success,
                Next::Requeue(_) => Ended::RequeueAfter,
                Next::Retry(_) | Next::Failed => Ended::Error,
            };
            metrics.ended(how, took);
        }
    }
}
