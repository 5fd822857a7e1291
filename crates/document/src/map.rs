//! Maps: a sorted slice of entries in one shared allocation.

use crate::key::Key;
use crate::measure::Measure;
use crate::slice::{Element, SharedSlice};
use crate::value::Value;

/// An immutable map from [`Key`] to [`Value`], in key order. Two maps with the same entries
/// are equal, no matter how they were built.
#[derive(Clone)]
pub struct Map(SharedSlice<(Key, Value)>);

/// Up to this many entries, comparing all interned keys is faster than a binary search.
const SCAN: usize = 24;

impl Map {
    /// A map from entries that are sorted by key, each key once.
    pub fn from_sorted(entries: Vec<(Key, Value)>) -> Self {
        debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        Self(SharedSlice::new(entries.into_iter()))
    }

    /// Like [`Map::from_sorted`], from an iterator that knows its length.
    pub fn from_sorted_iter(entries: impl ExactSizeIterator<Item = (Key, Value)>) -> Self {
        Self(SharedSlice::new(entries))
    }

    /// A map from entries in any order. If a key occurs several times, the last value wins.
    pub fn from_entries(mut entries: Vec<(Key, Value)>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            // `dedup_by` keeps the first of equal entries: move the last value there.
            entries.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(&mut later.1, &mut earlier.1);
                }
                same
            });
        }
        Self::from_sorted(entries)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, in key order.
    pub fn entries(&self) -> &[(Key, Value)] {
        &self.0
    }

    /// The entries, in key order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Key, Value)> {
        self.0.iter()
    }

    /// The values, in key order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// The value under a key.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        let entries = self.entries();
        if entries.len() <= SCAN {
            return entries.iter().find(|(k, _)| k == key).map(|(_, v)| v);
        }
        self.position(key.as_str()).ok().map(|i| &entries[i].1)
    }

    /// The value under the key of this text.
    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.position(key).ok().map(|i| &self.entries()[i].1)
    }

    /// This map with the entry `key` added or replaced.
    #[must_use]
    pub fn with(&self, key: Key, value: Value) -> Self {
        let mut entries = Vec::with_capacity(self.len() + 1);
        match self.position(key.as_str()) {
            Ok(at) => {
                entries.extend_from_slice(self.entries());
                entries[at].1 = value;
            }
            Err(at) => {
                entries.extend_from_slice(&self.entries()[..at]);
                entries.push((key, value));
                entries.extend_from_slice(&self.entries()[at..]);
            }
        }
        Self::from_sorted(entries)
    }

    /// This map with new values under existing keys. Keys that it does not have are ignored.
    #[must_use]
    pub fn replace(&self, replacements: &[(&Key, &Value)]) -> Self {
        let entries = self.entries().iter().map(|(key, value)| {
            let new = replacements.iter().find(|(other, _)| *other == key);
            (key.clone(), new.map_or(value, |(_, value)| value).clone())
        });
        Self::from_sorted_iter(entries)
    }

    /// This map without the entry under `key`.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        match self.position(key) {
            Ok(at) => {
                let mut entries = self.entries().to_vec();
                entries.remove(at);
                Self::from_sorted(entries)
            }
            Err(_) => self.clone(),
        }
    }

    /// Whether this map is in a block.
    pub(crate) fn is_in_block(&self) -> bool {
        self.0.is_in_block()
    }

    /// How large this map is when it is written out.
    #[inline]
    pub(crate) fn measure(&self) -> Measure {
        self.0.measure()
    }

    /// Stores the known measure.
    pub(crate) fn note_known(&self, measure: Measure) {
        self.0.note_known(measure);
    }

    /// Drops this map as a part of a value that is being dropped.
    #[inline]
    pub(crate) fn dismantle(self, depth: usize, later: &mut Vec<Value>) {
        self.0.dismantle(depth, later);
    }

    /// Whether this map is in a block as a part of a larger document.
    pub(crate) fn is_inner(&self) -> bool {
        self.0.is_inner()
    }

    /// Whether both are the same allocation.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0)
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.entries()
            .binary_search_by(|(k, _)| k.as_str().cmp(key))
    }
}

impl Element for (Key, Value) {
    const MEASURED: bool = true;

    #[inline]
    fn measure(&self) -> Measure {
        self.1.measure().under(&self.0)
    }

    #[expect(
        clippy::inline_always,
        reason = "it runs for every entry that is dropped; a call of its own costs 0.9 % more instructions to build and drop documents"
    )]
    #[inline(always)]
    fn dismantle(self, depth: usize, later: &mut Vec<Value>) {
        drop(self.0);
        self.1.dismantle(depth, later);
    }
}

/// The entries must be sorted by key, each key once.
/// The empty map.
impl Default for Map {
    fn default() -> Self {
        Self::from_sorted(Vec::new())
    }
}

impl From<SharedSlice<(Key, Value)>> for Map {
    fn from(entries: SharedSlice<(Key, Value)>) -> Self {
        Self(entries)
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a (Key, Value);
    type IntoIter = std::slice::Iter<'a, (Key, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<(Key, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Key, Value)>>(entries: I) -> Self {
        Self::from_entries(entries.into_iter().collect())
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(k, v)| (k, v)))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_wins() {
        let entry = |k: &str, v: i64| (Key::new(k), Value::from(v));
        let map = Map::from_entries(vec![
            entry("b", 1),
            entry("a", 2),
            entry("b", 3),
            entry("b", 4),
        ]);
        assert_eq!(Value::from(map).to_string(), r#"{"a":2,"b":4}"#);
    }

    #[test]
    fn with_and_without_leave_the_original_alone() {
        let map = Map::from_entries(vec![(Key::new("b"), Value::from(1))]);
        let more = map
            .with(Key::new("a"), Value::from(2))
            .with(Key::new("b"), Value::NULL);
        assert_eq!(Value::from(more.clone()).to_string(), r#"{"a":2,"b":null}"#);
        assert_eq!(Value::from(more.without("a")).to_string(), r#"{"b":null}"#);
        assert_eq!(Value::from(map).to_string(), r#"{"b":1}"#);
    }

    #[test]
    fn large_maps_are_found_by_search() {
        let map: Map = (0..1000)
            .map(|i| (Key::new(&format!("k{i}")), Value::from(i)))
            .collect();
        assert_eq!(map.get(&Key::new("k512")), Some(&Value::from(512)));
        assert_eq!(map.get_str("k1000"), None);
    }
}
