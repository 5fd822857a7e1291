//! How large a value is when it is written out.
//!
//! Values share their parts, so a few bytes of memory can be a huge document:
//!
//! ```text
//! a = ["x", "x"]      2 texts
//! b = [a, a]          4
//! c = [b, b]          8
//! …                   after sixty lines 2^60, in sixty small lists
//! ```
//!
//! Code that reads a whole document (to compare, hash or print it) takes time in proportion to
//! the written form, so deltic bounds the size of that. Lists and maps store their measure. So
//! a new list or map is measured by looking at its elements, and not further down.

use crate::slice::{Element, SharedSlice};
use crate::value::Value;
use crate::{Key, MAX_DEPTH, Map};

/// How large a value is when it is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The bytes of compact JSON, not counting escapes in strings; at most `u32::MAX`. A shared
    /// part counts each time it is written.
    pub bytes: u32,
    /// How deep lists and maps are nested; 0 for a scalar.
    pub depth: u32,
}

impl Measure {
    pub(crate) const fn scalar(bytes: usize) -> Self {
        let bytes = if bytes < u32::MAX as usize {
            bytes as u32
        } else {
            u32::MAX
        };
        Self { bytes, depth: 0 }
    }

    /// The measure of a list or map with these elements.
    pub(crate) fn of_all<T: Element>(elements: &SharedSlice<T>) -> Self {
        Self::around(elements.iter().map(Element::measure))
    }

    /// The measure of a list or map whose elements have these measures.
    fn around(elements: impl Iterator<Item = Self>) -> Self {
        let mut sum = Sum::EMPTY;
        elements.for_each(|element| sum.add(element));
        sum.measure()
    }

    /// The measure of a list in several chunks, none of which is empty. They share one pair of
    /// brackets.
    pub(crate) fn joined(parts: impl Iterator<Item = Self>) -> Self {
        let inside = parts.map(|part| Self {
            // Without its brackets. `around` adds the commas between the chunks.
            bytes: part.bytes - 2,
            depth: part.depth - 1,
        });
        Self::around(inside)
    }

    /// The measure of this list with one element replaced; `None` if it depends on the other
    /// elements.
    pub(crate) fn replaced(self, old: Self, new: Self) -> Option<Self> {
        if self.bytes == u32::MAX || old.depth > new.depth {
            return None;
        }
        let rest = self.bytes.checked_sub(old.bytes)?;
        Some(Self {
            bytes: rest.saturating_add(new.bytes),
            depth: self.depth.max(new.depth + 1),
        })
    }

    /// The measure of this value as the member `key` of a map.
    #[inline]
    pub(crate) fn under(self, key: &Key) -> Self {
        let name = Self::scalar(key.as_str().len() + 3);
        Self {
            bytes: self.bytes.saturating_add(name.bytes),
            ..self
        }
    }

    /// The measure as a word. It is never 0, because every value has at least one byte.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.depth) << 32 | u64::from(self.bytes)
    }

    /// The inverse of [`Measure::to_bits`]; `None` for 0.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self {
            bytes: bits as u32,
            depth: (bits >> 32) as u32,
        })
    }
}

/// The sum over the elements of a list or map.
#[derive(Clone, Copy, Debug)]
struct Sum {
    bytes: u64,
    depth: u32,
}

impl Sum {
    /// The `[`. Each element adds the `,` or `]` after it.
    const EMPTY: Self = Self { bytes: 1, depth: 0 };

    #[inline]
    fn add(&mut self, element: Measure) {
        self.bytes += u64::from(element.bytes) + 1;
        self.depth = self.depth.max(element.depth);
    }

    fn measure(self) -> Measure {
        Measure {
            bytes: u32::try_from(self.bytes.max(2)).unwrap_or(u32::MAX),
            depth: self.depth.saturating_add(1),
        }
    }
}

/// How large a document may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How deep lists and maps may be nested.
    pub depth: u32,
    /// How many bytes it may have, written out; see [`Measure::bytes`].
    pub bytes: u32,
}

impl Bounds {
    /// The default limit of bytes.
    pub const BYTES: u32 = 8 << 20;

    /// The greatest limit of bytes that can be configured.
    pub const MOST_BYTES: u32 = 64 << 20;

    /// Checks that a value is within these bounds.
    pub fn admit(self, value: &Value) -> Result<(), OutOfBounds> {
        self.check(value.measure())
    }

