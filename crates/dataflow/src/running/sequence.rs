//! The members of a group in origin order, as a list of shared chunks.
//!
//! The document of a group contains the list of its members. A plain list would have to be
//! copied for every change, even if one of 40,000 members changes. Here a change copies one
//! chunk, and the new list shares all others with the old one:
//!
//! ```text
//! old list   [a b c] [d e f] [g h]
//!               │       ✕      │       e becomes E
//! new list   [a b c] [d E f] [g h]
//! ```
//!
//! A chunk with more than [`MAX`] members is split. One with less than [`MIN`] is joined with
//! its right neighbour if both fit into one.

use document::{Chunk, Chunks, Value};

use crate::origin::Origin;

/// The most members of a chunk.
const MAX: usize = 128;
/// A chunk with fewer members is joined with its right neighbour, if that has room.
const MIN: usize = MAX / 4;

/// Members in origin order.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// The chunks in order, none of them empty.
    chunks: Vec<MemberChunk>,
}

#[derive(Debug)]
struct MemberChunk {
    /// The origins of the values, sorted.
    origins: Vec<Origin>,
    values: Chunk,
}

/// An edit of a member: its new value, or `None` to remove it.
pub(crate) type Edit = (Origin, Option<Value>);

impl Sequence {
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The first member.
    pub(crate) fn first(&self) -> Option<&Origin> {
        self.chunks.first()?.origins.first()
    }

    /// The values in order, as a list.
    pub(crate) fn to_list(&self) -> Value {
        match self.chunks.as_slice() {
            [] => Value::list([]),
            [chunk] => chunk.values.clone().into(),
            parts => Value::chunked(Chunks::new(parts.iter().map(|chunk| chunk.values.clone()))),
        }
    }

    /// Applies edits that are sorted by origin, each origin once.
    pub(crate) fn apply(&mut self, edits: Vec<Edit>) {
        if let [(origin, Some(value))] = edits.as_slice()
            && self.replace(origin, value)
        {
            return;
        }
        let mut edits = edits.into_iter().peekable();
        let mut at = 0;
        while edits.peek().is_some() {
            // The chunk of the next edit is the last one that does not begin after it.
            let next = edits.peek().map(|(origin, _)| origin.clone());
            let Some(next) = next else { break };
            at += self.chunks[at.min(self.chunks.len())..]
                .partition_point(|chunk| chunk.origins.first().is_some_and(|first| *first <= next))
                .saturating_sub(1);
            let end = self
                .chunks
                .get(at + 1)
                .and_then(|chunk| chunk.origins.first().cloned());
            let mut mine = Vec::new();
            while let Some(edit) =
                edits.next_if(|(origin, _)| end.as_ref().is_none_or(|end| origin < end))
            {
                mine.push(edit);
            }
            at = self.rebuild(at, mine);
        }
    }

    /// Replaces the value of a present member, which is the common case. Returns whether the
    /// member is present.
    fn replace(&mut self, origin: &Origin, value: &Value) -> bool {
        let at = self
            .chunks
            .partition_point(|chunk| chunk.origins.first().is_some_and(|first| first <= origin));
        let Some(chunk) = at.checked_sub(1).and_then(|at| self.chunks.get_mut(at)) else {
            return false;
        };
        let Ok(place) = chunk.origins.binary_search(origin) else {
            return false;
        };
        chunk.values = Chunks::with_element(&chunk.values, place, value);
        true
    }

    /// Applies edits to one chunk and splits or joins it. Returns the position of the last chunk
    /// that came out of it.
    fn rebuild(&mut self, at: usize, edits: Vec<Edit>) -> usize {
        let old = if at < self.chunks.len() {
            self.chunks.remove(at)
        } else {
            MemberChunk {
                origins: Vec::new(),
                values: Chunks::chunk([].into_iter()),
            }
        };
        let mut members = merge(&old, edits);
        if members.len() < MIN
            && at < self.chunks.len()
            && self.chunks[at].origins.len() + members.len() <= MAX
        {
            let next = self.chunks.remove(at);
            members.extend(next.origins.into_iter().zip(next.values.iter().cloned()));
        }
        let pieces = members
            .len()
            .div_ceil(MAX)
            .max(usize::from(!members.is_empty()));
        if pieces == 0 {
            return at.saturating_sub(1);
        }
        let size = members.len().div_ceil(pieces);
        let mut members = members.into_iter();
        let parts: Vec<MemberChunk> = (0..pieces)
            .map(|_| {
                let (origins, values): (Vec<_>, Vec<_>) = members.by_ref().take(size).unzip();
                MemberChunk {
                    origins,
                    values: Chunks::chunk(values.into_iter()),
                }
            })
            .filter(|chunk| !chunk.origins.is_empty())
            .collect();
        let last = at + parts.len().saturating_sub(1);
        self.chunks.splice(at..at, parts);
        last
    }
}

/// The members of a chunk after edits; both are sorted.
fn merge(chunk: &MemberChunk, edits: Vec<Edit>) -> Vec<(Origin, Value)> {
    let mut members = Vec::with_capacity(chunk.origins.len() + edits.len());
    let mut old = chunk.origins.iter().zip(chunk.values.iter()).peekable();
    for (origin, value) in edits {
        while let Some((before, kept)) = old.next_if(|(before, _)| **before < origin) {
            members.push((before.clone(), kept.clone()));
        }
        old.next_if(|(same, _)| **same == origin);
        if let Some(value) = value {
            members.push((origin, value));
        }
    }
    members.extend(old.map(|(origin, value)| (origin.clone(), value.clone())));
    members
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use seeded::Random;

    use super::*;
    use object::ObjectName;

    fn origin(i: u64) -> Origin {
        Origin::object(0, ObjectName::new("", &format!("{i:05}")))
    }

    #[test]
    fn a_sequence_is_a_sorted_map() {
        let seed = 7;
        let mut random = Random::new(seed);
        let mut next = |below| random.range(0..below);
        let mut sequence = Sequence::default();
        let mut model: BTreeMap<Origin, Value> = BTreeMap::new();
        for round in 0..400 {
            let mut edits = BTreeMap::new();
            let size = if round % 10 == 0 { 600 } else { 3 };
            let deletes = round > 200;
            for _ in 0..=next(size) {
                let value = (next(3) != 0 && !(deletes && next(4) != 0))
                    .then(|| Value::from(next(1000).cast_signed()));
                edits.insert(origin(next(3000)), value);
            }
            for (origin, value) in &edits {
                match value {
                    Some(value) => model.insert(origin.clone(), value.clone()),
                    None => model.remove(origin),
                };
            }
            sequence.apply(edits.into_iter().collect());
            let expect: Value = model.values().cloned().collect();
            assert_eq!(sequence.to_list(), expect, "seed {seed}, round {round}");
            assert_eq!(sequence.first(), model.keys().next());
            assert!(
                sequence
                    .chunks
                    .iter()
                    .all(|chunk| !chunk.origins.is_empty() && chunk.origins.len() <= MAX)
            );
        }
        sequence.apply(model.into_keys().map(|origin| (origin, None)).collect());
        assert!(sequence.is_empty());
    }
}
