//! deltic as a process that starts, ends regularly, or dies.

use std::sync::Arc;

use engine::workers::Workers;
use process::config::Config;
use process::run::{RunError, run};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::api::{Caller, Server};
use crate::clock::{ProcessClock, Virtual};

/// A running process.
#[derive(Debug)]
pub struct Process {
    caller: Caller,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Process {
    /// Starts deltic on the server.
    pub fn start(server: &Server, clock: Virtual, name: &str, seed: u64) -> Self {
        let caller = Caller::new(name);
        let (shutdown, requested) = oneshot::channel();
        let config = Config {
            identity: name.to_owned(),
            clock: Arc::new(ProcessClock::new(clock, seed)),
            workers: Workers::inline(),
            ..Config::default()
        };
        let client = server.client(&caller);
        let task = tokio::spawn(run(client, config, async move {
            // Without a sender, the shutdown never comes.
            if requested.await.is_err() {
                std::future::pending::<()>().await;
            }
        }));
        server.with(|state| state.trace.note(&format!("{name} starts")));
        Self {
            caller,
            shutdown,
            task,
        }
    }

    /// Completes when the process has died after sending a request.
    pub async fn died(&self) {
        self.caller.died().await;
    }

    /// Kills the process at any point. Its tasks that are left get no answers.
    pub fn kill(self, server: &Server) {
        let name = &self.caller.name;
        server.with(|state| state.trace.note(&format!("{name} crashes")));
        self.caller.die();
        self.task.abort();
    }

    /// Shuts the process down, and waits for its end. Returns an error if it fails.
    pub async fn stop(self, server: &Server) -> Result<(), String> {
        let _ = self.shutdown.send(());
        let ended = self.task.await;
        let name = &self.caller.name;
        server.with(|state| state.trace.note(&format!("{name} ends")));
        self.caller.die();
        match ended {
            // The grace period may run out, because requests get no answers.
            Ok(Ok(()) | Err(RunError::Grace(_))) => Ok(()),
            Ok(Err(error)) => Err(format!("{name} ended with an error: {error}")),
            Err(error) => Err(format!("{name} failed: {error}")),
        }
    }
}
