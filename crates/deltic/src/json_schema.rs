//! `deltic schema`: JSON Schemas of Operators and tests, for editors.
//!
//! The schema of Operators is made of the tables that the language is made of: the fields are those
//! of the `CustomResourceDefinition`, the stages those of [`dataflow::reference`], and the operators
//! those of [`expr::Functions`], with their documentation. It is draft-07, which
//! yaml-language-server reads.
//!
//! A schema cannot check everything that `deltic check` does. It accepts every valid Operator, and
//! rejects unknown fields, stages and operators, and arguments of the wrong form or number.

mod expressions;
mod stages;

use document::{Key, Map, Value, View, json};

use crate::cli::init::{Schema, SchemaOf};
use crate::exit::{Outcome, Stop};
use crate::output::{Output, pretty};

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

pub(crate) fn run(args: &Schema, output: &mut Output) -> Result<Outcome, Stop> {
    output.text(&match args.of {
        SchemaOf::Operator => operator(),
        SchemaOf::Test => test(),
    })?;
    Ok(Outcome::Good)
}

/// The schema of `*.test.yaml` files.
pub(crate) fn test() -> String {
    include_str!("json_schema/test.schema.json").to_owned()
}

/// The schema in the definition of Operators.
pub(crate) fn definition() -> Value {
    let manifests = manifest::parse_bytes("definition.yaml", operator::DEFINITION.into());
    // A test checks that the definition can be read and has this schema.
    let definition = manifests.unwrap_or_default().pop();
    let definition = definition
        .map(|definition| definition.value)
        .unwrap_or_default();
    let versions = definition.get("spec").get("versions");
    let schema = versions.at(0).get("schema").get("openAPIV3Schema");
    schema.clone()
}

/// The schema of files with an Operator.
pub(crate) fn operator() -> String {
    let schema = strict(&definition());
    let schema = with(&schema, &["$schema"], DRAFT.into());
    let schema = with(&schema, &["title"], "Operator of deltic".into());
    let schema = with(
        &schema,
        &["required"],
        json!(["apiVersion", "kind", "metadata", "spec"]),
    );
    let schema = with(
        &schema,
        &["properties", "apiVersion"],
        json!({"const": "dcontroller.io/v1alpha1"}),
    );
    let schema = with(
        &schema,
        &["properties", "kind"],
        json!({"const": "Operator"}),
    );
    let schema = with(&schema, &["properties", "metadata"], metadata());
    let schema = with(
        &schema,
        &["properties", "status"],
        json!({"type": "object"}),
    );
    let controller = ["properties", "spec", "properties", "controllers", "items"];
    let pipeline = [&controller[..], &["properties", "pipeline", "allOf"]].concat();
    let schema = with(
        &schema,
        &pipeline,
        json!([{"$ref": "#/definitions/pipeline"}]),
    );
    let one_target = json!([{"required": ["target"]}, {"required": ["targets"]}]);
    let schema = with(&schema, &[&controller[..], &["oneOf"]].concat(), one_target);
    let schema = with(&schema, &["definitions"], definitions());
    format!("{}\n", pretty(&schema))
}

fn metadata() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {
                "type": "string",
                "description": "The name of the Operator: a DNS label.",
                "maxLength": 63,
                "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            },
        },
    })
}

fn definitions() -> Value {
    json!({
        "pipeline": (stages::pipeline()),
        "branch": (stages::branch()),
        "stage": (stages::stage()),
        "expression": (expressions::expression()),
        "map": (expressions::map()),
    })
}

/// A reference to an expression.
fn expression() -> Value {
    json!({"$ref": "#/definitions/expression"})
}

/// A schema of Kubernetes as one of JSON Schema that allows no other fields.
fn strict(schema: &Value) -> Value {
    match schema.view() {
        View::Map(map) => {
            let own = map
                .iter()
                .filter(|(key, _)| !key.as_str().starts_with("x-kubernetes-"));
            let own = own.filter(|(key, _)| key.as_str() != "format");
            let entries: Vec<(Key, Value)> = own
                .map(|(key, value)| (key.clone(), strict(value)))
                .collect();
            let map = Map::from_entries(entries);
            let is_object = map.get_str("type").and_then(Value::as_str) == Some("object");
            if is_object && map.get_str("properties").is_some() {
                map.with(Key::new("additionalProperties"), false.into())
                    .into()
            } else {
                map.into()
            }
        }
        View::List(items) => Value::list(items.iter().map(strict).collect::<Vec<_>>()),
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => schema.clone(),
    }
}

/// The value with a part replaced or added.
fn with(value: &Value, path: &[&str], new: Value) -> Value {
    let [first, rest @ ..] = path else {
        return new;
    };
    let map = value.as_map().cloned();
    let map = map.unwrap_or_else(|| Map::from_entries(Vec::new()));
    let inner = with(map.get_str(first).unwrap_or(&Value::NULL), rest, new);
    map.with(Key::new(first), inner).into()
}

/// A map of schemas.
fn named(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let entries = entries
        .into_iter()
        .map(|(name, schema)| (Key::new(name), schema));
    Map::from_entries(entries.collect()).into()
}
