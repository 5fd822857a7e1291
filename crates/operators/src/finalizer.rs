//! The finalizer of an Operator: there under `deletionPolicy: Delete`, and only then.

use kube::api::{Patch, PatchParams};
use tokio::time::timeout;

use super::life::{Life, Step};
use super::resource::OperatorObject;
use super::status::{MANAGER, TIMEOUT, WriteError};

impl Life {
    /// Puts our finalizer on the Operator, or takes it off.
    pub(super) async fn finalizer(&mut self) -> Step {
        let Some(object) = self.object.clone() else {
            return Step::Done;
        };
        let wanted = object.deletes() && !object.is_leaving();
        if wanted == object.has_finalizer() {
            return Step::Done;
        }
        match self.patch_finalizer(&object, wanted).await {
            Ok(object) => {
                self.object = Some(object);
                self.publisher.changed();
                Step::Done
            }
            Err(WriteError::Kube(kube::Error::Api(status))) if status.code == 404 => Step::Done,
            Err(error) => {
                let what = if wanted { "put on" } else { "taken off" };
                let message = format!("the finalizer cannot be {what}: {error}");
                tracing::warn!(operator = self.name, message);
                if !is_conflict(&error) {
                    self.waits("NotReady", message);
                }
                Step::Again
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
