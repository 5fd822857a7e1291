//! The life of one Operator: from the first time that it is seen until it is gone.
//!
//! One task owns it. It brings what runs in line with what the Operator says, one step at
//! a time: a new engine starts only after the old one has stopped, and what is derived
//! stays in between.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use controller::{Backoff, Pause};
use engine::status::OperatorStatus;
use operator::Operator;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::engines::Run;
use super::report::{self, Report, Standing};
use super::resource::OperatorObject;
use super::status::Publisher;
use super::{Seen, Shared};
use crate::events::OperatorEvents;

/// The pauses before a step is tried again.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
/// The pauses before an engine that ended by itself is started again.
const RESTART: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_mins(5));
/// How long one round of deletions may take.
const DELETE_ROUND: Duration = Duration::from_secs(10);

/// The task of one Operator.
pub(super) struct OperatorTask {
    pub(super) shared: Arc<Shared>,
    pub(super) name: String,
    seen: watch::Receiver<Seen>,
    /// The Operator as it is, as far as is known; `None` if it is gone.
    pub(super) object: Option<OperatorObject>,
    events: Arc<OperatorEvents>,
    engine: Option<Current>,
    standing: Standing,
    pub(super) publisher: Publisher,
    /// When the next step is due, if not with the next event.
    again: Option<Instant>,
    /// How many steps in a row could not be finished.
    attempts: Pause,
    /// How many engines in a row ended by themselves.
    crashes: Pause,
    /// After that, no engine is started before this time.
    not_before: Option<Instant>,
}

/// The engine that runs.
struct Current {
    run: Box<dyn Run>,
    status: watch::Receiver<OperatorStatus>,
    /// The Operator that it runs.
    of: OperatorObject,
    /// Whether it was told that any number of deletions may go on.
    allowed: bool,
    since: Instant,
}

/// How a step ended.
pub(super) enum TaskStep {
    /// Nothing is left to do until something changes.
    Done,
    /// It is to be tried again.
    Again,
    /// It is to be tried at this time.
    At(Instant),
}

/// What woke the task.
enum Wake {
    Seen,
    Status,
    /// The engine ended by itself.
    Died,
    Again,
    Publish,
}

impl OperatorTask {
    pub(super) fn new(shared: Arc<Shared>, name: String, seen: watch::Receiver<Seen>) -> Self {
        Self {
            events: shared.events.of(&name, ""),
            shared,
            name,
            seen,
            object: None,
            engine: None,
            standing: Standing::Runs,
            publisher: Publisher::default(),
            again: None,
            attempts: Pause::new(PAUSES),
            crashes: Pause::new(RESTART),
            not_before: None,
        }
    }

    /// Runs until the Operator is gone, or the process ends.
    pub(super) async fn run(mut self) {
        self.seen.mark_changed();
        loop {
            match self.wake().await {
                Wake::Seen => {
                    let seen = self.seen.borrow_and_update().clone();
                    if !self.look(seen) {
                        break;
                    }
                    self.step().await;
                }
                Wake::Status => {
                    self.calm_down();
                    self.publisher.changed();
                }
                Wake::Died => self.died(),
                Wake::Again => self.step().await,
                Wake::Publish => {
                    let engine = self.engine.as_ref();
                    let status = engine.map(|engine| engine.status.borrow().clone());
                    self.publish(&status.unwrap_or_default()).await;
                }
            }
        }
        let last = self.stop_engine().await;
        let stays = matches!(*self.seen.borrow(), Seen::Stop);
        if let Some(last) = last.filter(|_| stays) {
            self.publisher.last();
            self.publish(&last).await;
        }
        if !stays {
            self.shared.engines.forget(&self.name);
        }
    }

