//! deltic as a process: it starts, ends well, or dies.

use std::sync::Arc;

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
    /// Starts deltic, with the Operators of the server.
    pub fn start(server: &Server, clock: Virtual, name: &str, seed: u64) -> Self {
        let caller = Caller::new(name);
        let (shutdown, told) = oneshot::channel();
        let config = Config {
            identity: name.to_owned(),
            clock: Arc::new(ProcessClock::new(clock, seed)),
            ..Config::default()
        };
        let client = server.client(&caller);
        let task = tokio::spawn(run(client, config, async move {
            // Never, if whoever could tell is gone.
            if told.await.is_err() {
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

    /// Completes when a request was the last that it sent.
    pub async fn died(&self) {
        self.caller.died().await;
    }

    /// Kills it, wherever it is. What is left of it in this program gets no answers.
    pub fn kill(self, server: &Server) {
        let name = &self.caller.name;
        server.with(|state| state.trace.note(&format!("{name} crashes")));
        self.caller.die();
        self.task.abort();
    }

    /// Tells it to end, and waits for that. Says what was wrong, if something was.
    pub async fn stop(self, server: &Server) -> Result<(), String> {
        let _ = self.shutdown.send(());
        let ended = self.task.await;
        let name = &self.caller.name;
        server.with(|state| state.trace.note(&format!("{name} ends")));
        self.caller.die();
        match ended {
            // In time, or not, because its requests got no answers.
            Ok(Ok(()) | Err(RunError::Grace(_))) => Ok(()),
            Ok(Err(error)) => Err(format!("{name} ended with an error: {error}")),
            Err(error) => Err(format!("{name} failed: {error}")),
        }
    }
}
