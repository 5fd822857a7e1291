//! Origins that are in error since the start, so that what they yielded before is not known.
//!
//! While a process runs, the failing stage holds its last output. After a restart there is none, and
//! another origin may yield the same name. The object stays as it is until the error is cleared, as if
//! its output were still held:
//!
//! ```text
//! ConfigMap x, claimed for the origin a      a is in error since the start
//!                                            b yields x, too, and waits
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use document::Value;
use operator::Controller;
use target::claim::{is_opaque, short_origin};
use tokio::time::Instant;

use crate::controller_task::ControllerTask;
use crate::sweep::{FailingOrigins, covers};

/// Of more errors than this, the origins are looked up only once in a while, because each look reads
/// all errors of the controller.
const MANY: usize = 1_000;
/// The pause between two looks at many errors. Until then, an object stays as it is.
const PAUSE: Duration = Duration::from_secs(1);

/// The origins of a controller that are in error since it opened, as claims name them.
#[derive(Clone, Debug, Default)]
pub(super) struct Forgotten {
    origins: Arc<BTreeSet<Value>>,
    /// The number of errors when they were last looked up.
    errors: usize,
    /// When that was.
    looked: Option<Instant>,
    /// Whether an evaluation has failed since.
    failed: bool,
}

/// When they were looked up does not matter.
impl PartialEq for Forgotten {
    fn eq(&self, other: &Self) -> bool {
        self.origins == other.origins
    }
}

impl Eq for Forgotten {}

impl Forgotten {
    /// The origins that are in error when a controller opens.
    pub(super) fn of(controller: &Controller, task: &ControllerTask) -> Self {
        let failing = FailingOrigins::of(controller, task).hiding;
        let shortened: Vec<Value> = failing.iter().map(short_origin).collect();
        Self {
            origins: Arc::new(failing.into_iter().chain(shortened).collect()),
            errors: task.error_count(),
            looked: Some(Instant::now()),
            failed: false,
        }
    }

    /// Those that are still in error after a step, in which evaluations `failed` or not; `None` if
    /// they are the same as before.
    pub(super) fn after_step(
        &mut self,
        controller: &Controller,
        task: &ControllerTask,
        failed: bool,
    ) -> Option<Self> {
        if self.is_empty() {
            return None;
        }
        self.failed |= failed;
        let errors = task.error_count();
        let may_change = self.failed || self.errors != errors;
        let rests = errors > MANY && self.looked.is_some_and(|at| at.elapsed() < PAUSE);
        if !may_change || rests {
            return None;
        }
        let now = Self::of(controller, task);
        let left = self.origins.intersection(&now.origins).cloned();
        Some(Self {
            origins: Arc::new(left.collect()),
            ..now
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// Whether an object that was derived from one origin may not be written from another one, or
    /// removed.
    pub(super) fn protects(&self, written: &Value, wanted: Option<&Value>) -> bool {
        let same = |wanted: &Value| wanted == written || short_origin(wanted) == *written;
        // An object is not known by an origin that claims do not show.
        let shown = !is_opaque(written) || self.origins.contains(written);
        shown && covers(&self.origins, written) && !wanted.is_some_and(same)
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn only_what_another_origin_wants_is_protected() {
        let pod = |name: &str| json!([{"source": "Pod", "name": name}]);
        let element = |index: i64| json!([{"source": "Pod", "name": "u"}, {"index": index}]);
        let forgotten = Forgotten {
            origins: Arc::new([pod("a"), element(0)].into()),
            errors: 2,
            ..Forgotten::default()
        };
        assert!(forgotten.protects(&pod("a"), Some(&pod("b"))));
        assert!(forgotten.protects(&pod("a"), None));
        assert!(!forgotten.protects(&pod("a"), Some(&pod("a"))));
        assert!(!forgotten.protects(&pod("b"), Some(&pod("a"))));
        // One element of a list does not keep another one from being written.
        assert!(forgotten.protects(&element(0), Some(&element(1))));
        assert!(!forgotten.protects(&element(1), Some(&pod("b"))));
    }
}
