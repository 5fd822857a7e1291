//! Sets of types.

use super::samples;
use crate::types::Type;

/// A set of types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// No type.
    pub const NONE: Self = Self(0);
    /// All types: nothing is known.
    pub const ANY: Self = Self(u32::MAX);
    /// Null.
    pub const NULL: Self = Self::one(Type::Null);
    /// Booleans.
    pub const BOOLEAN: Self = Self::one(Type::Bool);
    /// Integers of documents.
    pub const INTEGER: Self = Self::one(Type::Int);
    /// Other numbers.
    pub const DOUBLE: Self = Self::one(Type::Double);
    /// Strings.
    pub const STRING: Self = Self::one(Type::Str);
    /// Lists.
    pub const LIST: Self = Self::one(Type::List);
    /// Maps.
    pub const MAP: Self = Self::one(Type::Map);

    pub(super) const OPTIONAL: Self = Self::one(Type::Optional);

    /// What documents have besides lists and maps.
    pub(super) const SCALARS: Self = Self::NULL
        .or(Self::BOOLEAN)
        .or(Self::INTEGER)
        .or(Self::DOUBLE)
        .or(Self::STRING);

    pub(super) const fn one(of: Type) -> Self {
        Self(1 << of as u32)
    }

    /// The types of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a type is in both sets.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all types of this set are in the other.
    pub const fn is_in(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether a value of these types has a JSON form.
    pub fn has_json_form(self) -> bool {
        let without = [
            Type::Quantity,
            Type::Ip,
            Type::Cidr,
            Type::Url,
            Type::Version,
            Type::Format,
        ];
        let without = without
            .into_iter()
            .fold(Self::NONE, |all, of| all.or(Self::one(of)));
        !self.is_in(without)
    }

    /// Whether a value of these types is written to a document as a string.
    pub fn is_text(self) -> bool {
        let texts = [
            Type::Str,
            Type::Bytes,
            Type::Timestamp,
            Type::Duration,
            Type::Meta,
        ];
        let texts = texts
            .into_iter()
            .fold(Self::NONE, |all, of| all.or(Self::one(of)));
        self != Self::NONE && self.is_in(texts)
    }

    /// Whether values of these types may be equal: numbers are compared by value.
    pub(super) fn may_equal(self, other: Self) -> bool {
        let numbers = Self::INTEGER.or(Self::DOUBLE).or(Self::one(Type::UInt));
        self.overlaps(other) || (self.overlaps(numbers) && other.overlaps(numbers))
    }

    /// The types for a message. Where something else is possible, null is not the point.
    pub(super) fn shown(self) -> String {
        let other = Self(self.0 & !Self::NULL.0);
        let shown = if self == Self::ANY || other == Self::NONE {
            self
        } else {
            other
        };
        shown.to_string()
    }

    pub(super) fn types(self) -> impl Iterator<Item = Type> {
        let known = samples::types();
        known.filter(move |of| Self::one(*of).overlaps(self))
    }
}

/// `string or int`
impl std::fmt::Display for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::ANY {
            return f.write_str("anything");
        }
        let names: Vec<&str> = self.types().map(Type::name).collect();
        f.write_str(&names.join(" or "))
    }
}
