//! The value itself: a 16-byte immutable JSON value.
//!
//! A value is built from plain Rust values and read through [`View`]s, which code can match
//! on. Numbers are normalised when they come in: an integral number that fits an `i64` is an
//! int, even if it was written as `3.0`.

mod equal;
mod from;

use std::sync::LazyLock;

use triomphe::Arc;

use crate::key::Key;
use crate::list::{Chunks, ListRef};
use crate::map::Map;
use crate::measure::Measure;
use crate::number::Number;
use crate::slice::{Block, Element, LONGEST, SharedSlice, is_deep};

/// An immutable JSON value. Cloning increments at most one reference count.
#[derive(Clone)]
pub struct Value(Repr);

/// Strings of up to this many bytes are stored inside the value.
const SHORT: usize = 14;

#[derive(Clone)]
enum Repr {
    Null,
    Bool(bool),
    Int(i64),
    /// Fractional, or outside the range of `i64`; always finite.
    Float(f64),
    /// Invariant: `bytes[..len]` is UTF-8.
    Short {
        len: u8,
        bytes: [u8; SHORT],
    },
    /// Invariant: UTF-8, and longer than [`SHORT`].
    Long(SharedSlice<u8>),
    List(SharedSlice<Value>),
    Chunked(Arc<Chunks>),
    Map(Map),
    /// Bytes that are not text. They can only be copied, compared, hashed and printed.
    Bytes(SharedSlice<u8>),
}

const _: () = assert!(size_of::<Value>() == 16, "a value is two words");

/// A borrowed view of a [`Value`], to match on.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integral number that fits an `i64`.
    Int(i64),
    /// Any other finite number.
    Float(f64),
    /// Text.
    Str(&'a str),
    /// A list.
    List(ListRef<'a>),
    /// A map with string keys, in key order.
    Map(&'a Map),
    /// Opaque bytes, such as data of a Secret that is not UTF-8. They print as base64.
    Bytes(&'a [u8]),
}

/// Where the contents of a value are in memory.
pub(crate) enum Holder<'a> {
    /// In the two words of the value.
    Itself,
    /// In the slice of a text or of bytes.
    Text,
    /// In the slice of a list.
    List(&'a SharedSlice<Value>),
    /// In the slice of a map.
    Map(&'a Map),
    /// In the chunks of a long list.
    Chunks,
}

/// The type of a value, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// A boolean.
    Bool,
    /// An integer.
    Int,
    /// A number that is not an integer.
    Float,
    /// A string.
    Str,
    /// A list.
    List,
    /// A map.
    Map,
    /// Opaque bytes.
    Bytes,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Int => "an integer",
            Self::Float => "a float",
            Self::Str => "a string",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Bytes => "opaque bytes",
        })
    }
}

impl Value {
    /// `null`, as a constant.
    pub const NULL: Self = Self(Repr::Null);

