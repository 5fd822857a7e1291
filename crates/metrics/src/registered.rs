//! The list of all metrics: their names, their help texts and their labels.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::series::{
    Answered, Asked, Code, Each, Labels, Listed, Named, OperatorName, Queue, Reason, Request,
    Result, Series, Source, Target, Task, Took, Write,
};
use super::table::{Metric, MetricKind};

/// All metrics of a process.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) registry: Registry,
    pub(super) table: Vec<Metric>,
    pub(super) reconciles: Series<Result, Counter>,
    pub(super) reconcile_errors: Series<Named, Counter>,
    pub(super) reconcile_time: Series<Named, Histogram>,
    pub(super) active_workers: Series<Named, Gauge>,
    pub(super) max_concurrent: Series<Named, Gauge>,
    pub(super) depth: Series<Queue, Gauge>,
    pub(super) adds: Series<Queue, Counter>,
    pub(super) retries: Series<Queue, Counter>,
    pub(super) waited: Series<Queue, Histogram>,
    pub(super) worked: Series<Queue, Histogram>,
    pub(super) reasons: Series<Reason, Counter>,
    pub(super) source_objects: Series<Source, Gauge>,
    pub(super) source_synced: Series<Source, Gauge>,
    pub(super) source_changes: Series<Each, Counter>,
    pub(super) target_objects: Series<Target, Gauge>,
    pub(super) target_changes: Series<Each, Counter>,
    pub(super) standing_errors: Series<Each, Gauge>,
    pub(super) orphans: Series<OperatorName, Gauge>,
    pub(super) errors: Series<Code, Counter>,
    pub(super) steps: Series<Each, Counter>,
    pub(super) step_time: Series<Each, Histogram>,
    pub(super) writes: Series<Write, Counter>,
    pub(super) crashes: Series<OperatorName, Counter>,
    pub(super) task_crashes: Series<Task, Counter>,
    pub(super) answered: Series<Answered, Counter>,
    pub(super) took: Series<Took, Histogram>,
    pub(super) long_running: Series<Asked, Gauge>,
    pub(super) operators: Gauge,
    pub(super) leading: Gauge,
    pub(super) requests: Series<Request, Counter>,
    pub(super) lists: Series<Listed, Counter>,
}

/// Steps take microseconds; the first one, with all objects, may take seconds.
fn step_buckets() -> Histogram {
    Histogram::new(exponential_buckets(1e-5, 4.0, 11))
}

/// Requests for views are answered from memory, after questions to the cluster.
fn request_buckets() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0,
    ])
}

/// Writes wait for a server, and in queues.
fn wait_buckets() -> Histogram {
    Histogram::new(exponential_buckets(1e-3, 2.0, 16))
}

