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
//! It also waits while the origin for which another one wrote is in error since the start, or has not
//! been read: then what that one derives is not known either (see [`unread`](crate::unread)).
//!
//! A Patcher or an Applier waits for earlier ones that have set one of its fields to another value:
//! if they still do, the field is theirs. It also waits for the Updater of the object: a layer has
//! another record on an object that is derived.

use object::ObjectKey;
use operator::Controller;
use operator::spec::TargetType;
use target::{Desired, Leftover};

use super::Task;
use crate::in_error::Claimed;
use crate::unread::{Doubts, Unread};

impl Task {
    /// Whether a controller has to wait with an object, because that depends on another controller
    /// that has written to it, and does not know yet whether it still derives it.
    pub(super) fn waits_for_rival(
        &self,
        number: usize,
        doubts: &Doubts,
        key: &ObjectKey,
        desired: Option<&Desired>,
    ) -> bool {
        let Some(desired) = desired else {
            return false;
        };
        let updates = desired.author.target.kind == TargetType::Updater;
        let controllers = self.operator.controllers.iter().zip(&self.controllers);
        let others = controllers.enumerate().filter(|(other, (_, task))| {
            *other != number && (!task.open || doubts.of(*other).is_some())
        });
        let rivals: Vec<Rival<'_>> = others
            .filter(|(other, (controller, task))| {
                let earlier = *other < number;
                writes(controller, key, |kind| match kind {
                    // An error may last: until then, a layer is added to what there is.
                    TargetType::Updater if task.open => updates && earlier,
                    // An Updater replaces what a later one wrote.
                    TargetType::Updater => !updates || earlier,
                    TargetType::Patcher | TargetType::Applier => updates || earlier,
                })
            })
            .map(|(other, (controller, task))| Rival {
                controller,
                unread: doubts.of(other).filter(|_| task.open),
            })
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
        decisive.any(|mark| rivals.iter().any(|rival| rival.may_have_written(mark)))
    }
}

/// Another controller that writes objects of the kind.
struct Rival<'a> {
    controller: &'a Controller,
    /// What it does not know; `None` if it is not open yet, and so knows nothing.
    unread: Option<&'a Unread>,
}

impl Rival<'_> {
    /// Whether it has left a mark, and may still derive the same.
    fn may_have_written(&self, mark: &Leftover) -> bool {
        let lost = |unread: &Unread| {
            let claimed = Claimed::new(&mark.origin, Some(self.controller));
            unread.may_have_written(&mark.key.kind, &claimed, None, true)
        };
        mark.controller == self.controller.name && self.unread.is_none_or(lost)
    }
}

/// Whether a controller writes objects of this kind, with a target of such a type.
fn writes(controller: &Controller, key: &ObjectKey, is: impl Fn(TargetType) -> bool) -> bool {
    let mut targets = controller.targets.iter();
    targets.any(|target| is(target.kind) && target.resource.is(&key.kind))
}