    async fn wake(&mut self) -> Wake {
        tokio::select! {
            biased;
            changed = self.seen.changed() => match changed {
                Ok(()) => Wake::Seen,
                // Nobody will say any more.
                Err(_) => std::future::pending().await,
            },
            alive = status_changed(&mut self.engine) => if alive { Wake::Status } else { Wake::Died },
            () = at(self.again) => Wake::Again,
            () = at(self.publisher.due()) => Wake::Publish,
        }
    }

    /// Takes note of the Operator. Gives whether its life goes on.
    fn look(&mut self, seen: Seen) -> bool {
        let object = match seen {
            Seen::There(object) => object,
            Seen::Gone | Seen::Stop => return false,
        };
        let old = self.object.as_ref();
        if old.is_some_and(|old| object.is_older_than(old)) {
            return true;
        }
        if old.is_none_or(|old| old.uid() != object.uid()) {
            self.events = self.shared.events.of(&self.name, object.uid());
        }
        self.object = Some(object);
        self.publisher.changed();
        true
    }

    /// Brings what runs in line with the Operator, as far as that goes now.
    async fn step(&mut self) {
        let Some(object) = self.object.clone() else {
            return;
        };
        let step = if object.is_leaving() {
            self.leave(object).await
        } else {
            self.settle(object).await
        };
        self.again = match step {
            TaskStep::Done => {
                self.attempts.reset();
                None
            }
            TaskStep::At(time) => Some(time),
            TaskStep::Again => Some(Instant::now() + self.attempts.grow()),
        };
    }

    /// The Operator is to run as it says.
    async fn settle(&mut self, object: OperatorObject) -> TaskStep {
        if self.runs(&object) {
            self.still(object);
            return self.finalizer().await;
        }
        // Nobody knows what it says now, not even whether it is to run.
        if object.is_unreadable() {
            self.stop_engine().await;
        }
        let Some(operator) = self.read(&object) else {
            // What its last good version derived is still to be deleted, so the finalizer
            // stays; one that never ran gets none.
            if object.deletes() {
                return TaskStep::Done;
            }
            return self.finalizer().await;
        };
        if let Some(time) = self.not_before.filter(|time| *time > Instant::now()) {
            return TaskStep::At(time);
        }
        // Before anything is derived, so that nothing is left behind.
        if object.deletes() && matches!(self.finalizer().await, TaskStep::Again) {
            return TaskStep::Again;
        }
        let last = self.stop_engine().await;
        let held = last.map_or_else(|| object.held(), |last| last.held());
        self.start(operator, object, held);
        self.finalizer().await
    }

    /// Whether this spec runs already.
    fn runs(&self, object: &OperatorObject) -> bool {
        let same = |of: &OperatorObject| of.uid() == object.uid() && of.spec() == object.spec();
        let engine = self.engine.as_ref();
        !object.is_unreadable() && engine.is_some_and(|engine| same(&engine.of))
    }

    /// What runs goes on; the Operator may say a little more.
    fn still(&mut self, object: OperatorObject) {
        self.standing = Standing::Runs;
        if let Some(engine) = &mut self.engine {
            engine.of = object;
            engine.allow();
        }
    }

    /// Starts an engine; `held` are the controllers whose removals were held before.
    fn start(&mut self, operator: Operator, object: OperatorObject, held: BTreeSet<String>) {
        let generation = object.generation();
        tracing::info!(operator = self.name, generation, "starts");
        let run = self
            .shared
            .engines
            .start(operator, held, self.events.clone());
        let mut engine = Current {
            status: run.status(),
            run,
            of: object,
            allowed: false,
            since: Instant::now(),
        };
        engine.allow();
        self.engine = Some(engine);
        self.standing = Standing::Runs;
        self.calm_down();
        self.publisher.changed();
    }

