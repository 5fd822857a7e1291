//! The task that runs one Operator, from its first event until it is deleted.
//!
//! The task reconciles the engine with the Operator object, one step at a time:
//!
//! ```text
//! the object                            the task
//! is valid, and its spec is new         stops the old engine, then starts one with the new spec
//! has the spec that runs                keeps the engine
//! is invalid                            keeps the engine of the last valid spec; status: Invalid
//! closes a cycle of views with others   stops the engine; status: CyclicViews
//! cannot be read                        stops the engine
//! is being deleted, policy Delete       deletes derived objects, then removes the finalizer
//! is being deleted, policy Orphan       stops the engine
//! ```
//!
//! A replica that stands by runs engines as the leader does, so that it can take over at once, but
//! it leaves the Operator object and the derived objects alone.
//!
//! Derived objects stay while an engine is replaced. A step that fails is tried again after a
//! growing pause.

mod not_running;
mod spec;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use controller::{Backoff, Pause};
use engine::Resume;
use engine::guard::Boundary;
use engine::kinds::Kinds;
use engine::status::OperatorStatus;
use futures::FutureExt;
use not_running::RESTART;
use operator::Operator;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::engines::Run;
use super::report::{OperatorState, Reason, Report};
use super::resource::OperatorObject;
use super::status::Publisher;
use crate::events::OperatorEvents;
use crate::manager::{Seen, Shared};

/// The pauses before a step is tried again.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));

/// The task that runs one Operator.
pub(super) struct OperatorTask {
    pub(super) shared: Arc<Shared>,
    pub(super) name: String,
    seen: watch::Receiver<Seen>,
    /// The last known state of the Operator; `None` before the first event.
    pub(super) object: Option<OperatorObject>,
    events: Arc<OperatorEvents>,
    pub(super) engine: Option<CurrentEngine>,
    pub(super) state: OperatorState,
    pub(super) publisher: Publisher,
    /// Whether this process leads, and may write.
    pub(super) leads: bool,
    /// When the next step is due if no event comes before.
    again: Option<Instant>,
    /// The pause after a step that did not succeed.
    attempts: Pause,
    /// The pause after an engine that ended by itself.
    crashes: Pause,
    /// Notifies when an Operator is refused because of a cycle of views, or no longer.
    cycles: watch::Receiver<()>,
    /// No engine is started before this time, because the last one ended by itself.
    not_before: Option<Instant>,
    /// The generation of the last spec whose warnings were reported.
    warned: Option<i64>,
    /// The boundary that was passed last, to report a panic.
    passed: Boundary,
}

/// The engine that runs.
pub(super) struct CurrentEngine {
    pub(super) run: Box<dyn Run>,
    pub(super) status: watch::Receiver<OperatorStatus>,
    /// The version of the Operator that it runs.
    of: OperatorObject,
    /// Whether deletions beyond `maxDeletions` are allowed.
    allowed: bool,
    /// The controllers whose removals were held when it started.
    held: BTreeSet<String>,
    /// The kinds that it writes.
    targets: Kinds,
    /// The kinds that may have held objects when it started, and those that it writes.
    kinds: Kinds,
    since: Instant,
}

/// The outcome of a step.
pub(super) enum TaskStep {
    /// Nothing is left to do until something changes.
    Done,
    /// Try again after a pause.
    Again,
    /// Try again at this time.
    At(Instant),
    /// Try again when this process leads.
    WhenLeading,
}

/// Why the task woke up.
enum Wake {
    Seen,
    Status,
    /// The engine ended by itself.
    Died,
    Again,
    /// The cycles of views have changed.
    Cycles,
    Publish,
    /// This process leads from now on.
    Leads,
}

impl OperatorTask {
    pub(super) fn new(shared: Arc<Shared>, name: String, seen: watch::Receiver<Seen>) -> Self {
        let shared_cycles = shared.views.changed();
        Self {
            events: shared.events.of(&name, ""),
            leads: shared.leadership.is_leader(),
            shared,
            name,
            seen,
            object: None,
            engine: None,
            state: OperatorState::Runs,
            publisher: Publisher::default(),
            again: None,
            attempts: Pause::new(PAUSES),
            crashes: Pause::new(RESTART),
            cycles: shared_cycles,
            not_before: None,
            warned: None,
            passed: Boundary::Operator,
        }
    }

    /// Starts no engine before this time has passed, because the last task of the Operator
    /// failed.
    pub(super) fn after(mut self, pause: Duration) -> Self {
        self.not_before = Some(Instant::now() + pause);
        self
    }

