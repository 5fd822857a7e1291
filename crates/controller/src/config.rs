//! The settings of a controller.

use std::time::Duration;

/// How a [`Controller`](crate::Controller) schedules and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// How long a trigger waits for others to merge with; 0, the default: not at all. The window
    /// opens with the first trigger, and later triggers do not extend it.
    pub debounce: Duration,
    /// How many objects are reconciled at a time; 0, the default: no limit.
    pub concurrency: u16,
}

impl Config {
    /// Sets the debounce window.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// Sets the limit of concurrent runs.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u16) -> Self {
        self.concurrency = concurrency;
        self
    }
}
