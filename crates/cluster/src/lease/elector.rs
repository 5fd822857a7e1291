//! The task that acquires, renews and releases the Lease.
//!
//! Clocks of two machines are never compared. Another holder's Lease has expired when it has not
//! changed for its duration, measured by our own clock from the moment at which we read the last
//! change; `renewTime` is ignored. Every write carries the `resourceVersion` that was read, so
//! that of two processes that try to take an expired Lease only one succeeds.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use metrics::Metrics;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use super::{Loss, Moment, Settings, State, TimeOfDay};

/// How long releasing the Lease may take.
const RELEASE: Duration = Duration::from_secs(5);
/// How many times the release is tried when another write interferes.
const RELEASES: usize = 3;

/// Updates a [`Leadership`](super::Leadership); see [`Elector::run`].
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    settings: Settings,
    state: watch::Sender<State>,
    /// Notifies those that wait for this process to lead.
    led: Arc<Notify>,
    metrics: Metrics,
    time_of_day: TimeOfDay,
    /// The Lease as it was last read or written; `None` if it must be read first.
    known: Option<Lease>,
    /// The last state of another holder's Lease, and when we first read it.
    seen: Option<(LeaseSpec, Instant)>,
    /// The failure that was logged last, so that each is logged once.
    last_failure: Option<String>,
    /// The number of pauses so far.
    pauses: u64,
}

/// The outcome of an attempt to acquire or renew the Lease.
enum Attempt {
    /// We hold the Lease.
    Ours,
    /// Another process holds it.
    Theirs(String),
    /// Another write interfered, or the request failed.
    Unclear,
}

