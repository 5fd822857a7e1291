//! Metrics, as text that Prometheus reads.
//!
//! Others get cheap handles: [`Metrics::controller`] gives what one controller reports
//! to, [`Metrics::encode`] what a scrape reads. What means the same as in other
//! controllers has the same name (`controller_runtime_*`, `workqueue_*`,
//! `leader_election_*`, `rest_client_*`), with `<operator>/<controller>` as the
//! controller; the rest is called `deltic_*`.

mod queue;
mod series;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
pub use queue::QueueMetrics;
use series::{
    Code, Each, Labels, Listed, Named, Queue, Reason, Request, Result, Series, Source, Write,
};

/// All metrics of a process. Clones are handles to the same.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    reconciles: Series<Result, Counter>,
    reconcile_errors: Series<Named, Counter>,
    reconcile_time: Series<Named, Histogram>,
    active_workers: Series<Named, Gauge>,
    max_concurrent: Series<Named, Gauge>,
    depth: Series<Queue, Gauge>,
    adds: Series<Queue, Counter>,
    retries: Series<Queue, Counter>,
    waited: Series<Queue, Histogram>,
    worked: Series<Queue, Histogram>,
    reasons: Series<Reason, Counter>,
    source_objects: Series<Source, Gauge>,
    source_synced: Series<Source, Gauge>,
    target_objects: Series<Each, Gauge>,
    standing_errors: Series<Each, Gauge>,
    errors: Series<Code, Counter>,
    steps: Series<Each, Counter>,
    step_time: Series<Each, Histogram>,
    writes: Series<Write, Counter>,
    operators: Gauge,
    leading: Gauge,
    requests: Family<Request, Counter>,
    lists: Family<Listed, Counter>,
}

/// Steps take microseconds, and a first one of everything may take seconds.
fn step_buckets() -> Histogram {
    Histogram::new(exponential_buckets(1e-5, 4.0, 11))
}

/// Writes wait for a server, and in queues.
fn wait_buckets() -> Histogram {
    Histogram::new(exponential_buckets(1e-3, 2.0, 16))
}

impl Default for Inner {
    fn default() -> Self {
        let mut registry = Registry::default();
        let r = &mut registry;
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        r.register("deltic_build", "What is running", Info::new(version));
        Self {
            reconciles: count(r, "controller_runtime_reconcile", "Runs for one object"),
            reconcile_errors: count(r, "controller_runtime_reconcile_errors", "Runs that failed"),
            reconcile_time: time(
                r,
                "controller_runtime_reconcile_time",
                "How long a run takes",
                wait_buckets,
            ),
            active_workers: gauge(
                r,
                "controller_runtime_active_workers",
                "Runs at this moment",
            ),
            max_concurrent: gauge(
                r,
                "controller_runtime_max_concurrent_reconciles",
                "Runs that are allowed at once",
            ),
            depth: gauge(
                r,
                "workqueue_depth",
                "Objects that are due and wait for their run",
            ),
            adds: count(r, "workqueue_adds", "Objects put into the queue"),
            retries: count(r, "workqueue_retries", "Objects put back after a failure"),
            waited: time(
                r,
                "workqueue_queue_duration",
                "How long an object waits for its run",
                wait_buckets,
            ),
            worked: time(
                r,
                "workqueue_work_duration",
                "How long the run of an object takes",
                wait_buckets,
            ),
            reasons: count(r, "deltic_reconcile_reasons", "Why objects were queued"),
            source_objects: gauge(r, "deltic_source_objects", "Objects that a source holds"),
            source_synced: gauge(
                r,
                "deltic_source_synced",
                "Whether a source knows all its objects",
            ),
            target_objects: gauge(r, "deltic_target_objects", "Objects that are derived"),
            standing_errors: gauge(r, "deltic_standing_errors", "Errors that stand"),
            errors: count(r, "deltic_errors", "Errors that came up, by code"),
            steps: count(r, "deltic_steps", "Batches that went through a pipeline"),
            step_time: time(
                r,
                "deltic_step_duration",
                "How long a pipeline takes for a batch",
                step_buckets,
            ),
            writes: count(r, "deltic_writes", "Writes of targets; code 0: no answer"),
            operators: plain(r, "deltic_operators", "Operators that run"),
            leading: plain(
                r,
                "leader_election_master_status",
                "Whether this process leads",
            ),
            requests: {
                let requests = Family::default();
                let help = "Requests to the API server; code 0: no answer";
                r.register("rest_client_requests", help, requests.clone());
                requests
            },
            lists: {
                let lists = Family::default();
                let help = "Lists of all objects of a kind that a watch began, and why";
                r.register("deltic_lists", help, lists.clone());
                lists
            },
            registry,
        }
    }
}

