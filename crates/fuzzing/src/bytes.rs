//! Turns the bytes of a fuzzer into choices.

use document::{Key, Map, Value};
use expr::Functions;

/// Reads choices from bytes; zeros after their end.
#[derive(Debug)]
pub struct Bytes<'a>(&'a [u8]);

/// A few names, so that paths find fields and keys collide.
const NAMES: [&str; 8] = [
    "a",
    "b",
    "metadata",
    "name",
    "namespace",
    "spec",
    "labels",
    "",
];
/// A few texts, some of them with a special meaning.
const TEXTS: [&str; 10] = [
    "a",
    "b",
    "1",
    "2.5",
    "",
    "true",
    "$.a",
    "@now",
    "$$.b",
    "long text beyond the inline size",
];

impl<'a> Bytes<'a> {
    /// Reads from these bytes.
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    /// A number below `n`, which must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    /// Whether all bytes are used.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// A short name.
    pub fn name(&mut self) -> &'static str {
        NAMES[self.below(NAMES.len())]
    }

    /// A value with at most this depth.
    pub fn value(&mut self, depth: usize) -> Value {
        let kinds = if depth == 0 { 6 } else { 9 };
        match self.below(kinds) {
            0 => Value::NULL,
            1 => Value::from(self.byte().is_multiple_of(2)),
            2 => Value::from(i64::from(self.byte()) - 100),
            3 => Value::number(f64::from(self.byte()) / 4.0).unwrap_or_default(),
            4 | 5 => Value::from(TEXTS[self.below(TEXTS.len())]),
            6 | 7 => self.map(|bytes| bytes.value(depth - 1)),
            _ => self.list(|bytes| bytes.value(depth - 1)),
        }
    }

    /// An expression with at most this depth.
    pub fn expression(&mut self, depth: usize) -> Value {
        if depth == 0 {
            return self.value(0);
        }
        match self.below(6) {
            0 => self.value(1),
            1 => Value::from(format!("$.{}", self.name())),
            2 => self.map(|bytes| bytes.expression(depth - 1)),
            3 => self.list(|bytes| bytes.expression(depth - 1)),
            _ => {
                let functions = Functions::builtin();
                let at = self.below(functions.functions().count());
                let name = functions
                    .functions()
                    .nth(at)
                    .map_or("@eq", |function| function.name);
                let argument = if self.byte().is_multiple_of(3) {
                    self.expression(depth - 1)
                } else {
                    self.list(|bytes| bytes.expression(depth - 1))
                };
                Map::from_entries(vec![(Key::new(name), argument)]).into()
            }
        }
    }

    fn map(&mut self, mut item: impl FnMut(&mut Self) -> Value) -> Value {
        let length = self.below(4);
        let entries = (0..length).map(|_| {
            let name = self.name();
            (Key::new(name), item(self))
        });
        entries.collect::<Map>().into()
    }

    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Value) -> Value {
        let length = self.below(4);
        (0..length).map(|_| item(self)).collect()
    }
}
