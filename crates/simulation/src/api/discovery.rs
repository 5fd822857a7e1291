//! Discovery of kinds, as `kube::discovery` uses it, and their schemas.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, json};

use super::kind::Kind;

/// The kinds that are served.
type Kinds<'a> = &'a [&'static Kind];

/// `/api`
pub(super) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis`
pub(super) fn groups(kinds: Kinds<'_>) -> Value {
    let named = kinds.iter().filter(|kind| !kind.group.is_empty());
    let versions: BTreeMap<&str, &Kind> = named.map(|kind| (kind.group, *kind)).collect();
    let groups = versions.values().map(|kind| {
        let version = json!({"groupVersion": (kind.api_version()), "version": (kind.version)});
        json!({
            "name": (kind.group), "versions": [(version.clone())], "preferredVersion": version,
        })
    });
    let groups: Value = groups.collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/api/v1`, `/apis/<group>/<version>`
pub(super) fn resources(kinds: Kinds<'_>, group: &str, version: &str) -> Value {
    let here = kinds.iter();
    let here: Vec<&&Kind> = here
        .filter(|kind| kind.group == group && kind.version == version)
        .collect();
    let resources = here.iter().flat_map(|kind| {
        let resource = |name: String, verbs: Value| {
            json!({
                "name": name, "singularName": "", "namespaced": (kind.namespaced),
                "kind": (kind.name), "verbs": verbs,
            })
        };
        let verbs = json!([
            "create", "delete", "get", "list", "patch", "update", "watch"
        ]);
        let status = kind.status.then(|| {
            let name = format!("{}/status", kind.plural);
            resource(name, json!(["get", "patch", "update"]))
        });
        [resource(kind.plural.to_owned(), verbs)]
            .into_iter()
            .chain(status)
    });
    let resources: Value = resources.collect();
    json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": (here.first().map(|kind| kind.api_version()).unwrap_or_default()),
        "resources": resources,
    })
}

/// `/openapi/v3`: every group has schemas.
pub(super) fn schemas(kinds: Kinds<'_>) -> Value {
    let versions: BTreeSet<String> = kinds.iter().map(|kind| kind.api_version()).collect();
    let paths = versions.iter().map(|version| {
        let path = format!("apis/{version}");
        let address = format!("/openapi/v3/{path}?hash=1");
        (Key::new(&path), json!({"serverRelativeURL": address}))
    });
    let paths: Map = paths.collect();
    json!({"paths": (Value::from(paths))})
}

/// `/openapi/v3/…`: without information about lists.
pub(super) fn schema() -> Value {
    json!({"openapi": "3.0.0", "components": {"schemas": {}}})
}
