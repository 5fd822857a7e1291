//! deltic as a process that starts, ends regularly, or dies.

use std::sync::Arc;

use cluster::lease::{self, Leadership, TimeOfDay};
use engine::clock::Clock;
use engine::workers::Workers;
use metrics::Metrics;
use process::config::Config;
use process::run::{RunError, run};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};

use crate::api::{Caller, Server};
use crate::clock::{ClockSteps, ProcessClock, Virtual};

/// A running process.
#[derive(Debug)]
pub struct Process {
    /// The process as a caller of the server.
    pub caller: Caller,
    /// Its metrics.
    pub metrics: Metrics,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunError>>,
    elector: Option<AbortHandle>,
}

/// What a process starts with.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its name.
    pub name: String,
    /// The time.
    pub clock: Virtual,
    /// How far its wall clock is off.
    pub steps: ClockSteps,
    /// The seed of its random numbers.
    pub seed: u64,
    /// The Lease in the namespace `default` that it needs to lead; `None`: it always leads.
    pub lease: Option<&'static str>,
}

/// The task of an elector, and the sender that stops it.
type Election = (oneshot::Sender<()>, JoinHandle<()>);

impl Process {
    /// Starts deltic on the server.
    pub fn start(server: &Server, start: Start) -> Self {
        Self::start_within(server, start, None)
    }

    /// Starts deltic on the server, limited to a namespace if one is given.
    pub fn start_within(server: &Server, start: Start, namespace: Option<&str>) -> Self {
        let caller = Caller::new(&start.name);
        let (shutdown, requested) = oneshot::channel();
        let (leadership, election) = elect(server, &caller, &start);
        let config = Config {
            identity: start.name.clone(),
            clock: Arc::new(ProcessClock::new(start.clock, start.steps, start.seed)),
            workers: Workers::inline(),
            namespace: namespace.map(str::to_owned),
            leadership,
            ..Config::default()
        };
        let metrics = config.metrics.clone();
        let elector = election.as_ref().map(|(_, task)| task.abort_handle());
        let (client, ended) = (server.client(&caller), caller.clone());
        let task = tokio::spawn(async move {
            let result = run(client, config, async move {
                // Without a sender, the shutdown never comes.
                if requested.await.is_err() {
                    std::future::pending::<()>().await;
                }
            });
            let result = result.await;
            if let Some((stop, elector)) = election {
                // The elector has ended already if the lease was lost.
                let _ = stop.send(());
                let _ = elector.await;
            }
            ended.die();
            result
        });
        server.with(|state| state.trace.note(&format!("{} starts", start.name)));
        Self {
            caller,
            metrics,
            shutdown,
            task,
            elector,
        }
    }

    /// Completes when the process has died or ended by itself.
    pub async fn died(&self) {
        self.caller.died().await;
    }

    /// Kills the process at any point. Its tasks that are left get no answers.
    pub fn kill(self, server: &Server) {
        let name = &self.caller.name;
        server.with(|state| state.trace.note(&format!("{name} crashes")));
        self.caller.die();
        self.task.abort();
        if let Some(elector) = self.elector {
            elector.abort();
        }
    }

    /// Shuts the process down, and waits for its end. Returns an error if it fails.
    pub async fn stop(self, server: &Server) -> Result<(), String> {
        let _ = self.shutdown.send(());
        let ended = self.task.await;
        let name = &self.caller.name;
        server.with(|state| state.trace.note(&format!("{name} ends")));
        match ended {
            // The grace period may run out, because requests get no answers; meanwhile, the lease
            // may be lost.
            Ok(Ok(()) | Err(RunError::Grace(_) | RunError::LeaseLost)) => Ok(()),
            Ok(Err(error)) => Err(format!("{name} ended with an error: {error}")),
            Err(error) => Err(format!("{name} failed: {error}")),
        }
    }
}

/// Takes part in an election, if the process needs a lease.
fn elect(server: &Server, caller: &Caller, start: &Start) -> (Leadership, Option<Election>) {
    let Some(lease) = start.lease else {
        return (Leadership::always(), None);
    };
    let settings = lease::Settings::new("default", lease, &start.name);
    let client = server.client(caller);
    let clock = ProcessClock::new(start.clock, start.steps.clone(), start.seed);
    let time_of_day = TimeOfDay::new(move || clock.now().into());
    let (leadership, elector) = lease::elect_by(&client, settings, Metrics::default(), time_of_day);
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(elector.run(async {
        let _ = stopped.await;
    }));
    (leadership, Some((stop, task)))
}