fn count<S: Labels>(
    registry: &mut Registry,
    name: &'static str,
    help: &'static str,
) -> Series<S, Counter> {
    let series = Series::default();
    registry.register(name, help, series.family());
    series
}

fn gauge<S: Labels>(
    registry: &mut Registry,
    name: &'static str,
    help: &'static str,
) -> Series<S, Gauge> {
    let series = Series::default();
    registry.register(name, help, series.family());
    series
}

fn time<S: Labels>(
    registry: &mut Registry,
    name: &'static str,
    help: &'static str,
    make: fn() -> Histogram,
) -> Series<S, Histogram> {
    let series = Series::new(make);
    registry.register_with_unit(name, help, Unit::Seconds, series.family());
    series
}

fn plain(registry: &mut Registry, name: &'static str, help: &'static str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

impl Inner {
    fn forget(&self, operator: &str) {
        self.reconciles.forget(operator);
        self.reconcile_errors.forget(operator);
        self.reconcile_time.forget(operator);
        self.active_workers.forget(operator);
        self.max_concurrent.forget(operator);
        self.depth.forget(operator);
        self.adds.forget(operator);
        self.retries.forget(operator);
        self.waited.forget(operator);
        self.worked.forget(operator);
        self.reasons.forget(operator);
        self.source_objects.forget(operator);
        self.source_synced.forget(operator);
        self.target_objects.forget(operator);
        self.standing_errors.forget(operator);
        self.errors.forget(operator);
        self.steps.forget(operator);
        self.step_time.forget(operator);
        self.writes.forget(operator);
    }
}

/// The content type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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
            targets: metrics.target_objects.get(&each),
            standing: metrics.standing_errors.get(&each),
            steps: metrics.steps.get(&each),
            step_time: metrics.step_time.get(&each),
            all: self.clone(),
            each,
        }
    }

    /// Drops all that an operator reported, because it is gone or changed.
    pub fn forget(&self, operator: &str) {
        self.0.forget(operator);
    }

    /// How many operators run.
    pub fn operators(&self, count: usize) {
        self.0.operators.set(number(count));
    }

    /// Whether this process leads.
    pub fn leading(&self, leads: bool) {
        self.0.leading.set(i64::from(leads));
    }

    /// A request to the API server was answered, or not (0).
    pub fn request(&self, method: &http::Method, code: u16) {
        let request = Request {
            method: method.as_str().to_owned(),
            code,
        };
        self.0.requests.get_or_create(&request).inc();
    }

    /// A watch lists all objects of a kind, for this reason.
    pub fn listed(&self, group: &str, kind: &str, reason: &'static str) {
        let listed = Listed {
            group: group.to_owned(),
            kind: kind.to_owned(),
            reason,
        };
        self.0.lists.get_or_create(&listed).inc();
    }

    /// All metrics as text.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.0.registry);
        text
    }
}

