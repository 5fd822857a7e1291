//! The results of the conjuncts that depend on a single document.

use std::collections::BTreeMap;

use document::Value;
use expr::functions::access;
use expr::{Env, Scope};

use super::with_member;
use crate::apply;
use crate::failure::Failure;
use crate::pipeline::{Conjunct, Join, JoinKey};

/// The results for one document, or for one row that is joined with a soft input.
#[derive(Default)]
pub(super) struct Facts {
    /// By conjunct: whether it holds, if it reads this document alone.
    pub alone: BTreeMap<usize, Result<bool, Failure>>,
    /// By conjunct and input: the value of the side of a join key.
    pub sides: BTreeMap<(usize, usize), Result<Value, Failure>>,
}

impl Facts {
    /// The results for a document of this input.
    pub(super) fn of(document: &Value, input: usize, join: &Join, env: &Env) -> Self {
        let name = &join.inputs[input];
        let compound = with_member(&Value::empty_map(), name, document.clone());
        let mut facts = Self::default();
        for (i, conjunct) in join.conjuncts.iter().enumerate() {
            if conjunct.reads.only() == Some(input) {
                facts.alone.insert(i, condition(conjunct, &compound, env));
            }
            if let Some(side) = side(conjunct, input, &compound, env) {
                facts.sides.insert((i, input), side);
            }
        }
        facts
    }

    /// Whether a conjunct is false, so that the document is in no tuple.
    pub(super) fn out(&self) -> bool {
        self.alone.values().any(|holds| matches!(holds, Ok(false)))
    }

    /// The failures by conjunct.
    pub(super) fn failures(&self) -> BTreeMap<usize, &Failure> {
        let alone = self
            .alone
            .iter()
            .map(|(conjunct, holds)| (*conjunct, holds.as_ref().err()));
        let sides = self
            .sides
            .iter()
            .map(|((conjunct, _), side)| (*conjunct, side.as_ref().err()));
        alone
            .chain(sides)
            .filter_map(|(conjunct, failure)| Some((conjunct, failure?)))
            .collect()
    }
}

/// Whether a conjunct holds.
pub(super) fn condition(conjunct: &Conjunct, compound: &Value, env: &Env) -> Result<bool, Failure> {
    apply::condition(&conjunct.expr, &conjunct.at, &Scope::new(env, compound))
}

/// The value of the side of a join key that reads this input; `None` if no side does.
pub(super) fn side(
    conjunct: &Conjunct,
    input: usize,
    compound: &Value,
    env: &Env,
) -> Option<Result<Value, Failure>> {
    let key = conjunct.key.as_ref()?;
    let side = key.sides().into_iter().find(|side| side.input == input)?;
    let value = side.expr.eval(&Scope::new(env, compound));
    Some(value.map_err(Failure::from).and_then(|value| {
        check_side(conjunct, key, input, &value)?;
        Ok(value)
    }))
}

/// Checks the type of a side.
fn check_side(
    conjunct: &Conjunct,
    key: &JoinKey,
    input: usize,
    value: &Value,
) -> Result<(), Failure> {
    let checked = match key {
        JoinKey::Member { list, .. } if list.input == input && value.as_list().is_none() => {
            return Err(Failure::Condition {
                found: value.kind(),
                at: conjunct.at.clone(),
            });
        }
        JoinKey::Selector { selector, .. } if selector.input == input => {
            access::label_selector(value).map(drop)
        }
        JoinKey::Selector { .. } => access::check_labels(value),
        JoinKey::Equal(..) | JoinKey::Member { .. } => Ok(()),
    };
    checked.map_err(|kind| {
        let at = conjunct.at.clone();
        Failure::from(Box::new(expr::Error { at, kind }))
    })
}

/// Whether a join key holds; `None` if one of its sides fails.
pub(super) fn compare(key: &JoinKey, conjunct: usize, tuple: &[&Facts]) -> Option<bool> {
    let [first, second] = key.sides().map(|side| {
        let place = (conjunct, side.input);
        tuple
            .iter()
            .find_map(|facts| facts.sides.get(&place))?
            .as_ref()
            .ok()
    });
    let (first, second) = (first?, second?);
    if first.is_null() || second.is_null() {
        return Some(false);
    }
    Some(match key {
        JoinKey::Equal(..) => first == second,
        JoinKey::Member { .. } => second.as_list()?.iter().any(|item| item == first),
        JoinKey::Selector { .. } => access::selector(first, second).ok()?,
    })
}
