//! The list of all metrics: their names, their help texts and their labels.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::series::{
    Answered, Asked, Code, Each, Labels, Listed, Named, OperatorName, Queue, Reason, Request,
    Result, Series, Source, Took, Write,
};

/// All metrics of a process.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) registry: Registry,
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
    pub(super) target_objects: Series<Each, Gauge>,
    pub(super) standing_errors: Series<Each, Gauge>,
    pub(super) orphans: Series<OperatorName, Gauge>,
    pub(super) errors: Series<Code, Counter>,
    pub(super) steps: Series<Each, Counter>,
    pub(super) step_time: Series<Each, Histogram>,
    pub(super) writes: Series<Write, Counter>,
    pub(super) crashes: Series<OperatorName, Counter>,
    pub(super) answered: Series<Answered, Counter>,
    pub(super) took: Series<Took, Histogram>,
    pub(super) long_running: Series<Asked, Gauge>,
    pub(super) operators: Gauge,
    pub(super) leading: Gauge,
    pub(super) requests: Family<Request, Counter>,
    pub(super) lists: Family<Listed, Counter>,
}

/// Steps take microseconds, and a first one of everything may take seconds.
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
        let mut registry = Registry::default();
        let r = &mut registry;
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        r.register("deltic_build", "The version that runs", Info::new(version));
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
            target_objects: gauge(r, "deltic_target_objects", "Derived objects"),
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
        self.target_objects.forget(operator);
        self.standing_errors.forget(operator);
        self.orphans.forget(operator);
        self.errors.forget(operator);
        self.steps.forget(operator);
        self.step_time.forget(operator);
        self.writes.forget(operator);
        self.crashes.forget(operator);
        self.answered.forget(operator);
        self.took.forget(operator);
        self.long_running.forget(operator);
    }
}