    /// Runs until the Operator is deleted or the process stops.
    pub(super) async fn run(mut self) {
        self.seen.mark_changed();
        loop {
            let wake = self.wake().await;
            let publishes = matches!(wake, Wake::Publish);
            let done = AssertUnwindSafe(self.handle(wake)).catch_unwind().await;
            match done {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => {
                    if publishes {
                        self.publisher.failed();
                    }
                    self.panicked();
                }
            }
        }
        let last = self.stop_engine().await;
        let stays = matches!(*self.seen.borrow(), Seen::Stop);
        if let Some(last) = last.filter(|_| stays && self.leads) {
            self.publisher.last();
            self.publish(&last).await;
        }
        if !stays {
            self.shared.forget(&self.name);
        }
    }

    /// Handles what the task woke up for. Returns whether it goes on.
    async fn handle(&mut self, wake: Wake) -> bool {
        match wake {
            Wake::Seen => {
                let seen = self.seen.borrow_and_update().clone();
                if !self.look(seen) {
                    return false;
                }
                self.step().await;
            }
            Wake::Status => {
                self.reset_crashes();
                self.publisher.changed();
            }
            Wake::Died => self.died(),
            Wake::Again => self.step().await,
            Wake::Cycles => {
                let cyclic = self.shared.views.cycle(&self.name).is_some();
                if cyclic != self.state.is(Reason::CyclicViews) {
                    self.step().await;
                }
            }
            Wake::Publish => {
                let engine = self.engine.as_ref();
                let status = engine.map(|engine| engine.status.borrow().clone());
                self.publish(&status.unwrap_or_default()).await;
            }
            Wake::Leads => {
                self.take_over().await;
                self.step().await;
            }
        }
        true
    }

    async fn wake(&mut self) -> Wake {
        let publish = self.publisher.due().filter(|_| self.leads);
        tokio::select! {
            biased;
            changed = self.seen.changed() => match changed {
                Ok(()) => Wake::Seen,
                // The sender is gone: no further event will come.
                Err(_) => std::future::pending().await,
            },
            alive = status_changed(&mut self.engine) => if alive { Wake::Status } else { Wake::Died },
            Ok(()) = self.cycles.changed() => Wake::Cycles,
            () = at(self.again) => Wake::Again,
            () = at(publish) => Wake::Publish,
            () = self.shared.leadership.acquired(), if !self.leads => Wake::Leads,
        }
    }

    /// Stores the new state of the Operator. Returns whether the task goes on.
    fn look(&mut self, seen: Seen) -> bool {
        let object = match seen {
            Seen::There(object) => object,
            Seen::Gone | Seen::Elsewhere | Seen::Stop => return false,
        };
        let old = self.object.as_ref();
        if old.is_some_and(|old| object.is_older_than(old)) {
            return true;
        }
        if old.is_none_or(|old| old.uid() != object.uid()) {
            self.events = self.shared.events.of(&self.name, object.uid());
        }
        self.events.set_generation(object.generation());
        self.object = Some(object);
        self.publisher.changed();
        true
    }

    /// Passes a boundary, where a test may panic.
    pub(super) fn pass(&mut self, boundary: Boundary) {
        self.passed = boundary;
        self.shared.fail_points.pass(&self.name, boundary);
    }