/// What a controller reports to. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    all: Metrics,
    each: Each,
    reconcile_errors: Counter,
    reconcile_time: Histogram,
    active_workers: Gauge,
    max_concurrent: Gauge,
    targets: Gauge,
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

    /// How many objects are derived.
    pub fn targets(&self, objects: usize) {
        self.targets.set(number(objects));
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

    /// A batch went through the pipeline.
    pub fn step(&self, took: Duration) {
        self.steps.inc();
        self.step_time.observe(took.as_secs_f64());
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

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines about one metric, sorted.
    fn lines(metrics: &Metrics, name: &str) -> Vec<String> {
        let text = metrics.encode();
        let lines = text.lines().filter(|line| line.starts_with(name));
        let mut lines: Vec<_> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    }

    #[test]
    fn a_controller_is_named_as_others_name_theirs() {
        let metrics = Metrics::default();
        let controller = metrics.controller("op", "c");
        controller.started("ObjectUpdated");
        controller.ended(Ended::Error, Duration::from_millis(20));
        assert_eq!(
            lines(&metrics, "controller_runtime_reconcile_total"),
            [r#"controller_runtime_reconcile_total{controller="op/c",result="error"} 1"#]
        );
        assert_eq!(
            lines(&metrics, "controller_runtime_active_workers"),
            [r#"controller_runtime_active_workers{controller="op/c"} 0"#]
        );
        assert_eq!(
            lines(&metrics, "deltic_reconcile_reasons_total"),
            [
                r#"deltic_reconcile_reasons_total{operator="op",controller="c",reason="ObjectUpdated"} 1"#
            ]
        );
    }

    #[test]
    fn a_queue_is_named_as_others_name_theirs() {
        let metrics = Metrics::default();
        let queue = metrics.queue("op");
        queue.added();
        queue.added();
        queue.depth(2);
        queue.started(Duration::from_millis(3));
        queue.ended(Duration::from_millis(20));
        queue.retried();
        for line in [
            r#"workqueue_depth{name="op"} 2"#,
            r#"workqueue_adds_total{name="op"} 2"#,
            r#"workqueue_retries_total{name="op"} 1"#,
            r#"workqueue_queue_duration_seconds_count{name="op"} 1"#,
            r#"workqueue_work_duration_seconds_count{name="op"} 1"#,
        ] {
            assert_eq!(lines(&metrics, line), [line]);
        }
    }

    #[test]
    fn what_is_counted_shows() {
        let metrics = Metrics::default();
        let controller = metrics.controller("op", "c");
        controller.source("Pod", 7, true);
        controller.targets(3);
        controller.error("type");
        controller.step(Duration::from_micros(100));
        controller.wrote("create", 201);
        metrics.request(&http::Method::GET, 200);
        metrics.listed("", "Pod", "expired");
        metrics.leading(true);
        metrics.operators(2);
        for line in [
            r#"deltic_source_objects{operator="op",controller="c",source="Pod"} 7"#,
            r#"deltic_source_synced{operator="op",controller="c",source="Pod"} 1"#,
            r#"deltic_target_objects{operator="op",controller="c"} 3"#,
            r#"deltic_errors_total{operator="op",controller="c",code="type"} 1"#,
            r#"deltic_steps_total{operator="op",controller="c"} 1"#,
            r#"deltic_step_duration_seconds_count{operator="op",controller="c"} 1"#,
            r#"deltic_writes_total{operator="op",controller="c",verb="create",code="201"} 1"#,
            r#"rest_client_requests_total{method="GET",code="200"} 1"#,
            r#"deltic_lists_total{group="",kind="Pod",reason="expired"} 1"#,
            "leader_election_master_status 1",
            "deltic_operators 2",
        ] {
            assert_eq!(lines(&metrics, line), [line]);
        }
    }

    #[test]
    fn an_operator_that_is_gone_leaves_no_series() {
        let metrics = Metrics::default();
        let (gone, stays) = (
            metrics.controller("op", "c"),
            metrics.controller("op-2", "c"),
        );
        for controller in [&gone, &stays] {
            controller.started("ObjectUpdated");
            controller.ended(Ended::Success, Duration::ZERO);
            controller.source("Pod", 1, true);
            controller.error("type");
            controller.wrote("patch", 0);
        }
        for operator in ["op", "op-2"] {
            let queue = metrics.queue(operator);
            queue.added();
            queue.ended(Duration::ZERO);
        }
        metrics.forget("op");
        let text = metrics.encode();
        assert!(
            !text.contains("\"op\"") && !text.contains("\"op/c\""),
            "{text}"
        );
        assert!(
            text.contains("\"op-2\"") && text.contains("\"op-2/c\""),
            "{text}"
        );
    }
}
