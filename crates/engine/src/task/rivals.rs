//! Objects that another controller of the Operator has written, and perhaps still derives.
//!
//! Several controllers may derive one object; the first of them writes it, and the others wait.
//! After a start, a later controller may have received everything that it reads before the first
//! one has. What the first one wrote in an earlier run stays until it is known what it derives now:
//!
//! ```text
//! ConfigMap a, claimed by `first`     first    its sources are not listed yet
//!                                     second   is open, derives a, and waits
//! ```

use object::ObjectKey;
use operator::Controller;
use operator::spec::TargetType;
use target::Desired;

use super::Task;

impl Task {
    /// Whether a controller has to wait with an object, because an earlier controller wrote it and
    /// is not open yet.
    pub(crate) fn waits_for_rival(
        &self,
        number: usize,
        key: &ObjectKey,
        desired: Option<&Desired>,
    ) -> bool {
        // Patchers and Appliers only add to what the other one wrote.
        let replaces = |desired: &Desired| desired.author.target.kind == TargetType::Updater;
        if !desired.is_some_and(replaces) {
            return false;
        }
        let earlier = self.operator.controllers.iter().zip(&self.controllers);
        let closed = earlier.take(number).filter(|(_, task)| !task.open);
        let rivals: Vec<&str> = closed
            .filter(|(controller, _)| writes(controller, key))
            .map(|(controller, _)| controller.name.as_str())
            .collect();
        if rivals.is_empty() {
            return false;
        }
        // Unknown until the target watch has synced.
        let Some(marks) = self.writes.writer.marks(key) else {
            return true;
        };
        let mut marks = marks.iter();
        marks.any(|mark| rivals.contains(&mark.controller.as_str()))
    }
}

/// Whether a controller creates or replaces objects of this kind.
fn writes(controller: &Controller, key: &ObjectKey) -> bool {
    let mut targets = controller.targets.iter();
    targets.any(|target| target.kind == TargetType::Updater && target.resource.is(&key.kind))
}