    /// Reconciles the engine with the Operator, as far as that is possible now.
    async fn step(&mut self) {
        self.pass(Boundary::Operator);
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
            TaskStep::WhenLeading => None,
            TaskStep::At(time) => Some(time),
            TaskStep::Again => Some(Instant::now() + self.attempts.grow()),
        };
    }

    /// Runs an engine for the Operator's current spec.
    async fn settle(&mut self, object: OperatorObject) -> TaskStep {
        if self.runs(&object) && self.shared.views.cycle(&self.name).is_none() {
            self.keep_engine(object);
            return self.finalizer().await;
        }
        // Its current spec is unknown, so the old one must not run on.
        if object.is_unreadable() {
            self.stop_engine().await;
        }
        let Some(operator) = self.read(&object).await else {
            // If it has the finalizer, objects of its last valid spec still have to be deleted
            // with it; if it has none, it never ran and needs none.
            if object.deletes() {
                return TaskStep::Done;
            }
            return self.finalizer().await;
        };
        self.shared.views.set(&operator, object.created());
        if let Some(cycle) = self.shared.views.cycle(&self.name) {
            return self.refuse(&cycle).await;
        }
        if let Some(time) = self.not_before.filter(|time| *time > Instant::now()) {
            return TaskStep::At(time);
        }
        // The finalizer comes before the first derived object, so that none is left behind.
        if object.deletes() {
            match self.finalizer().await {
                TaskStep::Done => {}
                other => return other,
            }
        }
        // So do the kinds: what is written can be found again, whatever happens to the spec.
        if self.leads && !self.remember(&Kinds::of(&operator)).await {
            return TaskStep::Again;
        }
        let object = self.object.clone().unwrap_or(object);
        let last = self.stop_engine().await;
        let held = last.map_or_else(|| object.held(), |last| last.held());
        self.start(operator, object, held);
        self.finalizer().await
    }

    /// Takes over from the process that led.
    async fn take_over(&mut self) {
        self.leads = true;
        self.publisher.changed();
        if let Some(object) = self.object.clone().filter(|object| self.runs(object)) {
            // For the Events about it.
            self.read(&object).await;
        }
        // Its status says which removals it held. Here they may have come as single events, which
        // `maxDeletions` does not count. It also says where objects of the Operator may be.
        let (Some(object), Some(engine)) = (&self.object, &self.engine) else {
            return;
        };
        let same = object.held() == engine.held && engine.kinds.contains_all(&object.kinds());
        let targets = engine.targets.clone();
        if same && self.remember(&targets).await {
            if let Some(engine) = &self.engine {
                engine.run.lead();
            }
        } else {
            self.stop_engine().await;
        }
    }

    /// Whether an engine runs with this spec.
    fn runs(&self, object: &OperatorObject) -> bool {
        let same = |of: &OperatorObject| of.uid() == object.uid() && of.spec() == object.spec();
        let engine = self.engine.as_ref();
        !object.is_unreadable() && engine.is_some_and(|engine| same(&engine.of))
    }

    /// Keeps the engine; the annotation that allows deletions may have changed.
    fn keep_engine(&mut self, object: OperatorObject) {
        self.state = OperatorState::Runs;
        if let Some(engine) = &mut self.engine {
            engine.of = object;
            engine.allow();
        }
    }

    /// Starts an engine. The removals of the controllers in `held` stay held.
    pub(super) fn start(
        &mut self,
        operator: Operator,
        object: OperatorObject,
        held: BTreeSet<String>,
    ) {
        let generation = object.generation();
        tracing::info!(operator = self.name, generation, "starts");
        let targets = Kinds::of(&operator);
        let resume = Resume {
            uid: object.uid().to_owned(),
            held: held.clone(),
            kinds: object.kinds(),
        };
        let kinds = resume.kinds.clone().with(&targets);
        let events = self.events.clone();
        let run = self.shared.engines.start(operator, resume, events);
        let mut engine = CurrentEngine {
            status: run.status(),
            run,
            of: object,
            allowed: false,
            held,
            targets,
            kinds,
            since: Instant::now(),
        };
        engine.allow();
        if self.leads {
            engine.run.lead();
        }
        self.engine = Some(engine);
        self.state = OperatorState::Runs;
        self.reset_crashes();
        self.publisher.changed();
    }

    pub(super) fn waits(&mut self, reason: Reason, message: String) {
        let state = OperatorState::Waits { reason, message };
        if self.state != state {
            self.state = state;
            self.publisher.changed();
        }
    }

    /// Stops the engine and returns its last status.
    pub(super) async fn stop_engine(&mut self) -> Option<OperatorStatus> {
        let engine = self.engine.take()?;
        tracing::info!(operator = self.name, "stops");
        engine.run.stop().await;
        self.shared.metrics.forget(&self.name);
        let last = engine.status.borrow().clone();
        (!last.controllers.is_empty()).then_some(last)
    }

    async fn publish(&mut self, engine: &OperatorStatus) {
        self.pass(Boundary::Publish);
        let Some(object) = self.object.clone() else {
            return;
        };
        let report = Report {
            name: &self.name,
            generation: object.generation(),
            state: &self.state,
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

impl CurrentEngine {
    /// Allows deletions beyond `maxDeletions` while the Operator's annotation does.
    fn allow(&mut self) {
        let allowed = self.of.allows_deletions(self.of.generation());
        if self.allowed != allowed {
            self.allowed = allowed;
            self.run.allow_deletions(allowed);
        }
    }
}

/// Waits for a new status. Returns whether the engine is alive.
async fn status_changed(engine: &mut Option<CurrentEngine>) -> bool {
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
