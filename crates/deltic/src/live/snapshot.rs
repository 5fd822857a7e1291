//! Metrics and status joined: what each Operator and controller does now.

use std::collections::{BTreeMap, BTreeSet};

use super::distribution::Distribution;
use super::exposition::{Labels, Scrape};
use super::status::{Condition, ControllerStatus, OperatorStatus};
use super::window::Window;

/// All Operators that run, or are on the cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// The version of deltic, if its metrics were read.
    pub(crate) version: Option<String>,
    /// Whether it leads.
    pub(crate) leads: Option<bool>,
    /// Requests to the API server per second.
    pub(crate) requests: Option<f64>,
    /// In the order of their names.
    pub(crate) operators: Vec<OperatorNow>,
}

/// An Operator.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperatorNow {
    pub(crate) name: String,
    pub(crate) ready: Option<Condition>,
    /// The sums of its controllers.
    pub(crate) numbers: Numbers,
    /// In the order of the status; those that only metrics name come last.
    pub(crate) controllers: Vec<ControllerNow>,
    /// How often its engine has crashed.
    pub(crate) crashes: f64,
    /// Objects that an earlier Operator of the same name has left.
    pub(crate) orphans: f64,
}

/// A controller.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControllerNow {
    pub(crate) name: String,
    pub(crate) ready: Option<Condition>,
    pub(crate) numbers: Numbers,
    /// The objects of each source, and whether all of them were read.
    pub(crate) sources: BTreeMap<String, (f64, bool)>,
    /// The derived objects of each kind.
    pub(crate) targets: BTreeMap<String, f64>,
    /// How often each code of an error has occurred.
    pub(crate) codes: BTreeMap<String, f64>,
    /// The newest errors, in full.
    pub(crate) errors: Vec<String>,
}

/// What is counted of a controller or Operator. `None` is not known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Objects of all sources.
    pub(crate) objects: Option<f64>,
    /// Derived objects.
    pub(crate) derived: Option<f64>,
    /// Changes of source objects per second.
    pub(crate) changes: Option<f64>,
    /// Changes of derived objects per second.
    pub(crate) yields: Option<f64>,
    /// Writes to the cluster per second.
    pub(crate) writes: Option<f64>,
    /// Objects that wait to be written; only of an Operator.
    pub(crate) queue: Option<f64>,
    /// Current errors.
    pub(crate) errors: Option<f64>,
    /// Errors that occur per second.
    pub(crate) failing: Option<f64>,
    pub(crate) latency: Latency,
}

/// How long a change takes to be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency {
    /// Of a batch in the pipeline.
    step: Distribution,
    /// In the queue.
    wait: Distribution,
    /// Of a run of the writer.
    write: Distribution,
}

impl Latency {
    /// The average time of a step, of waiting in the queue and of writing together, in seconds. What
    /// writes only to views waits for nothing.
    pub(crate) fn mean(&self) -> Option<f64> {
        let (step, write) = (self.step.mean(), self.write.mean());
        let wait = self.wait.mean().filter(|_| write.is_some());
        [step, wait, write]
            .into_iter()
            .flatten()
            .reduce(|a, b| a + b)
    }

    /// What 99% of the steps do not exceed.
    pub(crate) fn step(&self) -> Option<f64> {
        self.step.quantile(SHARE)
    }

    /// What 99% of the objects wait at most.
    pub(crate) fn wait(&self) -> Option<f64> {
        self.wait.quantile(SHARE)
    }

    /// What 99% of the writes do not exceed.
    pub(crate) fn write(&self) -> Option<f64> {
        self.write.quantile(SHARE)
    }
}

const SHARE: f64 = 0.99;

/// The names of an Operator and of a controller.
type ControllerId = (String, String);

/// One of the numbers.
type Field = fn(&mut Numbers) -> &mut Option<f64>;

impl Snapshot {
    /// Joins metrics and status; either may be missing.
    pub(crate) fn new(metrics: Option<&Window>, status: Option<&[OperatorStatus]>) -> Self {
        let measured = metrics.and_then(Measured::new);
        let measured = measured.as_ref();
        let status = status.unwrap_or_default();
        let names = status.iter().map(|operator| operator.name.clone());
        let running = measured.into_iter().flat_map(Measured::operators);
        let names: BTreeSet<String> = names.chain(running).collect();
        let operators = names.into_iter().map(|name| {
            let status = status.iter().find(|operator| operator.name == name);
            operator(name, status, measured)
        });
        Self {
            version: measured.and_then(|measured| measured.version.clone()),
            leads: measured.and_then(|measured| measured.leads),
            requests: measured.and_then(|measured| measured.requests),
            operators: operators.collect(),
        }
    }

