//! The time of `"@now"` in a process.
//!
//! A deadline is a time of day, and an engine sleeps until then on the monotonic clock. The time of
//! day may be set meanwhile, or the machine may be suspended. So one task of the process compares
//! both clocks from time to time, and wakes the engines when they differ. It runs only while an
//! Operator reads `"@now"`.
//!
//! `"@now"` never goes back: while the time of day is earlier than it was, the process waits for it
//! with the latest time that it has seen.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::background::{Background, Chore};
use crate::clock::Clock;

/// How often the clocks are compared.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The time of day has been set if it differs from the monotonic clock by more than this.
const TOLERANCE: Duration = Duration::from_millis(500);

/// The time of day of a process. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct WallClock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The latest Unix time that was read.
    latest: AtomicI64,
    /// Tells engines that the time of day was set; `None` while no engine listens.
    steps: Mutex<Option<Arc<watch::Sender<()>>>>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            latest: AtomicI64::new(i64::MIN),
            steps: Mutex::default(),
        }
    }
}

impl WallClock {
    /// The Unix time, which never goes back.
    pub(crate) fn now(&self, clock: &dyn Clock) -> i64 {
        let now = clock.now().as_second();
        self.0.latest.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Changes whenever the time of day is set.
    pub(crate) fn steps(
        &self,
        clock: &Arc<dyn Clock>,
        background: &Background,
    ) -> watch::Receiver<()> {
        let mut steps = self.lock();
        if let Some(sender) = &*steps {
            return sender.subscribe();
        }
        let sender = Arc::new(watch::Sender::new(()));
        let receiver = sender.subscribe();
        *steps = Some(sender.clone());
        let state = (self.clone(), sender, clock.clone(), None);
        background.spawn(Chore::Clock, state, |(wall, sender, clock, last)| {
            Box::pin(wall.look(sender, &**clock, last))
        });
        receiver
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<watch::Sender<()>>>> {
        self.0.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the clocks until no engine listens any more; `last` is what they showed last.
    async fn look(
        &self,
        steps: &watch::Sender<()>,
        clock: &dyn Clock,
        last: &mut Option<(Instant, Timestamp)>,
    ) {
        let last = last.get_or_insert_with(|| (Instant::now(), clock.now()));
        loop {
            tokio::select! {
                biased;
                () = steps.closed() => {
                    let mut running = self.lock();
                    if steps.receiver_count() == 0 {
                        *running = None;
                        return;
                    }
                }
                () = tokio::time::sleep(LOOK_EVERY) => {
                    let current = (Instant::now(), clock.now());
                    let passed = current.0.duration_since(last.0).as_nanos();
                    let shown = current.1.as_nanosecond() - last.1.as_nanosecond();
                    let differ = i128::try_from(passed).unwrap_or(i128::MAX).abs_diff(shown);
                    if differ > TOLERANCE.as_nanos() {
                        steps.send_replace(());
                    }
                    *last = current;
                }
            }
        }
    }
}
