//! The verbs of the server.

use document::{Value, View, json};
use http::Method;
use runtime::target::ObjectKey;
use runtime::target::claim::Claim;

use super::managers::{field, merge_patch};
use super::{Change, Inner, Kind, Owners, Stored, set, shown, status, unset};

type Reply = (u16, Value);

/// Where a request goes.
struct Route {
    kind: Kind,
    namespace: String,
    name: String,
    status: bool,
}

impl Inner {
    pub(super) fn handle(&mut self, parts: &http::request::Parts, bytes: &[u8]) -> Reply {
        let Some(route) = self.route(parts.uri.path()) else {
            return (
                404,
                status(
                    404,
                    "NotFound",
                    "the server could not find the requested resource",
                    &json!({}),
                ),
            );
        };
        let body = Value::from_json(bytes).unwrap_or_default();
        let query = parts.uri.query().unwrap_or_default();
        let parameter = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut values = pairs
                .filter(|(key, _)| *key == name)
                .map(|(_, value)| value);
            values.next().unwrap_or_default().replace("%2F", "/")
        };
        let manager = parameter("fieldManager");
        let name = match parts.method {
            Method::POST => body
                .get("metadata")
                .get("name")
                .as_str()
                .unwrap()
                .to_owned(),
            _ => route.name.clone(),
        };
        let key = ObjectKey::new(route.kind.group, route.kind.name, &route.namespace, &name);
        let content = parts
            .headers
            .get("content-type")
            .map(|v| v.to_str().unwrap());
        match (&parts.method, content) {
            (&Method::GET, _) => match self.objects.get(&key) {
                Some(stored) => (200, shown(stored)),
                None => not_found(&route.kind, &key),
            },
            (&Method::POST, _) => self.post(&route, &key, &body, &manager),
            (&Method::PUT, _) => self.put(&route, &key, &body, &manager),
            (&Method::PATCH, Some("application/merge-patch+json")) => {
                self.race(&key);
                self.patch(&route, &key, &body, &manager)
            }
            (&Method::PATCH, _) => {
                let force = parameter("force") == "true";
                self.apply(&route, &key, &body, &manager, force)
            }
            (&Method::DELETE, _) => self.delete(&route, &key, &body),
            _ => (405, status(405, "MethodNotAllowed", "no", &json!({}))),
        }
    }

    /// Somebody is faster.
    fn race(&mut self, key: &ObjectKey) {
        let next = self.races.iter().position(|(racing, _)| racing == key);
        if let Some(at) = next {
            let (key, patch) = self.races.remove(at);
            let object = merge_patch(&self.objects[&key].object, &patch);
            self.update(&key, &object, "racer");
        }
    }

    fn route(&self, path: &str) -> Option<Route> {
        let mut parts = path.trim_start_matches('/').split('/');
        let group = match parts.next()? {
            "api" => "",
            _ => parts.next()?,
        };
        parts.next()?;
        let rest: Vec<&str> = parts.collect();
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let plural = rest.first()?;
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|kind| kind.group == group && kind.plural == *plural)?;
        Some(Route {
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            name: rest.get(1).copied().unwrap_or_default().to_owned(),
            status: rest.get(2) == Some(&"status"),
        })
    }

    fn post(&mut self, route: &Route, key: &ObjectKey, body: &Value, manager: &str) -> Reply {
        let namespace = key.namespace();
        if !namespace.is_empty() && !self.namespaces.contains(namespace) {
            let details = json!({"name": namespace, "kind": "namespaces"});
            return (
                404,
                status(404, "NotFound", "namespaces not found", &details),
            );
        }
        if self.objects.contains_key(key) {
            let details = json!({"name": (key.object_name())});
            return (
                409,
                status(409, "AlreadyExists", "already exists", &details),
            );
        }
        if let Some(refusal) = refused(None, body) {
            return refusal;
        }
        let body = if route.kind.status {
            unset(body, &["status"])
        } else {
            body.clone()
        };
        self.create(key, &body, manager);
        (201, shown(&self.objects[key]))
    }

    /// Stores a new object.
    pub(super) fn create(&mut self, key: &ObjectKey, body: &Value, manager: &str) {
        self.version += 1;
        let mut object = defaulted(key, body);
        if key.kind.as_str() == "Job" {
            object = set(
                &object,
                &["spec", "selector"],
                json!({"matchLabels": {"uid": (self.version.to_string())}}),
            );
        }
        let mut metadata = object.get("metadata").clone();
        for (field, value) in [
            ("name", Value::from(key.object_name())),
            ("uid", Value::from(format!("uid-{}", self.version))),
            ("resourceVersion", Value::from(self.version.to_string())),
            ("generation", Value::from(1)),
        ] {
            metadata = set(&metadata, &[field], value);
        }
        if !key.namespace().is_empty() {
            metadata = set(&metadata, &["namespace"], Value::from(key.namespace()));
        }
        let object = set(&object, &["metadata"], metadata);
        let mut owners = Owners::default();
        owners.updated(&json!({}), &object, manager);
        self.store(key, Stored { object, owners });
    }

    fn store(&mut self, key: &ObjectKey, stored: Stored) {
        let new = shown(&stored);
        let old = self.objects.insert(key.clone(), stored);
        self.changed(Change {
            key: key.clone(),
            old: old.map(|old| old.object),
            new: Some(new),
            version: self.version,
        });
    }

    /// Stores another version of an object, if it is one.
    pub(super) fn update(&mut self, key: &ObjectKey, object: &Value, manager: &str) {
        let old = self.objects[key].clone();
        let object = defaulted(key, object);
        let mut owners = old.owners.clone();
        owners.updated(&old.object, &object, manager);
        self.replace(key, &old, &object, owners);
    }

    fn replace(&mut self, key: &ObjectKey, old: &Stored, object: &Value, owners: Owners) {
        let plain = |object: &Value| without_nulls(&unset(object, &["metadata", "managedFields"]));
        let object = set(
            &plain(object),
            &["metadata", "resourceVersion"],
            old.object.get("metadata").get("resourceVersion").clone(),
        );
        if object == plain(&old.object) && owners.managed_fields() == old.owners.managed_fields() {
            return;
        }
        self.version += 1;
        let version = Value::from(self.version.to_string());
        let object = set(&object, &["metadata", "resourceVersion"], version);
        let going = !object.get("metadata").get("deletionTimestamp").is_null();
        let held = object.get("metadata").get("finalizers").as_list();
        if going && held.is_none_or(document::ListRef::is_empty) {
            self.remove(key);
            return;
        }
        self.store(key, Stored { object, owners });
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.version += 1;
        let old = self.objects.remove(key);
        self.changed(Change {
            key: key.clone(),
            old: old.map(|old| old.object),
            new: None,
            version: self.version,
        });
    }

    fn changed(&mut self, change: Change) {
        self.tell(&change);
        self.changes.push(change);
    }

    fn put(&mut self, route: &Route, key: &ObjectKey, body: &Value, manager: &str) -> Reply {
        let Some(old) = self.objects.get(key).cloned() else {
            return not_found(&route.kind, key);
        };
        if let Some(conflict) = outdated(&old.object, body) {
            return conflict;
        }
        let mut object = body.clone();
        if route.kind.status {
            object = set(&object, &["status"], old.object.get("status").clone());
        }
        self.change(key, &old.object, &object, manager)
    }

    fn change(&mut self, key: &ObjectKey, old: &Value, object: &Value, manager: &str) -> Reply {
        if let Some(refusal) = refused(Some(old), object) {
            return refusal;
        }
        if key.kind.as_str() == "Job"
            && object.get("spec").get("selector") != old.get("spec").get("selector")
        {
            let details =
                json!({"causes": [{"field": "spec.selector", "message": "field is immutable"}]});
            return (
                422,
                status(
                    422,
                    "Invalid",
                    "spec.selector: field is immutable",
                    &details,
                ),
            );
        }
        self.update(key, object, manager);
        let left = self.objects.get(key).map(shown);
        (200, left.unwrap_or_else(|| object.clone()))
    }

    fn patch(&mut self, route: &Route, key: &ObjectKey, body: &Value, manager: &str) -> Reply {
        let Some(old) = self.objects.get(key).cloned() else {
            return not_found(&route.kind, key);
        };
        if let Some(conflict) = outdated(&old.object, body) {
            return conflict;
        }
        let patched = merge_patch(&old.object, body);
        let object = match (route.status, route.kind.status) {
            (true, _) => set(&old.object, &["status"], patched.get("status").clone()),
            (false, true) => set(&patched, &["status"], old.object.get("status").clone()),
            (false, false) => patched,
        };
        self.change(key, &old.object, &object, manager)
    }

    fn apply(
        &mut self,
        route: &Route,
        key: &ObjectKey,
        body: &Value,
        manager: &str,
        force: bool,
    ) -> Reply {
        if let Some(refusal) = refused(None, body) {
            return refusal;
        }
        let old = self.objects.get(key).cloned();
        if let Some(conflict) = old.as_ref().and_then(|old| outdated(&old.object, body)) {
            return conflict;
        }
        let (own_status, status_request) = (route.kind.status, route.status);
        let part = |leaf: &Vec<String>| !own_status || (leaf[0] == "status") == status_request;
        let stored = old.clone().unwrap_or_else(|| Stored {
            object: json!({"apiVersion": (body.get("apiVersion").clone()), "kind": (body.get("kind").clone()), "metadata": {}}),
            owners: Owners::default(),
        });
        let mut owners = stored.owners.clone();
        let applied = owners.apply(&stored.object, body, manager, force, part);
        let object = match applied {
            Ok(object) => object,
            Err(conflicts) => {
                let causes: Value = conflicts
                    .iter()
                    .map(|(leaf, other)| json!({"reason": "FieldManagerConflict", "field": (field(leaf)), "message": (format!("conflict with \"{other}\" using v1"))}))
                    .collect();
                return (
                    409,
                    status(409, "Conflict", "apply failed", &json!({"causes": causes})),
                );
            }
        };
        match old {
            None => {
                self.create(key, &object, manager);
                let mut stored = self.objects[key].clone();
                stored.owners = owners;
                self.objects.insert(key.clone(), stored);
                (201, shown(&self.objects[key]))
            }
            Some(old) => {
                self.replace(key, &old, &defaulted(key, &object), owners);
                (200, shown(&self.objects[key]))
            }
        }
    }

    fn delete(&mut self, route: &Route, key: &ObjectKey, body: &Value) -> Reply {
        let Some(old) = self.objects.get(key).cloned() else {
            return not_found(&route.kind, key);
        };
        let metadata = old.object.get("metadata");
        let claim = Claim::read(&old.object, key);
        let current =
            body.get("preconditions").get("resourceVersion") == metadata.get("resourceVersion");
        if current {
            assert!(
                claim.is_some_and(|claim| claim.created),
                "{key} is not ours to delete"
            );
        }
        let wanted = body.get("preconditions");
        for field in ["uid", "resourceVersion"] {
            let wanted = wanted.get(field);
            assert!(
                !wanted.is_null(),
                "a delete without a precondition on {field}"
            );
            if wanted != metadata.get(field) {
                return (
                    409,
                    status(409, "Conflict", "precondition failed", &json!({})),
                );
            }
        }
        let held = metadata.get("finalizers").as_list();
        if held.is_some_and(|held| !held.is_empty()) {
            let object = set(
                &old.object,
                &["metadata", "deletionTimestamp"],
                json!("2024-01-01T00:00:00Z"),
            );
            self.replace(key, &old, &object, old.owners.clone());
            return (200, shown(&self.objects[key]));
        }
        self.remove(key);
        (200, json!({"kind": "Status", "status": "Success"}))
    }
}

