//! Leader election with a Lease: one of several replicas leads, the others stand by.
//!
//! [`elect`] returns a [`Leadership`], which other code asks before it writes, and an
//! [`Elector`], a task that acquires and renews the Lease and updates the `Leadership`.
//!
//! ```text
//!           acquire               not renewed for `deadline`, or another holder
//! Standby ───────────▶ Leading ──────────────────────────────────────────────▶ Lost
//!                         └── the process stops ──▶ Released
//! ```
//!
//! If the elector panics, `Standby` and `Leading` become `Lost` at once: nobody would acquire or
//! renew the Lease any more. The process has to end, and the next one takes part in the election
//! again.
//!
//! A leader gives up before anyone else may take over, because `deadline` is shorter than
//! `duration`. With the usual times, after a last renewal at second 0:
//!
//! ```text
//! second  0         10                  15
//!         renewed   the leader stops    another replica may take the Lease
//!                   └── requests that were sent before are finished by then
//! ```
//!
//! [`Leadership::is_leader`] compares the current time with that limit itself. So a process that
//! was suspended for a minute knows that it no longer leads, even before its elector runs again. If
//! the whole machine was suspended, the monotonic clock has stopped meanwhile. Therefore the limit is
//! also a time of day: a leader stops as soon as one of the two clocks says so.

mod elector;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use elector::Elector;
use kube::Client;
use metrics::Metrics;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

/// Which Lease to use, the identity of this process, and the times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The name of this process, different for each process; see [`identity`].
    pub identity: String,
    /// How long the other replicas wait after the last renewal before they take over.
    pub duration: Duration,
    /// How long after its last renewal a leader gives up. It is shorter than `duration`, so that
    /// the leader's last requests are finished before another replica leads.
    pub deadline: Duration,
    /// The pause between two renewals of the Lease. Replicas that stand by look at it more often,
    /// so that they notice soon when it is released.
    pub retry: Duration,
}

impl Settings {
    /// The usual times: 15 s, 10 s, 2 s.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// The default name of the Lease.
pub const NAME: &str = "deltic";

/// A name for this process: the host name (in a pod the name of the pod) and a random number, so
/// that a restarted process does not take its predecessor's Lease for its own.
pub fn identity() -> String {
    let kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = std::env::var("HOSTNAME").ok().or_else(kernel);
    let host = host
        .as_deref()
        .map(str::trim)
        .filter(|host| !host.is_empty());
    format!("{}_{:016x}", host.unwrap_or("deltic"), random())
}

/// A random number, not for secrets.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Tells whether this process leads. Clones share one state.
#[derive(Clone, Debug)]
pub struct Leadership {
    state: watch::Receiver<State>,
    /// Notifies when this process leads. Unlike `state`, it wakes those that wait in the order in
    /// which they came, so that a simulation can be repeated.
    led: Arc<Notify>,
    time_of_day: TimeOfDay,
}

/// The time of day. It goes on while the machine is suspended.
#[derive(Clone)]
pub struct TimeOfDay(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl TimeOfDay {
    /// A clock.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn system() -> Self {
        Self(Arc::new(SystemTime::now))
    }

    fn now(&self) -> SystemTime {
        (self.0)()
    }

    /// The current time on both clocks.
    fn both(&self) -> Moment {
        Moment {
            monotonic: Instant::now(),
            time_of_day: self.now(),
        }
    }
}

impl fmt::Debug for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TimeOfDay")
    }
}

/// A moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    monotonic: Instant,
    time_of_day: SystemTime,
}

impl Moment {
    fn after(self, pause: Duration) -> Self {
        Self {
            monotonic: self.monotonic + pause,
            // A time that no clock can show is over at once.
            time_of_day: self
                .time_of_day
                .checked_add(pause)
                .unwrap_or(self.time_of_day),
        }
    }

