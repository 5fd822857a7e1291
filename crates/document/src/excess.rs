//! The size and depth of a document, found while it is read.

use std::cell::Cell;

use crate::json::MAX_DEPTH;
use crate::value::{Value, View};

/// How large a document is, and whether it is nested deeper than
/// [`MAX_DEPTH`](crate::MAX_DEPTH).
///
/// [`PartSeed::noting`](crate::PartSeed::noting) fills it in while it reads a document:
///
/// ```
/// use document::{Excess, PartSeed, Whole, json};
/// use serde::de::DeserializeSeed;
///
/// let text = format!(r#"{{"a": {}{}, "b": 1}}"#, "[".repeat(200), "]".repeat(200));
/// let excess = Excess::default();
/// let mut json = serde_json::Deserializer::from_str(&text);
/// let value = PartSeed::noting(Whole, &excess).deserialize(&mut json)?;
/// assert!(excess.is_deep());
/// assert_eq!(value.get("b"), &json!(1));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Excess {
    deep: Cell<bool>,
    size: Cell<usize>,
}

impl Excess {
    /// The excess of a document in memory. [`PartSeed::noting`](crate::PartSeed::noting) leaves
    /// lists and maps that are too deep empty; where one is, the document counts as too deep.
    pub fn of(value: &Value) -> Self {
        let excess = Self::default();
        excess.measure(value, 0);
        excess
    }

    fn measure(&self, value: &Value, depth: usize) {
        match value.view() {
            View::Null | View::Bool(_) | View::Int(_) | View::Float(_) => {}
            View::Str(text) => self.count(text.len()),
            View::Bytes(bytes) => self.count(bytes.len()),
            View::List(_) | View::Map(_) if depth >= MAX_DEPTH => self.too_deep(),
            View::List(items) => {
                self.count(items.len());
                items.iter().for_each(|item| self.measure(item, depth + 1));
            }
            View::Map(map) => {
                for (key, value) in map {
                    self.count(key.as_str().len() + 1);
                    self.measure(value, depth + 1);
                }
            }
        }
    }

    pub(crate) fn too_deep(&self) {
        self.deep.set(true);
    }

    pub(crate) fn count(&self, bytes: usize) {
        self.size.set(self.size.get().saturating_add(bytes));
    }

    /// Whether something is nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    pub fn is_deep(&self) -> bool {
        self.deep.get()
    }

    /// The bytes of all texts and keys, plus one for each element and member.
    pub fn size(&self) -> usize {
        self.size.get()
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeSeed;

    use super::*;
    use crate::{PartSeed, Whole};

    fn read(text: &str) -> (Value, Excess) {
        let excess = Excess::default();
        let mut json = serde_json::Deserializer::from_str(text);
        let value = PartSeed::noting(Whole, &excess).deserialize(&mut json);
        let value = value.unwrap();
        json.end().unwrap();
        (value, excess)
    }

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn what_is_nested_too_deep_is_left_out_and_the_rest_is_read() {
        for levels in [MAX_DEPTH, MAX_DEPTH + 1, 300, 100_000] {
            for deep in [
                nested(levels),
                nested(levels).replace("[]", r#"[{"a": [1, {}]}, 2]"#),
            ] {
                let text =
                    format!(r#"{{"a": {deep}, "b": [{deep}, "c"], "metadata": {{"name": "n"}}}}"#);
                let (value, excess) = read(&text);
                assert!(excess.is_deep(), "{levels}");
                assert_eq!(value.get("metadata").get("name").as_str(), Some("n"));
                assert_eq!(value.get("b").at(1).as_str(), Some("c"));
                assert!(Excess::of(&value).is_deep(), "{levels}");
            }
        }
    }

    #[test]
    fn what_fits_is_not_over() {
        let (value, excess) = read(&format!(r#"{{"a": {}}}"#, nested(MAX_DEPTH - 1)));
        assert!(!excess.is_deep());
        assert!(!Excess::of(&value).is_deep());
    }

    #[test]
    fn sizes_are_the_same_read_and_measured() {
        let (value, excess) = read(r#"{"key": ["text", 1, null, {}], "other": {"a": "b"}}"#);
        assert_eq!(excess.size(), 4 + 4 + 4 + 6 + 2 + 1);
        assert_eq!(Excess::of(&value).size(), excess.size());
    }
}
