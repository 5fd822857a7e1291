//! Objects that keep being changed back: how long we wait before we write again.

use std::time::{Duration, Instant};

use controller::Backoff;

/// So many changes are put back at once.
const PATIENCE: u32 = 3;
/// The pauses after that.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
/// An object that was left alone for so long, and for twice the last pause, is at peace.
const PEACE: Duration = Duration::from_mins(1);

/// How often an object was put back, and when.
#[derive(Clone, Debug, Default)]
pub(super) struct Fight {
    repairs: u32,
    last: Option<Instant>,
    /// The fields that were changed last.
    pub(super) fields: Vec<String>,
    /// Who changed them.
    pub(super) managers: Vec<String>,
}

impl Fight {
    /// The pause after the last repair.
    pub(super) fn pause(&self) -> Duration {
        PAUSES.after(self.repairs.saturating_add(1).saturating_sub(PATIENCE))
    }

    /// How long to wait before the object is put back again.
    pub(super) fn wait(&mut self, now: Instant) -> Option<Duration> {
        self.calm(now);
        let due = self.last? + self.pause();
        due.checked_duration_since(now)
            .filter(|wait| !wait.is_zero())
    }

    /// The object was put back.
    pub(super) fn repaired(&mut self, now: Instant, fields: Vec<String>, managers: Vec<String>) {
        self.calm(now);
        self.repairs = self.repairs.saturating_add(1);
        self.last = Some(now);
        self.fields = fields;
        self.managers = managers;
    }

    /// Whether the object is fought over, and until when that is assumed if nothing
    /// happens.
    pub(super) fn active_for(&mut self, now: Instant) -> Option<Duration> {
        self.calm(now);
        let end = self.last? + self.peace();
        (self.repairs >= PATIENCE).then(|| end.saturating_duration_since(now))
    }

    fn peace(&self) -> Duration {
        PEACE.max(self.pause() * 2)
    }

    fn calm(&mut self, now: Instant) {
        let over = |last: Instant| now.saturating_duration_since(last) >= self.peace();
        if self.last.is_some_and(over) {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_five_minutes() {
        let start = Instant::now();
        let mut now = start;
        let mut fight = Fight::default();
        let mut pauses = Vec::new();
        for _ in 0..14 {
            let wait = fight.wait(now).unwrap_or_default();
            pauses.push(wait.as_secs());
            now += wait;
            fight.repaired(now, Vec::new(), Vec::new());
        }
        assert_eq!(
            pauses,
            [0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
        );
        assert!(fight.active_for(now).is_some());
    }

    #[test]
    fn an_object_that_is_left_alone_is_at_peace() {
        let now = Instant::now();
        let mut fight = Fight::default();
        for _ in 0..5 {
            fight.repaired(now, Vec::new(), Vec::new());
        }
        assert_eq!(fight.wait(now), Some(Duration::from_secs(4)));
        assert_eq!(fight.active_for(now), Some(PEACE));
        assert_eq!(fight.active_for(now + PEACE), None);
        assert_eq!(fight.wait(now + PEACE), None);
    }
}
