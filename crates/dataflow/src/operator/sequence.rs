//! The members of a group in origin order, as a list that shares its unchanged parts
//! with its earlier versions.

use document::{Chunk, Chunks, Value};

use crate::origin::Origin;

/// At most so many members in a chunk; a change copies one chunk.
const MAX: usize = 128;
/// Chunks smaller than this are joined with a neighbour.
const MIN: usize = MAX / 4;

/// Members in origin order.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// Never empty chunks, in order.
    chunks: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// Sorted; as many as values.
    origins: Vec<Origin>,
    values: Chunk,
}

/// What becomes of a member: another value, or none.
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
            [part] => part.values.clone().into(),
            parts => Value::chunked(Chunks::new(parts.iter().map(|part| part.values.clone()))),
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
            // The part that the next edit falls into: the last whose first member is not
            // behind it.
            let next = edits.peek().map(|(origin, _)| origin.clone());
            let Some(next) = next else { break };
            at += self.chunks[at.min(self.chunks.len())..]
                .partition_point(|part| part.origins.first().is_some_and(|first| *first <= next))
                .saturating_sub(1);
            let end = self
                .chunks
                .get(at + 1)
                .and_then(|part| part.origins.first().cloned());
            let mut mine = Vec::new();
            while let Some(edit) =
                edits.next_if(|(origin, _)| end.as_ref().is_none_or(|end| origin < end))
            {
                mine.push(edit);
            }
            at = self.rebuild(at, mine);
        }
    }

    /// Replaces the value of a member that is there: the common case.
    fn replace(&mut self, origin: &Origin, value: &Value) -> bool {
        let at = self
            .chunks
            .partition_point(|part| part.origins.first().is_some_and(|first| first <= origin));
        let Some(part) = at.checked_sub(1).and_then(|at| self.chunks.get_mut(at)) else {
            return false;
        };
        let Ok(place) = part.origins.binary_search(origin) else {
            return false;
        };
        part.values = Chunks::with_element(&part.values, place, value);
        true
    }

    /// Applies edits to one part and cuts it to size. Gives the part that ends it.
    fn rebuild(&mut self, at: usize, edits: Vec<Edit>) -> usize {
        let old = if at < self.chunks.len() {
            self.chunks.remove(at)
        } else {
            Part {
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
        let parts: Vec<Part> = (0..pieces)
            .map(|_| {
                let (origins, values): (Vec<_>, Vec<_>) = members.by_ref().take(size).unzip();
                Part {
                    origins,
                    values: Chunks::chunk(values.into_iter()),
                }
            })
            .filter(|part| !part.origins.is_empty())
            .collect();
        let last = at + parts.len().saturating_sub(1);
        self.chunks.splice(at..at, parts);
        last
    }
}

/// The members of a part after edits; both are sorted.
fn merge(part: &Part, edits: Vec<Edit>) -> Vec<(Origin, Value)> {
    let mut members = Vec::with_capacity(part.origins.len() + edits.len());
    let mut old = part.origins.iter().zip(part.values.iter()).peekable();
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
                    .all(|part| !part.origins.is_empty() && part.origins.len() <= MAX)
            );
        }
        sequence.apply(model.into_keys().map(|origin| (origin, None)).collect());
        assert!(sequence.is_empty());
    }
}
