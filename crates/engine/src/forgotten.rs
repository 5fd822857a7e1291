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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dataflow::Origin;
use operator::Controller;
use tokio::time::Instant;

use crate::controller_task::ControllerTask;
use crate::in_error::{Failed, InError, failed};

/// More errors than this are looked through only once in a while, because each look reads all errors
/// of the controller.
const MANY: usize = 1_000;
/// The pause between two looks at many errors. Until then, an object stays as it is.
const PAUSE: Duration = Duration::from_secs(1);

/// When this many errors may be looked through again, if they were looked through then.
pub(crate) fn next_look(errors: usize, looked: Option<Instant>) -> Option<Instant> {
    let looked = looked.filter(|_| errors > MANY);
    looked.map(|looked| looked + PAUSE)
}

/// The origins of a controller that are in error since it opened.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    origins: BTreeMap<Origin, Failed>,
    index: Arc<InError>,
    /// The number of errors when they were last looked up.
    errors: usize,
    /// When that was.
    looked: Option<Instant>,
    /// Whether one of them may have ended since.
    outdated: bool,
}

impl Forgotten {
    /// The origins that are in error when a controller opens.
    pub(super) fn of(controller: &Controller, task: &ControllerTask) -> Self {
        Self::new(controller, task, failed(controller, task))
    }

    fn new(
        controller: &Controller,
        task: &ControllerTask,
        origins: BTreeMap<Origin, Failed>,
    ) -> Self {
        Self {
            index: Arc::new(InError::new(controller, &origins)),
            origins,
            errors: task.error_count(),
            looked: Some(Instant::now()),
            outdated: false,
        }
    }

    /// Notes a step, in which evaluations `failed` or not.
    pub(super) fn step(&mut self, task: &ControllerTask, failed: bool) {
        self.outdated |= failed || self.errors != task.error_count();
    }

    /// Those that are still in error, if it is time to look; `None` if they are the same as before.
    pub(super) fn look(&mut self, controller: &Controller, task: &ControllerTask) -> Option<Self> {
        let at = self.next_look()?;
        if at > Instant::now() {
            return None;
        }
        let now = failed(controller, task);
        if !self.origins.keys().all(|origin| now.contains_key(origin)) {
            let mut left = std::mem::take(&mut self.origins);
            left.retain(|origin, _| now.contains_key(origin));
            return Some(Self::new(controller, task, left));
        }
        self.errors = task.error_count();
        self.looked = Some(Instant::now());
        self.outdated = false;
        None
    }

    /// When they have to be looked up again, if one of them may have ended.
    pub(super) fn next_look(&self) -> Option<Instant> {
        if self.origins.is_empty() || !self.outdated {
            return None;
        }
        let rests = next_look(self.errors, self.looked);
        Some(rests.unwrap_or_else(Instant::now))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// Whether a stage combines documents of which one of these is missing.
    pub(super) fn is_combined(&self) -> bool {
        self.origins.values().any(|failed| failed.combined)
    }

    /// The index of these origins.
    pub(super) fn index(&self) -> &Arc<InError> {
        &self.index
    }
}
