//! The objects of an Operator at one moment, for those who explain what it derives.
//!
//! ```text
//! Views::snapshot ─▶ Asked ─▶ Task (between two batches) ─▶ OperatorSnapshot
//! ```
//!
//! Nothing is recorded for that while the Operator runs. A snapshot shares the documents of the
//! circuits, so that an engine pauses only while it collects them. Who asks evaluates them elsewhere.

use std::sync::Arc;
use std::time::Duration;

use dataflow::Snapshot;
use expr::{Env, Interrupt};
use operator::Operator;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::Views;
use super::task::Task;
use super::turns::Halt;
use crate::status::Ready;

/// How long to wait for an engine that is busy with a batch.
const PATIENCE: Duration = Duration::from_secs(10);

/// The objects of an Operator at one moment.
#[derive(Debug)]
pub struct OperatorSnapshot {
    /// The Operator. It knows which parts of views of others may contain values of Secrets.
    pub operator: Arc<Operator>,
    /// The objects of each controller, or why it does not have all of them.
    pub controllers: Vec<Result<Snapshot, String>>,
    /// The time and the limits with which the engine evaluates.
    env: Env,
    /// How long the engine may work on a batch.
    time: Duration,
    halt: Halt,
}

impl OperatorSnapshot {
    /// The environment in which the objects are evaluated again. It is interrupted when the engine has
    /// to end, after the time that a batch may take, and when `ends` returns true.
    pub fn env(&self, ends: impl Fn() -> bool + Send + Sync + 'static) -> Env {
        let mut env = self.env.clone();
        let (start, time, halt) = (std::time::Instant::now(), self.time, self.halt.clone());
        env.interrupt =
            Interrupt::when(move || ends() || halt.is_raised() || start.elapsed() > time);
        env
    }

    /// How long an evaluation may take.
    pub fn time(&self) -> Duration {
        self.time
    }
}

/// Why there is no snapshot of an Operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSnapshot {
    /// This process runs no such Operator.
    #[error("there is no such Operator")]
    NoOperator,
    /// It does not run, or does not answer.
    #[error("{0}")]
    Unavailable(String),
}

/// Who waits for a snapshot.
pub(super) type Asked = oneshot::Sender<OperatorSnapshot>;
/// Where an engine is asked.
pub(super) type Questions = mpsc::UnboundedSender<Asked>;

impl Views {
    /// The objects of an Operator, taken between two batches.
    pub async fn snapshot(&self, operator: &str) -> Result<OperatorSnapshot, NoSnapshot> {
        let questions = self.questions(operator)?;
        let (asked, answer) = oneshot::channel();
        let ended = || NoSnapshot::Unavailable("the Operator has stopped".to_owned());
        questions.send(asked).map_err(|_| ended())?;
        match timeout(PATIENCE, answer).await {
            Ok(answer) => {
                let mut snapshot = answer.map_err(|_| ended())?;
                snapshot.operator = self.secrets().marked(&snapshot.operator);
                Ok(snapshot)
            }
            Err(_) => {
                let why = "the Operator is busy with a batch of changes";
                Err(NoSnapshot::Unavailable(why.to_owned()))
            }
        }
    }
}

impl Task {
    /// Answers who asks for the objects, unless nobody waits any more.
    pub(super) fn answer(&mut self, asked: Asked) {
        if asked.is_closed() {
            return;
        }
        let numbers = 0..self.controllers.len();
        let snapshot = OperatorSnapshot {
            operator: self.operator.clone(),
            controllers: numbers.map(|number| self.objects_of(number)).collect(),
            env: self.env(),
            time: self.context.budget.step_time,
            halt: self.halt.clone(),
        };
        // Nobody may wait any more by now.
        let _ = asked.send(snapshot);
    }

    /// The objects of a controller, if it has all of them.
    fn objects_of(&self, number: usize) -> Result<Snapshot, String> {
        let (task, name) = (
            &self.controllers[number],
            &self.operator.controllers[number].name,
        );
        if self.sweep.is_deleting() {
            return Err("the Operator is being deleted".to_owned());
        }
        if let Some(exceeded) = &task.stopped {
            return Err(format!("controller {name} has stopped: {exceeded}"));
        }
        if task.open {
            return Ok(task.circuit.snapshot());
        }
        let status = self.status.borrow();
        let why = match status.controllers.get(number).map(|status| &status.ready) {
            Some(Ready::False(why) | Ready::Stopped(why)) => why,
            Some(Ready::True | Ready::Syncing(_) | Ready::Failing) | None => {
                "it has not received everything that it reads"
            }
        };
        Err(format!("controller {name} is not complete: {why}"))
    }
}
