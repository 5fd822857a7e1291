//! The time of an Operator's task: deadlines, and the ticks of Periodic sources.

use std::time::Duration;

use expr::{Env, Time};
use operator::Operator;
use operator::spec::SourceKind;
use tokio::time::Instant;

use super::Task;

/// The longest sleep until a deadline. A deadline may be thousands of years away.
const LONGEST_SLEEP: Duration = Duration::from_hours(24);

/// The next tick of a Periodic source.
#[derive(Debug)]
pub(super) struct Tick {
    /// The controller.
    number: usize,
    period: Duration,
    next: Instant,
}

/// The ticks of the Periodic sources of controllers that read `"@now"`.
pub(super) fn ticks(operator: &Operator) -> Vec<Tick> {
    let now = Instant::now();
    let mut ticks = Vec::new();
    for (number, controller) in operator.controllers.iter().enumerate() {
        if !controller.pipeline.reads_now() {
            continue;
        }
        let periods = controller.sources.iter();
        let periods = periods.filter_map(|source| match source.kind {
            SourceKind::Periodic(period) => Some(period.max(Duration::from_secs(1))),
            SourceKind::Watcher | SourceKind::OneShot => None,
        });
        ticks.extend(periods.map(|period| Tick {
            number,
            period,
            next: now + period,
        }));
    }
    ticks
}

impl Task {
    /// Whether a controller reads `"@now"`.
    pub(super) fn reads_now(&self) -> bool {
        let mut controllers = self.controllers.iter();
        controllers.any(|task| task.circuit.reads_now())
    }

    /// The environment of a step: the time, and a key for `@rnd` that is the same in every process.
    pub(crate) fn env(&self) -> Env {
        let key = document::stable_hash(&self.operator.name);
        let now = Time::of_unix(self.now()).unwrap_or(Time::EPOCH);
        let mut env = Env::new(now.to_string().into(), key);
        env.limits = self.context.budget.limits();
        env
    }

    fn now(&self) -> i64 {
        self.context.wall_clock.now(self.context.clock.as_ref())
    }

    /// When something has to be evaluated although nothing arrives.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        if self.sweep.is_deleting() {
            return None;
        }
        let running = self.controllers.iter();
        let running = running.filter(|task| task.stopped.is_none());
        let deadline = running
            .filter_map(|task| task.circuit.next_deadline())
            .min();
        let ticks = self.ticks.iter().map(|tick| tick.next);
        let deadline = deadline.map(|deadline| Instant::now() + self.until(deadline));
        ticks.chain(deadline).min()
    }

    /// How long it is until a Unix time, by the time of day.
    fn until(&self, deadline: i64) -> Duration {
        let now = self.context.clock.now().as_nanosecond();
        let left = i128::from(deadline) * 1_000_000_000 - now;
        let left = u64::try_from(left.max(0)).map_or(LONGEST_SLEEP, Duration::from_nanos);
        left.min(LONGEST_SLEEP)
    }

    /// Lets the Periodic sources tick whose period has passed. Returns whether there is something
    /// to evaluate.
    pub(super) fn wake(&mut self) -> bool {
        let now = Instant::now();
        for tick in self.ticks.iter_mut().filter(|tick| tick.next <= now) {
            tick.next = now + tick.period;
            self.controllers[tick.number].ticks = true;
        }
        let now = self.now();
        (0..self.controllers.len()).any(|number| self.is_due(number, now))
    }

    fn is_due(&self, number: usize, now: i64) -> bool {
        let task = &self.controllers[number];
        let deadline = || task.circuit.next_deadline();
        task.stopped.is_none() && (task.ticks || deadline().is_some_and(|due| due <= now))
    }

    /// Evaluates what is due in a controller. Removals do not count for `maxDeletions`.
    pub(super) fn pass_time(&mut self, number: usize, env: &Env) {
        if self.is_due(number, self.now()) {
            self.views.depth = 0;
            self.step(number, Vec::new(), false, env);
        }
    }
}
