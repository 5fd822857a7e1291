//! A projection that builds a plain map, entry by entry: an update evaluates again only
//! the entries that read something that changed, and shares the others.

use document::{Key, Map, Tally, Value};
use expr::{Env, Expr};
use smallvec::SmallVec;

use super::Rule;
use crate::operator::reads::{Reads, difference};
use crate::operator::scope;
use crate::pipeline::Project;

/// The entries of a map that is built anew from each document.
#[derive(Debug)]
pub(super) struct Parts(Box<[Part]>);

#[derive(Debug)]
struct Part {
    key: Key,
    value: Expr,
    reads: Reads,
}

impl Parts {
    /// The parts of a projection; `None` if its value hangs on more than the document, or
    /// its entries on each other.
    pub(super) fn of(rule: &Rule) -> Option<Self> {
        let Rule::Project(Project::Whole(Expr::Map(map))) = rule else {
            return None;
        };
        let volatile = rule.volatile();
        if map.copy.is_some() || !map.setters.is_empty() || volatile.now || volatile.random {
            return None;
        }
        let parts = map.entries.iter().map(|(key, value)| Part {
            key: key.clone(),
            value: value.clone(),
            reads: Reads::of([value]),
        });
        Some(Self(parts.collect()))
    }

    /// The projections of two versions of a document, and whether they differ; `None` if
    /// one fails. The old one was within bounds when it was the new one.
    pub(super) fn both(&self, old: &Value, new: &Value, env: &Env) -> Option<(Value, Value, bool)> {
        let difference = difference(old, new);
        let same = |part: &Part| match difference {
            Some(difference) => part.reads.same_below(difference),
            None => part.reads.same(old, new),
        };
        let mut differ = false;
        let mut after: SmallVec<[Value; 12]> = SmallVec::with_capacity(self.0.len());
        let scope_of_new = scope(env, new, &env.now, 0);
        env.charge(self.0.len()).ok()?;
        let mut tally = Tally::new(env.limits.bounds);
        for part in &self.0 {
            let value = part.value.eval(&scope_of_new).ok()?;
            tally.member(&part.key, &value).ok()?;
            after.push(value);
        }
        let mut before: SmallVec<[Value; 12]> = SmallVec::with_capacity(self.0.len());
        let scope_of_old = scope(env, old, &env.now, 0);
        for (part, value) in self.0.iter().zip(&after) {
            before.push(if same(part) {
                value.clone()
            } else {
                let old = part.value.eval(&scope_of_old).ok()?;
                differ |= old != *value;
                old
            });
        }
        let before = Map::from_sorted_iter(self.entries(before));
        let after = tally.map(self.entries(after)).ok()?;
        Some((before.into(), after, differ))
    }

    fn entries(
        &self,
        values: SmallVec<[Value; 12]>,
    ) -> impl ExactSizeIterator<Item = (Key, Value)> {
        let keys = self.0.iter().map(|part| part.key.clone());
        keys.zip(values)
    }
}