impl Elector {
    pub(super) fn new(
        client: &Client,
        settings: Settings,
        state: watch::Sender<State>,
        led: Arc<Notify>,
        metrics: Metrics,
        time_of_day: TimeOfDay,
    ) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &settings.namespace),
            settings,
            state,
            led,
            metrics,
            time_of_day,
            known: None,
            seen: None,
            last_failure: None,
            pauses: 0,
        }
    }

    /// Acquires the Lease and renews it until it is lost. When `stop` completes, the Lease is
    /// released, so `stop` must not complete before the last write of this process is done.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let loss = tokio::select! {
            biased;
            () = &mut stop => None,
            led = AssertUnwindSafe(self.lead()).catch_unwind() => match led {
                Ok(()) => Some(Loss::Lease),
                Err(_) => Some(Loss::Panic),
            },
        };
        self.metrics.leading(false);
        let Some(loss) = loss else {
            self.set(State::Released);
            // If this fails, the Lease expires.
            let _ = timeout(RELEASE, self.release()).await;
            return;
        };
        // After a panic, too, the Lease has to expire: requests may still be under way.
        self.set(State::Lost(loss));
    }

    /// Acquires the Lease and completes when it is lost.
    async fn lead(&mut self) {
        let until = self.acquire().await;
        tracing::info!(identity = %self.settings.identity, "leading");
        self.metrics.leading(true);
        let why = self.renew(until).await;
        tracing::error!("lost the lease: {why}");
    }

    /// Tries until we hold the Lease. Returns until when we lead.
    async fn acquire(&mut self) -> Instant {
        loop {
            let started = self.time_of_day.both();
            match self.attempt(self.settings.deadline).await {
                Attempt::Ours => return self.leading_since(started),
                Attempt::Theirs(leader) => self.stand_by(leader),
                Attempt::Unclear => {}
            }
            let pause = self.jittered();
            sleep(pause).await;
        }
    }

    fn leading_since(&self, started: Moment) -> Instant {
        let until = started.after(self.settings.deadline);
        self.set(State::Leading { until: Some(until) });
        until.monotonic
    }

    fn set(&self, state: State) {
        self.state.send_replace(state);
        self.led.notify_waiters();
    }

    fn stand_by(&self, leader: String) {
        let state = State::Standby {
            leader: Some(leader),
        };
        self.state.send_if_modified(|old| {
            let changed = *old != state;
            if changed
                && let State::Standby {
                    leader: Some(leader),
                } = &state
            {
                tracing::info!(leader, "standing by");
            }
            *old = state;
            changed
        });
    }

    /// The pause between two attempts while another process leads: a quarter to a half of `retry`.
    /// It depends on our identity and on the number of the attempt, so that replicas do not all try
    /// at the same time.
    fn jittered(&mut self) -> Duration {
        self.pauses += 1;
        let seed = format!("{}/{}", self.settings.identity, self.pauses);
        let share = (document::stable_hash(&seed) >> 40) as f64 / f64::from(1_u32 << 24);
        self.settings.retry.mul_f64(0.25 + 0.25 * share)
    }

    /// Renews the Lease until it is lost. Returns the reason.
    async fn renew(&mut self, mut until: Instant) -> String {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            sleep(self.settings.retry.min(left)).await;
            let started = self.time_of_day.both();
            if started.monotonic >= until {
                return "it was not renewed in time".to_owned();
            }
            match self.attempt(until - started.monotonic).await {
                Attempt::Ours => until = self.leading_since(started),
                Attempt::Theirs(leader) => return format!("{leader} holds it"),
                Attempt::Unclear => {}
            }
        }
    }

    /// Tries once to acquire or renew the Lease, within a time limit.
    async fn attempt(&mut self, limit: Duration) -> Attempt {
        match timeout(limit, self.try_once()).await {
            Ok(Ok(attempt)) => {
                self.last_failure = None;
                attempt
            }
            Ok(Err(error)) => {
                self.log_failure(self.explain(&error));
                Attempt::Unclear
            }
            Err(_) => {
                self.log_failure("no answer from the API server".to_owned());
                Attempt::Unclear
            }
        }
    }

    async fn try_once(&mut self) -> Result<Attempt, Error> {
        let known = match self.known.take() {
            Some(lease) => Some(lease),
            None => self.api.get_opt(&self.settings.name).await?,
        };
        let (lease, ours) = match known {
            None => (Lease::default(), false),
            Some(lease) => {
                let spec = lease.spec.clone().unwrap_or_default();
                if let Some(holder) = self.held_by_another(&spec) {
                    return Ok(Attempt::Theirs(holder));
                }
                let ours = holder(&spec) == Some(self.settings.identity.as_str());
                (lease, ours)
            }
        };
        let params = PostParams::default();
        let lease = self.filled(lease, ours);
        let written = if lease.metadata.resource_version.is_none() {
            self.api.create(&params, &lease).await
        } else {
            self.api.replace(&self.settings.name, &params, &lease).await
        };
        match written {
            Ok(lease) => {
                self.known = Some(lease);
                Ok(Attempt::Ours)
            }
            // Another process wrote or deleted it: the next attempt reads it again.
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Attempt::Unclear),
            Err(error) => Err(error),
        }
    }

    /// The holder of a Lease that another process holds and that has not expired.
    fn held_by_another(&mut self, spec: &LeaseSpec) -> Option<String> {
        let holder = holder(spec)?;
        if holder == self.settings.identity {
            return None;
        }
        let now = Instant::now();
        let since = match &self.seen {
            Some((seen, since)) if seen == spec => *since,
            _ => {
                self.seen = Some((spec.clone(), now));
                now
            }
        };
        let seconds = spec.lease_duration_seconds.unwrap_or_default();
        let duration = match u64::try_from(seconds) {
            Ok(seconds) if seconds > 0 => Duration::from_secs(seconds),
            _ => self.settings.duration,
        };
        (now.duration_since(since) < duration).then(|| holder.to_owned())
    }

    /// Makes us the holder of a Lease.
    fn filled(&self, mut lease: Lease, ours: bool) -> Lease {
        let now = MicroTime(Timestamp::now());
        let old = lease.spec.take().unwrap_or_default();
        let transitions = old.lease_transitions.unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.settings.identity.clone()),
            lease_duration_seconds: Some(seconds(self.settings.duration)),
            acquire_time: old
                .acquire_time
                .filter(|_| ours)
                .or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if ours || old.holder_identity.is_none() {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            ..old
        });
        lease.metadata = ObjectMeta {
            name: Some(self.settings.name.clone()),
            namespace: Some(self.settings.namespace.clone()),
            ..lease.metadata
        };
        lease
    }

    /// Clears the holder, so that another replica need not wait until the Lease expires.
    async fn release(&mut self) {
        for _ in 0..RELEASES {
            let Ok(Some(mut lease)) = self.api.get_opt(&self.settings.name).await else {
                return;
            };
            let spec = lease.spec.get_or_insert_default();
            if holder(spec) != Some(self.settings.identity.as_str()) {
                return;
            }
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
            let params = PostParams::default();
            let written = self.api.replace(&self.settings.name, &params, &lease).await;
            // A conflict comes from a renewal of ours that was still under way: try again.
            if !matches!(written, Err(Error::Api(status)) if status.code == 409) {
                return;
            }
        }
    }

    fn log_failure(&mut self, failure: String) {
        if self.last_failure.as_ref() != Some(&failure) {
            tracing::warn!("cannot acquire or renew the lease: {failure}");
            self.last_failure = Some(failure);
        }
    }

    fn explain(&self, error: &Error) -> String {
        let namespace = &self.settings.namespace;
        match error {
            Error::Api(status) if status.code == 403 => format!(
                "forbidden: grant get, create and update on leases (coordination.k8s.io) in namespace {namespace}"
            ),
            Error::Api(status) => format!("{} ({})", status.message, status.code),
            error => error.to_string(),
        }
    }
}

/// The holder of a Lease. A Lease that was released has an empty holder.
fn holder(spec: &LeaseSpec) -> Option<&str> {
    spec.holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty())
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX).max(1)
}
