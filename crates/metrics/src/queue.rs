//! The queue of an Operator, with the metric names of client-go.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::{Metrics, number, series};

/// The metrics of an Operator's queue. Clones share them.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    waited: Histogram,
    worked: Histogram,
}

impl Metrics {
    /// The metrics of an Operator's queue.
    pub fn queue(&self, operator: &str) -> QueueMetrics {
        let metrics = &self.0;
        let queue = series::Queue {
            name: operator.to_owned(),
        };
        QueueMetrics {
            depth: metrics.depth.get(&queue),
            adds: metrics.adds.get(&queue),
            retries: metrics.retries.get(&queue),
            waited: metrics.waited.get(&queue),
            worked: metrics.worked.get(&queue),
        }
    }
}

impl QueueMetrics {
    /// Sets the number of objects that are due.
    pub fn depth(&self, objects: usize) {
        self.depth.set(number(objects));
    }

    /// Counts an object that was added to the queue.
    pub fn added(&self) {
        self.adds.inc();
    }

    /// Counts an object that was added again after a failure.
    pub fn retried(&self) {
        self.retries.inc();
    }

    /// Records the start of a run, this long after it was due.
    pub fn started(&self, waited: Duration) {
        self.waited.observe(waited.as_secs_f64());
    }

    /// Records the end of a run.
    pub fn ended(&self, took: Duration) {
        self.worked.observe(took.as_secs_f64());
    }
}
