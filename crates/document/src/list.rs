//! Lists. Most are one slice. A long list that changes often is a sequence of chunks, and a new
//! version copies only the chunk that changes:
//!
//! ```text
//! version 1    [a b c] [d e f] [g h i]
//! version 2    shared  [d X f] shared
//! ```

use std::sync::OnceLock;

use crate::measure::Measure;
use crate::slice::{LONGEST, SharedSlice};
use crate::value::Value;

/// A borrowed list of either form. Both behave the same.
#[derive(Clone, Copy, Debug)]
pub enum ListRef<'a> {
    /// All elements in one slice.
    Flat(&'a [Value]),
    /// Elements in chunks.
    Chunked(&'a Chunks),
}

/// A list in chunks. A new version copies the chunk that changes and shares the others.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    /// Each chunk with the number of elements up to its end. No chunk is empty.
    chunks: Vec<(usize, Chunk)>,
    /// How large the list is; computed on first use.
    measure: OnceLock<Measure>,
}

/// A shared chunk of a [`Chunks`].
pub type Chunk = SharedSlice<Value>;

impl Chunks {
    /// A list of these chunks in order. Empty chunks are skipped.
    pub fn new(chunks: impl IntoIterator<Item = Chunk>) -> Self {
        let mut end = 0;
        let chunks = chunks
            .into_iter()
            .filter(|chunk| !chunk.is_empty())
            .map(|chunk| {
                end += chunk.len();
                (end, chunk)
            })
            .collect();
        Self {
            chunks,
            measure: OnceLock::new(),
        }
    }

    /// A list that is longer than a slice can be.
    pub(crate) fn of_long(mut items: impl ExactSizeIterator<Item = Value>) -> Self {
        let len = items.len();
        assert!(u32::try_from(len).is_ok(), "{len} elements are too many");
        let mut chunks = Vec::new();
        while items.len() > 0 {
            let chunk: Vec<Value> = items.by_ref().take(LONGEST).collect();
            chunks.push(Self::chunk(chunk.into_iter()));
        }
        Self::new(chunks)
    }

    /// A chunk of these elements.
    pub fn chunk(items: impl ExactSizeIterator<Item = Value>) -> Chunk {
        SharedSlice::new(items)
    }

    /// The chunk with the element at `place` replaced. If the measure of the old chunk is
    /// known, the new one follows from it.
    pub fn with_element(chunk: &Chunk, place: usize, value: &Value) -> Chunk {
        let changed = Self::chunk((0..chunk.len()).map(|at| {
            let element = if at == place { value } else { &chunk[at] };
            element.clone()
        }));
        if let Some(known) = chunk.known_measure()
            && let Some(old) = chunk.get(place)
            && let Some(measure) = known.replaced(old.measure(), value.measure())
        {
            changed.note_known(measure);
        }
        changed
    }

    /// How large the list is when it is written out.
    pub(crate) fn measure(&self) -> Measure {
        let chunks = self.chunks.iter();
        *self
            .measure
            .get_or_init(|| Measure::joined(chunks.map(|(_, chunk)| chunk.measure())))
    }

    /// Drops this list as a part of a value that is being dropped.
    pub(crate) fn dismantle(self, depth: usize, later: &mut Vec<Value>) {
        for (_, chunk) in self.chunks {
            chunk.dismantle(depth, later);
        }
    }

    fn len(&self) -> usize {
        self.chunks.last().map_or(0, |(end, _)| *end)
    }

    fn get(&self, index: usize) -> Option<&Value> {
        let at = self.chunks.partition_point(|(end, _)| *end <= index);
        let (end, chunk) = self.chunks.get(at)?;
        chunk.get(index + chunk.len() - end)
    }
}

impl<'a> ListRef<'a> {
    /// How many elements there are.
    pub fn len(self) -> usize {
        match self {
            Self::Flat(items) => items.len(),
            Self::Chunked(chunks) => chunks.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The element at `index`.
    pub fn get(self, index: usize) -> Option<&'a Value> {
        match self {
            Self::Flat(items) => items.get(index),
            Self::Chunked(chunks) => chunks.get(index),
        }
    }

    /// The elements in order.
    pub fn iter(self) -> Iter<'a> {
        match self {
            Self::Flat(items) => Iter {
                items: items.iter(),
                rest: [].iter(),
                left: items.len(),
            },
            Self::Chunked(chunks) => Iter {
                items: [].iter(),
                rest: chunks.chunks.iter(),
                left: chunks.len(),
            },
        }
    }

    /// A vector of the elements, which can be changed.
    pub fn to_vec(self) -> Vec<Value> {
        self.iter().cloned().collect()
    }

    /// Equality that skips shared chunks. Comparing two versions of a long list takes time in
    /// proportion to the number of chunks.
    pub(crate) fn equals(self, other: Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        if let (Self::Chunked(a), Self::Chunked(b)) = (self, other)
            && a.chunks.len() == b.chunks.len()
            && a.chunks.iter().zip(&b.chunks).all(|(x, y)| x.0 == y.0)
        {
            return a.chunks.iter().zip(&b.chunks).all(|(x, y)| x.1 == y.1);
        }
        self.iter().eq(other.iter())
    }
}

impl<'a> IntoIterator for ListRef<'a> {
    type Item = &'a Value;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The elements of a list, in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    items: std::slice::Iter<'a, Value>,
    rest: std::slice::Iter<'a, (usize, Chunk)>,
    left: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        loop {
            if let Some(item) = self.items.next() {
                self.left -= 1;
                return Some(item);
            }
            self.items = self.rest.next()?.1.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunked(parts: &[&[i64]]) -> Value {
        Value::chunked(Chunks::new(
            parts
                .iter()
                .map(|part| Chunks::chunk(part.iter().map(|i| Value::from(*i)))),
        ))
    }

    #[test]
    fn a_chunked_list_is_equal_to_a_flat_one() {
        let flat: Value = (0..5_i64).map(Value::from).collect();
        let parts = chunked(&[&[0, 1], &[], &[2], &[3, 4]]);
        assert_eq!(parts, flat);
        assert_eq!(parts, chunked(&[&[0, 1, 2], &[3, 4]]));
        assert_ne!(parts, chunked(&[&[0, 1, 2], &[3, 5]]));
        assert_eq!(parts.to_string(), "[0,1,2,3,4]");
        let hash =
            |v: &Value| std::hash::BuildHasher::hash_one(&foldhash::fast::FixedState::default(), v);
        assert_eq!(hash(&parts), hash(&flat));
    }

    #[test]
    fn elements_of_a_chunked_list_are_found_by_index() {
        let parts = chunked(&[&[0, 1], &[2], &[3, 4]]);
        let found: Vec<_> = (0..6).map(|i| parts.at(i).as_int()).collect();
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3), Some(4), None]);
    }

    #[test]
    #[should_panic(expected = "too many")]
    fn a_length_that_no_memory_holds_is_refused_before_anything_is_allocated() {
        let _ = Value::list((0..usize::MAX).map(Value::from));
    }
}
