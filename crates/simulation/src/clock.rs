//! The wall clock of a simulation. It moves with tokio's paused clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::clock::Clock;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use seeded::Random;
use tokio::time::Instant;

/// The start of every simulation: 2026-01-01T00:00:00Z.
const START: i64 = 1_767_225_600;

/// A running clock.
#[derive(Clone, Copy, Debug)]
pub struct Virtual(Instant);

impl Virtual {
    /// Starts the clock.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has run.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The time of day.
    pub fn now(self) -> Timestamp {
        let start = Timestamp::from_second(START).unwrap_or_default();
        start.checked_add(self.elapsed()).unwrap_or(start)
    }

    /// The time of day in the format of objects.
    pub fn text(self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

/// How far the wall clock of a machine has been set forward or back. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct ClockSteps(Arc<Steps>);

/// In seconds.
#[derive(Debug, Default)]
struct Steps {
    now: AtomicI64,
    /// The farthest that the clock was ever set forward.
    most: AtomicI64,
}

impl ClockSteps {
    /// Sets the clock forward by this many seconds, or back.
    pub fn step(&self, seconds: i64) {
        let now = self.0.now.fetch_add(seconds, Ordering::SeqCst) + seconds;
        self.0.most.fetch_max(now, Ordering::SeqCst);
    }

    /// Sets the clock forward to where it would be if it had never been set back.
    fn catch_up(&self) {
        let most = self.0.most.load(Ordering::SeqCst);
        self.0.now.store(most, Ordering::SeqCst);
    }

    fn applied_to(&self, time: Timestamp) -> Timestamp {
        later(time, self.0.now.load(Ordering::SeqCst))
    }
}

fn later(time: Timestamp, seconds: i64) -> Timestamp {
    let seconds = SignedDuration::from_secs(seconds);
    time.checked_add(seconds).unwrap_or(time)
}

/// The wall clock of all machines of a simulation. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct WallClock {
    /// The time without steps.
    pub clock: Virtual,
    /// How far it is off.
    pub steps: ClockSteps,
}

impl WallClock {
    /// Starts the clock.
    pub fn start() -> Self {
        Self {
            clock: Virtual::start(),
            steps: ClockSteps::default(),
        }
    }

    /// The Unix time.
    pub fn now(&self) -> i64 {
        self.steps.applied_to(self.clock.now()).as_second()
    }

    /// The Unix time if the clock had never been set back. No process has seen a later one.
    pub fn latest(&self) -> i64 {
        let most = self.steps.0.most.load(Ordering::SeqCst);
        later(self.clock.now(), most).as_second()
    }

    /// Sets the clock forward to its [latest](Self::latest) time, so that all processes agree: to
    /// a process, time never goes back.
    pub fn catch_up(&self) {
        self.steps.catch_up();
    }
}

/// The time and the random numbers of one process.
#[derive(Debug)]
pub struct ProcessClock {
    clock: Virtual,
    steps: ClockSteps,
    random: Mutex<Random>,
}

impl ProcessClock {
    /// A process whose random numbers come from this seed.
    pub fn new(clock: Virtual, steps: ClockSteps, seed: u64) -> Self {
        Self {
            clock,
            steps,
            random: Mutex::new(Random::new(seed)),
        }
    }
}

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        self.steps.applied_to(self.clock.now())
    }

    fn random(&self) -> u64 {
        let mut random = self.random.lock().expect("no holder panics");
        random.bits()
    }
}
