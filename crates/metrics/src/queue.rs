//! The queue of an operator, in the words of client-go.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::{Metrics, number, series};

/// What the queue of an operator reports to. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    waited: Histogram,
    worked: Histogram,
}

impl Metrics {
    /// What the queue of an operator reports to.
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
    /// How many objects are due and wait for their run.
    pub fn depth(&self, objects: usize) {
        self.depth.set(number(objects));
    }

    /// An object that was not in the queue was put into it.
    pub fn added(&self) {
        self.adds.inc();
    }

    /// An object was put back after a failure.
    pub fn retried(&self) {
        self.retries.inc();
    }

    /// A run starts, this long after it was due.
    pub fn started(&self, waited: Duration) {
        self.waited.observe(waited.as_secs_f64());
    }

    /// A run has ended.
    pub fn ended(&self, took: Duration) {
        self.worked.observe(took.as_secs_f64());
    }
}