    /// A controller, if it is known.
    pub(crate) fn controller(&self, operator: &str, controller: &str) -> Option<&ControllerNow> {
        let mut operators = self.operators.iter();
        let operator = operators.find(|found| found.name == operator)?;
        let mut controllers = operator.controllers.iter();
        controllers.find(|found| found.name == controller)
    }

    /// The sum of a number over all Operators.
    pub(crate) fn sum(&self, number: impl Fn(&Numbers) -> Option<f64>) -> Option<f64> {
        total(
            self.operators.iter().map(|operator| &operator.numbers),
            number,
        )
    }
}

fn operator(
    name: String,
    status: Option<&OperatorStatus>,
    measured: Option<&Measured>,
) -> OperatorNow {
    let known = status.into_iter().flat_map(|status| &status.controllers);
    let mut controllers: Vec<(String, Option<&ControllerStatus>)> = known
        .map(|controller| (controller.name.clone(), Some(controller)))
        .collect();
    let running = measured.into_iter().flat_map(|m| m.controllers.keys());
    for (_, controller) in running.filter(|(operator, _)| *operator == name) {
        if controllers.iter().all(|(known, _)| known != controller) {
            controllers.push((controller.clone(), None));
        }
    }
    let wait = measured.and_then(|measured| measured.waits.get(&name));
    let wait = wait.cloned().unwrap_or_default();
    let controllers: Vec<ControllerNow> = controllers
        .into_iter()
        .map(|(controller, status)| {
            let place = (name.clone(), controller);
            let running = measured.and_then(|measured| measured.controllers.get(&place));
            let mut now = running.cloned().unwrap_or_default();
            now.name = place.1;
            now.numbers.latency.wait = wait.clone();
            now.with_status(status)
        })
        .collect();
    let of_queue = |values: &BTreeMap<String, f64>| values.get(&name).copied();
    let numbers = Numbers {
        queue: measured.and_then(|measured| of_queue(&measured.queues)),
        ..sum(&controllers, wait)
    };
    OperatorNow {
        ready: status.and_then(|status| status.ready.clone()),
        numbers,
        controllers,
        crashes: measured.map_or(0.0, |m| of_queue(&m.crashes).unwrap_or_default()),
        orphans: measured.map_or(0.0, |m| of_queue(&m.orphans).unwrap_or_default()),
        name,
    }
}

impl ControllerNow {
    /// Adds what the status knows. Its counts are used where there are no metrics: they are written
    /// every few seconds only.
    fn with_status(mut self, status: Option<&ControllerStatus>) -> Self {
        if let Some(status) = status {
            let numbers = &mut self.numbers;
            numbers.objects = numbers.objects.or(status.objects);
            numbers.derived = numbers.derived.or(status.derived);
            numbers.errors = numbers.errors.or(status.error_count);
            self.ready.clone_from(&status.ready);
            self.errors.clone_from(&status.errors);
        }
        self
    }
}

/// The numbers of an Operator.
fn sum(controllers: &[ControllerNow], wait: Distribution) -> Numbers {
    let of = |number: fn(&Numbers) -> Option<f64>| {
        total(controllers.iter().map(|now| &now.numbers), number)
    };
    let mut latency = Latency {
        wait,
        ..Latency::default()
    };
    for controller in controllers {
        latency.step.merge(&controller.numbers.latency.step);
        latency.write.merge(&controller.numbers.latency.write);
    }
    Numbers {
        objects: of(|numbers| numbers.objects),
        derived: of(|numbers| numbers.derived),
        changes: of(|numbers| numbers.changes),
        yields: of(|numbers| numbers.yields),
        writes: of(|numbers| numbers.writes),
        queue: None,
        errors: of(|numbers| numbers.errors),
        failing: of(|numbers| numbers.failing),
        latency,
    }
}

/// The sum of the numbers that are known; `None` if none is.
fn total<'a>(
    all: impl Iterator<Item = &'a Numbers>,
    number: impl Fn(&Numbers) -> Option<f64>,
) -> Option<f64> {
    all.filter_map(number).reduce(|a, b| a + b)
}

/// What the metrics say.
#[derive(Debug, Default)]
struct Measured {
    version: Option<String>,
    leads: Option<bool>,
    requests: Option<f64>,
    controllers: BTreeMap<ControllerId, ControllerNow>,
    queues: BTreeMap<String, f64>,
    waits: BTreeMap<String, Distribution>,
    crashes: BTreeMap<String, f64>,
    orphans: BTreeMap<String, f64>,
}

