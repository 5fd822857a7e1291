//! Where the objects of an Operator may be: recorded before they are written, and read when they
//! are removed.

use engine::kinds::Kinds;
use operator::Operator;

use super::operator_task::OperatorTask;
use super::resource::OperatorObject;
use super::{report, status};

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
                self.waits("NotReady", message);
                false
            }
        }
    }

    /// An Operator without controllers, which removes what the Operator has derived; `None` if
    /// that may not be done. It reads no source, and the spec may be invalid.
    pub(super) fn removal(&mut self, object: &OperatorObject) -> Option<Operator> {
        // Kinds were not recorded before; then only the spec names them.
        if !object.has_kinds() {
            let operator = self.read(object);
            if operator.is_none() {
                let message = "derived objects cannot be deleted while the spec is invalid: \
                    correct it, or set deletionPolicy to Orphan";
                self.waits("Invalid", message.to_owned());
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
                self.waits("Invalid", message);
                None
            }
        }
    }
}
