//! Leader election by a Lease: of several replicas one works, the others stand by.
//!
//! [`elect`] gives a [`Leadership`], which everybody asks, and an [`Elector`], which runs
//! beside and keeps it true. A leader that cannot renew its lease in time has lost it
//! before anybody else can have it: [`Leadership::is_leader`] looks at the clock and not
//! only at what the elector said last, so that a process that was asleep knows, too.
//!
//! ```text
//!           acquire                renew fails for `deadline`, or another holder
//! Standby ───────────▶ Leading ───────────────────────────────────────────────▶ Lost
//!                         └── the process ends well ──▶ Released
//! ```

mod elector;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

pub use elector::Elector;
use kube::Client;
use metrics::Metrics;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Which lease, for whom, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// Who we are, different for each process; see [`identity`].
    pub identity: String,
    /// How long others wait for a leader that says nothing.
    pub duration: Duration,
    /// How long a leader tries to renew before it gives up; shorter than `duration`, so
    /// that what it has sent by then is over before another leads.
    pub deadline: Duration,
    /// The pause between two attempts.
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

/// The name of the lease, unless another is wanted.
pub const NAME: &str = "deltic";

/// A name for this process: the host (in a pod its name), and something random, so that
/// a process that starts again does not take itself for the one before.
pub fn identity() -> String {
    let kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = std::env::var("HOSTNAME").ok().or_else(kernel);
    let host = host
        .as_deref()
        .map(str::trim)
        .filter(|host| !host.is_empty());
    format!("{}_{:016x}", host.unwrap_or("deltic"), random())
}

/// A random number; nothing secret hangs on it.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Whether this process leads. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<State>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Another leads, or nobody.
    Standby { leader: Option<String> },
    /// We lead until then, if nothing is said before; `None`: for good.
    Leading { until: Option<Instant> },
    /// We led, and may not any more.
    Lost,
    /// We led, and gave it back.
    Released,
}

/// Takes part in an election.
pub fn elect(client: &Client, settings: Settings, metrics: Metrics) -> (Leadership, Elector) {
    let (sender, receiver) = watch::channel(State::Standby { leader: None });
    let elector = Elector::new(client, settings, sender, metrics);
    (Leadership(receiver), elector)
}

impl Leadership {
    /// That of a process without others.
    pub fn always() -> Self {
        Self(watch::channel(State::Leading { until: None }).1)
    }

    /// Whether this process leads at this moment.
    pub fn is_leader(&self) -> bool {
        match *self.0.borrow() {
            State::Leading { until } => until.is_none_or(|until| Instant::now() < until),
            State::Standby { .. } | State::Lost | State::Released => false,
        }
    }

    /// Whether this process led and may not any more: then no request may be sent.
    pub fn is_over(&self) -> bool {
        match *self.0.borrow() {
            State::Leading { until } => until.is_some_and(|until| Instant::now() >= until),
            State::Lost | State::Released => true,
            State::Standby { .. } => false,
        }
    }

    /// Who leads, if it is another and known.
    pub fn leader(&self) -> Option<String> {
        match &*self.0.borrow() {
            State::Standby { leader } => leader.clone(),
            State::Leading { .. } | State::Lost | State::Released => None,
        }
    }

    /// Completes when this process leads, or has led already.
    pub async fn acquired(&self) {
        let mut state = self.0.clone();
        let leads = |state: &State| !matches!(state, State::Standby { .. });
        if state.wait_for(leads).await.is_err() {
            // The elector is gone: nobody will ever say that we lead.
            std::future::pending::<()>().await;
        }
    }

    /// Completes when this process has lost the lease; never, if it gave it back.
    pub async fn lost(&self) {
        let mut state = self.0.clone();
        loop {
            let seen = state.borrow_and_update().clone();
            let deadline = match seen {
                State::Lost => return,
                State::Leading { until: Some(until) } => Some(until),
                State::Leading { until: None } | State::Standby { .. } | State::Released => None,
            };
            let gone = tokio::select! {
                biased;
                changed = state.changed() => changed.is_err(),
                () = passed(deadline) => {
                    if *state.borrow() == seen {
                        return;
                    }
                    false
                }
            };
            if gone {
                // The elector is gone, and nothing can prolong what it said last.
                passed(deadline).await;
                return;
            }
        }
    }
}

/// Completes at a time, or never.
async fn passed(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
