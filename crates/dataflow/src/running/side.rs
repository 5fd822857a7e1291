//! The sides of keyed conjuncts: their values, hashes and matches.
//!
//! A keyed conjunct compares a value of one input with a value of another. Each side is
//! evaluated once per document. Its hash finds the documents of the other side:
//!
//! ```text
//! {"@eq": ["$.A.x", "$.B.y"]}          both sides have one value
//! {"@in": ["$.A.x", "$.B.list"]}       the list is indexed under every element
//! {"@selector": ["$.A.sel", "$.B.l"]}  labels are indexed under every key=value pair; the
//!                                      selector is looked up by one required pair, and
//!                                      evaluated on the candidates
//! ```

use std::hash::{BuildHasher, Hash, Hasher};

use document::{Chunk, Chunks, Key, Location, Value};
use expr::{Env, Expr, functions::access};
use object::label_text;
use smallvec::SmallVec;

use super::{Detach, scope};
use crate::failure::Failure;
use crate::pipeline::{Join, JoinKey, Side};

/// The role of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A value that must be equal to the other side's.
    Value,
    /// A list that must contain the other side's value.
    List,
    /// A label selector.
    Selector,
    /// Labels.
    Labels,
}

/// The value of a side for one document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SideValue {
    /// Null, which matches nothing.
    Nothing,
    One(Value),
    /// Sorted and without duplicates.
    Many(Chunk),
    Failed,
}

const _: () = assert!(size_of::<SideValue>() == 16, "a side is two words");

impl Detach for SideValue {
    fn detach(self) -> Self {
        match self {
            Self::One(value) => Self::One(value.detach()),
            Self::Many(values) => Self::Many(Chunks::chunk(values.iter().map(Value::detached))),
            Self::Nothing | Self::Failed => self,
        }
    }
}

impl SideValue {
    /// The values that are hashed.
    pub(crate) fn values(&self) -> &[Value] {
        match self {
            Self::Nothing | Self::Failed => &[],
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// Both sides of a key with their roles.
pub(crate) fn roles(key: &JoinKey) -> [(&Side, Role); 2] {
    match key {
        JoinKey::Equal(a, b) => [(a, Role::Value), (b, Role::Value)],
        JoinKey::Member { element, list } => [(element, Role::Value), (list, Role::List)],
        JoinKey::Selector { selector, labels } => {
            [(selector, Role::Selector), (labels, Role::Labels)]
        }
    }
}

/// The keyed conjuncts that one index covers. At most one of them may have a side with many
/// values: with two, the number of hashes would be the product of both.
pub(crate) fn indexable(rule: &Join, conjuncts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut lists = 0;
    conjuncts
        .filter(|number| {
            let key = rule.conjuncts[*number].key.as_ref();
            let many = key.is_some_and(|key| {
                let mut roles = roles(key).into_iter();
                roles.any(|(_, role)| matches!(role, Role::List | Role::Labels))
            });
            lists += usize::from(many);
            !many || lists == 1
        })
        .collect()
}

/// Evaluates one side of a keyed conjunct.
pub(crate) fn side_value(
    expr: &Expr,
    role: Role,
    at: &Location,
    compound: &Value,
    env: &Env,
) -> Result<SideValue, Failure> {
    let value = expr.eval(&scope(env, compound, &env.now, 0))?;
    let failed = |kind: expr::ErrorKind| {
        Failure::Expression(Box::new(expr::Error {
            at: at.clone(),
            kind,
        }))
    };
    Ok(match role {
        Role::Value if value.is_null() => SideValue::Nothing,
        Role::Value => SideValue::One(value),
        Role::List => {
            let list = value.as_list().ok_or_else(|| {
                failed(expr::ErrorKind::Type {
                    expected: "a list",
                    found: value.kind(),
                })
            })?;
            many(
                list.iter()
                    .filter(|item| !item.is_null())
                    .cloned()
                    .collect(),
            )
        }
        Role::Selector => match access::label_selector(&value).map_err(failed)? {
            None => SideValue::Nothing,
            Some(selector) => SideValue::One(
                selector
                    .first_pair()
                    .map_or(any_label(), |(key, value)| pair(key, value)),
            ),
        },
        Role::Labels => {
            access::check_labels(&value).map_err(failed)?;
            match value.as_map() {
                None => SideValue::Nothing,
                Some(labels) => many(
                    labels
                        .iter()
                        .map(|(key, value)| pair(key, value))
                        .chain([any_label()])
                        .collect(),
                ),
            }
        }
    })
}

/// The value under which a selector without a required label finds all labels.
fn any_label() -> Value {
    Value::from(true)
}

fn pair(key: &Key, value: &Value) -> Value {
    Value::from(format!("{key}={}", label_text(value)))
}

fn many(mut values: Vec<Value>) -> SideValue {
    values.sort_unstable();
    values.dedup();
    SideValue::Many(Chunks::chunk(values.into_iter()))
}

/// The hashes of the values of these sides: one, or one for each value of a side that has many.
/// There is none if a side matches nothing.
pub(crate) fn hashes(values: &[SideValue], sides: &[usize]) -> SmallVec<[u64; 4]> {
    let picked: SmallVec<[&SideValue; 4]> = sides.iter().map(|side| &values[*side]).collect();
    key_hashes(&picked)
}

/// As [`hashes`], for a selection of sides.
pub(crate) fn key_hashes(sides: &[&SideValue]) -> SmallVec<[u64; 4]> {
    let start = foldhash::fast::FixedState::default().build_hasher();
    let mut hashes = SmallVec::new();
    add_hashes(start, sides, &mut hashes);
    hashes
}

fn add_hashes(
    mut hasher: foldhash::fast::FoldHasher<'_>,
    sides: &[&SideValue],
    hashes: &mut SmallVec<[u64; 4]>,
) {
    for (at, side) in sides.iter().enumerate() {
        match side {
            SideValue::Nothing | SideValue::Failed => return,
            SideValue::One(value) => value.hash(&mut hasher),
            SideValue::Many(values) => {
                for value in values.iter() {
                    let mut branch = hasher.clone();
                    value.hash(&mut branch);
                    add_hashes(branch, &sides[at + 1..], hashes);
                }
                return;
            }
        }
    }
    hashes.push(hasher.finish());
}

/// Whether the sides of a conjunct match; `None` if it must be evaluated, as for selectors.
pub(crate) fn sides_match(key: &JoinKey, first: &SideValue, second: &SideValue) -> Option<bool> {
    match key {
        JoinKey::Equal(..) => {
            Some(matches!((first, second), (SideValue::One(a), SideValue::One(b)) if a == b))
        }
        JoinKey::Member { .. } => Some(match first {
            SideValue::One(element) => second.values().binary_search(element).is_ok(),
            SideValue::Nothing | SideValue::Many(_) | SideValue::Failed => false,
        }),
        JoinKey::Selector { .. } => {
            if matches!(first, SideValue::Nothing) || matches!(second, SideValue::Nothing) {
                return Some(false);
            }
            None
        }
    }
}
