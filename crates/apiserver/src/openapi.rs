//! `OpenAPI`: the schemas of the resources, for `kubectl explain`, validation and completion.

use document::{Key, Map, Value, json, stable_hash};
use http::header::ACCEPT;
use http::{HeaderMap, Response};

use crate::answer::{Answer, Body, bytes};
use crate::discovery::versions;
use crate::protobuf::field;
use crate::resource::{Catalog, Resource};

/// The document of `/openapi/v2` in protobuf.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Whether a client reads `/openapi/v2` only in protobuf, as kubectl does.
pub(crate) fn wants_protobuf(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let accepts = accepts.unwrap_or("*/*");
    let json = ["application/json", "*/*", "application/*"];
    !json.iter().any(|json| accepts.contains(json))
}

/// `/openapi/v2` in protobuf: a document without schemas. kubectl looks here for kinds that it
/// does not find in the third version, so they are not here, either.
pub(crate) fn v2_protobuf() -> Response<Body> {
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let info = [field(1, b"deltic"), field(2, version)].concat();
    let document = [field(1, b"2.0"), field(2, &info), field(8, &[])].concat();
    bytes(200, V2_PROTOBUF, document)
}

/// `/openapi/v2`: the schemas without paths, because clients use the third version.
pub(crate) fn v2(catalog: &Catalog) -> Answer {
    let definitions = catalog.groups().into_values().flatten().map(|(_, one)| {
        let schema = schema(&one, "#/definitions/");
        (Key::new(&schema_name(&one)), schema)
    });
    let mut definitions: Vec<_> = definitions.collect();
    definitions.extend(meta_schemas("#/definitions/"));
    Answer::ok(json!({
        "swagger": "2.0",
        "info": {"title": "deltic", "version": (env!("CARGO_PKG_VERSION"))},
        "paths": {},
        "definitions": (Value::from(Map::from_entries(definitions)))
    }))
}

/// `/openapi/v3`: where the documents of the groups are.
pub(crate) fn v3_index(catalog: &Catalog) -> Answer {
    let mut paths = Vec::new();
    for (group, resources) in catalog.groups() {
        for version in versions(&resources) {
            let path = format!("apis/{group}/{version}");
            let Some(document) = v3(catalog, &group, &version) else {
                continue;
            };
            let hash = stable_hash(&document.value.to_string());
            let url = format!("/openapi/v3/{path}?hash={hash:016X}");
            paths.push((Key::new(&path), json!({"serverRelativeURL": url})));
        }
    }
    Answer::ok(json!({"paths": (Value::from(Map::from_entries(paths)))}))
}

/// `/openapi/v3/apis/GROUP/VERSION`
pub(crate) fn v3(catalog: &Catalog, group: &str, version: &str) -> Option<Answer> {
    let resources = catalog.group(group)?;
    let served: Vec<_> = resources
        .values()
        .filter(|one| one.version == version)
        .collect();
    if served.is_empty() {
        return None;
    }
    let mut schemas: Vec<(Key, Value)> = meta_schemas("#/components/schemas/").into();
    let mut paths = Vec::new();
    for resource in served {
        let name = schema_name(resource);
        schemas.push((Key::new(&name), schema(resource, "#/components/schemas/")));
        paths.extend(operations(resource));
    }
    Some(Answer::ok(json!({
        "openapi": "3.0.0",
        "info": {"title": "deltic", "version": (env!("CARGO_PKG_VERSION"))},
        "paths": (Value::from(Map::from_entries(paths))),
        "components": {"schemas": (Value::from(Map::from_entries(schemas)))}
    })))
}

/// The name of the schema of metadata, as clients know it.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// What the names of the schemas of metadata start with.
const META_PREFIX: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// The name of a schema: the group reversed, the version and the kind.
fn schema_name(resource: &Resource) -> String {
    let group = resource.kind.group.as_str().rsplit('.');
    let mut parts: Vec<&str> = group.collect();
    parts.extend([resource.version.as_str(), resource.kind.kind.as_str()]);
    parts.join(".")
}

fn schema(resource: &Resource, references: &str) -> Value {
    let own = resource.properties.as_map();
    let mut properties: Vec<(Key, Value)> = own.map_or(Vec::new(), |map| map.entries().to_vec());
    let text = |description: &str| json!({"type": "string", "description": description});
    properties.push((
        Key::new("apiVersion"),
        text("The API group and version of this object."),
    ));
    properties.push((Key::new("kind"), text("The kind of this object.")));
    properties.push((
        Key::new("metadata"),
        json!({
            "description": "Standard object's metadata.",
            "allOf": [{"$ref": (format!("{references}{META}"))}],
            "default": {}
        }),
    ));
    json!({
        "type": "object",
        "description": (resource.description.as_str()),
        "properties": (Value::from(Map::from_entries(properties))),
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-group-version-kind": [(gvk(resource))]
    })
}

fn gvk(resource: &Resource) -> Value {
    json!({
        "group": (resource.kind.group.as_str()),
        "version": (resource.version.as_str()),
        "kind": (resource.kind.kind.as_str())
    })
}

