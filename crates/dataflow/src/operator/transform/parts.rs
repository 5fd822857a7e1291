//! A projection that builds a plain map, entry by entry: an update evaluates again only
//! the entries that read something that changed, and shares the others.

use document::path::Root;
use document::{Key, Map, Path, Value};
use expr::{Env, Expr, Read};
use smallvec::SmallVec;

use super::Rule;
use crate::operator::scope;
use crate::pipeline::Project;

/// The entries of a map that is built anew from each document.
#[derive(Debug)]
pub(super) struct Parts(Box<[Part]>);

#[derive(Debug)]
struct Part {
    key: Key,
    value: Expr,
    /// All that the value reads, if that is known place by place.
    reads: Option<Box<[Path]>>,
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
            reads: reads(value),
        });
        Some(Self(parts.collect()))
    }

    /// The projections of two versions of a document; `None` if one fails.
    pub(super) fn both(&self, old: &Value, new: &Value, env: &Env) -> Option<(Value, Value)> {
        let mut after: SmallVec<[Value; 12]> = SmallVec::with_capacity(self.0.len());
        let scope_of_new = scope(env, new, &env.now, 0);
        for part in &self.0 {
            after.push(part.value.eval(&scope_of_new).ok()?);
        }
        let mut before: SmallVec<[Value; 12]> = SmallVec::with_capacity(self.0.len());
        let scope_of_old = scope(env, old, &env.now, 0);
        for (part, value) in self.0.iter().zip(&after) {
            before.push(if part.reads_the_same(old, new) {
                value.clone()
            } else {
                part.value.eval(&scope_of_old).ok()?
            });
        }
        Some((self.map(before), self.map(after)))
    }

    fn map(&self, values: SmallVec<[Value; 12]>) -> Value {
        let keys = self.0.iter().map(|part| part.key.clone());
        let entries: SmallVec<[(Key, Value); 12]> = keys.zip(values).collect();
        Map::from_sorted_iter(entries.into_iter()).into()
    }
}

impl Part {
    /// Whether all that the value reads is one and the same in both documents.
    fn reads_the_same(&self, old: &Value, new: &Value) -> bool {
        self.reads.as_ref().is_some_and(|reads| {
            reads.iter().all(|path| {
                let read = |document| path.first(document, document);
                match (read(old), read(new)) {
                    (Some(a), Some(b)) => a.same(b),
                    (a, b) => a.is_none() && b.is_none(),
                }
            })
        })
    }
}

/// The places that an expression reads, if each is one place.
fn reads(value: &Expr) -> Option<Box<[Path]>> {
    let reads = value.reads();
    let paths = reads.iter().map(|read| match read {
        Read::Path { path, .. } if path.is_singular() && path.root() == Root::Document => {
            Some((*path).clone())
        }
        Read::Path { .. } | Read::Members(_) | Read::Everything => None,
    });
    paths.collect()
}
