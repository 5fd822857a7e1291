//! Pruning, on the way of every event: one walk that drops the fields that nobody reads
//! and shares what is as it was before.

use document::{Excess, FromJsonError, Key, ListRef, Map, Part, PartSeed, Value, View};
use serde::de::{DeserializeSeed, Deserializer};
use smallvec::SmallVec;

/// Reads documents from JSON without the fields that nobody reads: what is not kept is
/// never made. Made by [`Fields::reader`](super::Fields::reader).
#[derive(Debug)]
pub struct Reader(Keep);

impl Reader {
    pub(super) fn new(keep: Keep) -> Self {
        Self(keep)
    }

    /// The kept part of a JSON text, which must be UTF-8.
    pub fn read(&self, json: &[u8]) -> Result<Value, FromJsonError> {
        let mut json = serde_json::Deserializer::from_slice(json);
        let value = self.deserialize(&mut json)?;
        json.end()?;
        Ok(value)
    }

    /// Reads a document to its end, whatever is in it; see [`PartSeed::noting`].
    pub fn noting<'de, D: Deserializer<'de>>(
        &self,
        deserializer: D,
        excess: &Excess,
    ) -> Result<Value, D::Error> {
        let document = PartSeed::noting(&self.0, excess).deserialize(deserializer)?;
        // What is read here is kept.
        Ok(document.packed())
    }
}

impl<'de> DeserializeSeed<'de> for &Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let document = PartSeed::new(&self.0).deserialize(deserializer)?;
        // What is read here is kept.
        Ok(document.packed())
    }
}

impl Part for &Keep {
    fn member(self, name: &str) -> Option<(Key, Self)> {
        let Keep::Part { names, each } = self else {
            return Some((Key::new(name), self));
        };
        if let Some((key, keep)) = names.iter().find(|(key, _)| key.as_str() == name) {
            return Some((key.clone(), keep));
        }
        Some((Key::new(name), each.as_deref()?))
    }

    fn element(self) -> Option<Self> {
        match self {
            Keep::All => Some(self),
            Keep::Part { each, .. } => each.as_deref(),
        }
    }
}

/// [`super::Fields`], compiled.
#[derive(Debug)]
pub(crate) enum Keep {
    /// Everything from here on.
    All,
    /// Some members of a map, or a part of every element.
    Part {
        /// Members by name, in order; what `each` keeps of them is included.
        names: Box<[(Key, Keep)]>,
        /// Of every element of a list, and every other value of a map.
        each: Option<Box<Keep>>,
    },
}

impl Keep {
    /// Whether nothing has to be left out of a document.
    pub(crate) fn keeps_all_of(&self, value: &Value) -> bool {
        let Self::Part { names, each } = self else {
            return true;
        };
        match value.view() {
            View::Map(map) => {
                let mut names = names.iter();
                // Both are in order.
                map.iter().all(|(key, value)| {
                    let named = match each {
                        None => names.by_ref().find(|(name, _)| name == key),
                        Some(_) => names.clone().find(|(name, _)| name == key),
                    };
                    let keep = named.map(|(_, keep)| keep).or(each.as_deref());
                    keep.is_some_and(|keep| keep.keeps_all_of(value))
                })
            }
            View::List(items) => match each {
                Some(each) => items.iter().all(|item| each.keeps_all_of(item)),
                None => items.is_empty(),
            },
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => true,
        }
    }

    /// The kept part of a document.
    pub(crate) fn first(&self, value: &Value) -> Value {
        if self.keeps_all_of(value) {
            return value.clone();
        }
        self.prune(value, &Value::NULL)
    }

    /// The kept part of the next version of a document; `None` if it is as it was.
    pub(crate) fn next(&self, value: &Value, old: &Value) -> Option<Value> {
        if self.keeps_all_of(value) {
            return (value != old).then(|| value.clone());
        }
        let pruned = self.prune(value, old);
        (!pruned.same(old)).then_some(pruned)
    }