/// The schemas of metadata by name.
fn meta_schemas(references: &str) -> [(Key, Value); 4] {
    let name = |name: &str| Key::new(&format!("{META_PREFIX}{name}"));
    [
        (Key::new(META), object_meta(references)),
        (name("ManagedFieldsEntry"), managed_fields(references)),
        (
            name("FieldsV1"),
            json!({"type": "object", "description": "A set of fields, as nested maps."}),
        ),
        (name("OwnerReference"), owner_reference()),
    ]
}

fn managed_fields(references: &str) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "object",
        "description": "The fields that one manager has set.",
        "properties": {
            "apiVersion": (text("The version of the fields.")),
            "fieldsType": (text("Always FieldsV1.")),
            "fieldsV1": (reference(references, "FieldsV1", "The fields.")),
            "manager": (text("The name of the manager.")),
            "operation": (text("Apply or Update.")),
            "subresource": (text("The subresource that was written, such as status.")),
            "time": {
                "type": "string", "format": "date-time",
                "description": "When the fields were last changed."
            }
        }
    })
}

fn owner_reference() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let flag = |description: &str| json!({"type": "boolean", "description": description});
    json!({
        "type": "object",
        "description": "An object that this one depends on.",
        "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": (text("The group and version of the owner.")),
            "blockOwnerDeletion": (flag("Whether the owner waits for this object.")),
            "controller": (flag("Whether the owner is the controller of this object.")),
            "kind": (text("The kind of the owner.")),
            "name": (text("The name of the owner.")),
            "uid": (text("The uid of the owner."))
        }
    })
}

/// A reference to a schema of metadata.
fn reference(references: &str, name: &str, description: &str) -> Value {
    json!({
        "description": description,
        "allOf": [{"$ref": (format!("{references}{META_PREFIX}{name}"))}]
    })
}

/// A list of values of a schema of metadata.
fn list_of(references: &str, name: &str, description: &str) -> Value {
    json!({
        "type": "array",
        "description": description,
        "items": {"allOf": [{"$ref": (format!("{references}{META_PREFIX}{name}"))}], "default": {}}
    })
}

fn object_meta(references: &str) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let map = |description: &str| {
        json!({
            "type": "object",
            "description": description,
            "additionalProperties": {"type": "string", "default": ""}
        })
    };
    json!({
        "type": "object",
        "description": "The metadata that every object has.",
        "properties": {
            "name": (text("The name, unique within the namespace.")),
            "generateName": (text("A prefix from which the server makes a unique name.")),
            "namespace": (text("The namespace of the object.")),
            "uid": (text("Identifies the object over time; set by the server.")),
            "resourceVersion": (text("Changes with every change of the object.")),
            "generation": {
                "type": "integer", "format": "int64",
                "description": "Counts the changes outside of metadata and status."
            },
            "creationTimestamp": {
                "type": "string", "format": "date-time",
                "description": "When the object was created."
            },
            "deletionTimestamp": {
                "type": "string", "format": "date-time",
                "description": "When the deletion of the object was requested."
            },
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "labels": (map("Short values by which objects are selected.")),
            "annotations": (map("Values for tools, which are not used for selection.")),
            "finalizers": {
                "type": "array",
                "description": "Must be empty before the object is removed.",
                "items": {"type": "string", "default": ""}
            },
            "ownerReferences": (list_of(
                references,
                "OwnerReference",
                "The objects that this one depends on."
            )),
            "managedFields": (list_of(
                references,
                "ManagedFieldsEntry",
                "Which manager has set which fields."
            )),
            "selfLink": (text("Not used any more."))
        }
    })
}

/// The paths of a resource. Clients look here for the parameters that a server understands.
fn operations(resource: &Resource) -> Vec<(Key, Value)> {
    let prefix = format!("/apis/{}/{}", resource.kind.group, resource.version);
    let plural = &resource.plural;
    let action = |action: &str, parameters: &[&str]| {
        let parameters = parameters
            .iter()
            .map(|name| json!({"name": (*name), "in": "query", "schema": {"type": "string"}}));
        json!({
            "operationId": (format!("{action}{}", resource.kind.kind)),
            "parameters": (parameters.collect::<Value>()),
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": (gvk(resource))
        })
    };
    let writes = ["dryRun", "fieldManager", "fieldValidation"];
    let forced = ["dryRun", "fieldManager", "fieldValidation", "force"];
    let lists = [
        "labelSelector",
        "fieldSelector",
        "limit",
        "continue",
        "watch",
    ];
    let many = json!({
        "get": (action("list", &lists)),
        "post": (action("post", &writes)),
        "delete": (action("deletecollection", &["dryRun", "labelSelector"]))
    });
    let one = json!({
        "get": (action("get", &[])),
        "put": (action("put", &writes)),
        "patch": (action("patch", &forced)),
        "delete": (action("delete", &["dryRun", "propagationPolicy"]))
    });
    let status = json!({
        "get": (action("get", &[])),
        "put": (action("put", &writes)),
        "patch": (action("patch", &forced))
    });
    let all = format!("{prefix}/{plural}");
    let place = if resource.namespaced {
        format!("{prefix}/namespaces/{{namespace}}/{plural}")
    } else {
        all.clone()
    };
    let lists = json!({"get": (action("list", &lists))});
    let mut paths = vec![
        (Key::new(&place), many),
        (Key::new(&format!("{place}/{{name}}")), one),
        (Key::new(&format!("{place}/{{name}}/status")), status),
    ];
    if resource.namespaced {
        paths.push((Key::new(&all), lists));
    }
    paths
}