    /// Reads an Operator, and checks whether it may run.
    fn read(&mut self, object: &OperatorObject) -> Option<Operator> {
        let problems = match self.shared.policy.read(object) {
            Ok(operator) => return Some(operator),
            Err(problems) => problems,
        };
        let first = problems.first();
        let note = first.map(report::problem).unwrap_or_default();
        if self.engine.is_none() {
            let code = first.map_or("unreadable", |problem| problem.code);
            let why = format!("the Operator is invalid or refused ({code})");
            self.shared.engines.down(&self.name, &why);
        }
        let running = self.engine.as_ref().map(|engine| engine.of.generation());
        let standing = Standing::Invalid { problems, running };
        if self.standing != standing {
            self.events.warn("Invalid", &note);
            self.standing = standing;
            self.publisher.changed();
        }
        None
    }

    /// The Operator is being deleted.
    async fn leave(&mut self, object: OperatorObject) -> TaskStep {
        if !object.has_finalizer() || !object.deletes() {
            // What it derived stays.
            self.stop_engine().await;
            let why = "the Operator is being deleted";
            self.shared.engines.down(&self.name, why);
            return self.finalizer().await;
        }
        if self.engine.is_none() {
            let Some(operator) = self.read(&object) else {
                let message = "what it derived cannot be deleted while the spec is invalid: \
                    correct it, or set deletionPolicy to Orphan";
                self.waits("Invalid", message.to_owned());
                return TaskStep::Done;
            };
            self.start(operator, object, BTreeSet::new());
        }
        let message = "what it derived is being deleted".to_owned();
        self.waits("Deleting", message);
        let Some(engine) = &self.engine else {
            return TaskStep::Again;
        };
        let none_left = timeout(DELETE_ROUND, engine.run.delete_all()).await;
        if none_left != Ok(true) {
            return TaskStep::Again;
        }
        self.stop_engine().await;
        self.finalizer().await
    }

    pub(super) fn waits(&mut self, reason: &'static str, message: String) {
        let standing = Standing::Waits { reason, message };
        if self.standing != standing {
            self.standing = standing;
            self.publisher.changed();
        }
    }

    /// Stops the engine; gives what it said last.
    async fn stop_engine(&mut self) -> Option<OperatorStatus> {
        let engine = self.engine.take()?;
        tracing::info!(operator = self.name, "stops");
        engine.run.stop().await;
        self.shared.metrics.forget(&self.name);
        let last = engine.status.borrow().clone();
        (!last.controllers.is_empty()).then_some(last)
    }

    /// The engine ended by itself, which it should not: it gets another chance.
    fn died(&mut self) {
        self.engine = None;
        let pause = self.crashes.grow();
        let why = "the Operator ended unexpectedly and is started again";
        self.shared.engines.down(&self.name, why);
        let message = "it ended unexpectedly and is started again".to_owned();
        self.events.warn("Crashed", &message);
        self.waits("Crashed", message);
        self.not_before = Some(Instant::now() + pause);
        self.again = self.not_before;
    }

    /// An engine that has run for some time starts anew without a pause, if it must.
    fn calm_down(&mut self) {
        let Some(engine) = &self.engine else {
            return;
        };
        if engine.since.elapsed() > RESTART.max {
            self.crashes.reset();
        }
    }

    async fn publish(&mut self, engine: &OperatorStatus) {
        let Some(object) = self.object.clone() else {
            return;
        };
        let report = Report {
            generation: object.generation(),
            standing: &self.standing,
            engine,
        };
        let published = self
            .publisher
            .publish(&self.shared, &self.name, &object, &report);
        if let Some(object) = published.await {
            self.object = Some(object);
        }
    }
}

impl Current {
    /// Lets any number of deletions go on as long as the Operator says so.
    fn allow(&mut self) {
        let allowed = self.of.allows_deletions(self.of.generation());
        if self.allowed != allowed {
            self.allowed = allowed;
            self.run.allow_deletions(allowed);
        }
    }
}

/// Waits for a new status; gives whether the engine is alive.
async fn status_changed(engine: &mut Option<Current>) -> bool {
    match engine {
        Some(engine) => engine.status.changed().await.is_ok(),
        None => std::future::pending().await,
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
