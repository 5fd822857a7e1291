//! The times of a stage that reads `"@now"`.
//!
//! Such a stage has one `"@now"` for each origin: the time at which it last evaluated the document
//! of the origin. It is stored, because the old output is computed again from the old input. It is
//! read again when the input changes, at a deadline, and at a tick:
//!
//! ```text
//! @select: {"@lt": ["@now", "$.until"]}
//!
//! 00:00   a: {until: 00:10}    evaluated, true      deadline 00:10
//! 00:05                        nothing
//! 00:10                        evaluated, false     no deadline
//! ```
//!
//! A deadline is the first second at which a comparison of the last evaluation has another outcome
//! ([`Env::take_deadline`]). Deadlines are sorted, so that setting one, finding the next and
//! removing one take logarithmic time, and nothing is looked at in between.

use std::collections::BTreeSet;

use document::Value;
use expr::{Env, Time};

use super::{Change, HashMap, StepContext, Upstream};
use crate::origin::Origin;

/// The time of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The Unix time; `None` if no stage reads it.
    pub(crate) seconds: Option<i64>,
    /// Whether a Periodic source ticks.
    pub(crate) tick: bool,
}

impl Clock {
    /// For pipelines that do not read the time.
    pub(crate) const STOPPED: Self = Self {
        seconds: None,
        tick: false,
    };

    /// The time of a step that is evaluated in this environment.
    pub(crate) fn new(env: &Env, tick: bool) -> Self {
        let seconds = env.now.as_str().and_then(Time::parse).map(Time::seconds);
        Self { seconds, tick }
    }
}

/// When a stage evaluated its documents.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Whether the stage reads `"@now"`. If not, nothing is stored.
    pub(crate) reads_now: bool,
    evaluations: HashMap<Origin, Evaluation>,
    /// All deadlines of `evaluations`.
    deadlines: BTreeSet<(i64, Origin)>,
}

/// The last evaluation of a document.
#[derive(Debug)]
struct Evaluation {
    /// The value of `"@now"`.
    now: Value,
    deadline: Option<i64>,
}

impl Times {
    pub(crate) fn new(reads_now: bool) -> Self {
        Self {
            reads_now,
            ..Self::default()
        }
    }

    /// The value of `"@now"` in the last evaluation of an origin.
    pub(crate) fn now<'a>(&'a self, origin: &Origin, env: &'a Env) -> &'a Value {
        if !self.reads_now {
            return &env.now;
        }
        let evaluation = self.evaluations.get(origin);
        evaluation.map_or(&env.now, |evaluation| &evaluation.now)
    }

    /// Prepares the evaluation of a new document: evaluations of old ones may have set a deadline.
    pub(crate) fn begin(&self, env: &Env) {
        if self.reads_now {
            env.take_deadline();
        }
    }

    /// Stores the time and the deadline of the evaluation of an origin that has just ended.
    pub(crate) fn end(&mut self, origin: &Origin, env: &Env) {
        if self.reads_now {
            self.store(origin, env);
        }
    }

    fn store(&mut self, origin: &Origin, env: &Env) {
        let evaluation = Evaluation {
            now: env.now.clone(),
            deadline: env.take_deadline(),
        };
        if let Some(deadline) = evaluation.deadline {
            self.deadlines.insert((deadline, origin.clone()));
        }
        let new = evaluation.deadline;
        let old = self.evaluations.insert(origin.clone(), evaluation);
        let old = old.and_then(|old| old.deadline);
        self.forget(origin, old.filter(|old| Some(*old) != new));
    }

    /// The document of an origin is gone.
    pub(crate) fn remove(&mut self, origin: &Origin) {
        if self.reads_now
            && let Some(evaluation) = self.evaluations.remove(origin)
        {
            self.forget(origin, evaluation.deadline);
        }
    }

    fn forget(&mut self, origin: &Origin, deadline: Option<i64>) {
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, origin.clone()));
        }
    }

    /// The next deadline, as a Unix time.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Whether there may be documents to evaluate again although they have not changed.
    pub(crate) fn is_due(&self, clock: Clock) -> bool {
        self.reads_now
            && (clock.tick
                || clock
                    .seconds
                    .zip(self.next_deadline())
                    .is_some_and(|(now, next)| next <= now))
    }

    /// The origins to evaluate again: all at a tick, otherwise those whose deadline has come.
    fn due(&self, cx: &StepContext<'_>) -> Vec<Origin> {
        if cx.clock.tick {
            let evaluations = self.evaluations.iter();
            // Another evaluation at the same time would have the same result.
            let earlier = evaluations.filter(|(_, evaluation)| evaluation.now != cx.env.now);
            return earlier.map(|(origin, _)| origin.clone()).collect();
        }
        let now = cx.clock.seconds.unwrap_or(i64::MIN);
        let deadlines = self.deadlines.iter();
        let due = deadlines.take_while(|(deadline, _)| *deadline <= now);
        due.map(|(_, origin)| origin.clone()).collect()
    }

    /// Adds the documents to evaluate again to the changes of the stage's input. Those that have
    /// changed anyway are skipped.
    pub(crate) fn add_due(
        &self,
        changes: &mut Vec<Change>,
        upstream: &dyn Upstream,
        cx: &mut StepContext<'_>,
    ) {
        if !self.is_due(cx.clock) {
            return;
        }
        let mut due = self.due(cx);
        if !changes.is_empty() {
            let changed: HashMap<&Origin, ()> =
                changes.iter().map(|change| (&change.origin, ())).collect();
            due.retain(|origin| !changed.contains_key(origin));
        }
        for origin in due {
            if !cx.goes_on() {
                break;
            }
            if let Some(document) = upstream.document(&origin) {
                changes.push(Change {
                    origin,
                    old: Some(document.clone()),
                    new: Some(document),
                });
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.evaluations.is_empty() && self.deadlines.is_empty()
    }
}
