//! How far a controller is from `Ready`: which of its objects are not as derived.
//!
//! An object that has just changed does not count, because it is usually written within
//! milliseconds; it counts when it has waited for a [`MOMENT`]. After a start there is no such
//! grace: nothing is Ready before everything is written once.

use std::time::Duration;

use super::Task;
use crate::status::{OperatorStatus, Ready};
use crate::writer::Progress;

/// How long an object may wait to be written, and how long a batch may take, while the controller
/// is Ready.
pub(super) const MOMENT: Duration = Duration::from_secs(2);

impl Task {
    /// What is missing until all objects of a controller are as derived; `None` if nothing is.
    pub(super) fn syncing(&mut self, number: usize) -> Option<String> {
        let controller = &self.operator.controllers[number];
        let mut progress = self.writes.writer.progress(&controller.name);
        let (terminating, leaving) = self.views.terminating(number);
        progress.terminating += terminating;
        progress.leaving += leaving;
        let all_open = self.controllers.iter().all(|task| task.open);
        let task = &mut self.controllers[number];
        let opened = task.opened?;
        let now = tokio::time::Instant::now();
        // Shorter while it is not ready, so that it does not change at every tick.
        let grace = if task.syncing { MOMENT / 2 } else { MOMENT };
        let late = |since| now.into_std().saturating_duration_since(since) > grace;
        let starts = now < opened + MOMENT && progress.oldest.is_some();
        let waits = progress.missing + progress.terminating + progress.waiting + progress.leaving;
        task.syncing = waits > 0 || starts || progress.oldest.is_some_and(late);
        if task.syncing {
            return Some(message(&progress, task.outputs()));
        }
        let swept = self.sweep.is_done() || !all_open;
        (!swept).then(|| "the lists of its targets are not complete yet".to_owned())
    }

    /// Whether the status may change although nothing happens: an object in the queue becomes late,
    /// or the time after a start is over. The writer notifies of everything else.
    pub(super) fn is_behind(&self) -> bool {
        let now = tokio::time::Instant::now();
        let controllers = self.operator.controllers.iter().zip(&self.controllers);
        let mut changing = controllers.filter(|(_, task)| {
            let starts = task.opened.is_none_or(|opened| now < opened + MOMENT);
            starts || !task.syncing
        });
        changing.any(|(controller, _)| {
            let progress = self.writes.writer.progress(&controller.name);
            progress.oldest.is_some()
        })
    }
}

/// Changes the status of controllers that are Ready, because a batch takes longer than a moment.
/// Returns whether there is one.
pub(super) fn busy(status: &mut OperatorStatus) -> bool {
    let mut changed = false;
    for controller in &mut status.controllers {
        if controller.ready == Ready::True {
            let seconds = MOMENT.as_secs();
            let message = format!("a batch of changes has taken longer than {seconds} s so far");
            controller.ready = Ready::Syncing(message);
            changed = true;
        }
    }
    changed
}

/// For example `27 of 400 objects are as derived: 373 are being written`.
fn message(progress: &Progress, outputs: usize) -> String {
    let done = outputs.saturating_sub(progress.behind());
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let parts = [
        (progress.queued, "being written"),
        (progress.missing, "waiting for the object to patch"),
        (progress.terminating, "being deleted by others"),
        (progress.waiting, "waiting"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, what)| format!("{count} {} {what}", are(*count)));
    let mut parts: Vec<String> = parts.collect();
    let gone = progress.removing + progress.leaving;
    if gone > 0 {
        let objects = if gone == 1 { "object" } else { "objects" };
        let are = are(gone);
        parts.push(format!(
            "{gone} {objects} no longer derived {are} being removed"
        ));
    }
    format!(
        "{done} of {outputs} objects are as derived: {}",
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_counts_what_is_missing() {
        let progress = Progress {
            queued: 370,
            missing: 2,
            terminating: 1,
            ..Progress::default()
        };
        let expect = "27 of 400 objects are as derived: 370 are being written, \
            2 are waiting for the object to patch, 1 is being deleted by others";
        assert_eq!(message(&progress, 400), expect);
        let progress = Progress {
            removing: 1,
            leaving: 1,
            ..Progress::default()
        };
        let expect = "3 of 3 objects are as derived: 2 objects no longer derived are being removed";
        assert_eq!(message(&progress, 3), expect);
    }
}
