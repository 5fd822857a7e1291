//! Which objects do not have their derived state, and since when.
//!
//! `Ready` depends on this, and is asked for several times a second. So the objects are not
//! counted then, but when one of them changes its [`Standing`]:
//!
//! ```text
//! derived ──▶ Queued ──▶ Settled     most objects: within milliseconds
//!               ▲  └───▶ Waiting     for the object to patch, or for one to be gone
//!               │  └───▶ Failed      with a problem, which is reported
//!               └── a change of the document or of the object
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use object::ObjectKey;

use super::state::State;

/// Whether an object has its derived state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has.
    #[default]
    Settled,
    /// It has a problem, which is reported.
    Failed,
    /// It is to be compared or written.
    Queued(Lag),
    /// It waits for something, and that is no problem.
    Waiting(Lag, Awaited),
}

impl Standing {
    /// The controller for which the object is counted; `None` if it is not counted.
    pub(super) fn controller(&self) -> Option<&str> {
        match self {
            Self::Settled | Self::Failed => None,
            Self::Queued(lag) | Self::Waiting(lag, _) => Some(&lag.controller),
        }
    }
}

/// An object that is not as derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lag {
    since: Instant,
    /// The controller that it is counted for.
    controller: String,
    /// Whether it is to be removed.
    removal: bool,
}

/// What an object waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// For the object that is to be patched.
    Object,
    /// For the object, which is being deleted, to be gone.
    Gone,
    /// For something else.
    Other,
}

/// How many objects of a controller are not as derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Objects that are being written.
    pub queued: usize,
    /// Patches whose object does not exist.
    pub missing: usize,
    /// Objects that somebody deletes, and that are created again when they are gone.
    pub terminating: usize,
    /// Objects that wait for something else.
    pub waiting: usize,
    /// Objects that are to be removed.
    pub removing: usize,
    /// Removed objects that are not gone yet.
    pub leaving: usize,
    /// Since when the oldest of the queued objects has been waiting.
    pub oldest: Option<Instant>,
}

impl Progress {
    /// How many objects do not have their derived state yet.
    pub fn behind(&self) -> usize {
        self.queued + self.missing + self.terminating + self.waiting
    }
}

/// How many entries of objects that are no longer queued a queue may contain, besides as many as
/// there are queued objects.
const SLACK: usize = 1024;

/// The counts of all controllers.
#[derive(Debug, Default)]
pub(super) struct Standings {
    controllers: BTreeMap<String, Counted>,
    /// How many objects are queued or wait.
    behind: usize,
}

#[derive(Debug, Default)]
struct Counted {
    progress: Progress,
    /// All queued objects in the order of time, and some that are no longer queued.
    queue: VecDeque<(Instant, ObjectKey)>,
}

impl Standings {
    /// Counts an object that begins to be `Queued`.
    pub(super) fn queued(
        &mut self,
        key: &ObjectKey,
        controller: &str,
        removal: bool,
        now: Instant,
    ) -> Standing {
        let lag = Lag {
            since: now,
            controller: controller.to_owned(),
            removal,
        };
        let counted = self.controllers.entry(lag.controller.clone()).or_default();
        counted.queue.push_back((now, key.clone()));
        let standing = Standing::Queued(lag);
        self.count(&standing, 1);
        standing
    }

    /// Counts an object that begins to wait.
    pub(super) fn waiting(
        &mut self,
        controller: &str,
        removal: bool,
        awaited: Awaited,
    ) -> Standing {
        let lag = Lag {
            // Only the time in the queue counts.
            since: tokio::time::Instant::now().into_std(),
            controller: controller.to_owned(),
            removal,
        };
        let standing = Standing::Waiting(lag, awaited);
        self.count(&standing, 1);
        standing
    }

    /// Counts an object no longer.
    pub(super) fn leave(&mut self, standing: &Standing) {
        self.count(standing, -1);
    }

    fn count(&mut self, standing: &Standing, by: isize) {
        let (lag, awaited) = match standing {
            Standing::Settled | Standing::Failed => return,
            Standing::Queued(lag) => (lag, None),
            Standing::Waiting(lag, awaited) => (lag, Some(awaited)),
        };
        let counted = self.controllers.entry(lag.controller.clone()).or_default();
        let progress = &mut counted.progress;
        let count = match awaited {
            None if lag.removal => &mut progress.removing,
            Some(_) if lag.removal => &mut progress.leaving,
            None => &mut progress.queued,
            Some(Awaited::Object) => &mut progress.missing,
            Some(Awaited::Gone) => &mut progress.terminating,
            Some(Awaited::Other) => &mut progress.waiting,
        };
        *count = count.saturating_add_signed(by);
        self.behind = self.behind.saturating_add_signed(by);
    }

