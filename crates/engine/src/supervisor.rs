//! Starts the engine of an Operator, and starts it again after a panic.
//!
//! ```text
//! start ─▶ Task::run ─┬─ a command to stop ─▶ end
//!    ▲                └─ a panic, here or in another task of the engine
//!    │                        │ status `Crashed`, an Event, a metric
//!    └──── a growing pause ◀──┘ the writes under way end
//! ```
//!
//! A controller that has exceeded its budget has lost its state. So the whole engine is started
//! again to try it once more: when something that the controller reads has changed, with growing
//! pauses, and otherwise after 10 minutes. It is also started again when the scope of a target kind
//! has become known or has changed, and an output or an error is affected (`task/places.rs`).

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use controller::{Backoff, Pause};
use futures::FutureExt;
use operator::Operator;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::guard::{Boundary, Guard};
use super::task::{Orders, Task, TaskEnd, TaskParts};
use super::turns::{Halt, Turn};
use super::{Command, Context, EngineEvents, Resume};
use crate::status::OperatorStatus;

/// The pauses before an engine that crashed is started again.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_mins(5));

/// The pauses before an Operator with a controller over its budget is started again.
const BUDGET_PAUSES: Backoff = Backoff::new(Duration::from_secs(10), Duration::from_mins(5));

/// Runs one Operator, with one engine after the other.
pub(super) struct Supervisor {
    pub(super) context: Context,
    pub(super) operator: Arc<Operator>,
    pub(super) events: Arc<dyn EngineEvents>,
    pub(super) status: Arc<watch::Sender<OperatorStatus>>,
    /// What is known of the Operator. The removals that `maxDeletions` held are added.
    pub(super) resume: Resume,
    /// Raised when the Operator has to stop.
    pub(super) halt: Halt,
    orders: Orders,
    crashes: Pause,
    /// The controllers that exceeded their budget in the last engine, and those budgets.
    exceeded: BTreeMap<String, String>,
    /// The pauses of controllers that exceed their budget.
    budget: Pause,
}

/// How an engine ended.
enum End {
    Task(TaskEnd),
    Crashed(Boundary),
}

impl Supervisor {
    pub(super) fn new(
        context: Context,
        operator: Operator,
        resume: Resume,
        events: Arc<dyn EngineEvents>,
    ) -> Self {
        Self {
            context,
            operator: Arc::new(operator),
            events,
            status: Arc::default(),
            resume,
            halt: Halt::default(),
            orders: Orders::default(),
            crashes: Pause::new(PAUSES),
            exceeded: BTreeMap::new(),
            budget: Pause::new(BUDGET_PAUSES),
        }
    }

    /// Runs until a command to stop.
    pub(super) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        loop {
            let turns = self.context.turns.clone();
            let operator = self.operator.clone();
            let turn = turns.take(&operator.name);
            let Some(turn) = self.unless_stopped(turn, &mut commands).await else {
                return;
            };
            let start = Instant::now();
            let boundary = match self.engine(turn, &mut commands).await {
                End::Task(TaskEnd::Stopped) => return,
                End::Task(TaskEnd::OverBudget { exceeded, at }) => {
                    self.exceeded = exceeded;
                    if at - start > BUDGET_PAUSES.max {
                        self.budget.reset();
                    }
                    self.resume.held.extend(self.status.borrow().held());
                    continue;
                }
                End::Task(TaskEnd::ScopeChanged) => {
                    self.resume.held.extend(self.status.borrow().held());
                    continue;
                }
                End::Crashed(boundary) => boundary,
            };
            if start.elapsed() > PAUSES.max {
                self.crashes.reset();
            }
            let pause = tokio::time::sleep(self.crashed(boundary));
            // The engine took the command to stop, and crashed while it stopped.
            if self.halt.is_raised() {
                return;
            }
            if self.unless_stopped(pause, &mut commands).await.is_none() {
                return;
            }
        }
    }

    /// Waits, and handles commands meanwhile. Returns `None` if the Operator has to stop.
    async fn unless_stopped<T>(
        &mut self,
        wait: impl Future<Output = T>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) -> Option<T> {
        let mut wait = std::pin::pin!(wait);
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    None | Some(Command::Stop) => return None,
                    Some(Command::Lead) => self.orders.leads = true,
                    Some(Command::AllowDeletions(allowed)) => self.orders.allowed = allowed,
                    // Dropping the sender answers that nothing is known of what is left.
                    Some(Command::DeleteAll(_)) => {}
                },
                done = &mut wait => return Some(done),
            }
        }
    }

    /// Runs one engine until it stops or crashes.
    async fn engine(&mut self, turn: Turn, commands: &mut mpsc::UnboundedReceiver<Command>) -> End {
        let points = self.context.fail_points.clone();
        let guard = Guard::new(&self.operator.name, points, turn);
        let halt = self.halt.inner();
        let parts = TaskParts {
            context: self.context.clone(),
            operator: self.operator.clone(),
            events: self.events.clone(),
            status: self.status.clone(),
            guard: guard.clone(),
            halt: halt.clone(),
            exceeded: std::mem::take(&mut self.exceeded),
            budget_pause: self.budget.grow(),
            resume: self.resume.clone(),
        };
        let (held, orders) = (self.resume.held.clone(), &mut self.orders);
        let workers = self.context.workers.clone();
        // The work grows with the spec, and must not hold up others.
        let start = workers.run(move || {
            parts.guard.pass(Boundary::Engine);
            let mut task = Box::new(Task::new(parts));
            task.begin_start(held);
            task
        });
        let engine = async {
            let mut task = start.await;
            if orders.leads {
                task.writes.lead();
            }
            if orders.allowed {
                task.allow_deletions(true);
            }
            task.run(commands, orders).await
        };
        let end = tokio::select! {
            biased;
            boundary = guard.crash() => End::Crashed(boundary),
            ended = AssertUnwindSafe(engine).catch_unwind() => match ended {
                Ok(end) => End::Task(end),
                Err(_) => End::Crashed(guard.first().unwrap_or(Boundary::Engine)),
            },
        };
        // Ends a batch that runs on another thread.
        halt.raise();
        end
    }

    /// Reports a crash. Returns the pause before the next start.
    fn crashed(&mut self, boundary: Boundary) -> Duration {
        let pause = self.crashes.grow();
        let message = format!(
            "{boundary} failed because of an error in deltic itself; the Operator is started \
             again in {} s, and what it derived stays: please report this, with the log",
            pause.as_secs_f32()
        );
        let name = &self.operator.name;
        let why = "the Operator ended unexpectedly and will be restarted";
        self.context.views.down(name, why);
        self.context.metrics.crashed(name);
        self.resume.held.extend(self.status.borrow().held());
        self.status.send_modify(|status| {
            status.crashed = Some(message.clone());
        });
        self.events.crashed(&message);
        pause
    }
}
