//! `@select`, `@project` and `@patch`: stages with at most one output for an input.
//!
//! The state consists of holds and, for stages that read `@now`, of [`Times`]. All outputs are
//! computed again when they are needed.

mod entries;

use document::{Location, Value};
use expr::{Env, Expr, Volatile};

use super::times::Times;
use super::{Change, Failing, FailingMap, StepContext, release, scope};
use crate::apply;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline::{Patch, Project};
use entries::ProjectedMap;

/// The stage.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Select(Expr),
    Project(Project),
    Patch(Box<Patch>),
}

impl Rule {
    fn volatile(&self) -> Volatile {
        match self {
            Self::Select(expr) => expr.volatile(),
            Self::Project(project) => project.volatile(),
            Self::Patch(patch) => patch.volatile(),
        }
    }
}

/// A running `@select`, `@project` or `@patch`.
#[derive(Debug)]
pub(crate) struct TransformState {
    rule: Rule,
    at: Location,
    volatile: Volatile,
    /// The entries of a projection, if they can be evaluated one by one.
    entries: Option<ProjectedMap>,
    pub(crate) failing: FailingMap<Option<Value>>,
    pub(crate) times: Times,
}

impl TransformState {
    pub(crate) fn new(rule: Rule, at: Location) -> Self {
        let volatile = rule.volatile();
        Self {
            volatile,
            entries: ProjectedMap::of(&rule),
            rule,
            at,
            failing: FailingMap::default(),
            times: Times::new(volatile.now),
        }
    }

    pub(crate) fn step(&mut self, changes: &mut Vec<Change>, cx: &mut StepContext<'_>) {
        changes.retain_mut(|change| {
            if !cx.goes_on() {
                return false;
            }
            let held = release(&mut self.failing, &change.origin);
            if held.is_none()
                && let (Some(entries), Some(old), Some(new)) =
                    (&self.entries, &change.old, &change.new)
                && let Some((old, new, differ)) = entries.both(old, new, cx.env)
            {
                (change.old, change.new) = (Some(old), Some(new));
                return differ;
            }
            let old = match held {
                Some(failing) => failing.held,
                None => self.good(change.old.as_ref(), &change.origin, cx.env),
            };
            let new = self.new_output(change, old.as_ref(), cx);
            if old == new {
                return false;
            }
            change.old = old;
            change.new = new;
            true
        });
    }

    fn new_output(
        &mut self,
        change: &Change,
        old: Option<&Value>,
        cx: &mut StepContext<'_>,
    ) -> Option<Value> {
        let Some(document) = &change.new else {
            self.times.remove(&change.origin);
            return None;
        };
        let env = cx.env;
        self.times.begin(env);
        let output = self.run(document, &change.origin, &env.now, env);
        self.times.end(&change.origin, env);
        match output {
            Ok(output) => output,
            Err(failure) => {
                cx.report(&change.origin, &failure);
                let held = old.cloned();
                self.failing
                    .insert(change.origin.clone(), Failing::new(held, failure));
                old.cloned()
            }
        }
    }

    /// The output for an origin that does not fail.
    fn good(&self, document: Option<&Value>, origin: &Origin, env: &Env) -> Option<Value> {
        let now = self.times.now(origin, env);
        self.run(document?, origin, now, env).ok().flatten()
    }

    /// The current output for an origin, given its current input.
    pub(crate) fn current(
        &self,
        input: Option<&Value>,
        origin: &Origin,
        env: &Env,
    ) -> Option<Value> {
        match self.failing.get(origin) {
            Some(failing) => failing.held.clone(),
            None => self.good(input, origin, env),
        }
    }

    fn run(
        &self,
        document: &Value,
        origin: &Origin,
        now: &Value,
        env: &Env,
    ) -> Result<Option<Value>, Failure> {
        let seed = if self.volatile.random {
            origin.stable_hash()
        } else {
            0
        };
        let scope = scope(env, document, now, seed);
        match &self.rule {
            Rule::Select(condition) => {
                Ok(apply::condition(condition, &self.at, &scope)?.then(|| document.clone()))
            }
            Rule::Project(project) => apply::project(project, &self.at, &scope).map(Some),
            Rule::Patch(patch) => apply::patch(patch, &self.at, &scope).map(Some),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.failing.is_empty() && self.times.is_empty()
    }
}
