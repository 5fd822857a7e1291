//! Operators that do not run: after a panic, or because of a cycle of views.

use std::time::Duration;

use controller::Backoff;
use tokio::time::Instant;

use super::{OperatorTask, TaskStep};
use crate::cycles::Cycle;
use crate::report::Reason;

/// The pauses before an engine that ended by itself is started again.
pub(super) const RESTART: Backoff =
    Backoff::new(Duration::from_millis(500), Duration::from_mins(5));

impl OperatorTask {
    /// Does not run, because its views are in a cycle. Derived objects stay.
    pub(super) async fn refuse(&mut self, cycle: &Cycle) -> TaskStep {
        self.stop_engine().await;
        let reason = Reason::CyclicViews;
        let why = format!("the Operator is refused ({})", reason.as_str());
        self.shared.engines.down(&self.name, &why);
        let message = cycle.to_string();
        if !self.state.is(reason) {
            self.events.warn(reason.as_str(), &message);
        }
        self.waits(reason, message);
        TaskStep::Done
    }

    /// Handles an engine that ended by itself, which is a bug: it is started again after a pause.
    pub(super) fn died(&mut self) {
        self.engine = None;
        let why = "the Operator ended unexpectedly and will be restarted";
        self.shared.engines.down(&self.name, why);
        self.crashed(
            "it ended unexpectedly because of an error in deltic itself, and will be restarted: \
             please report this, with the log",
        );
    }

    /// Handles a panic of this task: the next step comes after a pause. An engine runs on.
    pub(super) fn panicked(&mut self) {
        let message = format!(
            "{} failed because of an error in deltic itself, and will be tried again: please \
             report this, with the log",
            self.passed
        );
        self.crashed(&message);
    }

    fn crashed(&mut self, message: &str) {
        let pause = self.crashes.grow();
        self.shared.metrics.crashed(&self.name);
        self.events.warn(Reason::Crashed.as_str(), message);
        self.waits(Reason::Crashed, message.to_owned());
        self.not_before = Some(Instant::now() + pause);
        self.again = self.not_before;
    }

    /// Forgets earlier crashes once an engine has run for longer than the longest pause.
    pub(super) fn reset_crashes(&mut self) {
        let Some(engine) = &self.engine else {
            return;
        };
        if engine.since.elapsed() > RESTART.max {
            self.crashes.reset();
        }
    }
}