fn not_found(kind: &Kind, key: &ObjectKey) -> Reply {
    let details = json!({"name": (key.object_name()), "kind": (kind.plural)});
    (404, status(404, "NotFound", "not found", &details))
}

fn outdated(old: &Value, body: &Value) -> Option<Reply> {
    let metadata = body.get("metadata");
    let differs = |field: &str| {
        let wanted = metadata.get(field);
        !wanted.is_null() && wanted != old.get("metadata").get(field)
    };
    (differs("resourceVersion") || differs("uid")).then(|| {
        (
            409,
            status(409, "Conflict", "the object has been modified", &json!({})),
        )
    })
}

/// A policy: what says `reject` is refused, and `fixed` never changes.
fn refused(old: Option<&Value>, body: &Value) -> Option<Reply> {
    if body.get("spec").get("reject").as_bool() == Some(true) {
        let details = json!({"causes": [{"field": "spec.reject"}]});
        return Some((
            422,
            status(422, "Invalid", "spec.reject: not allowed", &details),
        ));
    }
    let fixed = |object: &Value| object.get("spec").get("fixed").clone();
    if let Some(old) = old
        && fixed(old) != fixed(body)
    {
        let details = json!({"causes": [{"field": "spec.fixed"}]});
        let message = "spec.fixed: Invalid value: field is immutable";
        return Some((422, status(422, "Invalid", message, &details)));
    }
    None
}

