//! The writes of a batch: decided inside the batch, and carried out at its end.

use std::collections::BTreeMap;

use document::Value;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::Operator;
use store::{Change, Error, Store};

use super::stale::yields;
use super::write::{Outcome, RefusedWrite, ViewObject, ViewPlan, is_outdated, repeat};
use super::{Outputs, version, version_of, version_text};
use crate::causes::Causes;
use crate::own_views::{Entering, OwnViews};
use crate::problem_log::ProblemLog;

/// The writes of a batch.
pub(super) type StagedWrites = BTreeMap<ObjectKey, Staged>;

/// A write that reaches the store at the end of the batch.
#[derive(Debug)]
pub(super) struct Staged {
    plan: Result<ViewPlan, Error>,
    /// What an earlier generation left on the object, and is removed with this write.
    leftover: StagedLeftover,
    /// The depth of the step that decided it.
    depth: u32,
    /// Whether controllers have received a state of the object that the store does not have yet.
    entered: bool,
}

/// What an earlier generation left on an object.
#[derive(Clone, Debug, Default)]
pub(super) struct StagedLeftover {
    /// Whether it yielded the object itself.
    pub(super) whole: bool,
    /// Its Patchers whose patches are taken back.
    pub(super) patchers: Vec<String>,
}

impl Outputs {
    /// Decides on the objects that have changed, until `interrupted`, and passes their next states
    /// to the controllers that read them. Returns whether all are decided.
    pub(crate) fn stage(
        &mut self,
        store: &Store,
        operator: &Operator,
        own: &mut OwnViews,
        causes: &Causes,
        interrupted: impl Fn() -> bool,
    ) -> bool {
        let views = self.views.iter_mut();
        let changed = views.map(|(view, state)| (view.clone(), std::mem::take(&mut state.changed)));
        let changed: Vec<_> = changed.filter(|(_, names)| !names.is_empty()).collect();
        for (view, mut names) in changed {
            names.sort();
            names.dedup();
            for name in names {
                if interrupted() {
                    return false;
                }
                let key = ObjectKey {
                    kind: view.clone(),
                    name,
                };
                self.decide(store, operator, key, own, causes, |_| {});
            }
        }
        true
    }

    /// Decides on an object, after `add` has changed what is left of an earlier generation.
    pub(super) fn decide(
        &mut self,
        store: &Store,
        operator: &Operator,
        key: ObjectKey,
        own: &mut OwnViews,
        causes: &Causes,
        add: impl FnOnce(&mut StagedLeftover),
    ) {
        let before = self.staged.remove(&key);
        let mut leftover = before.as_ref().map(|staged| staged.leftover.clone());
        let leftover = leftover.get_or_insert_default();
        add(leftover);
        let plan = self.plan(store, operator, &key, leftover);
        let (before, entered) = match before {
            Some(Staged { plan, entered, .. }) => (plan.ok(), entered),
            None => (None, false),
        };
        let news = match (&plan, &before) {
            (Ok(plan), Some(before)) => !same_state(plan, before),
            (Ok(plan), None) => plan.changes,
            (Err(_), _) => false,
        };
        if let Some(plan) = plan.as_ref().ok().filter(|_| news) {
            own.enter(&Entering {
                key: &key,
                object: plan.object.as_ref(),
                memory: &plan.memory,
                depth: Some(self.depth),
                bulk: causes.is_open(&key.kind),
                listed: false,
            });
            if self.depth > 0
                && let Some(state) = self.views.get_mut(&key.kind)
            {
                *state.streaks.entry(key.name.clone()).or_default() += 1;
            }
        }
        let staged = Staged {
            plan,
            leftover: leftover.clone(),
            depth: self.depth,
            entered: entered || news,
        };
        self.staged.insert(key, staged);
    }

    fn plan(
        &self,
        store: &Store,
        operator: &Operator,
        key: &ObjectKey,
        leftover: &StagedLeftover,
    ) -> Result<ViewPlan, Error> {
        let object = ViewObject::new(store, operator, &self.memories, key);
        let state = self.views.get(&key.kind);
        let derived = state.and_then(|state| state.derived.get(&key.name));
        if leftover.whole && !yields(operator, derived) {
            object.plan_removal()
        } else {
            object.plan(derived, &leftover.patchers)
        }
    }

