//! Objects with values of other controllers of the Operator, which perhaps still derive them.
//!
//! Several controllers may write one object: the first Updater creates it, other Updaters wait, and
//! Patchers and Appliers add to it. After a start, an Updater may have received everything that it
//! reads before the others have. What they wrote in an earlier run stays until it is known what they
//! derive now:
//!
//! ```text
//! ConfigMap a, claimed by `first`     first    its sources are not listed yet
//! with a record of `patch`            patch    its sources are not listed yet
//!                                     second   is open, derives a, and waits for both
//! ```

use object::ObjectKey;
use operator::Controller;
use operator::spec::TargetType;
use target::Desired;

use super::Task;

impl Task {
    /// Whether a controller has to wait with an object, because it would remove what another
    /// controller wrote that is not open yet.
    pub(crate) fn waits_for_rival(
        &self,
        number: usize,
        key: &ObjectKey,
        desired: Option<&Desired>,
    ) -> bool {
        // Patchers and Appliers only add to what others wrote.
        let replaces = |desired: &Desired| desired.author.target.kind == TargetType::Updater;
        if !desired.is_some_and(replaces) {
            return false;
        }
        let controllers = self.operator.controllers.iter().zip(&self.controllers);
        let closed = controllers.enumerate().filter(|(_, (_, task))| !task.open);
        let rivals: Vec<&str> = closed
            // An Updater replaces what a later one wrote.
            .filter(|(other, (controller, _))| {
                let earlier = *other < number;
                writes(controller, key, |kind| {
                    earlier || kind != TargetType::Updater
                })
            })
            .map(|(_, (controller, _))| controller.name.as_str())
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

/// Whether a controller writes objects of this kind, with a target of such a type.
fn writes(controller: &Controller, key: &ObjectKey, is: impl Fn(TargetType) -> bool) -> bool {
    let mut targets = controller.targets.iter();
    targets.any(|target| is(target.kind) && target.resource.is(&key.kind))
}
