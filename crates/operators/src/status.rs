//! When the status of an Operator is written.
//!
//! Changes are collected for a moment, what is equal to the stored status is not written,
//! and after a failure there is a growing pause: no loop, however busy an Operator is.

use std::time::Duration;

use cluster::object::Object;
use controller::Backoff;
use document::Value;
use kube::api::{Patch, PatchParams};
use tokio::time::{Instant, timeout};

use super::Shared;
use super::report::{Report, render, same, same_but_counts};
use super::resource::OperatorObject;

/// How long changes are collected.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// How often counts alone are written.
const COUNTS_EVERY: Duration = Duration::from_secs(5);
/// The pauses after failures.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_mins(1));
/// How long a write may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// Who writes.
pub(super) const MANAGER: &str = "deltic";

/// Writes the status of one Operator.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    /// When to look next.
    due: Option<Instant>,
    written: Option<Instant>,
    failures: u32,
}

impl Publisher {
    /// Something may have changed.
    pub(super) fn changed(&mut self) {
        let pause = DEBOUNCE.max(self.pause());
        self.due.get_or_insert_with(|| Instant::now() + pause);
    }

    /// What is published next is the last: it does not wait for more.
    pub(super) fn last(&mut self) {
        self.written = None;
    }

    /// When [`Publisher::publish`] is to be called.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    fn pause(&self) -> Duration {
        PAUSES.after(self.failures)
    }

    /// Writes the status if it is not what is stored; gives the Operator as it is then.
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
        let recent = self.written.map(|at| at + COUNTS_EVERY);
        if let Some(later) = recent.filter(|at| *at > Instant::now())
            && same_but_counts(&status, there)
        {
            self.due = Some(later);
            return None;
        }
        let answer = write(shared, name, object, &status).await;
        self.answered(name, answer)
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

/// Why something was not written to an Operator.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// The server refused, or did not answer.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// No answer.
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    Timeout,
}

/// Writes a status; `None` if the Operator is gone, or another with its name is there:
/// then the watch will say so.
async fn write(
    shared: &Shared,
    name: &str,
    object: &OperatorObject,
    status: &Value,
) -> Result<Option<Object>, WriteError> {
    let patch = document::json!({
        "metadata": {"uid": (object.uid())},
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
