//! Which of several writers gets a field: the first one that sets it.
//!
//! ```text
//! first   replicas: 3                    ─▶ replicas: 3
//! second  replicas: 5, paused: true      ─▶ paused: true, and replicas is lost to the first
//! ```
//!
//! Writers that merge can share a list without key fields, element by element. To a server-side
//! apply such a list is one value, so of several writers that apply it one gets all of it. A few
//! lists with key fields are one value, too ([`MergeKeys::atomic_list_with_keys`]): whoever applies
//! such a list shares it with nobody, because a writer that merges becomes the owner of all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use document::{Key, Map, Value};

use crate::path::PathElement;
use crate::walk::leaves;
use crate::{FieldPath, MergeKeys};

/// The fields that the writers so far have taken.
#[derive(Clone, Debug)]
pub struct Contest<'a, T> {
    keys: &'a MergeKeys,
    /// The leaves, by path: all writers that set one have the same value.
    leaves: BTreeMap<FieldPath, Taken<T>>,
    /// The lists that count as one value, each with the writers that set it.
    lists: BTreeMap<FieldPath, Vec<TakenList<T>>>,
    /// The number of leaves that were taken, also by several writers.
    count: usize,
}

#[derive(Clone, Debug)]
struct Taken<T> {
    value: Value,
    /// Its place in the order in which leaves were taken; that of a list is its first leaf's.
    at: usize,
    by: T,
}

#[derive(Clone, Debug)]
struct TakenList<T> {
    taken: Taken<T>,
    applies: bool,
}

/// What a writer wants to set.
struct Wanted {
    leaves: Vec<WantedLeaf>,
    /// The lists around them that count as one value, with their values.
    lists: BTreeMap<FieldPath, Value>,
    applies: bool,
}

struct WantedLeaf {
    place: FieldPath,
    value: Value,
    list: Option<FieldPath>,
}

/// A leaf, or the list around it, that a writer does not get.
struct Lost<T> {
    place: FieldPath,
    /// Whether the leaf is an empty map, or an element with nothing but key fields.
    is_map: bool,
    to: T,
}

impl<'a, T: Copy> Contest<'a, T> {
    /// A contest without writers.
    pub fn new(keys: &'a MergeKeys) -> Self {
        Self {
            keys,
            leaves: BTreeMap::new(),
            lists: BTreeMap::new(),
            count: 0,
        }
    }

    /// The next writer: removes from its patch the leaves that others have taken, and takes the
    /// rest. Returns the lost paths, each with the writer that has it.
    pub fn enter(&mut self, patch: &mut Value, by: T, applies: bool) -> Vec<(FieldPath, T)> {
        let mut all: Vec<(FieldPath, T)> = Vec::new();
        let mut known = BTreeSet::new();
        loop {
            let wanted = self.wanted(patch, applies);
            let lost = self.lost(&wanted);
            if lost.is_empty() {
                self.take(wanted, by);
                return all;
            }
            // If only the key fields of an element are left, the next round treats it as a leaf.
            *patch = without(patch, &lost);
            for Lost { place, to, .. } in lost {
                if known.insert(place.clone()) {
                    all.push((place, to));
                }
            }
        }
    }

    fn wanted(&self, patch: &Value, applies: bool) -> Wanted {
        let mut lists = BTreeMap::new();
        let leaves = leaves(patch, self.keys).into_iter();
        let leaves = leaves.map(|(place, value)| {
            let list = if applies {
                self.keys.atomic_list(&place)
            } else {
                self.keys.atomic_list_with_keys(&place)
            };
            if let Some(list) = &list
                && !lists.contains_key(list)
            {
                lists.insert(list.clone(), list.get(patch).clone());
            }
            WantedLeaf { place, value, list }
        });
        Wanted {
            leaves: leaves.collect(),
            lists,
            applies,
        }
    }

