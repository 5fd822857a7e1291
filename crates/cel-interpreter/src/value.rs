//! The values of the interpreter.
//!
//! CEL has more types than documents, and distinguishes `1.0` from `1`. A list or map of a document
//! is wrapped and not converted, so that reading a member copies nothing.

use std::sync::Arc;

use document::{Value, View};

use crate::key::MapKey;
use crate::types::{Extension, Type};

pub(crate) use crate::timestamp::Timestamp;

/// A CEL value. Cloning increments at most one reference count.
#[derive(Clone)]
pub(crate) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    /// Invariant: a string.
    Str(Value),
    /// Invariant: opaque bytes.
    Bytes(Value),
    List(List),
    Map(Map),
    Timestamp(Timestamp),
    /// Nanoseconds.
    Duration(i64),
    Optional(Option<Arc<Nested<Val>>>),
    /// A value of a Kubernetes type: a quantity, an address, a version.
    Extension(Arc<Extension>),
    /// A type, as `type(x)` returns it.
    Type(Type),
}

/// A list of a document, or one that was computed.
#[derive(Clone)]
pub(crate) enum List {
    /// Invariant: a list.
    Document(Value),
    Computed(Arc<Nested<Vec<Val>>>),
}

/// A map of a document, or one that was computed.
#[derive(Clone)]
pub(crate) enum Map {
    /// Invariant: a map.
    Document(Value),
    /// Invariant: sorted by key, each key once.
    Computed(Arc<Nested<Vec<(MapKey, Val)>>>),
}

/// How deep a value may be nested. The interpreter checks every value that it builds, so other
/// code can walk values recursively.
pub(crate) const MAX_DEPTH: usize = document::MAX_DEPTH;

/// A container of values, and the depth of computed values in it. Parts of documents do not count,
/// because their depth is bounded already.
pub(crate) struct Nested<T> {
    depth: usize,
    inner: T,
}

impl<T> Nested<T> {
    fn new(inner: T, parts: impl Fn(&T) -> Option<usize>) -> Arc<Self> {
        let depth = 1 + parts(&inner).unwrap_or(0);
        Arc::new(Self { depth, inner })
    }
}

impl<T> std::ops::Deref for Nested<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl From<&Value> for Val {
    fn from(value: &Value) -> Self {
        match value.view() {
            View::Null => Self::Null,
            View::Bool(b) => Self::Bool(b),
            View::Int(i) => Self::Int(i),
            View::Float(f) => Self::Double(f),
            View::Str(_) => Self::Str(value.clone()),
            View::Bytes(_) => Self::Bytes(value.clone()),
            View::List(_) => Self::List(List::Document(value.clone())),
            View::Map(_) => Self::Map(Map::Document(value.clone())),
        }
    }
}

impl From<&str> for Val {
    fn from(text: &str) -> Self {
        Self::Str(Value::from(text))
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Self::Str(Value::from(text))
    }
}

impl From<bool> for Val {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<i64> for Val {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<Vec<Val>> for Val {
    fn from(items: Vec<Val>) -> Self {
        let depth = |items: &Vec<Val>| items.iter().map(Val::depth).max();
        Self::List(List::Computed(Nested::new(items, depth)))
    }
}

impl FromIterator<Val> for Val {
    fn from_iter<I: IntoIterator<Item = Val>>(items: I) -> Self {
        Self::from(items.into_iter().collect::<Vec<_>>())
    }
}

impl Val {
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Self::Bytes(Value::bytes(bytes))
    }

    /// A number of elements or characters, which memory keeps far below `i64::MAX`.
    pub(crate) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(|value| Nested::new(value, |value| Some(value.depth()))))
    }

    /// How deep computed values are nested.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::List(List::Computed(items)) => items.depth,
            Self::Map(Map::Computed(entries)) => entries.depth,
            Self::Optional(Some(inner)) => inner.depth,
            _ => 0,
        }
    }

    pub(crate) fn extension(value: Extension) -> Self {
        Self::Extension(Arc::new(value))
    }

    /// The name of the type, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Timestamp(_) => "timestamp",
            Self::Duration(_) => "duration",
            Self::Optional(_) => "optional",
            other => Type::of(other).name(),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => text.as_str(),
            _ => None,
        }
    }

    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(value) => match value.view() {
                View::Bytes(bytes) => Some(bytes),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether `optional.ofNonZeroValue` treats this value as missing.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(b) => !b,
            Self::Int(i) => *i == 0,
            Self::UInt(u) => *u == 0,
            Self::Double(d) => *d == 0.0,
            Self::Str(_) => self.as_str() == Some(""),
            Self::Bytes(_) => self.as_bytes() == Some(&[]),
            Self::List(list) => list.len() == 0,
            Self::Map(map) => map.len() == 0,
            Self::Duration(nanos) => *nanos == 0,
            Self::Timestamp(at) => at.is_year_one(),
            Self::Extension(_) | Self::Type(_) => false,
            Self::Optional(inner) => inner.is_none(),
        }
    }
}

impl List {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Document(list) => list.as_list().map_or(0, document::ListRef::len),
            Self::Computed(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Val> {
        match self {
            Self::Document(list) => list.as_list()?.get(index).map(Val::from),
            Self::Computed(items) => items.get(index).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Val> + '_ {
        let (stored, computed) = match self {
            Self::Document(list) => (list.as_list(), None),
            Self::Computed(items) => (None, Some(items.iter())),
        };
        let stored = stored.into_iter().flat_map(document::ListRef::iter);
        stored
            .map(Val::from)
            .chain(computed.into_iter().flatten().cloned())
    }
}

impl Map {
    /// A map of entries in any order, or `None` if a key occurs twice.
    pub(crate) fn new(mut entries: Vec<(MapKey, Val)>) -> Option<Self> {
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            return None;
        }
        let depth = |entries: &Vec<(MapKey, Val)>| {
            let depths = entries.iter().map(|(_, value)| value.depth());
            depths.max()
        };
        Some(Self::Computed(Nested::new(entries, depth)))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Document(map) => map.as_map().map_or(0, document::Map::len),
            Self::Computed(entries) => entries.len(),
        }
    }

    /// The value under a member's name.
    pub(crate) fn member(&self, key: &document::Key) -> Option<Val> {
        match self {
            Self::Document(map) => map.as_map()?.get(key).map(Val::from),
            Self::Computed(_) => self.get(&MapKey::from(key.as_str())),
        }
    }

    /// The value under a computed key.
    pub(crate) fn get(&self, key: &MapKey) -> Option<Val> {
        match self {
            Self::Document(map) => map.as_map()?.get_str(key.as_str()?).map(Val::from),
            Self::Computed(entries) => {
                let found = entries.binary_search_by(|(known, _)| known.cmp(key));
                found.ok().map(|at| entries[at].1.clone())
            }
        }
    }

    /// The keys, in order.
    pub(crate) fn keys(&self) -> Vec<Val> {
        match self {
            Self::Document(map) => map
                .as_map()
                .into_iter()
                .flatten()
                .map(|(key, _)| Val::from(key.as_str()))
                .collect(),
            Self::Computed(entries) => entries.iter().map(|(key, _)| key.value()).collect(),
        }
    }

    /// The entries, in the order of their keys.
    pub(crate) fn entries(&self) -> Vec<(MapKey, Val)> {
        match self {
            Self::Document(map) => map
                .as_map()
                .into_iter()
                .flatten()
                .map(|(key, value)| (MapKey::from(key.as_str()), Val::from(value)))
                .collect(),
            Self::Computed(entries) => entries.to_vec(),
        }
    }
}
