//! Computes the outputs of a row: pairs with partners, held pairs, or the null output.

use document::Value;
use expr::Env;

use super::joined::insert;
use super::{Row, SoftJoin};
use crate::apply;
use crate::failure::Failure;
use crate::origin::{Component, Origin};
use crate::running::join_table::{LocalStatus, Slot, TableEntry};
use crate::running::side::{SideValue, sides_match};
use crate::running::{Change, StepContext, scope};

/// The result of all conjuncts for a row and a partner.
enum Pair {
    Out,
    True,
    Failed(Option<Failure>),
}

impl SoftJoin {
    /// Computes the outputs of a row again.
    pub(super) fn rejoin(
        &mut self,
        origin: &Origin,
        out: &mut Vec<Change>,
        cx: &mut StepContext<'_>,
    ) {
        let Some(row) = self.rows.get(origin) else {
            return;
        };
        let mut matched: Vec<Slot> = Vec::new();
        let mut failing: Vec<(Slot, Option<Failure>)> = Vec::new();
        for slot in self.candidates(row) {
            if !cx.meter.candidate(cx.env) {
                return;
            }
            match self.pair(row, slot, cx.env) {
                Pair::Out => {}
                Pair::True if !cx.meter.joined() => return,
                Pair::True => matched.push(slot),
                Pair::Failed(failure) => {
                    if let Some(failure) = &failure {
                        cx.report(&self.pair_origin(origin, row, slot), failure);
                    }
                    failing.push((slot, failure));
                }
            }
        }
        let mut outputs: Vec<(Option<Slot>, Origin, Value)> = Vec::new();
        for &slot in &matched {
            let document = self.partners.entry(slot).document.clone();
            outputs.push((
                Some(slot),
                self.pair_origin(origin, row, slot),
                self.compound(row, document),
            ));
        }
        let held = |slot: Option<Slot>| {
            row.outputs
                .iter()
                .find(|(other, ..)| *other == slot)
                .cloned()
        };
        outputs.extend(failing.iter().filter_map(|(slot, _)| held(Some(*slot))));
        if matched.is_empty() {
            if failing.is_empty() && row.failures.is_empty() {
                let absent = insert(origin, row.cut, &[Component::Absent]);
                outputs.push((None, absent, self.compound(row, Value::NULL)));
            } else {
                outputs.extend(held(None));
            }
        }
        self.replace(origin, outputs, failing, out);
    }

    /// Replaces the outputs of a row, and adds the changes.
    fn replace(
        &mut self,
        origin: &Origin,
        outputs: Vec<(Option<Slot>, Origin, Value)>,
        failing: Vec<(Slot, Option<Failure>)>,
        out: &mut Vec<Change>,
    ) {
        let Some(row) = self.rows.get_mut(origin) else {
            return;
        };
        let mut old = std::mem::replace(&mut row.outputs, outputs.clone());
        let was_failing = std::mem::replace(&mut row.failing, failing);
        let now_failing: Vec<Slot> = row.failing.iter().map(|(slot, _)| *slot).collect();
        for (_, origin, value) in outputs {
            let before = old.iter().position(|(_, other, _)| *other == origin);
            let before = before.map(|at| old.swap_remove(at).2);
            out.extend(Change::new(origin, before, Some(value)));
        }
        out.extend(
            old.into_iter()
                .filter_map(|(_, origin, value)| Change::new(origin, Some(value), None)),
        );
        for (slot, _) in was_failing {
            self.forget_failing(slot, origin);
        }
        for slot in now_failing {
            self.failing_with
                .entry(slot)
                .or_default()
                .push(origin.clone());
        }
    }

    /// The partners that may match a row.
    fn candidates(&self, row: &Row) -> Vec<Slot> {
        let all = self.index.is_none() || row.sides.contains(&SideValue::Failed);
        let mut slots: Vec<Slot> = if all {
            self.partners.slots().collect()
        } else {
            let index = self.index.as_ref().map_or(0, |(index, _)| *index);
            let found = self.row_hashes(row).into_iter();
            let found = found.flat_map(|hash| self.partners.lookup(index, hash).iter().copied());
            found.chain(self.failed_partners.iter().copied()).collect()
        };
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    fn pair(&self, row: &Row, slot: Slot, env: &Env) -> Pair {
        let entry = self.partners.entry(slot);
        let mut failed: Option<Option<Failure>> = None;
        match entry.local {
            LocalStatus::Out => return Pair::Out,
            LocalStatus::Failed => failed = Some(None),
            LocalStatus::Pass => {}
        }
        for (key, row_side) in self.keys.iter().zip(&row.sides) {
            let partner = &entry.sides[key.side];
            if *partner == SideValue::Failed || *row_side == SideValue::Failed {
                failed = Some(None);
                continue;
            }
            let (first, second) = if key.row_first {
                (row_side, partner)
            } else {
                (partner, row_side)
            };
            let rule = self.rule.conjuncts[key.conjunct].key.as_ref();
            if rule.and_then(|rule| sides_match(rule, first, second)) == Some(false) {
                return Pair::Out;
            }
        }
        let compound = self.compound(row, entry.document.clone());
        for &number in &self.filters {
            let conjunct = &self.rule.conjuncts[number];
            if self.side_failed(number, row, entry) {
                continue;
            }
            match apply::condition(
                &conjunct.expr,
                &conjunct.at,
                &scope(env, &compound, &env.now, 0),
            ) {
                Ok(true) => {}
                Ok(false) => return Pair::Out,
                Err(failure) => {
                    failed.get_or_insert(Some(failure));
                }
            }
        }
        match failed {
            Some(failure) => Pair::Failed(failure),
            None => apply::admit(&compound, &self.at, env)
                .map_or_else(|failure| Pair::Failed(Some(failure)), |()| Pair::True),
        }
    }

    /// Whether a side of this conjunct, which is a selector, failed by itself.
    fn side_failed(&self, conjunct: usize, row: &Row, entry: &TableEntry) -> bool {
        self.keys.iter().zip(&row.sides).any(|(key, side)| {
            key.conjunct == conjunct
                && (*side == SideValue::Failed || entry.sides[key.side] == SideValue::Failed)
        })
    }

    /// The joined document of a row and a partner, or null. The one with null is not checked
    /// against the bounds: it adds only a name.
    fn compound(&self, row: &Row, partner: Value) -> Value {
        match row.document.as_map() {
            Some(map) => map.with(self.name.clone(), partner).into(),
            None => row.document.clone(),
        }
    }

    pub(super) fn pair_origin(&self, origin: &Origin, row: &Row, slot: Slot) -> Origin {
        insert(
            origin,
            row.cut,
            self.partners.entry(slot).origin.components(),
        )
    }
}
