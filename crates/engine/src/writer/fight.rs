//! Backs off from objects that others keep changing back.
//!
//! The first few changes are repaired at once. After that the pause before each repair grows,
//! until the object has been left alone for a while.

use std::time::{Duration, Instant};

use controller::Backoff;

/// The number of changes that are repaired at once.
const IMMEDIATE_REPAIRS: u32 = 3;
/// The pauses before further repairs.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
/// A fight is over when nobody has changed the object for this long, and for twice the last
/// pause.
const QUIET_PERIOD: Duration = Duration::from_mins(1);

/// The repairs of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Fight {
    repairs: u32,
    last: Option<Instant>,
    /// The fields that were changed last.
    pub(super) fields: Vec<String>,
    /// The field managers that changed them.
    pub(super) managers: Vec<String>,
}

impl Fight {
    /// The pause after the last repair.
    pub(super) fn pause(&self) -> Duration {
        PAUSES.after(
            self.repairs
                .saturating_add(1)
                .saturating_sub(IMMEDIATE_REPAIRS),
        )
    }

    /// How long to wait before the next repair.
    pub(super) fn wait(&mut self, now: Instant) -> Option<Duration> {
        self.reset_if_quiet(now);
        let due = self.last? + self.pause();
        due.checked_duration_since(now)
            .filter(|wait| !wait.is_zero())
    }

    /// Records a repair.
    pub(super) fn repaired(&mut self, now: Instant, fields: Vec<String>, managers: Vec<String>) {
        self.reset_if_quiet(now);
        self.repairs = self.repairs.saturating_add(1);
        self.last = Some(now);
        self.fields = fields;
        self.managers = managers;
    }

    /// How much longer the object counts as fought over; `None` if it does not.
    pub(super) fn active_for(&mut self, now: Instant) -> Option<Duration> {
        self.reset_if_quiet(now);
        let end = self.last? + self.quiet_period();
        (self.repairs >= IMMEDIATE_REPAIRS).then(|| end.saturating_duration_since(now))
    }

    fn quiet_period(&self) -> Duration {
        QUIET_PERIOD.max(self.pause() * 2)
    }

    fn reset_if_quiet(&mut self, now: Instant) {
        let over = |last: Instant| now.saturating_duration_since(last) >= self.quiet_period();
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
    fn a_fight_ends_when_the_object_is_left_alone() {
        let now = Instant::now();
        let mut fight = Fight::default();
        for _ in 0..5 {
            fight.repaired(now, Vec::new(), Vec::new());
        }
        assert_eq!(fight.wait(now), Some(Duration::from_secs(4)));
        assert_eq!(fight.active_for(now), Some(QUIET_PERIOD));
        assert_eq!(fight.active_for(now + QUIET_PERIOD), None);
        assert_eq!(fight.wait(now + QUIET_PERIOD), None);
    }
}