    /// As [`Keep::prune`], of a part of a document: mostly it is what it was, to be seen
    /// at a glance where nothing has to be left out.
    fn share(&self, value: &Value, old: &Value) -> Value {
        if value == old {
            return old.clone();
        }
        match self {
            Self::All => value.clone(),
            Self::Part { .. } => self.prune(value, old),
        }
    }

    /// The kept part of a document. Parts that are equal to those of `old`, an earlier
    /// pruned version, are taken from there: they need no memory of their own, and are
    /// compared by pointer from then on. Nothing changed if the result is `old` itself.
    pub(crate) fn prune(&self, value: &Value, old: &Value) -> Value {
        let Self::Part { names, each } = self else {
            return self.share(value, old);
        };
        match value.view() {
            View::Map(map) => match each {
                None => prune_names(names, map, old),
                Some(each) => prune_all(names, each, map, old),
            },
            View::List(items) => match each {
                Some(each) => prune_list(each, items, old),
                // Only names are read here, and a list has none.
                None if old.as_list().is_some_and(ListRef::is_empty) => old.clone(),
                None => Value::list([]),
            },
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => Self::All.share(value, old),
        }
    }
}

fn prune_names(names: &[(Key, Keep)], map: &Map, old: &Value) -> Value {
    let mut entries: SmallVec<[(&Key, Value); 8]> = SmallVec::new();
    // All three are in order, and mostly have the same keys.
    let mut values = Cursor::new(Some(map));
    let mut before = Cursor::new(old.as_map());
    for (name, keep) in names {
        if let Some(value) = values.find(name) {
            let old = before.find(name).unwrap_or(&Value::NULL);
            entries.push((name, keep.share(value, old)));
        }
    }
    finish(entries, old)
}

/// A place in a map that is looked up in order.
struct Cursor<'a> {
    entries: &'a [(Key, Value)],
    next: usize,
}

impl<'a> Cursor<'a> {
    fn new(map: Option<&'a Map>) -> Self {
        Self {
            entries: map.map_or(&[], Map::entries),
            next: 0,
        }
    }

    /// The value under a key that sorts after all that were looked up before.
    fn find(&mut self, key: &Key) -> Option<&'a Value> {
        let rest = &self.entries[self.next..];
        if let [(first, value), ..] = rest
            && first == key
        {
            self.next += 1;
            return Some(value);
        }
        let at = if rest.len() <= SCAN {
            rest.iter().position(|(other, _)| other == key)
        } else {
            rest.binary_search_by(|(other, _)| other.cmp(key)).ok()
        }?;
        self.next += at + 1;
        Some(&rest[at].1)
    }
}

/// Up to this many entries a scan beats a binary search.
const SCAN: usize = 24;

fn prune_all(names: &[(Key, Keep)], each: &Keep, map: &Map, old: &Value) -> Value {
    let mut entries: SmallVec<[(&Key, Value); 8]> = SmallVec::new();
    for (key, value) in map {
        let named = names.iter().find(|(name, _)| name == key);
        let keep = named.map_or(each, |(_, keep)| keep);
        entries.push((key, keep.share(value, old.get_key(key))));
    }
    finish(entries, old)
}

/// A map of these entries, which are in order; the old one if it is the same.
fn finish(entries: SmallVec<[(&Key, Value); 8]>, old: &Value) -> Value {
    if let Some(before) = old.as_map()
        && before.len() == entries.len()
        && before
            .iter()
            .zip(&entries)
            .all(|((key, value), (name, kept))| key == *name && value.same(kept))
    {
        return old.clone();
    }
    let entries = entries.into_iter();
    Map::from_sorted_iter(entries.map(|(key, value)| (key.clone(), value))).into()
}

fn prune_list(each: &Keep, items: ListRef<'_>, old: &Value) -> Value {
    let kept: SmallVec<[Value; 16]> = items
        .iter()
        .enumerate()
        .map(|(index, item)| each.share(item, old.at(index)))
        .collect();
    if let Some(before) = old.as_list()
        && before.len() == kept.len()
        && before.iter().zip(&kept).all(|(a, b)| a.same(b))
    {
        return old.clone();
    }
    Value::list(kept)
}
