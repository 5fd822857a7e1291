//! A reason for tests, and a log of the runs with their times.

use std::fmt::{self, Display};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller::{Next, Observer, Reason};
use tokio::time::Instant;

pub(crate) const NOW: Duration = Duration::ZERO;

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Why(pub(crate) &'static str);

impl Reason for Why {
    fn requeue() -> Self {
        Why("requeue")
    }

    fn retry() -> Self {
        Why("retry")
    }

    fn label(&self) -> &'static str {
        self.0
    }
}

impl Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The runs that started, each with its time (in ms since the log was made) and reason. A reference
/// to an object is logged without its kind.
#[derive(Clone)]
pub(crate) struct Log {
    zero: Instant,
    entries: Arc<Mutex<Vec<(u128, String, String)>>>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            zero: Instant::now(),
            entries: Arc::default(),
        }
    }

    /// The starts as `"<ms> <key>"`.
    pub(crate) fn starts(&self) -> Vec<String> {
        self.entries
            .lock()
            .unwrap()
            .iter()
            .map(|(at, key, _)| format!("{at} {key}"))
            .collect()
    }

    /// The starts as `"<ms> <key>: <reason>"`.
    pub(crate) fn reasons(&self) -> Vec<String> {
        self.entries
            .lock()
            .unwrap()
            .iter()
            .map(|(at, key, why)| format!("{at} {key}: {why}"))
            .collect()
    }
}

impl<T: Display, R: Display> Observer<T, R> for Log {
    fn started(&self, key: &T, reason: &R, _: Duration) {
        let key = key.to_string();
        let name = key.rsplit('/').next().unwrap_or_default().to_owned();
        self.entries.lock().unwrap().push((
            self.zero.elapsed().as_millis(),
            name,
            reason.to_string(),
        ));
    }

    fn finished(&self, _: &T, _: &R, _: Duration, _: Next) {}
}

/// How many runs take place at the same time, now and at most.
#[derive(Default)]
pub(crate) struct Gauge {
    now: usize,
    pub(crate) most: usize,
}

impl Gauge {
    pub(crate) fn enter(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }

    pub(crate) fn leave(&mut self) {
        self.now -= 1;
    }
}