    /// Carries out the writes of the batch. Returns whether controllers have received a state that
    /// the store does not have.
    pub(crate) fn commit(
        &mut self,
        store: &Store,
        operator: &Operator,
        own: &mut OwnViews,
        causes: &Causes,
        problem_log: &ProblemLog,
    ) -> bool {
        let mut doubted = false;
        for (key, staged) in std::mem::take(&mut self.staged) {
            let ObjectKey { kind: view, name } = &key;
            let Staged {
                plan,
                leftover,
                depth,
                entered,
            } = staged;
            let echoes = self.echoes.of(view);
            echoes.sends(name, depth);
            let object = ViewObject::new(store, operator, &self.memories, &key);
            let mut as_planned = true;
            let mut result = plan.and_then(|plan| object.carry_out(plan));
            if result.as_ref().is_err_and(is_outdated) {
                as_planned = false;
                let anew = || object.carry_out(self.plan(store, operator, &key, &leftover)?);
                result = repeat(anew);
            }
            let written = result.as_ref().ok().and_then(|done| done.written.as_ref());
            let text = written.and_then(version_text);
            echoes.sent(name, depth, text.as_deref());
            match &result {
                Ok(outcome) if as_planned => note(own, view, name, outcome),
                Ok(_) | Err(_) if entered => {
                    own.doubt(view, name);
                    doubted = true;
                }
                Ok(_) | Err(_) => {}
            }
            if !self.views.contains_key(view) {
                // An earlier generation left the object, and this one does not write to the view.
                causes.end(view, written.map_or(0, version));
            }
            if written.is_some_and(|written| written.change == Change::Deleted)
                && let Some(state) = self.views.get_mut(view)
            {
                state.streaks.remove(name);
            }
            let terminates = terminates(&result, store, &key);
            if self.views.contains_key(view) && (terminates || is_refused(&result)) {
                own.refused(view);
            }
            self.note(&key, result, terminates, operator, problem_log);
        }
        for (key, (number, _)) in &self.cycles {
            let controller = &operator.controllers[*number].name;
            let why = Some(RefusedWrite::new(
                "cycle",
                target::problem::CYCLE.to_owned(),
            ));
            problem_log.view(controller, key, why);
        }
        doubted
    }

    /// Records the result of a write, and reports whether it was refused.
    fn note(
        &mut self,
        key: &ObjectKey,
        result: Result<Outcome, Error>,
        terminates: bool,
        operator: &Operator,
        problem_log: &ProblemLog,
    ) {
        if let Some(state) = self.views.get_mut(&key.kind) {
            state.note(&key.name, result, terminates, |number, refused| {
                let controller = &operator.controllers[number].name;
                problem_log.view(controller, key, refused);
            });
        }
    }
}

/// The controllers that read the view have this version of an object.
fn note(own: &mut OwnViews, view: &GroupKind, name: &ObjectName, outcome: &Outcome) {
    let Some(written) = &outcome.written else {
        return;
    };
    match written.change {
        Change::Unchanged => {}
        Change::Deleted => own.wrote(view, name, 0),
        Change::Created | Change::Updated => own.wrote(view, name, version_of(&written.object)),
    }
}

/// Whether two plans for an object lead to the same state.
fn same_state(one: &ViewPlan, other: &ViewPlan) -> bool {
    let content = |object: &Value| {
        let metadata = object.get("metadata").as_map()?.without("resourceVersion");
        let rest = object.as_map()?.without("metadata");
        Some([metadata.without("uid"), rest].map(Value::from))
    };
    let content = |plan: &ViewPlan| plan.object.as_ref().map(content);
    content(one) == content(other) && one.memory.has_same_layers(&other.memory)
}

/// Whether an object is written later, because it belongs to a user.
fn is_refused(result: &Result<Outcome, Error>) -> bool {
    match result {
        Err(_) => true,
        Ok(outcome) => outcome.conflict.is_some(),
    }
}

/// Whether finalizers keep an object although it is deleted.
fn terminates(result: &Result<Outcome, Error>, store: &Store, key: &ObjectKey) -> bool {
    let deleted = |object: &Value| !object.get("metadata").get("deletionTimestamp").is_null();
    match result.as_ref().map(|outcome| outcome.written.as_ref()) {
        Err(_) => false,
        Ok(Some(written)) => written.change != Change::Deleted && deleted(&written.object),
        Ok(None) => store
            .get(&key.kind, &key.name)
            .is_some_and(|object| deleted(&object)),
    }
}
