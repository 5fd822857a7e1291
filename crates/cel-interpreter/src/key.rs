//! The keys of computed maps.

use std::cmp::Ordering;

use document::Value;

use crate::error::EvalError;
use crate::value::Val;

/// The key of a map. Equal whole numbers are the same key, whatever their type, but a key keeps
/// its type: `{1u: 'a'}.map(k, type(k))` is `[uint]`.
#[derive(Clone)]
pub(crate) enum MapKey {
    Bool(bool),
    Int(i64),
    UInt(u64),
    /// Invariant: a string.
    Str(Value),
}

impl MapKey {
    /// The key that a value is. `None` for a number that is not whole, which no map contains.
    pub(crate) fn of(value: &Val) -> Result<Option<Self>, EvalError> {
        match value {
            Val::Str(text) => Ok(Some(Self::Str(text.clone()))),
            Val::Bool(b) => Ok(Some(Self::Bool(*b))),
            Val::Int(i) => Ok(Some(Self::Int(*i))),
            Val::UInt(u) => Ok(Some(Self::UInt(*u))),
            Val::Double(d) => Ok(whole(*d)),
            other => Err(EvalError::types("map key", [other.type_name()])),
        }
    }

    pub(crate) fn value(&self) -> Val {
        match self {
            Self::Bool(b) => Val::Bool(*b),
            Self::Int(i) => Val::Int(*i),
            Self::UInt(u) => Val::UInt(*u),
            Self::Str(text) => Val::Str(text.clone()),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => text.as_str(),
            Self::Bool(_) | Self::Int(_) | Self::UInt(_) => None,
        }
    }

    /// The key of a document: `1` and `true` are keys in CEL.
    pub(crate) fn text(&self) -> document::Key {
        match self {
            Self::Bool(b) => document::Key::new(&b.to_string()),
            Self::Int(i) => document::Key::new(&i.to_string()),
            Self::UInt(u) => document::Key::new(&u.to_string()),
            Self::Str(text) => document::Key::new(text.as_str().unwrap_or_default()),
        }
    }

    /// Booleans first, then numbers, then strings.
    fn rank(&self) -> (u8, i128, &str) {
        match self {
            Self::Bool(b) => (0, i128::from(*b), ""),
            Self::Int(i) => (1, i128::from(*i), ""),
            Self::UInt(u) => (1, i128::from(*u), ""),
            Self::Str(text) => (2, 0, text.as_str().unwrap_or_default()),
        }
    }
}

impl From<&str> for MapKey {
    fn from(text: &str) -> Self {
        Self::Str(Value::from(text))
    }
}

impl PartialEq for MapKey {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for MapKey {}

impl PartialOrd for MapKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MapKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// The int or uint that a double is equal to.
#[expect(clippy::cast_sign_loss, reason = "the range is checked")]
fn whole(double: f64) -> Option<MapKey> {
    if double.fract().abs() > 0.0 {
        return None;
    }
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&double) {
        return Some(MapKey::Int(double as i64));
    }
    let large = (0.0..18_446_744_073_709_551_616.0).contains(&double);
    large.then_some(MapKey::UInt(double as u64))
}