    #[inline]
    fn check(self, Measure { bytes, depth }: Measure) -> Result<(), OutOfBounds> {
        if depth > self.depth {
            return Err(OutOfBounds::Depth(self.depth));
        }
        if bytes > self.bytes {
            return Err(OutOfBounds::Bytes(self.bytes));
        }
        Ok(())
    }
}

/// The size of a list or map while it is built. Each element is counted as it is added, so that
/// the code that builds it stops at the bounds, and not when memory runs out.
///
/// ```
/// use document::{Bounds, OutOfBounds, Tally, Value, json};
///
/// let mut tally = Tally::new(Bounds { bytes: 10, ..Bounds::default() });
/// let items = [json!("abc"), json!(1)];
/// for item in &items {
///     tally.element(item)?;
/// }
/// assert_eq!(tally.list(items)?.to_string(), r#"["abc",1]"#);
/// assert_eq!(tally.element(&json!(22)), Err(OutOfBounds::Bytes(10)));
/// # Ok::<(), OutOfBounds>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    bounds: Bounds,
    sum: Sum,
}

impl Tally {
    /// The tally of an empty list or map.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            sum: Sum::EMPTY,
        }
    }

    /// Counts an element of a list. The depth is only checked by [`Tally::finish`].
    #[inline]
    pub fn element(&mut self, value: &Value) -> Result<(), OutOfBounds> {
        self.add(value.measure())
    }

    /// Counts a member of a map.
    #[inline]
    pub fn member(&mut self, key: &Key, value: &Value) -> Result<(), OutOfBounds> {
        self.add(value.measure().under(key))
    }

    #[inline]
    fn add(&mut self, element: Measure) -> Result<(), OutOfBounds> {
        self.sum.add(element);
        if self.sum.bytes > u64::from(self.bounds.bytes) {
            return self.finish().map(drop);
        }
        Ok(())
    }

    /// The measure of the list or map, if it is within bounds.
    #[inline]
    pub fn finish(self) -> Result<Measure, OutOfBounds> {
        let measure = self.sum.measure();
        self.bounds.check(measure).map(|()| measure)
    }

    /// The list of the counted elements.
    #[inline]
    pub fn list<I>(self, items: I) -> Result<Value, OutOfBounds>
    where
        I: IntoIterator<Item = Value>,
        I::IntoIter: ExactSizeIterator,
    {
        let measure = self.finish()?;
        Ok(Value::list(items).noted(measure))
    }

    /// The map of the counted members, which must be in key order, each key once.
    #[inline]
    pub fn map(
        self,
        entries: impl ExactSizeIterator<Item = (Key, Value)>,
    ) -> Result<Value, OutOfBounds> {
        let measure = self.finish()?;
        Ok(Value::from(Map::from_sorted_iter(entries)).noted(measure))
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            depth: MAX_DEPTH as u32,
            bytes: Self::BYTES,
        }
    }
}

/// A document that is larger than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfBounds {
    /// Nested too deep.
    #[error("the document is nested deeper than {0} levels")]
    Depth(u32),
    /// Too many bytes.
    #[error("the document has more than {0} bytes, written out")]
    Bytes(u32),
}

impl OutOfBounds {
    /// A name for this error that never changes.
    pub fn code(self) -> &'static str {
        match self {
            Self::Depth(_) => "too-deep",
            Self::Bytes(_) => "too-large",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chunks, json};

    fn check(value: &Value, depth: u32) {
        let expect = Measure {
            bytes: value.to_string().len() as u32,
            depth,
        };
        assert_eq!(value.measure(), expect, "{value}");
        assert_eq!(value.clone().packed().measure(), expect, "{value}, packed");
        assert_eq!(value.measure(), expect, "{value}, again");
    }

    #[test]
    fn a_value_is_as_large_as_its_json() {
        for scalar in [
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(-1),
            json!(10),
            json!(99),
            json!(9_223_372_036_854_775_807_i64),
            Value::from(i64::MIN),
            json!(2.5),
            json!(1e300),
            json!(-1e-7),
            json!(""),
            json!("short"),
            json!("é"),
            json!("a text that does not fit into the value"),
            Value::bytes(b"\xff"),
            Value::bytes(b"\xff\xfe\xfd\xfc"),
        ] {
            check(&scalar, 0);
            check(&json!([(scalar.clone())]), 1);
            check(&json!({"a": [1, (scalar.clone())], "key": {}}), 2);
        }
        check(&json!([]), 1);
        check(&json!({}), 1);
        check(&json!([[], [[]], {"a": {"b": {}}}]), 4);
    }

