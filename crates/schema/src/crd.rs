//! Types of custom resources, from the `openAPIV3Schema` of their definitions.

use std::collections::BTreeMap;

use document::{Key, Value};

use crate::shape::Fields;
use crate::types::{Numbers, Strings, Type};

/// The type of the objects of a version of a `CustomResourceDefinition`.
pub(crate) fn object(schema: &Value) -> Type {
    with_object_fields(&of(schema))
}

/// Adds the fields that every object has.
fn with_object_fields(object: &Type) -> Type {
    let Some(fields) = object.fields() else {
        return Type::any();
    };
    let mut named = fields.named.clone();
    named.insert(Key::new("apiVersion"), Type::string());
    named.insert(Key::new("kind"), Type::string());
    named.insert(Key::new("metadata"), Type::defined("ObjectMeta").or_null());
    let required = fields.required.clone();
    Type::map(Fields::new(named, fields.rest.clone()).requiring(required))
}

/// The type that a structural schema describes. What it does not describe is anything.
fn of(schema: &Value) -> Type {
    let on = |name: &str| schema.get(name).as_bool() == Some(true);
    let mut found = if on("x-kubernetes-int-or-string") {
        Type {
            string: Strings::All,
            ..Type::integer()
        }
    } else {
        match schema.get("type").as_str() {
            Some("string") => strings(schema),
            Some("integer") => Type::integer(),
            Some("number") => Type {
                number: Numbers::All,
                ..Type::default()
            },
            Some("boolean") => Type::boolean(),
            Some("array") => Type::list(of(schema.get("items"))),
            Some("object") => map(schema),
            Some(_) | None => Type::any(),
        }
    };
    if on("x-kubernetes-embedded-resource") {
        found = with_object_fields(&found);
    }
    if on("nullable") {
        found = found.or_null();
    }
    found
}

fn strings(schema: &Value) -> Type {
    let words = schema.get("enum").as_list();
    let words: Option<Vec<&str>> =
        words.and_then(|words| words.iter().map(Value::as_str).collect());
    Type {
        string: words.map_or(Strings::All, Strings::known),
        ..Type::default()
    }
}

fn map(schema: &Value) -> Type {
    let properties = schema.get("properties").as_map();
    let named: BTreeMap<Key, Type> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), of(schema).or_null()))
        .collect();
    let kept = schema.get("x-kubernetes-preserve-unknown-fields").as_bool() == Some(true);
    let additional = schema.get("additionalProperties");
    let rest = match additional.as_map() {
        Some(_) => Some(of(additional).or_null()),
        None if kept || additional.as_bool() == Some(true) => Some(Type::any()),
        None => None,
    };
    Type::map(Fields::new(named, rest).requiring(required(schema)))
}

/// The fields that an object must have. A server sets those with a default.
fn required(schema: &Value) -> Vec<Key> {
    let names = schema.get("required").as_list().into_iter().flatten();
    let names = names.filter_map(Value::as_str).filter(|name| {
        let field = schema.get("properties").get(name);
        field.get("default").is_null()
    });
    names.map(Key::new).collect()
}
