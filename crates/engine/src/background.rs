//! The tasks of a process that belong to no Operator: a panic in one of them is logged and counted,
//! and the task goes on after a pause.
//!
//! Without this, a panic would end Events, or the serving of views, and nobody would notice. The
//! tasks of an Operator have a [`Guard`](crate::guard::Guard) instead.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use controller::{Backoff, Pause};
use futures::FutureExt;
use futures::future::BoxFuture;
use metrics::Metrics;
use tokio::time::{Instant, sleep};

use crate::guard::{Boundary, FailPoints};

/// The pauses before a task that panicked is started again.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// A task of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Answers probes, and serves metrics.
    Probes,
    /// Sends Events.
    Events,
    /// Compares the time of day with the monotonic clock.
    Clock,
    /// Tells the view server which views there are.
    ViewCatalog,
    /// Tells the view server whether this process leads.
    ViewLeader,
    /// Accepts the connections of the view server.
    ViewListener,
    /// Renews the certificate of the view server.
    Certificate,
    /// Reads the authorities of client certificates.
    ClientAuthorities,
    /// Registers views in the cluster's API.
    Registration,
    /// Records the kinds that an Operator of a file writes.
    Kinds,
    /// Logs the status of an Operator of a file.
    StatusLog,
}

impl Chore {
    /// All tasks.
    pub const ALL: [Self; 11] = [
        Self::Probes,
        Self::Events,
        Self::Clock,
        Self::ViewCatalog,
        Self::ViewLeader,
        Self::ViewListener,
        Self::Certificate,
        Self::ClientAuthorities,
        Self::Registration,
        Self::Kinds,
        Self::StatusLog,
    ];

    /// Its name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Probes => "probes",
            Self::Events => "events",
            Self::Clock => "clock",
            Self::ViewCatalog => "view-catalog",
            Self::ViewLeader => "view-leader",
            Self::ViewListener => "view-listener",
            Self::Certificate => "certificate",
            Self::ClientAuthorities => "client-authorities",
            Self::Registration => "registration",
            Self::Kinds => "kinds",
            Self::StatusLog => "status-log",
        }
    }
}

/// A task panicked. This has been logged and counted.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the task failed because of an error in deltic itself")]
pub struct Panicked;

/// Runs the tasks of a process.
#[derive(Clone, Debug, Default)]
pub struct Background {
    metrics: Metrics,
    points: FailPoints,
}

impl Background {
    /// Counts panics in these metrics. Tests make tasks fail at these points.
    pub fn new(metrics: Metrics, points: FailPoints) -> Self {
        Self { metrics, points }
    }

    /// The metrics of the process.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Runs one part of a task, and catches its panic.
    pub async fn part<T>(
        &self,
        chore: Chore,
        part: impl Future<Output = T>,
    ) -> Result<T, Panicked> {
        let part = async {
            self.points.pass("", Boundary::Chore(chore));
            part.await
        };
        let done = AssertUnwindSafe(part).catch_unwind().await;
        done.map_err(|_| {
            self.metrics.task_crashed(chore.name());
            tracing::error!(
                task = chore.name(),
                "a task of the process failed because of an error in deltic itself, and goes on: \
                 please report this, with the log"
            );
            Panicked
        })
    }

    /// Starts a task, as [`Background::run`] runs it.
    pub fn spawn<S: Send + 'static>(
        &self,
        chore: Chore,
        state: S,
        task: impl for<'a> Fn(&'a mut S) -> BoxFuture<'a, ()> + Send + Sync + 'static,
    ) {
        tokio::spawn(self.clone().run(chore, state, task));
    }

    /// Runs a task until it ends. After a panic it is started again with the same state, with pauses
    /// that grow.
    pub async fn run<S>(
        self,
        chore: Chore,
        mut state: S,
        task: impl for<'a> Fn(&'a mut S) -> BoxFuture<'a, ()>,
    ) {
        let mut pause = Pause::new(PAUSES);
        loop {
            let start = Instant::now();
            let part = async { task(&mut state).await };
            if self.part(chore, part).await.is_ok() {
                return;
            }
            if start.elapsed() > PAUSES.max {
                pause.reset();
            }
            sleep(pause.grow()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;

    fn crashes(background: &Background, chore: Chore) -> Option<String> {
        let metrics = background.metrics().encode();
        let prefix = format!(r#"deltic_task_crashes_total{{task="{}"}} "#, chore.name());
        let mut lines = metrics.lines();
        lines.find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_is_not_started_again() {
        let (background, runs) = (Background::default(), Arc::new(AtomicUsize::new(0)));
        let running = background.clone().run(Chore::Events, runs.clone(), |runs| {
            runs.fetch_add(1, Ordering::SeqCst);
            Box::pin(async {})
        });
        running.await;
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(crashes(&background, Chore::Events), None);
    }

    /// Before its first await as well, and the state is as the panic left it.
    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_while_it_is_made_goes_on_with_its_state() {
        let background = Background::default();
        let start = Instant::now();
        let running = background.clone().run(Chore::Clock, 0, |runs| {
            *runs += 1;
            assert!(*runs > 2, "it cannot start");
            Box::pin(async {})
        });
        running.await;
        assert_eq!(crashes(&background, Chore::Clock).as_deref(), Some("2"));
        assert!(start.elapsed() >= 2 * PAUSES.initial);
    }

    /// The pauses grow to half a minute, and are short again after the task has run for longer.
    #[tokio::test(start_paused = true)]
    async fn a_task_that_always_panics_is_started_with_growing_pauses() {
        let background = Background::default();
        let starts = Arc::new(Mutex::new(Vec::new()));
        background.spawn(Chore::Kinds, starts.clone(), |starts| {
            let count = {
                let mut starts = starts.lock().unwrap();
                starts.push(Instant::now());
                starts.len()
            };
            Box::pin(async move {
                if count == 12 {
                    sleep(Duration::from_secs(31)).await;
                }
                panic!("as always");
            })
        });
        sleep(Duration::from_mins(10)).await;
        let starts = starts.lock().unwrap();
        let pauses: Vec<Duration> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses[0] <= Duration::from_secs(1), "{pauses:?}");
        assert!(pauses[10] >= Duration::from_secs(15), "{pauses:?}");
        assert!(pauses[11] <= Duration::from_secs(33), "{pauses:?}");
        assert!(pauses[12] <= Duration::from_secs(2), "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= Duration::from_secs(33)));
    }
}
