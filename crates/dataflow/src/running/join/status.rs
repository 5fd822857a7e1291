//! Judges one tuple by all conjuncts.

use document::{Tally, Value};
use expr::Env;

use super::HardJoin;
use crate::apply;
use crate::failure::Failure;
use crate::running::join_table::{LocalStatus, Slot};
use crate::running::scope;
use crate::running::side::{SideValue, sides_match};

/// The result of all conjuncts for one tuple.
pub(super) enum Status {
    Out,
    True,
    Failed(Option<Failure>),
}

#[derive(Clone, Copy)]
pub(super) enum KeyStatus {
    True,
    False,
    Failed,
}

impl HardJoin {
    /// Evaluates all conjuncts for a tuple that had an output.
    pub(super) fn status(&self, tuple: &[Slot], env: &Env) -> Status {
        let mut failed: Option<Option<Failure>> = None;
        for (slot, table) in tuple.iter().zip(&self.tables) {
            let entry = table.entry(*slot);
            if !entry.live || entry.local == LocalStatus::Out {
                return Status::Out;
            }
            if entry.local == LocalStatus::Failed {
                failed = Some(None);
            }
        }
        let compound = self.compound(tuple);
        for &number in &self.plan.pairwise {
            match self.key_status(number, tuple) {
                Some(KeyStatus::False) => return Status::Out,
                Some(KeyStatus::Failed) => failed = Some(None),
                Some(KeyStatus::True) => {}
                None => match self.condition(number, &compound, env) {
                    Ok(true) => {}
                    Ok(false) => return Status::Out,
                    Err(failure) => {
                        failed.get_or_insert(Some(failure));
                    }
                },
            }
        }
        match failed {
            Some(failure) => Status::Failed(failure),
            None => self
                .admit(tuple, env)
                .map_or_else(|failure| Status::Failed(Some(failure)), |()| Status::True),
        }
    }

    /// Checks that the joined document of a tuple is within the bounds.
    pub(super) fn admit(&self, tuple: &[Slot], env: &Env) -> Result<(), Failure> {
        let mut tally = Tally::new(env.limits.bounds);
        let mut members = self.keys.iter();
        let counted = members.try_for_each(|(key, table)| {
            let document = &self.tables[*table].entry(tuple[*table]).document;
            tally.member(key, document)
        });
        let admitted = counted.and_then(|()| tally.finish());
        admitted.map(drop).map_err(|problem| Failure::Bounds {
            problem,
            at: self.at.clone(),
        })
    }

    pub(super) fn condition(
        &self,
        number: usize,
        compound: &Value,
        env: &Env,
    ) -> Result<bool, Failure> {
        let conjunct = &self.rule.conjuncts[number];
        apply::condition(
            &conjunct.expr,
            &conjunct.at,
            &scope(env, compound, &env.now, 0),
        )
    }

    /// Whether the sides of a keyed conjunct match; `None` if it must be evaluated.
    pub(super) fn key_status(&self, number: usize, tuple: &[Slot]) -> Option<KeyStatus> {
        let key = self.rule.conjuncts[number].key.as_ref()?;
        let [first, second] = self.plan.sides[number]?;
        let value =
            |(table, side): (usize, usize)| &self.tables[table].entry(tuple[table]).sides[side];
        let (first, second) = (value(first), value(second));
        if matches!(first, SideValue::Failed) || matches!(second, SideValue::Failed) {
            return Some(KeyStatus::Failed);
        }
        sides_match(key, first, second).map(|matches| {
            if matches {
                KeyStatus::True
            } else {
                KeyStatus::False
            }
        })
    }
}
