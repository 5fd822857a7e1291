//! Objects that cannot be read: nested too deep, or too large.

use document::{Excess, Key, MAX_DEPTH, Map, Value};

use crate::text::bounded;

/// The limit on the size of the part of an object that is read: the bytes of its texts and keys.
pub const MAX_SIZE: usize = 8 << 20;

/// The longest name of a field in a message, in bytes.
const MAX_FIELD: usize = 64;

/// Why an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Lists and maps are nested too deep.
    #[error("{field} is nested deeper than {MAX_DEPTH} levels")]
    Deep {
        /// The field of the object.
        field: String,
    },
    /// The object is too large.
    #[error("it is larger than {} MiB", MAX_SIZE >> 20)]
    Large,
}

impl Unreadable {
    /// The stable code.
    pub const CODE: &str = "unreadable";

    /// Whether a document was over the limits while it was read.
    pub fn is_over(excess: &Excess) -> bool {
        excess.is_deep() || excess.size() > MAX_SIZE
    }

    /// Why a document counts as unreadable; `None` if it is within the limits.
    pub fn of(value: &Value) -> Option<Self> {
        let excess = Excess::of(value);
        if excess.is_deep() {
            let field = deep_field(value);
            return Some(Self::Deep { field });
        }
        Self::is_over(&excess).then_some(Self::Large)
    }
}

/// The first field of an object that is nested too deep.
fn deep_field(value: &Value) -> String {
    let is_deep = |(key, value): &&(Key, Value)| {
        let alone = Map::from_entries(vec![(key.clone(), value.clone())]);
        Excess::of(&alone.into()).is_deep()
    };
    let mut fields = value.as_map().into_iter().flatten();
    let field = fields.find(is_deep);
    field.map_or_else(
        || "it".to_owned(),
        |(key, _)| bounded(key.as_str(), MAX_FIELD),
    )
}