    /// What others have taken of these leaves, in their order.
    fn lost(&self, wanted: &Wanted) -> Vec<Lost<T>> {
        // All leaves of a list have the same answer.
        let lists = wanted.lists.iter().filter_map(|(list, value)| {
            let mut others = self.lists.get(list)?.iter();
            let other = others
                .find(|other| (wanted.applies || other.applies) && other.taken.value != *value)?;
            Some((list, &other.taken))
        });
        let lists: BTreeMap<&FieldPath, &Taken<T>> = lists.collect();
        let found = wanted.leaves.iter().filter_map(|leaf| {
            let list = leaf.list.as_ref();
            let whole = list.and_then(|list| Some((list, *lists.get(list)?)));
            let single = self.taker(leaf).map(|taken| (&leaf.place, taken));
            let first = whole.into_iter().chain(single);
            let (place, taken) = first.min_by_key(|(_, taken)| taken.at)?;
            Some(Lost {
                place: place.clone(),
                is_map: leaf.value.as_map().is_some(),
                to: taken.by,
            })
        });
        let mut found: Vec<Lost<T>> = found.collect();
        // Of elements with the same key each is removed.
        found.dedup_by(|one, other| one.place == other.place && !one.place.is_element());
        found
    }

    /// The first writer that has taken what a leaf would write: the leaf itself with another value,
    /// a value around it, or one inside it. Into an empty map others may add fields.
    fn taker(&self, leaf: &WantedLeaf) -> Option<&Taken<T>> {
        let place = &leaf.place;
        let same = self.leaves.get(place);
        let same = same.filter(|taken| taken.value != leaf.value);
        let around = (1..place.0.len()).filter_map(|len| {
            let taken = self.leaves.get(&FieldPath(place.0[..len].to_vec()))?;
            taken.value.as_map().is_none().then_some(taken)
        });
        // Paths are ordered by their elements: those inside a place follow it.
        let after = (Bound::Excluded(place), Bound::Unbounded);
        let after = self.leaves.range(after);
        let inside = after
            .take_while(|(other, _)| leaf.value.as_map().is_none() && other.within(place))
            .map(|(_, taken)| taken);
        let all = same.into_iter().chain(around).chain(inside);
        all.min_by_key(|taken| taken.at)
    }

    fn take(&mut self, wanted: Wanted, by: T) {
        let Wanted {
            leaves,
            mut lists,
            applies,
        } = wanted;
        for WantedLeaf { place, value, list } in leaves {
            let at = self.count;
            self.count += 1;
            if let Some((list, value)) = list.and_then(|list| lists.remove_entry(&list)) {
                let taken = Taken { value, at, by };
                let all = self.lists.entry(list).or_default();
                all.push(TakenList { taken, applies });
            }
            let leaf = || Taken { value, at, by };
            self.leaves.entry(place).or_insert_with(leaf);
        }
    }
}

/// The patch without what a writer does not get. From the end, so that positions stay valid.
fn without<T>(patch: &Value, lost: &[Lost<T>]) -> Value {
    let groups = lost.chunk_by(|one, next| are_siblings(&one.place, &next.place));
    groups.rev().fold(patch.clone(), |patch, group| {
        let Some((last, others)) = group.split_first() else {
            return patch;
        };
        // The maps around them that this leaves empty go with the last one.
        let patch = without_siblings(&patch, &last.place, others);
        if last.is_map {
            last.place.remove(&patch)
        } else {
            last.place.strike(&patch)
        }
    })
}

/// Whether two paths lead to fields of one map.
fn are_siblings(a: &FieldPath, b: &FieldPath) -> bool {
    let split = (a.0.split_last(), b.0.split_last());
    matches!(split, (Some((PathElement::Field(_), a)), Some((PathElement::Field(_), b))) if a == b)
}

