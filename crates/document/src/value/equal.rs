//! Equality of values: by the two words where they decide, otherwise by the contents.

use super::{Repr, Value};

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            // Slices are compared by address first.
            (Repr::Long(a), Repr::Long(b)) | (Repr::Bytes(a), Repr::Bytes(b)) => a == b,
            (Repr::Map(a), Repr::Map(b)) => a.same(b) || a.entries() == b.entries(),
            (Repr::List(a), Repr::List(b)) => a == b,
            (Repr::Chunked(_), Repr::List(_) | Repr::Chunked(_))
            | (Repr::List(_), Repr::Chunked(_)) => self.same(other) || self.same_items(other),
            // A short text never equals a long one. An int never equals a float, which is
            // fractional or out of the range of ints.
            _ => self.same(other),
        }
    }
}

impl Value {
    /// Whether both are lists with equal elements, in whatever chunks.
    fn same_items(&self, other: &Self) -> bool {
        match (self.as_list(), other.as_list()) {
            (Some(a), Some(b)) => a.equals(b),
            _ => false,
        }
    }
}
