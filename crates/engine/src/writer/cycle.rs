//! An object that is held, because the writes of this process cause each other.

use std::time::{Duration, Instant};

use object::ObjectKey;

use super::entry::TargetEntry;
use super::state::State;
use crate::echoes::is_cycle;

/// How long an object is held because of a cycle, unless something else changes.
pub(crate) const CYCLE_PAUSE: Duration = Duration::from_mins(10);

impl TargetEntry {
    /// Sets the depth of the wanted state.
    pub(super) fn caused(&mut self, depth: u32) {
        self.depth = depth;
        if depth == 0 {
            self.end_cycle();
        }
    }

    /// Counts a successful write or deletion.
    pub(super) fn wrote(&mut self) {
        self.streak = if self.depth == 0 { 0 } else { self.streak + 1 };
    }

    /// How much longer the object is held because of a cycle; `None` if it is not.
    pub(super) fn cycle(&mut self, now: Instant) -> Option<Duration> {
        let held = self
            .contention
            .as_ref()
            .and_then(|contention| contention.cycle);
        if let Some(until) = held {
            let rest = until.saturating_duration_since(now);
            if rest.is_zero() {
                self.end_cycle();
            }
            return Some(rest).filter(|rest| !rest.is_zero());
        }
        is_cycle(self.depth, self.streak).then(|| {
            self.contention().cycle = Some(now + CYCLE_PAUSE);
            CYCLE_PAUSE
        })
    }

    fn end_cycle(&mut self) {
        self.streak = 0;
        self.depth = 0;
        if let Some(contention) = &mut self.contention {
            contention.cycle = None;
        }
    }
}

impl State {
    pub(super) fn caused(&mut self, key: &ObjectKey, depth: u32) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.caused(depth);
        }
        if depth == 0 {
            self.cycles.remove(key);
        }
    }

    pub(super) fn release_cycles(&mut self, controller: &str) -> Vec<ObjectKey> {
        let entries = &mut self.entries;
        let released = self.cycles.iter().filter(|key| {
            let entry = entries.get_mut(key);
            // The hold of an object that is gone is over, too.
            entry.is_none_or(|entry| {
                let concerned =
                    entry.controller() == controller || entry.wanted.is_wanted_by(controller);
                if concerned {
                    entry.caused(0);
                }
                concerned
            })
        });
        let released: Vec<ObjectKey> = released.cloned().collect();
        for key in &released {
            self.cycles.remove(key);
        }
        released
    }
}