impl Default for Registered {
    fn default() -> Self {
        let mut list = List::default();
        let r = &mut list;
        info(r, "deltic_build", "The version that runs");
        Self {
            reconciles: count(
                r,
                "controller_runtime_reconcile",
                "Runs of the writer, each for one object",
            ),
            reconcile_errors: count(
                r,
                "controller_runtime_reconcile_errors",
                "Runs of the writer that failed",
            ),
            reconcile_time: time(
                r,
                "controller_runtime_reconcile_time",
                "Duration of a run of the writer",
                wait_buckets,
            ),
            active_workers: gauge(
                r,
                "controller_runtime_active_workers",
                "Runs of the writer in progress",
            ),
            max_concurrent: gauge(
                r,
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent runs of the writer",
            ),
            depth: gauge(r, "workqueue_depth", "Objects in the queue that are due"),
            adds: count(r, "workqueue_adds", "Objects added to the queue"),
            retries: count(
                r,
                "workqueue_retries",
                "Objects added to the queue again after a failure",
            ),
            waited: time(
                r,
                "workqueue_queue_duration",
                "Time that an object waits in the queue",
                wait_buckets,
            ),
            worked: time(
                r,
                "workqueue_work_duration",
                "Duration of the run for an object of the queue",
                wait_buckets,
            ),
            reasons: count(
                r,
                "deltic_reconcile_reasons",
                "Runs of the writer, by reason",
            ),
            source_objects: gauge(r, "deltic_source_objects", "Objects of a source"),
            source_synced: gauge(
                r,
                "deltic_source_synced",
                "1 if all objects of a source have been read",
            ),
            source_changes: count(r, "deltic_source_changes", "Changes of source objects"),
            target_objects: gauge(r, "deltic_target_objects", "Derived objects, by kind"),
            target_changes: count(r, "deltic_target_changes", "Changes of derived objects"),
            standing_errors: gauge(r, "deltic_standing_errors", "Current errors"),
            orphans: gauge(
                r,
                "deltic_orphans",
                "Objects that an earlier Operator of the same name has left",
            ),
            errors: count(r, "deltic_errors", "Errors that occurred, by code"),
            steps: count(r, "deltic_steps", "Batches that a pipeline has processed"),
            step_time: time(
                r,
                "deltic_step_duration",
                "Time that a pipeline takes for a batch",
                step_buckets,
            ),
            writes: count(
                r,
                "deltic_writes",
                "Writes of target objects; code 0 means no answer",
            ),
            crashes: count(
                r,
                "deltic_crashes",
                "Panics of an Operator's engine, after which it was started again",
            ),
            task_crashes: count(
                r,
                "deltic_task_crashes",
                "Panics of a task that belongs to no Operator, after which it went on",
            ),
            answered: count(
                r,
                "apiserver_request",
                "Requests for views, by their answer",
            ),
            took: time(
                r,
                "apiserver_request_duration",
                "Time until a request for views is answered, without watches",
                request_buckets,
            ),
            long_running: gauge(r, "apiserver_longrunning_requests", "Open watches of views"),
            operators: plain(r, "deltic_operators", "Running Operators"),
            leading: plain(
                r,
                "leader_election_master_status",
                "1 if this process is the leader",
            ),
            requests: count(
                r,
                "rest_client_requests",
                "Requests to the API server; code 0: no answer",
            ),
            lists: count(
                r,
                "deltic_lists",
                "Lists of all objects of a kind that a watch began, and why",
            ),
            registry: list.registry,
            table: list.table,
        }
    }
}

/// What was registered so far.
#[derive(Debug, Default)]
struct List {
    registry: Registry,
    table: Vec<Metric>,
}

impl List {
    /// Adds a row to the table. The registry appends the same suffixes to the name.
    fn row(
        &mut self,
        name: &str,
        suffix: &str,
        kind: MetricKind,
        help: &'static str,
        labels: Vec<&'static str>,
    ) {
        let name = format!("{name}{suffix}");
        self.table.push(Metric {
            name,
            kind,
            help,
            labels,
        });
    }
}

fn count<S: Labels>(list: &mut List, name: &'static str, help: &'static str) -> Series<S, Counter> {
    let series = Series::default();
    list.registry.register(name, help, series.family());
    list.row(name, "_total", MetricKind::Counter, help, S::names());
    series
}

fn gauge<S: Labels>(list: &mut List, name: &'static str, help: &'static str) -> Series<S, Gauge> {
    let series = Series::default();
    list.registry.register(name, help, series.family());
    list.row(name, "", MetricKind::Gauge, help, S::names());
    series
}

fn time<S: Labels>(
    list: &mut List,
    name: &'static str,
    help: &'static str,
    make: fn() -> Histogram,
) -> Series<S, Histogram> {
    let (series, unit) = (Series::new(make), Unit::Seconds);
    list.registry
        .register_with_unit(name, help, unit, series.family());
    list.row(name, "_seconds", MetricKind::Histogram, help, S::names());
    series
}

fn plain(list: &mut List, name: &'static str, help: &'static str) -> Gauge {
    let gauge = Gauge::default();
    list.registry.register(name, help, gauge.clone());
    list.row(name, "", MetricKind::Gauge, help, Vec::new());
    gauge
}

fn info(list: &mut List, name: &'static str, help: &'static str) {
    let version = vec![("version", env!("CARGO_PKG_VERSION"))];
    list.registry.register(name, help, Info::new(version));
    list.row(name, "_info", MetricKind::Info, help, vec!["version"]);
}

impl Registered {
    /// Drops the series of an operator.
    pub(super) fn forget(&self, operator: &str) {
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
        self.source_changes.forget(operator);
        self.target_objects.forget(operator);
        self.target_changes.forget(operator);
        self.standing_errors.forget(operator);
        self.orphans.forget(operator);
        self.errors.forget(operator);
        self.steps.forget(operator);
        self.step_time.forget(operator);
        self.writes.forget(operator);
        self.answered.forget(operator);
        self.took.forget(operator);
        self.long_running.forget(operator);
    }
}
