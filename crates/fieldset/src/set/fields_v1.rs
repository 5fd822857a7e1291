//! `FieldsV1`: how an API server writes a set of fields in `managedFields`.
//!
//! `f:<name>` is a field, `k:<keys>` an element by its key fields, `v:<value>` an element of a
//! set by its value, `i:<position>` an element by position, and `.` the node itself. What has
//! nothing inside is in the set.

use document::{Key, Map, Value};

use super::FieldSet;
use crate::path::PathElement;

/// Why a document is no `FieldsV1`. It names no values: they may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsV1Error {
    /// Something that is to hold fields is no map.
    #[error("FieldsV1 holds something that is no map")]
    NotAMap,
    /// A name has none of the known prefixes, or what follows cannot be read.
    #[error("a name of FieldsV1 must be `.` or begin with f:, k:, v: or i:")]
    Name,
}

impl FieldSet {
    /// Reads `fieldsV1`.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsV1Error> {
        let map = fields.as_map().ok_or(FieldsV1Error::NotAMap)?;
        let mut set = Self::default();
        for (name, inside) in map {
            if name.as_str() == "." {
                set.member = true;
                continue;
            }
            let element = element(name.as_str()).ok_or(FieldsV1Error::Name)?;
            let mut inside = Self::from_fields_v1(inside)?;
            inside.member |= inside.inside.is_empty();
            set.inside.insert(element, inside);
        }
        Ok(set)
    }

    /// Writes `fieldsV1`.
    pub fn to_fields_v1(&self) -> Value {
        let inside = self.inside.iter();
        let mut entries: Vec<(Key, Value)> = inside
            .map(|(element, inside)| (Key::new(&name(element)), inside.to_fields_v1()))
            .collect();
        if self.member && !self.inside.is_empty() {
            entries.push((Key::new("."), Value::empty_map()));
        }
        Map::from_entries(entries).into()
    }
}

fn element(name: &str) -> Option<PathElement> {
    let (kind, rest) = name.split_once(':')?;
    match kind {
        "f" => Some(PathElement::Field(Key::new(rest))),
        "k" => {
            let keys: Value = rest.parse().ok()?;
            keys.as_map()?;
            Some(PathElement::Element(keys))
        }
        "v" => Some(PathElement::Value(rest.parse().ok()?)),
        "i" => Some(PathElement::Index(rest.parse().ok()?)),
        _ => None,
    }
}

fn name(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Element(keys) => format!("k:{keys}"),
        PathElement::Value(value) => format!("v:{value}"),
        PathElement::Index(at) => format!("i:{at}"),
    }
}