impl Measured {
    fn new(window: &Window) -> Option<Self> {
        let last = window.last()?;
        let mut measured = Self {
            version: last
                .samples("deltic_build_info")
                .find_map(|(labels, _)| labels.get("version").cloned()),
            leads: last
                .value("leader_election_master_status", &Labels::default())
                .map(|leads| leads > 0.0),
            requests: window
                .rates("rest_client_requests_total")
                .into_values()
                .reduce(|a, b| a + b),
            queues: by(last, "workqueue_depth", "name"),
            waits: window.durations("workqueue_queue_duration_seconds", |labels| {
                labels.get("name").cloned()
            }),
            crashes: by(last, "deltic_crashes_total", "operator"),
            orphans: by(last, "deltic_orphans", "operator"),
            ..Self::default()
        };
        measured.count(last);
        measured.measure(window);
        Some(measured)
    }

    /// The Operators that have a series.
    fn operators(&self) -> impl Iterator<Item = String> {
        let controllers = self.controllers.keys().map(|(operator, _)| operator);
        controllers.chain(self.queues.keys()).cloned()
    }

    fn at(&mut self, labels: &Labels) -> Option<&mut ControllerNow> {
        Some(self.controllers.entry(place(labels)?).or_default())
    }

    /// Reads how much there is.
    fn count(&mut self, last: &Scrape) {
        for (labels, value) in last.samples("deltic_source_objects") {
            let synced = last.value("deltic_source_synced", labels) == Some(1.0);
            if let (Some(now), Some(source)) = (self.at(labels), labels.get("source")) {
                now.sources.insert(source.clone(), (value, synced));
                add(&mut now.numbers.objects, value);
            }
        }
        for (labels, value) in last.samples("deltic_target_objects") {
            if let (Some(now), Some(target)) = (self.at(labels), labels.get("target")) {
                now.targets.insert(target.clone(), value);
                add(&mut now.numbers.derived, value);
            }
        }
        for (labels, value) in last.samples("deltic_standing_errors") {
            if let Some(now) = self.at(labels) {
                add(&mut now.numbers.errors, value);
            }
        }
        for (labels, value) in last.samples("deltic_errors_total") {
            if let (Some(now), Some(code)) = (self.at(labels), labels.get("code")) {
                now.codes.insert(code.clone(), value);
            }
        }
    }

    /// Reads how fast it changes.
    fn measure(&mut self, window: &Window) {
        let rates: [(&str, Field); 4] = [
            ("deltic_source_changes_total", |n| &mut n.changes),
            ("deltic_target_changes_total", |n| &mut n.yields),
            ("deltic_writes_total", |n| &mut n.writes),
            ("deltic_errors_total", |n| &mut n.failing),
        ];
        for (name, field) in rates {
            for (labels, rate) in window.rates(name) {
                if let Some(now) = self.at(&labels) {
                    add(field(&mut now.numbers), rate);
                }
            }
        }
        // What has never happened has no series, and its rate is 0.
        for now in self.controllers.values_mut() {
            let numbers = &mut now.numbers;
            if numbers.changes.is_some() {
                numbers.writes.get_or_insert(0.0);
                numbers.failing.get_or_insert(0.0);
            }
        }
        for (place, step) in window.durations("deltic_step_duration_seconds", place) {
            self.controllers
                .entry(place)
                .or_default()
                .numbers
                .latency
                .step = step;
        }
        let joined = |labels: &Labels| {
            let (operator, controller) = labels.get("controller")?.split_once('/')?;
            Some((operator.to_owned(), controller.to_owned()))
        };
        for (place, write) in window.durations("controller_runtime_reconcile_time_seconds", joined)
        {
            self.controllers
                .entry(place)
                .or_default()
                .numbers
                .latency
                .write = write;
        }
    }
}

fn place(labels: &Labels) -> Option<ControllerId> {
    let operator = labels.get("operator")?;
    Some((operator.clone(), labels.get("controller")?.clone()))
}

/// The values of a metric, by one label.
fn by(scrape: &Scrape, name: &str, label: &str) -> BTreeMap<String, f64> {
    let samples = scrape.samples(name);
    samples
        .filter_map(|(labels, value)| Some((labels.get(label)?.clone(), value)))
        .collect()
}

fn add(to: &mut Option<f64>, value: f64) {
    *to = Some(to.unwrap_or_default() + value);
}

#[cfg(test)]
mod tests;
