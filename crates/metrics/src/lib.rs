//! The metrics of a process, in the text format of Prometheus.
//!
//! Other crates get cheap handles: [`Metrics::controller`] for a controller, [`Metrics::queue`] for
//! the queue of an Operator. [`Metrics::encode`] returns the text for a scrape. Metrics that other
//! controllers have too use the common names (`controller_runtime_*`, `workqueue_*`,
//! `leader_election_*`, `rest_client_*`, `apiserver_*`), with `<operator>/<controller>` as the
//! controller. All others begin with `deltic_`. `registered.rs` lists all of them.
//!
//! ```
//! let metrics = metrics::Metrics::default();
//! metrics.controller("shop", "backends").target("ConfigMap", 3);
//! let line = r#"deltic_target_objects{operator="shop",controller="backends",target="ConfigMap"} 3"#;
//! assert!(metrics.encode().contains(line));
//! ```

mod controller;
mod queue;
mod registered;
mod requests;
mod series;
mod table;

use std::sync::Arc;

pub use controller::{ControllerMetrics, Ended};
pub use queue::QueueMetrics;
use registered::Registered;
pub use requests::{ServedRequest, Watching};
use series::{Listed, OperatorName, Request, Task};
pub use table::{Metric, MetricKind};

/// All metrics of a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Registered>);

/// The content type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Metrics {
    /// Drops all that the engine of an Operator reported, because it has stopped.
    pub fn forget(&self, operator: &str) {
        self.0.forget(operator);
    }

    /// Drops all series of an Operator that no longer exists. Until then, its crashes stay:
    /// the count includes crashes of earlier engines.
    pub fn deleted(&self, operator: &str) {
        self.0.forget(operator);
        self.0.crashes.forget(operator);
    }

    /// Sets how many objects an earlier Operator of the same name has left.
    pub fn orphans(&self, operator: &str, count: usize) {
        let operator = operator.to_owned();
        let orphans = self.0.orphans.get(&OperatorName { operator });
        orphans.set(number(count));
    }

    /// Sets the number of running Operators.
    pub fn operators(&self, count: usize) {
        self.0.operators.set(number(count));
    }

    /// Counts a panic of an Operator's engine.
    pub fn crashed(&self, operator: &str) {
        let operator = operator.to_owned();
        self.0.crashes.get(&OperatorName { operator }).inc();
    }

    /// Counts a panic of a task that belongs to no Operator.
    pub fn task_crashed(&self, task: &'static str) {
        self.0.task_crashes.get(&Task { task }).inc();
    }

    /// Sets whether this process is the leader.
    pub fn leading(&self, leads: bool) {
        self.0.leading.set(i64::from(leads));
    }

    /// Counts a request to the API server; `code` is 0 if there was no answer.
    pub fn request(&self, method: &http::Method, code: u16) {
        let request = Request {
            method: method.as_str().to_owned(),
            code,
        };
        self.0.requests.get(&request).inc();
    }

    /// Counts a list that a watch of a kind started, with its reason.
    pub fn listed(&self, group: &str, kind: &str, reason: &'static str) {
        let listed = Listed {
            group: group.to_owned(),
            kind: kind.to_owned(),
            reason,
        };
        self.0.lists.get(&listed).inc();
    }

    /// All metrics with their labels, in the order of the text. Those that have no value yet are
    /// listed, too.
    pub fn table(&self) -> &[Metric] {
        &self.0.table
    }

    /// All metrics as text.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.0.registry);
        text
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