    /// A view of this value, to match on.
    pub fn view(&self) -> View<'_> {
        match &self.0 {
            Repr::Null => View::Null,
            Repr::Bool(b) => View::Bool(*b),
            Repr::Int(i) => View::Int(*i),
            Repr::Float(f) => View::Float(*f),
            Repr::Short { len, bytes } => View::Str(utf8(&bytes[..usize::from(*len)])),
            Repr::Long(bytes) => View::Str(utf8(bytes)),
            Repr::List(items) => View::List(ListRef::Flat(items)),
            Repr::Chunked(chunks) => View::List(ListRef::Chunked(chunks)),
            Repr::Map(map) => View::Map(map),
            Repr::Bytes(bytes) => View::Bytes(bytes),
        }
    }

    /// The type of this value.
    pub fn kind(&self) -> Kind {
        match &self.0 {
            Repr::Null => Kind::Null,
            Repr::Bool(_) => Kind::Bool,
            Repr::Int(_) => Kind::Int,
            Repr::Float(_) => Kind::Float,
            Repr::Short { .. } | Repr::Long(_) => Kind::Str,
            Repr::List(_) | Repr::Chunked(_) => Kind::List,
            Repr::Map(_) => Kind::Map,
            Repr::Bytes(_) => Kind::Bytes,
        }
    }

    /// A normalised number; `None` for NaN and infinity.
    pub fn number(number: impl Into<Number>) -> Option<Self> {
        match number.into().normal()? {
            Number::Int(i) => Some(Self(Repr::Int(i))),
            Number::Float(f) => Some(Self(Repr::Float(f))),
        }
    }

    /// Opaque bytes.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self(Repr::Bytes(SharedSlice::bytes(bytes)))
    }

    /// The same text or bytes as an element of a block, which then holds the reference. Other
    /// values are returned as they are.
    pub(crate) fn text_in(self, block: &mut Block) -> Self {
        Self(match self.0 {
            Repr::Long(text) => Repr::Long(block.text(text)),
            Repr::Bytes(bytes) => Repr::Bytes(block.text(bytes)),
            other => other,
        })
    }

    /// Where the contents of this value are.
    pub(crate) fn holder(&self) -> Holder<'_> {
        match &self.0 {
            Repr::Null | Repr::Bool(_) | Repr::Int(_) | Repr::Float(_) | Repr::Short { .. } => {
                Holder::Itself
            }
            Repr::Long(_) | Repr::Bytes(_) => Holder::Text,
            Repr::List(items) => Holder::List(items),
            Repr::Map(map) => Holder::Map(map),
            Repr::Chunked(_) => Holder::Chunks,
        }
    }

    /// A list from an iterator that knows its length. It takes one allocation, unless it is
    /// longer than a slice can be.
    pub fn list<I>(items: I) -> Self
    where
        I: IntoIterator<Item = Self>,
        I::IntoIter: ExactSizeIterator,
    {
        let items = items.into_iter();
        if items.len() > LONGEST {
            return Self::chunked(Chunks::of_long(items));
        }
        Self(Repr::List(SharedSlice::new(items)))
    }

    /// A long list that shares chunks with its earlier versions.
    pub fn chunked(chunks: Chunks) -> Self {
        Self(Repr::Chunked(Arc::new(chunks)))
    }

    /// The empty map. All calls share one allocation.
    pub fn empty_map() -> Self {
        static EMPTY: LazyLock<Map> = LazyLock::new(|| Map::from_sorted(Vec::new()));
        Self(Repr::Map(EMPTY.clone()))
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.0, Repr::Null)
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.0 {
            Repr::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self.0 {
            Repr::Int(i) => Some(i),
            _ => None,
        }
    }

    /// The number, if it is one. A numeric string is not; see [`Number::parse`].
    pub fn as_number(&self) -> Option<Number> {
        match self.0 {
            Repr::Int(i) => Some(Number::Int(i)),
            Repr::Float(f) => Some(Number::Float(f)),
            _ => None,
        }
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Short { len, bytes } => Some(utf8(&bytes[..usize::from(*len)])),
            Repr::Long(bytes) => Some(utf8(bytes)),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<ListRef<'_>> {
        match &self.0 {
            Repr::List(items) => Some(ListRef::Flat(items)),
            Repr::Chunked(chunks) => Some(ListRef::Chunked(chunks)),
            _ => None,
        }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.0 {
            Repr::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The member under `key`; `null` if there is none, or if this is not a map.
    pub fn get(&self, key: &str) -> &Self {
        self.as_map()
            .and_then(|map| map.get_str(key))
            .unwrap_or(&NULL)
    }

    /// The member under an interned key. This is faster than [`Value::get`].
    pub fn get_key(&self, key: &Key) -> &Self {
        self.as_map().and_then(|map| map.get(key)).unwrap_or(&NULL)
    }

    /// The element at `index`; `null` if there is none, or if this is not a list.
    pub fn at(&self, index: usize) -> &Self {
        self.as_list()
            .and_then(|list| list.get(index))
            .unwrap_or(&NULL)
    }

    /// Whether both are the same allocation, or equal scalars. This is cheap, and it implies
    /// equality; equal values may be different allocations.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Long(a), Repr::Long(b)) | (Repr::Bytes(a), Repr::Bytes(b)) => a.same(b),
            (Repr::List(a), Repr::List(b)) => a.same(b),
            (Repr::Chunked(a), Repr::Chunked(b)) => Arc::ptr_eq(a, b),
            (Repr::Map(a), Repr::Map(b)) => a.same(b),
            (Repr::Null, Repr::Null) => true,
            (Repr::Bool(a), Repr::Bool(b)) => a == b,
            (Repr::Int(a), Repr::Int(b)) => a == b,
            (Repr::Float(a), Repr::Float(b)) => a.to_bits() == b.to_bits(),
            (Repr::Short { len: a, bytes: x }, Repr::Short { len: b, bytes: y }) => {
                a == b && x == y
            }
            _ => false,
        }
    }
}