    /// Whether it is over on one of the clocks.
    fn is_over(self, time_of_day: &TimeOfDay) -> bool {
        Instant::now() >= self.monotonic || time_of_day.now() >= self.time_of_day
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Another process leads, or none does.
    Standby { leader: Option<String> },
    /// This process leads until then unless it renews the Lease; `None`: it leads forever.
    Leading { until: Option<Moment> },
    /// This process led and lost the Lease, or its elector panicked.
    Lost(Loss),
    /// This process led and released the Lease.
    Released,
}

/// Why a process cannot lead any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The Lease was not renewed in time, or another process holds it.
    Lease,
    /// The elector panicked.
    Panic,
}

/// Takes part in an election. The election makes progress while [`Elector::run`] is polled.
pub fn elect(client: &Client, settings: Settings, metrics: Metrics) -> (Leadership, Elector) {
    elect_by(client, settings, metrics, TimeOfDay::system())
}

/// Takes part in an election, with this clock for the time of day.
pub fn elect_by(
    client: &Client,
    settings: Settings,
    metrics: Metrics,
    time_of_day: TimeOfDay,
) -> (Leadership, Elector) {
    let (sender, state) = watch::channel(State::Standby { leader: None });
    let led = Arc::<Notify>::default();
    let time = time_of_day.clone();
    let elector = Elector::new(client, settings, sender, led.clone(), metrics, time);
    let leadership = Leadership {
        state,
        led,
        time_of_day,
    };
    (leadership, elector)
}

impl Leadership {
    /// The leadership of a process that needs no election: it always leads.
    pub fn always() -> Self {
        Self {
            state: watch::channel(State::Leading { until: None }).1,
            led: Arc::default(),
            time_of_day: TimeOfDay::system(),
        }
    }

    /// Whether this process leads at this moment.
    pub fn is_leader(&self) -> bool {
        match *self.state.borrow() {
            State::Leading { until } => until.is_none_or(|until| !until.is_over(&self.time_of_day)),
            State::Standby { .. } | State::Lost(_) | State::Released => false,
        }
    }

    /// Whether this process led and no longer leads, or cannot lead any more. Then it must not send
    /// any request.
    pub fn is_over(&self) -> bool {
        match *self.state.borrow() {
            State::Leading { until } => until.is_some_and(|until| until.is_over(&self.time_of_day)),
            State::Lost(_) | State::Released => true,
            State::Standby { .. } => false,
        }
    }

    /// The identity of the process that leads, if it is known and not this one.
    pub fn leader(&self) -> Option<String> {
        match &*self.state.borrow() {
            State::Standby { leader } => leader.clone(),
            State::Leading { .. } | State::Lost(_) | State::Released => None,
        }
    }

    /// Completes when this process leads, has led already, or cannot lead any more.
    pub async fn acquired(&self) {
        loop {
            let mut led = pin!(self.led.notified());
            led.as_mut().enable();
            if !matches!(*self.state.borrow(), State::Standby { .. }) {
                return;
            }
            led.await;
        }
    }

    /// Completes when this process has lost the Lease, or cannot lead any more; never if it released
    /// the Lease.
    pub async fn lost(&self) -> Loss {
        let mut state = self.state.clone();
        loop {
            let seen = state.borrow_and_update().clone();
            let deadline = match seen {
                State::Lost(loss) => return loss,
                State::Leading { until: Some(until) } => Some(until.monotonic),
                State::Leading { until: None } | State::Standby { .. } | State::Released => None,
            };
            let gone = tokio::select! {
                biased;
                changed = state.changed() => changed.is_err(),
                () = passed(deadline) => {
                    if *state.borrow() == seen {
                        return Loss::Lease;
                    }
                    false
                }
            };
            if gone {
                // The elector ended, so the Lease is not renewed any more.
                passed(deadline).await;
                return Loss::Lease;
            }
        }
    }
}

/// Completes at the given time; never if there is none.
async fn passed(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
