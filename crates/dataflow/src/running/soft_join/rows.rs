//! Stores rows, and indexes them by the hashes of their key values.

use document::Value;
use expr::Env;
use smallvec::SmallVec;

use super::joined::{Joined, insert};
use super::{Row, SoftJoin};
use crate::failure::Failure;
use crate::origin::{Component, Origin};
use crate::running::join_table::Slot;
use crate::running::side::{SideValue, key_hashes, roles, side_value};
use crate::running::{Change, StepContext};

impl SoftJoin {
    pub(super) fn row(
        &mut self,
        change: Change,
        joined: &Joined<'_>,
        affected: &mut Vec<Origin>,
        gone: &mut Vec<Row>,
        cx: &mut StepContext<'_>,
    ) {
        let Some(document) = change.new else {
            if let Some(row) = self.rows.remove(&change.origin) {
                self.failed_rows -= usize::from(!row.failures.is_empty());
                self.unindex(&change.origin, &row);
                gone.push(row);
            }
            return;
        };
        let (sides, failures) = self.row_sides(&change.origin, &document, joined, cx.env);
        for (origin, failure) in &failures {
            cx.report(origin, failure);
        }
        let mut row = Row {
            document,
            cut: joined.cut(&change.origin, self.input),
            sides,
            failures,
            outputs: Vec::new(),
            failing: Vec::new(),
        };
        self.failed_rows += usize::from(!row.failures.is_empty());
        if let Some(mut old) = self.rows.remove(&change.origin) {
            self.failed_rows -= usize::from(!old.failures.is_empty());
            self.unindex(&change.origin, &old);
            row.outputs = std::mem::take(&mut old.outputs);
        }
        for hash in self.row_hashes(&row) {
            self.rows_by_key
                .entry(hash)
                .or_default()
                .push(change.origin.clone());
        }
        self.rows.insert(change.origin.clone(), row);
        affected.push(change.origin);
    }

    pub(super) fn unindex(&mut self, origin: &Origin, row: &Row) {
        for hash in self.row_hashes(row) {
            if let Some(rows) = self.rows_by_key.get_mut(&hash) {
                rows.retain(|other| other != origin);
                if rows.is_empty() {
                    self.rows_by_key.remove(&hash);
                }
            }
        }
        for (slot, _) in &row.failing {
            self.forget_failing(*slot, origin);
        }
    }

    pub(super) fn forget_failing(&mut self, slot: Slot, origin: &Origin) {
        if let Some(rows) = self.failing_with.get_mut(&slot) {
            rows.retain(|other| other != origin);
            if rows.is_empty() {
                self.failing_with.remove(&slot);
            }
        }
    }

    pub(super) fn row_hashes(&self, row: &Row) -> SmallVec<[u64; 4]> {
        let Some((_, keys)) = &self.index else {
            return SmallVec::new();
        };
        let sides: SmallVec<[&SideValue; 4]> = keys.iter().map(|key| &row.sides[*key]).collect();
        key_hashes(&sides)
    }

    /// The row's sides of the keys, and the failures with the origins of the documents.
    fn row_sides(
        &self,
        origin: &Origin,
        document: &Value,
        joined: &Joined<'_>,
        env: &Env,
    ) -> (Vec<SideValue>, Vec<(Origin, Failure)>) {
        let mut failures = Vec::new();
        let mut sides = Vec::new();
        for key in &self.keys {
            let conjunct = &self.rule.conjuncts[key.conjunct];
            let Some(rule) = &conjunct.key else { continue };
            let [first, second] = roles(rule);
            let (side, role) = if key.row_first { first } else { second };
            sides.push(
                side_value(&side.expr, role, &conjunct.at, document, env).unwrap_or_else(
                    |failure| {
                        let part = joined.part(origin, key.row_input);
                        let null_row =
                            || insert(origin, joined.cut(origin, self.input), &[Component::Absent]);
                        failures.push((part.unwrap_or_else(null_row), failure));
                        SideValue::Failed
                    },
                ),
            );
        }
        failures.sort_by(|a, b| a.0.cmp(&b.0));
        failures.dedup_by(|a, b| a.0 == b.0);
        (sides, failures)
    }
}
