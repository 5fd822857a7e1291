//! The fields of an Operator, as its definition documents them.

use document::Value;

/// A field of the spec or the status of an Operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDoc {
    /// Where it is: `controllers[].options.maxDeletions`.
    pub path: String,
    /// What it is: `string`, `list of objects`, or the words that are allowed, in backticks.
    pub kind: String,
    /// Whether it has to be there.
    pub required: bool,
    /// What it means.
    pub description: String,
}

/// The fields of a part of the definition, `spec` or `status`; each one before those inside it.
///
/// ```
/// use document::json;
///
/// let schema = json!({"properties": {"spec": {"properties": {
///     "names": {"type": "array", "items": {"type": "string"}, "description": "The names."}
/// }}}});
/// let fields = operator::fields::of(&schema, "spec");
/// assert_eq!((fields[0].path.as_str(), fields[0].kind.as_str()), ("names", "list of strings"));
/// ```
pub fn of(schema: &Value, part: &str) -> Vec<FieldDoc> {
    let mut fields = Vec::new();
    collect(schema.get("properties").get(part), "", &mut fields);
    fields
}

fn collect(schema: &Value, at: &str, found: &mut Vec<FieldDoc>) {
    let required = schema.get("required").as_list();
    for (key, field) in schema.get("properties").as_map().into_iter().flatten() {
        let path = format!("{at}{key}");
        let is_it = |name: &Value| name.as_str() == Some(key.as_str());
        let description = field.get("description").as_str();
        found.push(FieldDoc {
            path: path.clone(),
            kind: kind(field),
            required: required.is_some_and(|names| names.iter().any(is_it)),
            description: description.unwrap_or_default().to_owned(),
        });
        collect(field, &format!("{path}."), found);
        collect(field.get("items"), &format!("{path}[]."), found);
    }
}

fn kind(field: &Value) -> String {
    if let Some(words) = field.get("enum").as_list() {
        let words = words.iter().filter_map(Value::as_str);
        let words = words.map(|word| format!("`{word}`"));
        return words.collect::<Vec<_>>().join(", ");
    }
    match field.get("type").as_str() {
        Some("array") => {
            let item = field.get("items").get("type").as_str();
            format!("list of {}s", item.unwrap_or("value"))
        }
        Some(kind) => kind.to_owned(),
        None if !field.get("anyOf").is_null() => "integer or string".to_owned(),
        None => "any".to_owned(),
    }
}
