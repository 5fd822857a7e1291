//! Decides when the status of an Operator is written, and writes it.
//!
//! However busy an Operator is, its status is written at a limited rate: changes are collected
//! for a second, counts alone are written every five seconds, a status that equals the stored one
//! is not written, and failures are followed by growing pauses. So are writes that somebody else keeps
//! overwriting, such as a second process without an election.

use std::time::Duration;

use cluster::connect::describe;
use cluster::object::Object;
use controller::Backoff;
use document::Value;
use engine::kinds::Kinds;
use kube::api::{Patch, PatchParams};
use tokio::time::{Instant, timeout};

use super::report::{Report, content, render, same, same_but_counts};
use super::resource::OperatorObject;
use crate::manager::Shared;

/// How long changes are collected before a write.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// How often changes of counts alone are written.
const COUNTS_EVERY: Duration = Duration::from_secs(5);
/// The pauses after failed writes.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_mins(1));
/// The pauses between writes of a status that somebody else keeps overwriting.
const RIVAL_PAUSES: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_mins(5));
/// After this long without an overwritten status, the next one is written at once.
const RIVAL_GONE: Duration = Duration::from_mins(10);
/// How long a write may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// The field manager of writes to Operators.
pub(super) const MANAGER: &str = "deltic";

/// Writes the status of one Operator.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    /// When to publish next.
    due: Option<Instant>,
    written: Option<Instant>,
    /// What was written last, without counts and times.
    content: Option<Value>,
    /// How often that was written again, because somebody else had overwritten it.
    overwritten: u32,
    failures: u32,
}

impl Publisher {
    /// Schedules a write, because something may have changed.
    pub(super) fn changed(&mut self) {
        let at = Instant::now() + DEBOUNCE.max(self.pause());
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Schedules a write after a growing pause, because the last one panicked.
    pub(super) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.due = Some(Instant::now() + self.pause());
    }

    /// Makes the next [`Publisher::publish`] write without waiting for further changes.
    pub(super) fn last(&mut self) {
        self.written = None;
    }

    /// When to call [`Publisher::publish`].
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    fn pause(&self) -> Duration {
        PAUSES.after(self.failures)
    }

    /// Writes the status unless it equals the stored one. Returns the Operator after a write.
    pub(super) async fn publish(
        &mut self,
        shared: &Shared,
        name: &str,
        object: &OperatorObject,
        report: &Report<'_>,
    ) -> Option<OperatorObject> {
        self.due = None;
        let there = object.status();
        let status = render(report, there, &shared.clock.text());
        if same(&status, there) {
            self.failures = 0;
            return None;
        }
        let content = content(report);
        let (overwritten, pause) = if same_but_counts(&status, there) {
            (self.overwritten, COUNTS_EVERY)
        } else {
            let overwritten = self.times_overwritten(&content);
            // The first time it is written again at once.
            (
                overwritten,
                RIVAL_PAUSES.after(overwritten.saturating_sub(1)),
            )
        };
        let earliest = self.written.map(|at| at + pause);
        if let Some(later) = earliest.filter(|at| *at > Instant::now()) {
            self.due = Some(later);
            return None;
        }
        let answer = write(shared, name, object, &status).await;
        if matches!(answer, Ok(Some(_))) {
            (self.content, self.overwritten) = (Some(content), overwritten);
        }
        self.answered(name, answer)
    }

    /// How often others have overwritten this content, if it was the last one.
    fn times_overwritten(&self, content: &Value) -> u32 {
        let is_recent = self.written.is_some_and(|at| at.elapsed() < RIVAL_GONE);
        if is_recent && self.content.as_ref() == Some(content) {
            return self.overwritten.saturating_add(1);
        }
        0
    }

    fn answered(
        &mut self,
        name: &str,
        answer: Result<Option<Object>, WriteError>,
    ) -> Option<OperatorObject> {
        match answer {
            Ok(object) => {
                self.failures = 0;
                self.written = Some(Instant::now());
                object.map(OperatorObject::from)
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.due = Some(Instant::now() + self.pause());
                tracing::warn!(operator = name, %error, "cannot write the status");
                None
            }
        }
    }
}

/// Why a write to an Operator failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// The request failed or was refused.
    #[error("{}", describe(.0))]
    Kube(#[from] kube::Error),
    /// The server did not answer in time.
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    Timeout,
}

/// Records the kinds that may hold objects of an Operator. Returns `None` as [`write`] does.
pub(super) async fn remember(
    shared: &Shared,
    name: &str,
    object: &OperatorObject,
    kinds: &Kinds,
) -> Result<Option<OperatorObject>, WriteError> {
    let status = document::json!({"kinds": (kinds.print())});
    let written = write(shared, name, object, &status).await?;
    Ok(written.map(OperatorObject::from))
}

/// Writes a status. Returns `None` if the Operator was deleted, or replaced by another of the same
/// name: the watch will deliver that.
async fn write(
    shared: &Shared,
    name: &str,
    object: &OperatorObject,
    status: &Value,
) -> Result<Option<Object>, WriteError> {
    let patch = document::json!({
        // With the version, so that a process that has lost its lease does not overwrite the
        // status of another.
        "metadata": {"uid": (object.uid()), "resourceVersion": (object.version())},
        "status": (status.clone()),
    });
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(&patch);
    let sent = shared.api.patch_status(name, &params, &patch);
    match timeout(TIMEOUT, sent).await {
        Ok(Ok(object)) => Ok(Some(object)),
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Ok(None),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(WriteError::Timeout),
    }
}
