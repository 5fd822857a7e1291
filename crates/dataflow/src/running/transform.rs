//! `@select`, `@project` and `@patch`: stages with at most one output for an input.
//!
//! The state consists of holds and, for stages that use `@now`, the time at which each input
//! last changed. All outputs are computed again when they are needed.

mod entries;

use document::{Location, Value};
use expr::{Env, Expr, Volatile};

use super::{Change, Failing, FailingMap, HashMap, StepContext, release, scope};
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
        let all = |exprs: &[Expr]| {
            exprs
                .iter()
                .map(Expr::volatile)
                .fold(Volatile::default(), |a, b| Volatile {
                    now: a.now || b.now,
                    random: a.random || b.random,
                })
        };
        match self {
            Self::Select(expr) | Self::Project(Project::Whole(expr)) => expr.volatile(),
            Self::Project(Project::Steps(steps)) => all(steps),
            Self::Patch(_) => Volatile::default(),
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
    /// The time at which the document of an origin last changed, for stages that use `@now`.
    times: HashMap<Origin, Value>,
}

impl TransformState {
    pub(crate) fn new(rule: Rule, at: Location) -> Self {
        Self {
            volatile: rule.volatile(),
            entries: ProjectedMap::of(&rule),
            rule,
            at,
            failing: FailingMap::default(),
            times: HashMap::default(),
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
        let now = &cx.env.now;
        match self.run(document, &change.origin, now, cx.env) {
            Ok(output) => {
                if self.volatile.now {
                    self.times.insert(change.origin.clone(), now.clone());
                }
                output
            }
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
        let now = if self.volatile.now {
            self.times.get(origin).unwrap_or(&env.now)
        } else {
            &env.now
        };
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