/// The object with defaults and normalised quantities, and without unknown fields.
fn defaulted(key: &ObjectKey, object: &Value) -> Value {
    let mut object = normal(&without_nulls(object));
    let missing = |object: &Value, field: &str| object.get("spec").get(field).is_null();
    match key.kind.as_str() {
        "Deployment" => {
            if missing(&object, "replicas") {
                object = set(&object, &["spec", "replicas"], json!(1));
            }
            if missing(&object, "strategy") {
                object = set(
                    &object,
                    &["spec", "strategy"],
                    json!({"type": "RollingUpdate"}),
                );
            }
            let containers = object.get("spec").get("containers").clone();
            if let Some(list) = containers.as_list() {
                let list = list.iter().map(|container| match container.get("policy") {
                    policy if policy.is_null() => set(container, &["policy"], json!("Always")),
                    _ => container.clone(),
                });
                object = set(&object, &["spec", "containers"], list.collect());
            }
        }
        "Widget" => {
            if missing(&object, "defaulted") {
                object = set(&object, &["spec", "defaulted"], json!("yes"));
            }
            let probe = object.get("spec").get("probe");
            if !probe.is_null() && probe.get("timeout").is_null() {
                object = set(&object, &["spec", "probe", "timeout"], json!(1));
            }
            object = unset(&object, &["spec", "unknown"]);
        }
        _ => {}
    }
    object
}

/// Quantities in their canonical form: `1000m` is `1`.
fn normal(value: &Value) -> Value {
    match value.view() {
        View::Map(map) => map
            .iter()
            .map(|(key, value)| {
                let whole = value.as_str().and_then(|text| text.strip_suffix("000m"));
                let value = match whole {
                    Some(whole) if key.as_str() == "cpu" => Value::from(whole),
                    _ => normal(value),
                };
                (key.clone(), value)
            })
            .collect::<document::Map>()
            .into(),
        View::List(list) => list.iter().map(normal).collect(),
        _ => value.clone(),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value.view() {
        View::Map(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect::<document::Map>()
            .into(),
        View::List(list) => list.iter().map(without_nulls).collect(),
        _ => value.clone(),
    }
}
