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
//!
//! A Patcher or an Applier waits for earlier ones that have set one of its fields to another value:
//! if they still do, the field is theirs. It also waits for the Updater of the object: a layer has
//! another record on an object that is derived.

use object::ObjectKey;
use operator::Controller;
use operator::spec::TargetType;
use target::Desired;

use super::Task;

impl Task {
    /// Whether a controller has to wait with an object, because that depends on another
    /// controller that has written to it and is not open yet.
    pub(super) fn waits_for_rival(
        &self,
        number: usize,
        key: &ObjectKey,
        desired: Option<&Desired>,
    ) -> bool {
        let Some(desired) = desired else {
            return false;
        };
        let updates = desired.author.target.kind == TargetType::Updater;
        let controllers = self.operator.controllers.iter().zip(&self.controllers);
        let closed = controllers.enumerate().filter(|(_, (_, task))| !task.open);
        let rivals: Vec<&str> = closed
            .filter(|(other, (controller, _))| {
                let earlier = *other < number;
                writes(controller, key, |kind| match kind {
                    // An Updater replaces what a later one wrote.
                    TargetType::Updater => !updates || earlier,
                    TargetType::Patcher | TargetType::Applier => updates || earlier,
                })
            })
            .map(|(_, (controller, _))| controller.name.as_str())
            .collect();
        if rivals.is_empty() {
            return false;
        }
        self.writes.writer.await_delivery(key);
        // Unknown until the target watch has synced.
        let Some(decisive) = self.writes.writer.decisive(key, desired) else {
            return true;
        };
        let mut decisive = decisive.iter();
        decisive.any(|controller| rivals.contains(&controller.as_str()))
    }
}

/// Whether a controller writes objects of this kind, with a target of such a type.
fn writes(controller: &Controller, key: &ObjectKey, is: impl Fn(TargetType) -> bool) -> bool {
    let mut targets = controller.targets.iter();
    targets.any(|target| is(target.kind) && target.resource.is(&key.kind))
}
