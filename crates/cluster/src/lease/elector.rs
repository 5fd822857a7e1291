//! Gets the lease, renews it, gives it back.
//!
//! Whether another's lease has run out is measured by our own clock, from when we saw it
//! change last: the clocks of two machines are never compared. A lease is written only in
//! the version that was read, so that of two who try one succeeds.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use metrics::Metrics;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::{Settings, State, random};

/// How long giving the lease back may take.
const RELEASE: Duration = Duration::from_secs(5);
/// How often that is tried.
const RELEASES: usize = 3;

/// Keeps a [`Leadership`](super::Leadership) true, see [`Elector::run`].
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    settings: Settings,
    state: watch::Sender<State>,
    metrics: Metrics,
    /// The lease as it was last read or written; `None` if it has to be read.
    known: Option<Lease>,
    /// What was seen of another's lease, and when it came to be so.
    seen: Option<(LeaseSpec, Instant)>,
    /// What went wrong last, so that it is said once.
    trouble: Option<String>,
}

/// What an attempt came to.
enum Attempt {
    /// We have the lease.
    Ours,
    /// Another has it.
    Theirs(String),
    /// Someone wrote it at the same time, or there was no answer.
    Unclear,
}

impl Elector {
    pub(super) fn new(
        client: &Client,
        settings: Settings,
        state: watch::Sender<State>,
        metrics: Metrics,
    ) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &settings.namespace),
            settings,
            state,
            metrics,
            known: None,
            seen: None,
            trouble: None,
        }
    }

    /// Gets the lease and renews it, until it is lost or `stop` completes: then it is
    /// given back. So `stop` must not complete before the last write is done.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let stopped = tokio::select! {
            biased;
            () = &mut stop => true,
            () = self.lead() => false,
        };
        self.metrics.leading(false);
        if stopped {
            self.state.send_replace(State::Released);
            // If there is no answer the lease runs out by itself.
            let _ = timeout(RELEASE, self.release()).await;
        } else {
            self.state.send_replace(State::Lost);
        }
    }

    /// Completes when the lease is lost.
    async fn lead(&mut self) {
        let until = self.acquire().await;
        tracing::info!(identity = %self.settings.identity, "leading");
        self.metrics.leading(true);
        let why = self.renew(until).await;
        tracing::error!("lost the lease: {why}");
    }

    /// Tries until it has the lease; gives until when that is good.
    async fn acquire(&mut self) -> Instant {
        loop {
            let started = Instant::now();
            match self.attempt(self.settings.deadline).await {
                Attempt::Ours => return self.leading_since(started),
                Attempt::Theirs(leader) => self.stand_by(leader),
                Attempt::Unclear => {}
            }
            sleep(self.jittered()).await;
        }
    }

    fn leading_since(&self, started: Instant) -> Instant {
        let until = started + self.settings.deadline;
        self.state
            .send_replace(State::Leading { until: Some(until) });
        until
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

    /// The pause while another leads: not all at once when it is gone.
    fn jittered(&self) -> Duration {
        let share = (random() >> 40) as f64 / f64::from(1_u32 << 24);
        self.settings.retry.mul_f64(1.0 + 1.2 * share)
    }

    /// Renews until that fails; gives why.
    async fn renew(&mut self, mut until: Instant) -> String {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            sleep(self.settings.retry.min(left)).await;
            let started = Instant::now();
            if started >= until {
                return "it was not renewed in time".to_owned();
            }
            match self.attempt(until - started).await {
                Attempt::Ours => until = self.leading_since(started),
                Attempt::Theirs(leader) => return format!("{leader} has it"),
                Attempt::Unclear => {}
            }
        }
    }

    /// One attempt to get or renew the lease, for this long.
    async fn attempt(&mut self, patience: Duration) -> Attempt {
        match timeout(patience, self.try_once()).await {
            Ok(Ok(attempt)) => {
                self.trouble = None;
                attempt
            }
            Ok(Err(error)) => {
                self.complain(self.explain(&error));
                Attempt::Unclear
            }
            Err(_) => {
                self.complain("no answer from the API server".to_owned());
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
            // Someone was faster, or it was deleted: it is read the next time.
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Attempt::Unclear),
            Err(error) => Err(error),
        }
    }

    /// The holder, if it is another and its time has not run out as far as we saw.
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

    /// The lease with us as its holder.
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

    /// Gives the lease back, so that another need not wait until it runs out.
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
            // A renewal that was on its way may have been faster.
            if !matches!(written, Err(Error::Api(status)) if status.code == 409) {
                return;
            }
        }
    }

    fn complain(&mut self, trouble: String) {
        if self.trouble.as_ref() != Some(&trouble) {
            tracing::warn!("cannot get or renew the lease: {trouble}");
            self.trouble = Some(trouble);
        }
    }

    fn explain(&self, error: &Error) -> String {
        let namespace = &self.settings.namespace;
        match error {
            Error::Api(status) if status.code == 403 => format!(
                "not allowed: grant get, create and update of leases (coordination.k8s.io) in namespace {namespace}"
            ),
            Error::Api(status) => format!("{} ({})", status.message, status.code),
            error => error.to_string(),
        }
    }
}

/// Who holds a lease; one that was given back has an empty holder.
fn holder(spec: &LeaseSpec) -> Option<&str> {
    spec.holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty())
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX).max(1)
}
