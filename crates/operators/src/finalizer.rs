//! The finalizer of an Operator.
//!
//! An Operator has it exactly while `deletionPolicy` is `Delete` and derived objects may exist:
//!
//! ```text
//! Operator applied ─▶ add the finalizer ─▶ derive objects ─▶ …
//! kubectl delete   ─▶ delete derived objects ─▶ remove the finalizer ─▶ the Operator is deleted
//! ```
//!
//! It is added before the first object is derived, so that no derived object is left behind.

use engine::guard::Boundary;
use kube::api::{Patch, PatchParams};
use tokio::time::timeout;

use super::operator_task::{OperatorTask, TaskStep};
use super::report::Reason;
use super::resource::OperatorObject;
use super::status::{MANAGER, TIMEOUT, WriteError};

impl OperatorTask {
    /// Adds or removes our finalizer, as `deletionPolicy` requires.
    pub(super) async fn finalizer(&mut self) -> TaskStep {
        let Some(object) = self.object.clone() else {
            return TaskStep::Done;
        };
        let wanted = object.deletes() && !object.is_leaving();
        if wanted == object.has_finalizer() {
            return TaskStep::Done;
        }
        if !self.leads {
            return TaskStep::WhenLeading;
        }
        self.pass(Boundary::Finalizer);
        match self.patch_finalizer(&object, wanted).await {
            Ok(object) => {
                self.object = Some(object);
                self.publisher.changed();
                TaskStep::Done
            }
            Err(WriteError::Kube(kube::Error::Api(status))) if status.code == 404 => TaskStep::Done,
            Err(error) => {
                let what = if wanted { "added" } else { "removed" };
                let message = format!("the finalizer cannot be {what}: {error}");
                tracing::warn!(operator = self.name, message);
                if !is_conflict(&error) {
                    self.waits(Reason::NotReady, message);
                }
                TaskStep::Again
            }
        }
    }

    async fn patch_finalizer(
        &mut self,
        object: &OperatorObject,
        wanted: bool,
    ) -> Result<OperatorObject, WriteError> {
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = object.finalizer_patch(wanted);
        let patch = Patch::Merge(&patch);
        let sent = self.shared.api.patch(&self.name, &params, &patch);
        let answer = timeout(TIMEOUT, sent)
            .await
            .map_err(|_| WriteError::Timeout)?;
        Ok(answer?.into())
    }
}

fn is_conflict(error: &WriteError) -> bool {
    matches!(error, WriteError::Kube(kube::Error::Api(status)) if status.code == 409)
}
