//! The line on a terminal that shows that a command is still busy.

use std::time::Duration;

/// Nothing is shown in this time, because most commands end before.
const QUIET: Duration = Duration::from_secs(1);

/// The time between two updates of the line.
const UPDATE: Duration = Duration::from_millis(200);

/// Decides when the line is shown.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// When the line was shown last, after the start.
    shown: Option<Duration>,
}

impl Progress {
    /// Whether to show the line, this long after the start.
    pub(super) fn is_due(&mut self, now: Duration) -> bool {
        let due = match self.shown {
            Some(shown) => now >= shown + UPDATE,
            None => now >= QUIET,
        };
        if due {
            self.shown = Some(now);
        }
        due
    }

    /// Whether a line is on the terminal, which is then removed.
    pub(super) fn end(&mut self) -> bool {
        self.shown.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_shown_after_a_second_and_five_times_a_second() {
        let mut progress = Progress::default();
        let mut due = |millis| progress.is_due(Duration::from_millis(millis));
        assert_eq!(
            [0, 999, 1000, 1001, 1199, 1200, 1500].map(&mut due),
            [false, false, true, false, false, true, true]
        );
        assert!(progress.end());
        assert!(!progress.end());
    }
}
