//! Numbers of a running operator: what its controllers report to the metrics.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use controller::{Next, Observer};
use operator::Operator;

use super::writes::WriteReason;
use crate::metrics::{ControllerMetrics, Ended, Metrics};
use crate::target::{ObjectKey, Writer};

/// The metrics of an operator's controllers.
#[derive(Clone, Debug)]
pub(super) struct Measures(Arc<BTreeMap<String, ControllerMetrics>>);

impl Measures {
    pub(super) fn new(metrics: &Metrics, operator: &Operator) -> Self {
        let controllers = operator.controllers.iter().map(|controller| {
            let metrics = metrics.controller(&operator.name, &controller.name);
            metrics.concurrency(controller.options.concurrency);
            (controller.name.clone(), metrics)
        });
        Self(Arc::new(controllers.collect()))
    }

    /// Of a controller; `None` for one that is not of this operator any more.
    pub(super) fn of(&self, controller: &str) -> Option<&ControllerMetrics> {
        self.0.get(controller)
    }
}

/// Counts the runs of the writer, each for the controller whose object it is.
pub(super) struct Runs {
    measures: Measures,
    writer: Arc<Writer>,
    /// Who is counted for what runs: at its end an object may be nobody's.
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
    fn started(&self, key: &ObjectKey, reason: &WriteReason, waited: Duration) {
        let controller = self.writer.controller_of(key);
        let metrics = controller.and_then(|controller| self.measures.of(&controller).cloned());
        if let Some(metrics) = metrics {
            metrics.started(controller::Reason::label(reason), waited);
            if *reason == WriteReason::Retry {
                metrics.retried();
            }
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.insert(key.clone(), metrics);
        }
    }

    fn finished(&self, key: &ObjectKey, _reason: &WriteReason, took: Duration, next: Next) {
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
