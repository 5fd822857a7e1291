//! The schema of pipelines.

use dataflow::pipeline::{MAX_STAGES, STAGE_NAMES};
use dataflow::reference::STAGES;
use document::{Value, json};

use super::{expression, named};

/// One stage, a list of stages, a list of branches, or a map with `@aggregate`.
pub(super) fn pipeline() -> Value {
    let doc = STAGES.iter().find(|doc| doc.name == "@aggregate");
    let description = Value::from(doc.map_or("", |doc| doc.summary));
    let most = i64::try_from(MAX_STAGES).unwrap_or(i64::MAX);
    let aggregate = json!({
        "properties": {
            "@join": {"$ref": "#/definitions/stage/else/properties/@join"},
            "@aggregate": {
                "description": description,
                "if": {"type": "array"},
                "then": {"items": {"$ref": "#/definitions/stage"}},
                "else": {"if": {"not": {"type": "null"}}, "then": {"$ref": "#/definitions/stage"}},
            },
        },
        "additionalProperties": false,
    });
    json!({
        "if": {"type": "array"},
        "then": {
            "maxItems": most,
            "if": {"items": {"type": "array"}},
            "then": {"items": {"$ref": "#/definitions/branch"}},
            "else": {"items": {"$ref": "#/definitions/stage"}},
        },
        "else": {
            "if": {"type": "object", "required": ["@aggregate"]},
            "then": aggregate,
            "else": {"if": {"not": {"type": "null"}}, "then": {"$ref": "#/definitions/stage"}},
        },
    })
}

/// Stages between `@inputs` and `@output`.
pub(super) fn branch() -> Value {
    let is_end = json!({"anyOf": [{"required": ["@inputs"]}, {"required": ["@output"]}]});
    json!({
        "type": "array",
        "minItems": 2,
        "allOf": [
            {"contains": {"type": "object", "required": ["@inputs"]}},
            {"contains": {"type": "object", "required": ["@output"]}},
        ],
        "items": {
            "if": {"allOf": [{"type": "object"}, (is_end)]},
            "then": {
                "maxProperties": 1,
                "properties": {
                    "@inputs": {
                        "description": "The names of the sources and streams that the branch reads.",
                        "type": "array",
                        "items": {"type": "string", "minLength": 1},
                        "minItems": 1,
                    },
                    "@output": {
                        "description": "The kind of the target, or the name of a stream, that gets the result.",
                        "type": "string",
                        "minLength": 1,
                    },
                },
            },
            "else": {"$ref": "#/definitions/stage"},
        },
    })
}

pub(super) fn stage() -> Value {
    let properties = STAGE_NAMES.iter().map(|name| {
        let argument = argument(name);
        let doc = STAGES
            .iter()
            .find(|doc| doc.name == *name || doc.aliases.contains(name));
        let documented = doc.map(|doc| format!("{}\n\n{}", doc.summary, doc.signature));
        let description = Value::from(documented.unwrap_or_default());
        (*name, super::with(&argument, &["description"], description))
    });
    json!({
        "if": {"type": "string"},
        "then": {"const": "@distinct"},
        "else": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "properties": (named(properties)),
            "additionalProperties": false,
        },
    })
}

/// What the argument of a stage must be like.
fn argument(stage: &str) -> Value {
    let path = json!({"type": "string", "pattern": "^\\$."});
    match stage {
        "@project" => {
            json!({"allOf": [(expression())], "if": {"type": "array"}, "then": {"minItems": 1}})
        }
        "@unwind" | "@demux" => path,
        "@gather" | "@mux" => json!({
            "type": "array", "items": [(expression()), (path)], "minItems": 2, "maxItems": 2,
        }),
        "@groupBy" => {
            let options = json!({
                "type": "object",
                "properties": {"distinct": {"type": "boolean"}},
                "additionalProperties": false,
            });
            json!({
                "type": "array",
                "items": [(expression()), (expression()), (options)],
                "minItems": 2,
                "maxItems": 3,
            })
        }
        "@distinct" => json!({"type": ["null", "object"], "maxProperties": 0}),
        "@patch" => json!({
            "type": "object",
            "required": ["operations"],
            "additionalProperties": false,
            "properties": {
                "at": {"type": "string", "pattern": "^\\$", "description": "The path of what is patched. Default: the document."},
                "where": {"type": "string", "description": "A CEL expression: the patch applies where it is true."},
                "forEach": {"type": "string", "description": "A CEL expression that yields a list: the operations apply to each item."},
                "var": {"type": "string", "description": "The name of the item of forEach."},
                "strict": {"type": "boolean", "description": "Whether a path without a match is an error."},
                "operations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["op", "path"],
                        "properties": {
                            "op": {"enum": ["add", "remove", "replace", "move", "copy", "test", "merge"]},
                            "path": {"type": "string"},
                            "from": {"type": "string"},
                            "value": {},
                        },
                    },
                },
            },
        }),
        // A condition.
        "@join" | "@select" => json!({"allOf": [(expression())]}),
        other => unreachable!("{other} has no schema"),
    }
}
