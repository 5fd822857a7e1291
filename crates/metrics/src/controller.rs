//! One controller of an operator, with controller-runtime's names where it has them.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::series::{Code, Each, Reason, Result, Source, Target, Write};
use super::{Metrics, number};

/// The metrics of a controller. Clones share them.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    all: Metrics,
    each: Each,
    reconcile_errors: Counter,
    reconcile_time: Histogram,
    active_workers: Gauge,
    max_concurrent: Gauge,
    source_changes: Counter,
    target_changes: Counter,
    standing: Gauge,
    steps: Counter,
    step_time: Histogram,
}

/// How a run ended, in the words of controller-runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All is right.
    Success,
    /// It will run again after some time.
    RequeueAfter,
    /// It failed.
    Error,
}

impl Metrics {
    /// What a controller reports to.
    pub fn controller(&self, operator: &str, controller: &str) -> ControllerMetrics {
        let metrics = &self.0;
        let each = Each {
            operator: operator.to_owned(),
            controller: controller.to_owned(),
        };
        let named = each.named();
        ControllerMetrics {
            reconcile_errors: metrics.reconcile_errors.get(&named),
            reconcile_time: metrics.reconcile_time.get(&named),
            active_workers: metrics.active_workers.get(&named),
            max_concurrent: metrics.max_concurrent.get(&named),
            source_changes: metrics.source_changes.get(&each),
            target_changes: metrics.target_changes.get(&each),
            standing: metrics.standing_errors.get(&each),
            steps: metrics.steps.get(&each),
            step_time: metrics.step_time.get(&each),
            all: self.clone(),
            each,
        }
    }
}

impl ControllerMetrics {
    /// How many runs are allowed at once.
    pub fn concurrency(&self, runs: usize) {
        self.max_concurrent.set(number(runs));
    }

    /// A run starts for this reason.
    pub fn started(&self, reason: &str) {
        self.active_workers.inc();
        let reason = Reason {
            operator: self.each.operator.clone(),
            controller: self.each.controller.clone(),
            reason: reason.to_owned(),
        };
        self.all.0.reasons.get(&reason).inc();
    }

    /// A run that started has ended.
    pub fn ended(&self, how: Ended, took: Duration) {
        self.active_workers.dec();
        self.reconcile_time.observe(took.as_secs_f64());
        if how == Ended::Error {
            self.reconcile_errors.inc();
        }
        let result = match how {
            Ended::Success => "success",
            Ended::RequeueAfter => "requeue_after",
            Ended::Error => "error",
        };
        let result = Result {
            controller: self.each.named().controller,
            result,
        };
        self.all.0.reconciles.get(&result).inc();
    }

    /// What a source holds, and whether that is all.
    pub fn source(&self, source: &str, objects: usize, synced: bool) {
        let source = Source {
            operator: self.each.operator.clone(),
            controller: self.each.controller.clone(),
            source: source.to_owned(),
        };
        self.all.0.source_objects.get(&source).set(number(objects));
        let synced = i64::from(synced);
        self.all.0.source_synced.get(&source).set(synced);
    }

    /// How many objects of a target are derived.
    pub fn target(&self, target: &str, objects: usize) {
        let target = Target {
            operator: self.each.operator.clone(),
            controller: self.each.controller.clone(),
            target: target.to_owned(),
        };
        self.all.0.target_objects.get(&target).set(number(objects));
    }

    /// How many errors stand.
    pub fn standing_errors(&self, errors: usize) {
        self.standing.set(number(errors));
    }

    /// An error came up.
    pub fn error(&self, code: &'static str) {
        let code = Code {
            operator: self.each.operator.clone(),
            controller: self.each.controller.clone(),
            code,
        };
        self.all.0.errors.get(&code).inc();
    }

    /// A batch of so many changes went through the pipeline.
    pub fn step(&self, changes: usize, took: Duration) {
        self.steps.inc();
        self.source_changes.inc_by(changes as u64);
        self.step_time.observe(took.as_secs_f64());
    }

    /// So many derived objects have changed.
    pub fn derived(&self, changes: usize) {
        self.target_changes.inc_by(changes as u64);
    }

    /// A target object was written; `code` is the HTTP status, or 0 without an answer.
    pub fn wrote(&self, verb: &'static str, code: u16) {
        let write = Write {
            operator: self.each.operator.clone(),
            controller: self.each.controller.clone(),
            verb,
            code,
        };
        self.all.0.writes.get(&write).inc();
    }
}
