//! The values that were there before.

use document::Value;
use fieldset::FieldPath;
use object::GroupKind;

/// The value at a path before we wrote to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Was {
    /// There was none.
    Absent,
    /// This value.
    Value(Value),
    /// It was not stored: the value that we wrote stays when the patch is withdrawn.
    NotKept,
}

/// The longest former value that is stored, in bytes of JSON.
const MAX_OLD: usize = 1024;
/// The total size of the former values that are stored for one Patcher and object.
const MAX_OLD_ALL: usize = 16 * 1024;

/// Decides which former values are stored. Those of Secrets are not, because a copy in a record
/// would outlive them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeper {
    left: usize,
}

impl Keeper {
    /// A keeper for an object of this kind, for which these former values are stored already.
    pub(crate) fn new<'a>(kind: &GroupKind, kept: impl Iterator<Item = &'a Was>) -> Self {
        let used: usize = kept.map(Was::size).sum();
        let left = if kind.is_secret() {
            0
        } else {
            MAX_OLD_ALL.saturating_sub(used)
        };
        Self { left }
    }

    /// The record of a value that is about to be replaced.
    pub(crate) fn keep(&mut self, live: &Value) -> Was {
        if live.is_null() {
            return Was::Absent;
        }
        let was = Was::Value(live.clone());
        let size = was.size();
        if size > MAX_OLD || size > self.left {
            return Was::NotKept;
        }
        self.left -= size;
        was
    }
}

impl Was {
    fn size(&self) -> usize {
        match self {
            Self::Value(value) => value.to_string().len(),
            Self::Absent | Self::NotKept => 0,
        }
    }

    /// The object with this value restored at a path.
    pub fn put_back(&self, object: &Value, place: &FieldPath) -> Value {
        match self {
            Self::Absent => place.take(object),
            Self::Value(value) => place.restore(object, value),
            Self::NotKept => object.clone(),
        }
    }
}
