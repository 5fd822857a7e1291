//! Reads the metrics of a process and the Operators of its cluster.

use std::time::Duration;

use document::Value;
use metrics::Metrics;
use remote::observe::{self, Observer};
use tokio::time::{Instant, sleep_until};

use super::address::Address;
use super::exposition::Scrape;
use super::snapshot::Snapshot;
use super::status::OperatorStatus;
use super::window::Window;
use crate::cli::cluster::Connection;
use crate::cli::top::Observed;
use crate::cluster::failed;
use crate::exit::Stop;

/// What was read so far, and what could not be read.
#[derive(Debug)]
pub(crate) struct LiveReader {
    started: Instant,
    window: Window,
    /// Why there are no metrics now.
    metrics: Result<(), String>,
    status: Vec<OperatorStatus>,
    /// When the status was read.
    read: Option<Duration>,
    /// Why there is no status now.
    cluster: Result<(), String>,
}

/// A cluster, or why there is none.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// Where it is.
    pub(crate) connection: Option<cluster::connect::Connection>,
    observer: Result<Observer, String>,
}

impl Cluster {
    /// Finds the cluster without sending a request.
    pub(crate) async fn find(args: &Connection) -> Self {
        let found = cluster::connect::find(&args.options()).await;
        let observer = found.as_ref().map_err(ToString::to_string);
        let observer = observer.and_then(|connection| {
            let client = connection.client(&Metrics::default());
            client.map(Observer::new).map_err(|error| error.to_string())
        });
        Self {
            connection: found.ok(),
            observer,
        }
    }

    /// The Operators.
    pub(crate) async fn operators(&self) -> Result<Vec<Value>, String> {
        let operators = self.observer.as_ref().map_err(Clone::clone)?.operators();
        operators.await.map_err(|error| error.to_string())
    }
}

/// Metrics with their time, or why there are none.
pub(crate) type Scraped = Result<(Instant, Scrape), String>;

/// Reads the metrics at an address.
pub(crate) async fn scrape(address: &Address) -> Scraped {
    let text = observe::metrics(address.url()).await;
    let text = text.map_err(|error| error.to_string())?;
    let now = Instant::now();
    let scrape = Scrape::parse(&text).map_err(|error| error.to_string())?;
    if scrape.samples("deltic_build_info").next().is_none() {
        return Err("the metrics there are not those of deltic".to_owned());
    }
    Ok((now, scrape))
}

/// Reads metrics and status, and metrics again after some time, for rates. Fails if neither can be
/// read.
pub(crate) async fn read(
    observed: &Observed,
    cluster: &Cluster,
    apart: Option<Duration>,
) -> Result<LiveReader, Stop> {
    let mut reader = LiveReader::new();
    let first = scrape(&observed.metrics_addr).await;
    let second = first.as_ref().ok().zip(apart);
    let second = second.map(|((now, _), apart)| *now + apart);
    reader.scraped(first);
    if let Some(second) = second {
        sleep_until(second).await;
        reader.scraped(scrape(&observed.metrics_addr).await);
    }
    reader.listed(cluster.operators().await);
    any(&reader, observed)?;
    Ok(reader)
}

/// Fails if there is neither metrics nor status.
fn any(reader: &LiveReader, observed: &Observed) -> Result<(), Stop> {
    let (Some(metrics), Some(status)) = (reader.no_metrics(), reader.no_status()) else {
        return Ok(());
    };
    let address = &observed.metrics_addr;
    let message = format!(
        "neither metrics nor status can be read\n  metrics of {address}: {metrics}\n  status on the cluster: {status}"
    );
    Err(failed("unreachable", message))
}

/// What cannot be read, for people.
pub(crate) fn notes(reader: &LiveReader, observed: &Observed) -> Vec<String> {
    let address = &observed.metrics_addr;
    let metrics = reader.no_metrics().map(|why| {
        format!("no metrics from {address}: {why}; only the status of the Operators is shown")
    });
    let status = reader.no_status().map(|why| match reader.age() {
        Some(age) => format!(
            "no status: {why}; what is shown is from {} s ago",
            age.as_secs()
        ),
        None => format!("no status: {why}; only metrics are shown"),
    });
    metrics.into_iter().chain(status).collect()
}

impl LiveReader {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            window: Window::default(),
            metrics: Err("not read yet".to_owned()),
            status: Vec::new(),
            read: None,
            cluster: Err("not read yet".to_owned()),
        }
    }

    /// Takes new metrics.
    pub(crate) fn scraped(&mut self, scrape: Scraped) {
        self.metrics = scrape.map(|(now, scrape)| {
            let at = now.saturating_duration_since(self.started);
            self.window.push(at, scrape);
        });
    }

    /// Takes the Operators of the cluster.
    pub(crate) fn listed(&mut self, operators: Result<Vec<Value>, String>) {
        self.cluster = operators.map(|operators| {
            self.status = operators.iter().map(OperatorStatus::read).collect();
            self.read = Some(self.started.elapsed());
        });
    }

    /// Why there are no metrics, if there are none.
    pub(crate) fn no_metrics(&self) -> Option<&str> {
        self.metrics.as_ref().err().map(String::as_str)
    }

    /// Why there is no status, if there is none.
    pub(crate) fn no_status(&self) -> Option<&str> {
        self.cluster.as_ref().err().map(String::as_str)
    }

    /// How old the status is, if it cannot be read now but was before.
    pub(crate) fn age(&self) -> Option<Duration> {
        let read = self.read.filter(|_| self.cluster.is_err())?;
        Some(self.started.elapsed().saturating_sub(read))
    }

    /// The state as it is known now: without metrics, if they could not be read the last time; with
    /// the last status that was read.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let metrics = self.metrics.is_ok().then_some(&self.window);
        let status = self.read.map(|_| self.status.as_slice());
        Snapshot::new(metrics, status)
    }
}