/// The patch without these fields of the map that has `place`, in one pass: a map may have very
/// many fields.
fn without_siblings<T>(patch: &Value, place: &FieldPath, fields: &[Lost<T>]) -> Value {
    let names = fields.iter().filter_map(|lost| match lost.place.0.last() {
        Some(PathElement::Field(name)) => Some(name),
        _ => None,
    });
    let names: BTreeSet<&Key> = names.collect();
    let map = place.0.split_last().map(|(_, map)| FieldPath(map.to_vec()));
    let (Some(map), false) = (map, names.is_empty()) else {
        return patch.clone();
    };
    let Some(all) = map.get(patch).as_map() else {
        return patch.clone();
    };
    let left = all.iter().filter(|(name, _)| !names.contains(name));
    let left: Map = left.map(|(n, value)| (n.clone(), value.clone())).collect();
    map.set(patch, &left.into())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use document::json;
    use seeded::Random;

    use super::*;
    use crate::walk::concerns;

    /// Whether two leaves cannot both be written.
    fn clash(a: &(FieldPath, Value), b: &(FieldPath, Value)) -> bool {
        if a.0 == b.0 {
            return a.1 != b.1;
        }
        concerns(a, &b.0) && concerns(b, &a.0)
    }

    fn value(random: &mut Random, depth: usize) -> Value {
        match random.below(if depth == 0 { 4 } else { 7 }) {
            0 => json!({}),
            1 => json!([]),
            2 => Value::NULL,
            3 => [json!(0), json!(1)][random.below(2)].clone(),
            4 => {
                let items = (0..random.below(3)).map(|_| map(random, depth - 1));
                items.collect()
            }
            _ => map(random, depth - 1),
        }
    }

    fn map(random: &mut Random, depth: usize) -> Value {
        let mut map = Map::default();
        for name in ["a", "b", "name"] {
            if random.below(2) == 0 {
                map = map.with(Key::new(name), value(random, depth));
            }
        }
        map.into()
    }

    #[test]
    fn what_is_left_clashes_with_no_earlier_writer() {
        let keys = MergeKeys::default().with(vec!["a".to_owned()], vec!["name".to_owned()]);
        seeded::check(3_000, |random| {
            let mut contest = Contest::new(&keys);
            let mut taken: Vec<(usize, Vec<(FieldPath, Value)>)> = Vec::new();
            for writer in 0..3 {
                let whole = map(random, 3);
                let mut patch = whole.clone();
                let lost = contest.enter(&mut patch, writer, false);
                let own = leaves(&patch, &keys);
                let others = || {
                    taken
                        .iter()
                        .flat_map(|(by, all)| all.iter().map(move |l| (by, l)))
                };
                for leaf in &own {
                    assert!(!others().any(|(_, other)| clash(other, leaf)), "{whole}");
                }
                // The first round finds the first writer of each leaf.
                let first = leaves(&whole, &keys).into_iter().filter_map(|leaf| {
                    let (by, _) = others().find(|(_, other)| clash(other, &leaf))?;
                    Some((leaf.0, *by))
                });
                let mut known = BTreeSet::new();
                let first = first.filter(|(place, _)| known.insert(place.clone()));
                let first: Vec<_> = first.collect();
                assert_eq!(lost.get(..first.len()), Some(&first[..]), "{whole}");
                taken.push((writer, own));
            }
        });
    }

    #[test]
    fn many_fields_are_compared_in_seconds() {
        let keys = MergeKeys::default();
        let map = |value: i64| {
            let fields = (0..50_000).map(|n| (Key::new(&format!("f{n}")), Value::from(value)));
            Value::from(fields.collect::<Map>())
        };
        let start = Instant::now();
        let mut contest = Contest::new(&keys);
        contest.enter(&mut map(1), 1, false);
        let (mut same, mut other) = (map(1), map(2));
        assert_eq!(contest.enter(&mut same, 2, false), []);
        assert_eq!(contest.enter(&mut other, 3, false).len(), 50_000);
        assert_eq!(other, json!({}));
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
