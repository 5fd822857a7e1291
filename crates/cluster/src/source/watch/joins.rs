//! When a watch lists again for sinks that have joined.
//!
//! A list costs the server and all sinks work, so sinks that join one after the other share lists:
//! the first one waits only a moment, and while more join, the pauses between lists grow. The
//! stream continues meanwhile.

use std::time::Duration;

use controller::{Backoff, Pause};
use tokio::time::{Instant, sleep_until};

/// The pauses before lists for sinks that have joined.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(2));
/// If nobody has joined for this long, the next pause is the first again.
const QUIET: Duration = Duration::from_secs(10);

/// The sinks that wait for a list.
#[derive(Debug)]
pub(super) struct Joins {
    pause: Pause,
    /// When a list for such sinks was last due.
    last: Option<Instant>,
    /// When the next one is due; `None` if no sink waits.
    due: Option<Instant>,
}

impl Default for Joins {
    fn default() -> Self {
        Self {
            pause: Pause::new(PAUSES),
            last: None,
            due: None,
        }
    }
}

impl Joins {
    /// A sink waits for a list. It is due after a pause, and not before the given time.
    pub(super) fn wait(&mut self, not_before: Instant) {
        let now = Instant::now();
        if self
            .last
            .is_none_or(|last| now.saturating_duration_since(last) > QUIET)
        {
            self.pause.reset();
        }
        let due = (now + self.pause.grow()).max(not_before);
        self.due = Some(due);
        self.last = Some(due);
    }

    /// Whether a list is planned.
    pub(super) fn is_planned(&self) -> bool {
        self.due.is_some()
    }

    /// A stream begins, for all sinks that have joined so far.
    pub(super) fn begin(&mut self) {
        self.due = None;
    }

    /// Completes when a list is due.
    pub(super) async fn due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}
