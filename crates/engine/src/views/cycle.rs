//! Objects of views that are held because of a cycle.
//!
//! A cycle of views runs within one batch, in rounds that run each of its controllers once. After
//! [`MAX_ROUNDS`] the objects that would still change are held, as offline. A cycle that also passes
//! through targets needs a batch for each turn. It is found by depth, see
//! [`echoes`](crate::echoes).

use object::{GroupKind, KindRef, ObjectKey, ObjectName};
use tokio::time::Instant;

use super::{Outputs, collection};
use crate::echoes::is_cycle;
use crate::writer::CYCLE_PAUSE;

/// How many times the controllers of a cycle run in one batch.
const MAX_ROUNDS: usize = 64;

impl Outputs {
    /// Whether an object is held because of a cycle.
    pub(super) fn is_held(&self, view: &GroupKind, name: &ObjectName) -> bool {
        let (kind, name) = (view.clone(), name.clone());
        !self.cycles.is_empty() && self.cycles.contains_key(&ObjectKey { kind, name })
    }

    /// Whether a change of an object by this controller has to wait, because the last writes of
    /// this process have caused each other.
    pub(super) fn cycle(&mut self, number: usize, resource: &KindRef, name: &ObjectName) -> bool {
        let key = ObjectKey {
            kind: collection(resource),
            name: name.clone(),
        };
        let Some(known) = self.views.get_mut(&key.kind) else {
            return false;
        };
        let endless = self.round >= MAX_ROUNDS;
        if self.depth == 0 {
            known.streaks.remove(name);
            if !endless {
                self.cycles.remove(&key);
                return false;
            }
        }
        if self.cycles.contains_key(&key) {
            return true;
        }
        let streak = known.streaks.get(name).copied().unwrap_or_default();
        let held = endless || is_cycle(self.depth, streak);
        if held {
            let until = Instant::now() + CYCLE_PAUSE;
            self.cycles.insert(key, (number, until));
        }
        held
    }

    /// Whether an object is held because of a cycle.
    pub(crate) fn has_cycles(&self) -> bool {
        !self.cycles.is_empty()
    }

    /// When the first hold ends.
    pub(crate) fn next_release(&self) -> Option<Instant> {
        self.cycles.values().map(|(_, until)| *until).min()
    }

    /// Ends holds: those of a controller, or those whose time is over. Returns whether there were
    /// any; then the views have to be written.
    pub(crate) fn release_cycles(&mut self, number: Option<usize>) -> bool {
        let now = Instant::now();
        let over = |(by, until): &(usize, Instant)| match number {
            Some(number) => *by == number,
            None => *until <= now,
        };
        let released: Vec<_> = self
            .cycles
            .iter()
            .filter(|(_, hold)| over(hold))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &released {
            self.cycles.remove(key);
            if let Some(view) = self.views.get_mut(&key.kind) {
                view.streaks.remove(&key.name);
                view.changed.push(key.name.clone());
            }
        }
        !released.is_empty()
    }
}
