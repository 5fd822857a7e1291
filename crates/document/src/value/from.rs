//! Conversions of plain Rust values.

use super::{Repr, SHORT, Value};
use crate::list::Chunk;
use crate::map::Map;
use crate::slice::SharedSlice;

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        if text.len() > SHORT {
            return Self(Repr::Long(SharedSlice::bytes(text.as_bytes())));
        }
        let mut bytes = [0; SHORT];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self(Repr::Short {
            len: text.len() as u8,
            bytes,
        })
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self(Repr::Bool(b))
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Self(Repr::Int(i))
    }
}

impl From<i32> for Value {
    fn from(i: i32) -> Self {
        Self(Repr::Int(i64::from(i)))
    }
}

impl From<u32> for Value {
    fn from(i: u32) -> Self {
        Self(Repr::Int(i64::from(i)))
    }
}

/// For lengths and positions, which memory keeps below `i64::MAX`.
impl From<usize> for Value {
    fn from(i: usize) -> Self {
        Self(Repr::Int(i64::try_from(i).unwrap_or(i64::MAX)))
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self(Repr::Map(map))
    }
}

/// A list of one chunk, which it shares.
impl From<Chunk> for Value {
    fn from(chunk: Chunk) -> Self {
        Self(Repr::List(chunk))
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::list(items)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::list(items.into_iter().collect::<Vec<_>>())
    }
}
