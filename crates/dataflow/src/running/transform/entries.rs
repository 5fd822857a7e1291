//! Projections that build a plain map, entry by entry.
//!
//! An update needs the old and the new output. Both are computed here in one pass. An entry
//! that reads no changed field has the same value in both, so it is evaluated once:
//!
//! ```text
//! @project: {name: "$.metadata.name", n: "$.spec.replicas"}
//! spec.replicas changes 1 → 3       name is evaluated once, n twice
//! ```

use document::{Key, Map, Tally, Value};
use expr::{Env, Expr};
use smallvec::SmallVec;

use super::Rule;
use crate::pipeline::Project;
use crate::running::reads::{Reads, difference};
use crate::running::scope;

/// The entries of a map that a projection builds.
#[derive(Debug)]
pub(super) struct ProjectedMap(Box<[ProjectedEntry]>);

#[derive(Debug)]
struct ProjectedEntry {
    key: Key,
    value: Expr,
    reads: Reads,
}

impl ProjectedMap {
    /// The entries of a projection; `None` if its value depends on the time or on random numbers,
    /// or if entries depend on each other.
    pub(super) fn of(rule: &Rule) -> Option<Self> {
        let Rule::Project(Project::Whole(Expr::Map(map))) = rule else {
            return None;
        };
        let volatile = rule.volatile();
        if map.copy.is_some() || !map.setters.is_empty() || volatile.now || volatile.random {
            return None;
        }
        let entries = map.entries.iter().map(|(key, value)| ProjectedEntry {
            key: key.clone(),
            value: value.clone(),
            reads: Reads::of([value]),
        });
        Some(Self(entries.collect()))
    }

    /// The outputs for two versions of a document, and whether they differ; `None` if one fails.
    /// The old output is not checked against the bounds: it was checked when it was new.
    pub(super) fn both(&self, old: &Value, new: &Value, env: &Env) -> Option<(Value, Value, bool)> {
        let difference = difference(old, new);
        let same = |entry: &ProjectedEntry| match difference {
            Some(difference) => entry.reads.same_below(difference),
            None => entry.reads.same(old, new),
        };
        let mut differ = false;
        let mut after: SmallVec<[Value; 12]> = SmallVec::with_capacity(self.0.len());
        let scope_of_new = scope(env, new, &env.now, 0);
        env.charge(self.0.len()).ok()?;
        let mut tally = Tally::new(env.limits.bounds);
        for entry in &self.0 {
            let value = entry.value.eval(&scope_of_new).ok()?;
            tally.member(&entry.key, &value).ok()?;
            after.push(value);
        }
        let mut before: SmallVec<[Value; 12]> = SmallVec::with_capacity(self.0.len());
        let scope_of_old = scope(env, old, &env.now, 0);
        for (entry, value) in self.0.iter().zip(&after) {
            before.push(if same(entry) {
                value.clone()
            } else {
                let old = entry.value.eval(&scope_of_old).ok()?;
                differ |= old != *value;
                old
            });
        }
        let before = Map::from_sorted_iter(self.entries(&mut before));
        let after = tally.map(self.entries(&mut after)).ok()?;
        Some((before.into(), after, differ))
    }

    fn entries(
        &self,
        values: &mut SmallVec<[Value; 12]>,
    ) -> impl ExactSizeIterator<Item = (Key, Value)> {
        let keys = self.0.iter().map(|entry| entry.key.clone());
        keys.zip(values.drain(..))
    }
}