    #[test]
    fn a_list_in_chunks_is_as_large_as_one_in_a_piece() {
        let items: Vec<Value> = (0..50).map(|i| json!({"n": i, "l": []})).collect();
        let parts = items.chunks(7);
        let parts = parts.map(|part| Chunks::chunk(part.iter().cloned()));
        let chunked = Value::chunked(Chunks::new(parts));
        assert_eq!(chunked.measure(), Value::from(items).measure());
        check(&chunked, 3);
        check(&Value::chunked(Chunks::default()), 1);
    }

    #[test]
    fn a_chunk_with_another_element_is_as_large_as_a_new_one() {
        let elements = [
            json!(1),
            json!([2]),
            json!({"a": {"b": "text"}}),
            json!(null),
        ];
        let chunk = Chunks::chunk(elements.clone().into_iter());
        for measured in [false, true] {
            for place in 0..elements.len() {
                for element in &elements {
                    let changed = Chunks::with_element(&chunk, place, element);
                    let mut expect = elements.clone();
                    expect[place] = element.clone();
                    let expect = Value::list(expect);
                    assert_eq!(Value::from(changed.clone()), expect, "{measured}");
                    assert_eq!(Value::from(changed).measure(), expect.measure());
                }
            }
            assert_eq!(Value::from(chunk.clone()).measure().depth, 3);
        }
    }

    #[test]
    fn what_is_shared_counts_each_time() {
        let mut value = json!("x");
        for _ in 0..20 {
            value = json!([(value.clone()), (value)]);
        }
        assert_eq!(value.measure().depth, 20);
        // 2^20 texts, and a bracket and a comma for each list but the outermost.
        assert_eq!(value.measure().bytes, 3 * (1 << 20) + 3 * ((1 << 20) - 1));
        for _ in 0..100 {
            value = json!([(value.clone()), (value)]);
        }
        let expect = Measure {
            bytes: u32::MAX,
            depth: 120,
        };
        assert_eq!(value.measure(), expect);
    }

    #[test]
    fn a_part_whose_measure_does_not_fit_is_measured_again() {
        let text = Value::from("t".repeat(1 << 20));
        check(&json!({"a": [(text)], "b": {"c": 1}}), 2);
        let mut deep = json!(1);
        for _ in 0..300 {
            deep = json!([deep]);
        }
        check(&deep, 300);
    }

    #[test]
    fn what_is_tallied_is_as_large_as_what_is_built() {
        let mut tally = Tally::new(Bounds::default());
        let members = [("a", json!([1, [2]])), ("b", json!("text"))];
        let members = members.map(|(key, value)| (Key::new(key), value));
        for (key, value) in &members {
            tally.member(key, value).unwrap();
        }
        check(&tally.map(members.into_iter()).unwrap(), 3);
        check(&Tally::new(Bounds::default()).list([]).unwrap(), 1);
        let mut tally = Tally::new(Bounds { depth: 2, bytes: 9 });
        tally.element(&json!([[]])).unwrap();
        assert_eq!(tally.finish(), Err(OutOfBounds::Depth(2)));
        assert_eq!(tally.list([json!([[]])]), Err(OutOfBounds::Depth(2)));
    }

    #[test]
    fn bounds_admit_what_is_within_them() {
        let bounds = Bounds { depth: 2, bytes: 9 };
        assert_eq!(bounds.admit(&json!([[1], 22])), Ok(()));
        assert_eq!(bounds.admit(&json!("seven77")), Ok(()));
        assert_eq!(bounds.admit(&json!([[[]]])), Err(OutOfBounds::Depth(2)));
        let large = bounds.admit(&json!([[1], 2222]));
        assert_eq!(large, Err(OutOfBounds::Bytes(9)));
        assert_eq!(large.map_err(OutOfBounds::code), Err("too-large"));
    }

    #[test]
    fn a_deep_value_is_dropped_without_a_deep_stack() {
        let mut value = json!(1);
        for i in 0..200_000 {
            value = match i % 3 {
                0 => json!([1, (value), "a text that does not fit into the value"]),
                1 => json!({"a": (value)}),
                _ => Value::chunked(Chunks::new([Chunks::chunk([value].into_iter())])),
            };
        }
        // A part of it outlives the rest.
        let part = value.get("a").clone();
        drop(value);
        drop(part);
    }
}
