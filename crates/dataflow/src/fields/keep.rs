//! Pruning, on the way of every event: one walk that drops the fields that nobody reads
//! and shares what is as it was before.

use document::{Key, ListRef, Map, Value, View};
use smallvec::SmallVec;

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
    /// The kept part of a document. Parts that are equal to those of `old`, an earlier
    /// pruned version, are taken from there: they need no memory of their own, and are
    /// compared by pointer from then on. Nothing changed if the result is `old` itself.
    pub(crate) fn prune(&self, value: &Value, old: &Value) -> Value {
        let Self::Part { names, each } = self else {
            return if value == old {
                old.clone()
            } else {
                value.clone()
            };
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
            | View::Bytes(_) => {
                if value == old {
                    old.clone()
                } else {
                    value.clone()
                }
            }
        }
    }
}

fn prune_names(names: &[(Key, Keep)], map: &Map, old: &Value) -> Value {
    let mut entries: SmallVec<[(&Key, Value); 8]> = SmallVec::new();
    for (name, keep) in names {
        if let Some(value) = map.get(name) {
            entries.push((name, keep.prune(value, old.get_key(name))));
        }
    }
    finish(entries, old)
}

fn prune_all(names: &[(Key, Keep)], each: &Keep, map: &Map, old: &Value) -> Value {
    let mut entries: SmallVec<[(&Key, Value); 8]> = SmallVec::new();
    for (key, value) in map {
        let named = names.iter().find(|(name, _)| name == key);
        let keep = named.map_or(each, |(_, keep)| keep);
        entries.push((key, keep.prune(value, old.get_key(key))));
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
        .map(|(index, item)| each.prune(item, old.at(index)))
        .collect();
    if let Some(before) = old.as_list()
        && before.len() == kept.len()
        && before.iter().zip(&kept).all(|(a, b)| a.same(b))
    {
        return old.clone();
    }
    Value::list(kept)
}
