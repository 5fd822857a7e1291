//! Types as schemas of `OpenAPI`, for clients that describe objects to people.

use document::{Key, Map, Value, json};

use crate::budget::Budget;
use crate::types::{Numbers, Strings, Type};

/// How deep a schema is nested at most. Below it everything is unknown.
const MOST_LEVELS: usize = 12;

/// The schema of a type. What the schema cannot say, such as a union, is left open.
///
/// ```
/// use document::json;
/// use schema::{Budget, Type, to_openapi};
///
/// let names = Type::list(Type::string().or_null());
/// let expect = json!({"type": "array", "items": {"type": "string"}});
/// assert_eq!(to_openapi(&names, &Budget::default()), expect);
/// ```
pub fn to_openapi(document: &Type, budget: &Budget) -> Value {
    schema(document, budget, MOST_LEVELS)
}

fn unknown() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

fn schema(document: &Type, budget: &Budget, levels: usize) -> Value {
    if document.any || levels == 0 || !budget.take() {
        return unknown();
    }
    let number = document.number != Numbers::None;
    let string = document.string != Strings::None;
    let parts = [document.boolean, number, string];
    let parts = parts.into_iter().filter(|part| *part).count();
    match (parts, &document.list, &document.map) {
        (1, None, None) if document.boolean => json!({"type": "boolean"}),
        (1, None, None) if string => json!({"type": "string"}),
        (1, None, None) if document.number == Numbers::Integers => json!({"type": "integer"}),
        (1, None, None) => json!({"type": "number"}),
        (2, None, None) if document.number == Numbers::Integers && string => {
            json!({"x-kubernetes-int-or-string": true})
        }
        (0, Some(element), None) => {
            let items = schema(element, budget, levels - 1);
            json!({"type": "array", "items": items})
        }
        (0, None, Some(shape)) => {
            let fields = shape.fields();
            let named = fields.named.iter();
            let properties: Vec<(Key, Value)> = named
                .map(|(name, field)| (name.clone(), schema(field, budget, levels - 1)))
                .collect();
            let mut entries = vec![(Key::new("type"), Value::from("object"))];
            if !properties.is_empty() {
                entries.push((Key::new("properties"), Map::from_entries(properties).into()));
            }
            match &fields.rest {
                Some(rest) if rest.any => {
                    let open = Key::new("x-kubernetes-preserve-unknown-fields");
                    entries.push((open, true.into()));
                }
                Some(rest) => {
                    let rest = schema(rest, budget, levels - 1);
                    entries.push((Key::new("additionalProperties"), rest));
                }
                None => {}
            }
            Map::from_entries(entries).into()
        }
        (_, _, _) => unknown(),
    }
}
