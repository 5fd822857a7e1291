//! Discovery: which groups, versions and resources are served.

use document::{Map, Value, json};
use http::HeaderMap;

use crate::answer::Answer;
use crate::negotiate;
use crate::resource::{Catalog, Group, Resource};

/// In the order in which kube-apiserver lists them for custom resources.
const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// The version of Kubernetes whose API this is.
const MINOR: &str = "36";

/// `/version`
pub(crate) fn version() -> Answer {
    let version = env!("CARGO_PKG_VERSION");
    Answer::ok(json!({
        "major": "1",
        "minor": MINOR,
        "gitVersion": (format!("v1.{MINOR}.0+deltic-{version}")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "rustc",
        "platform": (format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH))
    }))
}

/// `/`
pub(crate) fn paths(catalog: &Catalog) -> Answer {
    let mut paths: Vec<String> = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2"]
        .map(str::to_owned)
        .to_vec();
    paths.extend(["/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    for (group, resources) in catalog.groups() {
        paths.push(format!("/apis/{group}"));
        let versions = versions(&resources).into_iter();
        paths.extend(versions.map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort();
    Answer::ok(json!({"paths": (paths.into_iter().map(Value::from).collect::<Value>())}))
}

/// `/api`: nothing of the core group is served.
pub(crate) fn core_versions(headers: &HeaderMap) -> Answer {
    match negotiate::aggregated_discovery(headers) {
        Some(version) => aggregated(version, Value::list(Vec::<Value>::new())),
        None => Answer::ok(json!({"kind": "APIVersions", "versions": []})),
    }
}

/// `/api/v1/namespaces/NAME`: views are in any namespace.
pub(crate) fn namespace(name: &str) -> Answer {
    Answer::ok(json!({
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "status": {"phase": "Active"}
    }))
}

/// `/apis`
pub(crate) fn groups(catalog: &Catalog, headers: &HeaderMap) -> Answer {
    let groups = catalog.groups();
    if let Some(version) = negotiate::aggregated_discovery(headers) {
        let items = groups
            .iter()
            .map(|(name, group)| group_discovery(name, group));
        return aggregated(version, items.collect());
    }
    let groups = groups.iter().map(|(name, group)| group_value(name, group));
    Answer::ok(json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": (groups.collect::<Value>())
    }))
}

/// `/apis/GROUP`
pub(crate) fn group(catalog: &Catalog, name: &str) -> Option<Answer> {
    let group = catalog.group(name)?;
    let mut entries = group_value(name, &group).as_map()?.entries().to_vec();
    for (key, value) in [("kind", "APIGroup"), ("apiVersion", "v1")] {
        entries.push((document::Key::new(key), value.into()));
    }
    Some(Answer::ok(Map::from_entries(entries).into()))
}

/// `/apis/GROUP/VERSION`
pub(crate) fn resources(catalog: &Catalog, group: &str, version: &str) -> Option<Answer> {
    let served = catalog.group(group)?;
    let served: Vec<_> = served
        .values()
        .filter(|resource| resource.version == version)
        .collect();
    if served.is_empty() {
        return None;
    }
    let resources = served
        .iter()
        .flat_map(|resource| [resource_value(resource), status_value(resource)]);
    Some(Answer::ok(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": (format!("{group}/{version}")),
        "resources": (resources.collect::<Value>())
    })))
}

fn group_value(name: &str, group: &Group) -> Value {
    let version = |version: &String| json!({"groupVersion": (format!("{name}/{version}")), "version": (version.as_str())});
    let versions = versions(group);
    let preferred = versions.first().map_or(Value::NULL, version);
    json!({
        "name": name,
        "versions": (versions.iter().map(version).collect::<Value>()),
        "preferredVersion": preferred
    })
}

fn resource_value(resource: &Resource) -> Value {
    let mut entries = vec![
        ("name", Value::from(resource.plural.as_str())),
        ("singularName", resource.singular.as_str().into()),
        ("namespaced", resource.namespaced.into()),
        ("kind", resource.kind.kind.as_str().into()),
        ("verbs", verbs(resource)),
    ];
    entries.extend(names("shortNames", &resource.short_names));
    entries.extend(names("categories", &resource.categories));
    let entries = entries.into_iter();
    let entries = entries.map(|(key, value)| (document::Key::new(key), value));
    Map::from_entries(entries.collect()).into()
}

fn status_value(resource: &Resource) -> Value {
    json!({
        "name": (format!("{}/status", resource.plural)),
        "singularName": "",
        "namespaced": (resource.namespaced),
        "kind": (resource.kind.kind.as_str()),
        "verbs": (STATUS_VERBS.into_iter().map(Value::from).collect::<Value>())
    })
}

/// The verbs of a resource.
fn verbs(resource: &Resource) -> Value {
    let named = |verb: &&str| resource.collected || !verb.starts_with("delete");
    let verbs = VERBS.into_iter().filter(named);
    verbs.map(Value::from).collect()
}

/// A list of names, unless it is empty.
fn names(key: &'static str, names: &[String]) -> Option<(&'static str, Value)> {
    let list: Value = names
        .iter()
        .map(|name| Value::from(name.as_str()))
        .collect();
    (!names.is_empty()).then_some((key, list))
}

/// The versions of a group, each once.
pub(crate) fn versions(group: &Group) -> Vec<String> {
    let mut versions: Vec<String> = group.values().map(|one| one.version.clone()).collect();
    versions.sort();
    versions.dedup();
    versions
}

fn aggregated(version: &'static str, items: Value) -> Answer {
    let mut answer = Answer::ok(json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": (format!("apidiscovery.k8s.io/{version}")),
        "metadata": {},
        "items": items
    }));
    // client-go compares the type with what it has asked for.
    answer.content_type = match version {
        "v2beta1" => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    };
    answer
}

fn group_discovery(name: &str, group: &Group) -> Value {
    let versions = versions(group).into_iter().map(|version| {
        let served = group.values().filter(|one| one.version == version);
        json!({
            "version": (version.as_str()),
            "freshness": "Current",
            "resources": (served.map(|one| resource_discovery(one)).collect::<Value>())
        })
    });
    json!({
        "metadata": {"name": name, "creationTimestamp": null},
        "versions": (versions.collect::<Value>())
    })
}

fn resource_discovery(resource: &Resource) -> Value {
    let kind = json!({
        "group": (resource.kind.group.as_str()),
        "version": (resource.version.as_str()),
        "kind": (resource.kind.kind.as_str())
    });
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    let mut entries = vec![
        ("resource", Value::from(resource.plural.as_str())),
        ("responseKind", kind.clone()),
        ("scope", scope.into()),
        ("singularResource", resource.singular.as_str().into()),
        ("verbs", verbs(resource)),
        (
            "subresources",
            Value::list([json!({
                "subresource": "status",
                "responseKind": kind,
                "verbs": (STATUS_VERBS.into_iter().map(Value::from).collect::<Value>())
            })]),
        ),
    ];
    entries.extend(names("shortNames", &resource.short_names));
    entries.extend(names("categories", &resource.categories));
    let entries = entries.into_iter();
    let entries = entries.map(|(key, value)| (document::Key::new(key), value));
    Map::from_entries(entries.collect()).into()
}
