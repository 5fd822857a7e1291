//! How an Operator runs offline: time, random key, budgets.

use dataflow::Budget;
use document::Value;
use expr::Env;
use offline::Offline;
use operator::Operator;

use crate::cli::{Limits, Run};
use crate::time::Time;

/// The settings that are the same for all batches.
#[derive(Debug)]
pub(crate) struct Settings {
    now: Option<Time>,
    random_key: u64,
    limits: Limits,
}

impl Settings {
    pub(crate) fn new(now: Option<Time>, random_key: u64, limits: Limits) -> Self {
        Self {
            now,
            random_key,
            limits,
        }
    }

    /// The environment of one batch. The clock is read once.
    pub(crate) fn env(&self) -> Env {
        self.env_at(self.time())
    }

    /// The environment of a batch at this time.
    pub(crate) fn env_at(&self, now: Time) -> Env {
        self.env_with(now, self.random_key)
    }

    fn time(&self) -> Time {
        self.now.unwrap_or_else(Time::now)
    }

    /// The environment of one of several evaluations, each with its own random numbers.
    pub(crate) fn env_of(&self, number: usize) -> Env {
        let key = document::stable_hash(&format!("{}/{number}", self.random_key));
        self.env_with(self.time(), key)
    }

    fn env_with(&self, now: Time, random_key: u64) -> Env {
        let mut env = Env::new(Value::from(now.to_string()), random_key);
        env.limits.steps = self.limits.steps;
        env.limits.cel_cost = self.limits.cel_cost;
        env.limits.bounds = self.limits.derived.bounds();
        env
    }
}

/// An Operator without objects, and its settings.
pub(crate) fn start(operator: Operator, run: &Run) -> (Offline, Settings) {
    let key = testing::random_key(&operator.name, run.seed);
    let budget = Budget {
        documents: run.max_documents,
        bytes: run.max_bytes,
        candidates: run.max_candidates,
        outputs: run.max_outputs,
    };
    (
        Offline::new(operator, budget),
        Settings::new(run.time.now, key, run.limits),
    )
}