    /// Whether an object is queued or waits.
    pub(super) fn is_behind(&self) -> bool {
        self.behind > 0
    }

    /// The counts of a controller. `standing` returns that of an object.
    pub(super) fn progress<'a>(
        &mut self,
        controller: &str,
        standing: impl Fn(&ObjectKey) -> Option<&'a Standing>,
    ) -> Progress {
        let Some(counted) = self.controllers.get_mut(controller) else {
            return Progress::default();
        };
        let is_queued = |since: &Instant, key: &ObjectKey| {
            matches!(standing(key), Some(Standing::Queued(lag))
                if lag.since == *since && lag.controller == controller)
        };
        while counted
            .queue
            .front()
            .is_some_and(|(since, key)| !is_queued(since, key))
        {
            counted.queue.pop_front();
        }
        let mut progress = counted.progress;
        if counted.queue.len() > 2 * (progress.queued + progress.removing) + SLACK {
            counted.queue.retain(|(since, key)| is_queued(since, key));
        }
        // Releases the memory of a burst.
        if counted.queue.capacity() > 4 * (counted.queue.len() + SLACK) {
            counted.queue.shrink_to(counted.queue.len() + SLACK);
        }
        progress.oldest = counted.queue.front().map(|(since, _)| *since);
        progress
    }
}

impl State {
    /// Records that an object is to be compared with its derived state.
    pub(super) fn queued(&mut self, key: &ObjectKey) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        if !matches!(entry.standing, Standing::Queued(_)) {
            self.standings.leave(&entry.standing);
            let now = tokio::time::Instant::now().into_std();
            let (controller, removal) = (entry.controller(), entry.is_removal());
            entry.standing = self.standings.queued(key, controller, removal, now);
        }
    }

    /// Records the result of a run: `None` if the object has its derived state or a problem, and
    /// otherwise what it waits for.
    pub(super) fn ran(&mut self, key: &ObjectKey, failed: bool, awaited: Option<Awaited>) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let last = std::mem::take(&mut entry.standing);
        self.standings.leave(&last);
        entry.standing = match awaited {
            _ if failed => Standing::Failed,
            None => Standing::Settled,
            Some(awaited) => {
                // A removed object is no longer known to belong to a controller.
                let controller = last.controller().unwrap_or_else(|| entry.controller());
                self.standings
                    .waiting(controller, entry.is_removal(), awaited)
            }
        };
    }

    /// Whether an object is queued or waits.
    pub(super) fn is_behind(&self) -> bool {
        self.standings.is_behind()
    }

    /// How many objects of a controller are not as derived.
    pub(super) fn progress(&mut self, controller: &str) -> Progress {
        let entries = &self.entries;
        self.standings.progress(controller, |key| {
            let entry = entries.get(key)?;
            Some(&entry.standing)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_object_that_is_still_queued_counts() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let key = |name: &str| ObjectKey::new("", "ConfigMap", "n", name);
        let mut standings = Standings::default();
        let a = standings.queued(&key("a"), "c", false, at(1));
        let b = standings.queued(&key("b"), "c", false, at(2));
        let removal = standings.queued(&key("r"), "c", true, at(3));
        let progress = |standings: &mut Standings, all: &[(&str, &Standing)]| {
            standings.progress("c", |key| {
                let found = all.iter().find(|(name, _)| key.object_name() == *name);
                found.map(|(_, standing)| *standing)
            })
        };
        let all = [("a", &a), ("b", &b), ("r", &removal)];
        let found = progress(&mut standings, &all);
        assert_eq!((found.queued, found.removing), (2, 1));
        assert_eq!(found.oldest, Some(at(1)));
        standings.leave(&a);
        let found = progress(&mut standings, &[("a", &Standing::Settled), ("b", &b)]);
        assert_eq!((found.queued, found.oldest), (1, Some(at(2))));
        standings.leave(&b);
        standings.leave(&removal);
        let found = progress(&mut standings, &[]);
        assert_eq!(found, Progress::default());
        assert_eq!(
            progress(&mut Standings::default(), &[]),
            Progress::default()
        );
    }

    #[test]
    fn the_queue_of_a_burst_is_freed() {
        let mut standings = Standings::default();
        for number in 0..20_000 {
            let key = ObjectKey::new("", "ConfigMap", "n", &number.to_string());
            let standing = standings.queued(&key, "c", false, Instant::now());
            standings.leave(&standing);
        }
        let capacity = |standings: &Standings| standings.controllers["c"].queue.capacity();
        assert!(capacity(&standings) >= 20_000);
        standings.progress("c", |_| Some(&Standing::Settled));
        assert!(capacity(&standings) <= 4 * SLACK);
    }
}
