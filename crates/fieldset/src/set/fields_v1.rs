//! `FieldsV1`: the form of a set of fields in `managedFields`.
//!
//! `f:<name>` is a field, `k:<keys>` an element by its key fields, `v:<value>` an element of a
//! set by its value, `i:<position>` an element by its position, and `.` the node itself. A node
//! without children is in the set.

use document::{Key, Map, Value};

use super::FieldSet;
use crate::path::PathElement;

/// Why a document is not `FieldsV1`. Contains no values, because they may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsV1Error {
    /// A node is not a map.
    #[error("a node of FieldsV1 is not a map")]
    NotAMap,
    /// A name has an unknown prefix, or its content is malformed.
    #[error("a name of FieldsV1 is neither `.` nor a valid name with the prefix f:, k:, v: or i:")]
    Name,
}

impl FieldSet {
    /// Parses `fieldsV1`.
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

    /// Prints `fieldsV1`.
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
