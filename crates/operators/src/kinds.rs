//! Where the objects of an Operator may be: recorded before they are written, and read when they
//! are removed.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::Left;
use engine::kinds::Kinds;
use engine::status::OperatorStatus;
use operator::Operator;
use tokio::time::timeout;

use super::operator_task::{OperatorTask, TaskStep};
use super::report::{self, Reason};
use super::resource::OperatorObject;
use super::status;

/// How long one round of deletions may take.
const DELETE_ROUND: Duration = Duration::from_secs(10);

impl OperatorTask {
    /// Records the kinds that an Operator may write in its status. Returns whether they are
    /// recorded.
    pub(super) async fn remember(&mut self, kinds: &Kinds) -> bool {
        let Some(object) = self.object.clone() else {
            return false;
        };
        if object.has_kinds() && object.kinds().contains_all(kinds) {
            return true;
        }
        let kinds = object.kinds().with(kinds);
        match status::remember(&self.shared, &self.name, &object, &kinds).await {
            Ok(Some(object)) => {
                self.object = Some(object);
                true
            }
            // It was deleted or replaced: the watch delivers that.
            Ok(None) => false,
            Err(error) => {
                let message = format!("the kinds that it writes cannot be recorded: {error}");
                tracing::warn!(operator = self.name, message);
                self.waits(Reason::NotReady, message);
                false
            }
        }
    }

    /// An Operator without controllers, which removes what the Operator has derived; `None` if
    /// that may not be done. It reads no source, and the spec may be invalid.
    pub(super) async fn removal(&mut self, object: &OperatorObject) -> Option<Operator> {
        // Kinds were not recorded before; then only the spec names them.
        if !object.has_kinds() {
            let operator = self.read(object).await;
            if operator.is_none() {
                let message = "derived objects cannot be deleted while the spec is invalid: \
                    correct it, or set deletionPolicy to Orphan";
                self.waits(Reason::Invalid, message.to_owned());
            }
            return operator;
        }
        match self.shared.policy.removal(object) {
            Ok(operator) => Some(operator),
            Err(problem) => {
                let why = report::problem(&problem);
                let message = format!(
                    "derived objects cannot be deleted: {why}; or set deletionPolicy to Orphan"
                );
                self.waits(Reason::Invalid, message);
                None
            }
        }
    }

    /// Handles the deletion of the Operator.
    pub(super) async fn leave(&mut self, object: OperatorObject) -> TaskStep {
        if !object.has_finalizer() || !object.deletes() {
            // Derived objects stay.
            self.stop_engine().await;
            let why = "the Operator is being deleted";
            self.shared.engines.down(&self.name, why);
            let step = self.finalizer().await;
            if matches!(step, TaskStep::Done) {
                self.waits_for_others();
            }
            return step;
        }
        if !self.leads {
            return TaskStep::WhenLeading;
        }
        if self.engine.is_none() {
            let Some(operator) = self.removal(&object).await else {
                return TaskStep::Done;
            };
            if !self.remember(&Kinds::of(&operator)).await {
                return TaskStep::Again;
            }
            let object = self.object.clone().unwrap_or(object);
            self.start(operator, object, BTreeSet::new());
        }
        let Some(engine) = &self.engine else {
            return TaskStep::Again;
        };
        let unlisted = engine.status.borrow().unlisted.first().cloned();
        if !self.state.is(Reason::Deleting) {
            self.waits(Reason::Deleting, deleting(None, unlisted.as_deref(), None));
        }
        let Some(engine) = &self.engine else {
            return TaskStep::Again;
        };
        let left = timeout(DELETE_ROUND, engine.run.delete_all()).await;
        let left = left.ok().flatten();
        if left.as_ref().is_none_or(|left| !left.kinds.is_empty()) {
            let error = newest_target_error(&engine.status.borrow());
            let message = deleting(left.as_ref(), unlisted.as_deref(), error.as_deref());
            self.waits(Reason::Deleting, message);
            return TaskStep::Again;
        }
        self.stop_engine().await;
        self.finalizer().await
    }

    /// Says that the Operator is only kept by finalizers of others.
    fn waits_for_others(&mut self) {
        let object = self.object.as_ref();
        let others = object.map_or_else(Vec::new, OperatorObject::others_finalizers);
        if !others.is_empty() {
            let others = others.join(", ");
            let message = format!(
                "the Operator does not run any more, and waits for the finalizers of others: {others}"
            );
            self.waits(Reason::Deleting, message);
        }
    }
}

/// Why an object cannot be removed: the newest error of the first controller that has one. Errors of
/// pipelines do not hold up a deletion.
fn newest_target_error(status: &OperatorStatus) -> Option<String> {
    let errors = status.controllers.iter().flat_map(|c| &c.errors);
    let mut of_targets = errors.filter(|error| error.stage == "target");
    let message = &of_targets.next()?.message;
    Some(format!("the newest error: {message}"))
}

/// For example `derived objects are being deleted: 3 ConfigMap, 1 Deployment.apps left`.
fn deleting(left: Option<&Left>, unlisted: Option<&str>, error: Option<&str>) -> String {
    let kinds = left.into_iter().flat_map(|left| &left.kinds);
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let kinds = if kinds.is_empty() {
        String::new()
    } else {
        format!(": {} left", kinds.join(", "))
    };
    let waits = left.and_then(|left| left.waits.as_deref());
    let why = [waits, unlisted, error].into_iter().flatten();
    let why = why.fold(String::new(), |all, why| all + "; " + why);
    format!("derived objects are being deleted{kinds}{why}")
}