impl Value {
    /// Roughly how many bytes of memory this value takes. Shared parts count every time.
    pub fn size(&self) -> usize {
        /// The head of a slice, and roughly what the allocator adds.
        const HEADER: usize = 16;
        size_of::<Self>()
            + match &self.0 {
                Repr::Null | Repr::Bool(_) | Repr::Int(_) | Repr::Float(_) | Repr::Short { .. } => {
                    0
                }
                Repr::Long(bytes) | Repr::Bytes(bytes) => HEADER + bytes.len(),
                Repr::List(items) => HEADER + items.iter().map(Self::size).sum::<usize>(),
                Repr::Chunked(chunks) => {
                    let items = ListRef::Chunked(chunks).iter();
                    HEADER + items.map(Self::size).sum::<usize>()
                }
                Repr::Map(map) => {
                    let entries = map.values().map(|value| size_of::<Key>() + value.size());
                    HEADER + entries.sum::<usize>()
                }
            }
    }
}

impl Value {
    /// How large this value is when it is written out. Lists and maps store the result.
    #[inline]
    pub fn measure(&self) -> Measure {
        match &self.0 {
            Repr::Short { len, .. } => Measure::scalar(usize::from(*len) + 2),
            Repr::Long(text) => Measure::scalar(text.len() + 2),
            Repr::List(items) => items.measure(),
            Repr::Map(map) => map.measure(),
            _ => self.measure_others(),
        }
    }

    #[inline(never)]
    fn measure_others(&self) -> Measure {
        match &self.0 {
            Repr::Null => Measure::scalar("null".len()),
            Repr::Bool(b) => Measure::scalar("false".len() - usize::from(*b)),
            Repr::Int(i) => Measure::scalar(crate::number::digits(*i)),
            Repr::Float(f) => Measure::scalar(crate::json::float_length(*f)),
            Repr::Short { len, .. } => Measure::scalar(usize::from(*len) + 2),
            Repr::Long(text) => Measure::scalar(text.len() + 2),
            Repr::Bytes(bytes) => Measure::scalar(bytes.len().div_ceil(3) * 4 + 2),
            Repr::List(items) => items.measure(),
            Repr::Chunked(chunks) => chunks.measure(),
            Repr::Map(map) => map.measure(),
        }
    }
}

impl Value {
    /// Stores the known measure of this list or map, which has just been built.
    pub(crate) fn noted(self, measure: Measure) -> Self {
        match &self.0 {
            Repr::List(items) => items.note_known(measure),
            Repr::Map(map) => map.note_known(measure),
            _ => {}
        }
        self
    }
}

impl Element for Value {
    const MEASURED: bool = true;

    #[inline]
    fn measure(&self) -> Measure {
        self.measure()
    }

    #[expect(
        clippy::inline_always,
        reason = "it runs for every value that is dropped; a call of its own costs 0.3 % more instructions to build and drop documents"
    )]
    #[inline(always)]
    fn dismantle(self, depth: usize, later: &mut Vec<Self>) {
        match self.0 {
            Repr::Null | Repr::Bool(_) | Repr::Int(_) | Repr::Float(_) | Repr::Short { .. } => {}
            Repr::Long(text) | Repr::Bytes(text) => drop(text),
            Repr::Chunked(_) => self.dismantle_chunks(depth, later),
            Repr::List(_) | Repr::Map(_) if is_deep(depth) => later.push(self),
            Repr::List(items) => items.dismantle(depth, later),
            Repr::Map(map) => map.dismantle(depth, later),
        }
    }
}

impl Value {
    #[inline(never)]
    fn dismantle_chunks(self, depth: usize, later: &mut Vec<Self>) {
        match self.0 {
            Repr::Chunked(_) if is_deep(depth) => later.push(self),
            Repr::Chunked(chunks) => {
                if let Ok(chunks) = Arc::try_unwrap(chunks) {
                    chunks.dismantle(depth, later);
                }
            }
            _ => {}
        }
    }

    /// Whether the value is stored in its two words, without an allocation.
    #[inline]
    pub fn is_small(&self) -> bool {
        match self.0 {
            Repr::Null | Repr::Bool(_) | Repr::Int(_) | Repr::Float(_) | Repr::Short { .. } => true,
            Repr::Long(_) | Repr::Bytes(_) | Repr::List(_) | Repr::Chunked(_) | Repr::Map(_) => {
                false
            }
        }
    }
}

/// The value of a missing member.
static NULL: Value = Value::NULL;

#[allow(unsafe_code)]
fn utf8(bytes: &[u8]) -> &str {
    debug_assert!(std::str::from_utf8(bytes).is_ok());
    // SAFETY: the bytes of `Repr::Short` and `Repr::Long` are written in `From<&str>`, or
    // copied from such a value in `pack`, and never change. Checking them on every read would
    // cost more than all other work on a string.
    unsafe { std::str::from_utf8_unchecked(bytes) }
}

impl Default for Value {
    fn default() -> Self {
        Self::NULL
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
