//! Installing and removing, on a fake API server.

use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value as Json, json};

use super::*;

/// The finalizer of definitions, with which the server removes their objects first.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// An API server with the definition and Operators.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    definition: Option<Json>,
    operators: BTreeMap<String, Json>,
    /// The writes in short form, such as `PATCH op {…}`.
    log: Vec<String>,
    /// How many writes of Operators are answered with a conflict first.
    conflicts: usize,
    /// The status code of the answer to an apply, if it is not 200.
    refuses: Option<u16>,
    /// How often a definition that is being deleted is still read; `None` if it stays.
    reads_until_gone: Option<usize>,
    /// Whether somebody deletes the definition right before it is applied.
    deleted_before_apply: bool,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let path = parts.uri.path().trim_end_matches('?').to_owned();
                let (code, body) = server.answer(&parts.method, &path, &body);
                let mut response = Response::new(Body::from(serde_json::to_vec(&body)?));
                *response.status_mut() = StatusCode::from_u16(code)?;
                Ok::<_, tower::BoxError>(response)
            }
        });
        Client::new(service, "default")
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> (u16, Json) {
        let mut state = self.state();
        let (_, name) = path.rsplit_once('/').unwrap();
        match (method.as_str(), name) {
            ("GET", "customresourcedefinitions") => {
                let items: Vec<_> = state.definition.iter().cloned().collect();
                (200, list("CustomResourceDefinitionList", &items))
            }
            ("GET", "operators") if state.definition.is_none() => status(404),
            ("GET", "operators") => {
                let items: Vec<_> = state.operators.values().cloned().collect();
                (200, list("OperatorList", &items))
            }
            (_, crd::NAME) => state.of_definition(method, body),
            (method, name) => state.of_operator(method, name, body),
        }
    }

    fn with(self, name: &str, operator: Json) -> Self {
        let mut operator = operator;
        operator["metadata"]["name"] = json!(name);
        operator["metadata"]["resourceVersion"] = json!("1");
        self.state().operators.insert(name.to_owned(), operator);
        self
    }

    fn installed(self) -> Self {
        self.state().definition = Some(established(json!({}), 1));
        self
    }

    /// With a definition that is being deleted.
    fn leaving(self, reads_until_gone: Option<usize>) -> Self {
        let mut state = self.state();
        state.definition = Some(terminating(established(json!({}), 1)));
        state.reads_until_gone = reads_until_gone;
        drop(state);
        self
    }
}

impl State {
    fn of_definition(&mut self, method: &Method, body: &[u8]) -> (u16, Json) {
        match *method {
            Method::GET => {
                self.finalize();
                let found = self.definition.clone();
                found.map_or(status(404), |found| (200, found))
            }
            Method::PATCH => {
                if let Some(code) = self.refuses {
                    return status(code);
                }
                let sent: Json = serde_json::from_slice(body).unwrap();
                let old = self.definition.take().unwrap_or_default();
                let changed = old["spec"] != sent["spec"];
                let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
                let mut applied = established(sent, generation + i64::from(changed));
                let leaves = std::mem::take(&mut self.deleted_before_apply);
                if leaves || is_terminating(&old) {
                    applied = terminating(applied);
                }
                self.definition = Some(applied.clone());
                self.log.push("APPLY".to_owned());
                (200, applied)
            }
            _ => {
                let sent: Json = serde_json::from_slice(body).unwrap();
                assert_eq!(sent["preconditions"]["uid"], "crd");
                self.log.push("DELETE".to_owned());
                (200, self.definition.take().unwrap())
            }
        }
    }

    /// Removes a definition that is being deleted, when it was read often enough.
    fn finalize(&mut self) {
        if !self.definition.as_ref().is_some_and(is_terminating) {
            return;
        }
        match &mut self.reads_until_gone {
            None => {}
            Some(0) => self.definition = None,
            Some(reads) => *reads -= 1,
        }
    }

    fn of_operator(&mut self, method: &str, name: &str, body: &[u8]) -> (u16, Json) {
        let Some(operator) = self.operators.get_mut(name) else {
            return status(404);
        };
        if method == "GET" {
            return (200, operator.clone());
        }
        let patch: Json = serde_json::from_slice(body).unwrap();
        let version = patch["metadata"].get("resourceVersion");
        if version.is_some() && self.conflicts > 0 {
            self.conflicts -= 1;
            operator["metadata"]["resourceVersion"] = json!("2");
            return status(409);
        }
        if version.is_some_and(|version| *version != operator["metadata"]["resourceVersion"]) {
            return status(409);
        }
        self.log.push(format!("{method} {name} {patch}"));
        if let Some(finalizers) = patch["metadata"].get("finalizers") {
            operator["metadata"]["finalizers"] = finalizers.clone();
        }
        if let Some(policy) = patch["spec"].get("deletionPolicy") {
            operator["spec"]["deletionPolicy"] = policy.clone();
        }
        (200, operator.clone())
    }
}

fn established(mut definition: Json, generation: i64) -> Json {
    definition["metadata"]["name"] = json!(crd::NAME);
    definition["metadata"]["uid"] = json!("crd");
    definition["metadata"]["generation"] = json!(generation);
    definition["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
    if definition["spec"].is_null() {
        definition["spec"] = json!({
            "group": "dcontroller.io", "scope": "Cluster", "versions": [],
            "names": {"kind": "Operator", "plural": "operators"},
        });
    }
    definition
}

/// The definition after its deletion was requested.
fn terminating(mut definition: Json) -> Json {
    definition["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    definition["metadata"]["finalizers"] = json!([CLEANUP]);
    definition
}

fn is_terminating(definition: &Json) -> bool {
    !definition["metadata"]["deletionTimestamp"].is_null()
}

fn list(kind: &str, items: &[Json]) -> Json {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "1"}, "items": items})
}

fn status(code: u16) -> (u16, Json) {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        _ => "Conflict",
    };
    (
        code,
        json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "conflict with \"helm\""}),
    )
}

fn deleting(finalizers: &[&str]) -> Json {
    json!({"metadata": {"finalizers": finalizers}, "spec": {"deletionPolicy": "Delete"}})
}

#[tokio::test]
async fn the_definition_is_created_changed_or_left_unchanged() {
    let server = Server::default();
    let client = server.client();
    assert_eq!(
        install(&client, false, || {}).await.unwrap(),
        Installed::Created
    );
    assert_eq!(
        install(&client, false, || {}).await.unwrap(),
        Installed::Unchanged
    );
    let server = Server::default().installed();
    let client = server.client();
    assert_eq!(
        install(&client, false, || {}).await.unwrap(),
        Installed::Changed
    );
}

#[tokio::test]
async fn conflicts_and_missing_permissions_are_reported() {
    let server = Server::default();
    server.state().refuses = Some(409);
    let error = install(&server.client(), false, || {}).await.unwrap_err();
    assert!(
        matches!(&error, InstallError::Conflict(why) if why.contains("helm")),
        "{error}"
    );
    server.state().refuses = Some(403);
    let error = install(&server.client(), false, || {}).await.unwrap_err();
    assert!(matches!(error, InstallError::Forbidden(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_is_being_deleted_is_created_when_it_is_gone() {
    let server = Server::default().leaving(Some(20));
    let mut waits = 0;
    let installed = install(&server.client(), false, || waits += 1).await;
    assert_eq!((installed.unwrap(), waits), (Installed::Created, 1));
    let state = server.state();
    assert!(!is_terminating(state.definition.as_ref().unwrap()));
    assert_eq!(state.log, ["APPLY"]);
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_is_deleted_meanwhile_is_created_again() {
    let server = Server::default().installed();
    server.state().deleted_before_apply = true;
    server.state().reads_until_gone = Some(2);
    let mut waits = 0;
    let installed = install(&server.client(), false, || waits += 1).await;
    assert_eq!((installed.unwrap(), waits), (Installed::Created, 1));
    let state = server.state();
    assert!(!is_terminating(state.definition.as_ref().unwrap()));
    assert_eq!(state.log, ["APPLY", "APPLY"]);
}

#[tokio::test(start_paused = true)]
async fn what_holds_a_definition_that_is_being_deleted_is_named() {
    let check = async |server: Server, operators: &str| {
        let mut waits = 0;
        let start = Instant::now();
        let error = install(&server.client(), false, || waits += 1).await;
        let expect = format!(
            "the installed definition is being deleted, and is not gone after a minute: it waits \
             for its finalizers: {CLEANUP}{operators}"
        );
        assert_eq!((error.unwrap_err().to_string(), waits), (expect, 1));
        assert_eq!(start.elapsed(), PATIENCE);
        assert!(server.state().log.is_empty());
    };
    check(Server::default().leaving(None), "").await;
    let left = Server::default()
        .leaving(None)
        .with("a", deleting(&[FINALIZER]))
        .with("b", json!({}));
    let operators = format!("; these Operators are left: a ({FINALIZER}), b");
    check(left, &operators).await;
}

#[tokio::test]
async fn nothing_is_removed_if_nothing_is_installed() {
    assert_eq!(look(&Server::default().client()).await.unwrap(), None);
}

#[tokio::test]
async fn operators_are_deleted_with_the_definition() {
    let server = Server::default().installed().with("a", json!({}));
    let client = server.client();
    let found = look(&client).await.unwrap().unwrap();
    assert_eq!(
        (found.orphaning.as_slice(), found.deleting.len()),
        (&["a".to_owned()][..], 0)
    );
    uninstall(&client, &found, false).await.unwrap();
    assert_eq!(server.state().log, ["DELETE"]);
}

#[tokio::test]
async fn operators_with_deletion_policy_delete_prevent_the_removal() {
    // One has the policy, the other only the finalizer from before its policy was changed.
    let server = Server::default()
        .installed()
        .with("a", deleting(&[]))
        .with("b", json!({"metadata": {"finalizers": [FINALIZER]}}))
        .with("c", json!({"spec": {"deletionPolicy": "Orphan"}}));
    let client = server.client();
    let found = look(&client).await.unwrap().unwrap();
    assert_eq!(found.deleting, ["a", "b"]);
    let error = uninstall(&client, &found, false).await.unwrap_err();
    assert_eq!(error.to_string(), "the deletionPolicy of a, b is Delete");
    assert!(server.state().log.is_empty());
}

#[tokio::test]
async fn with_orphan_their_policy_is_changed_first() {
    let server = Server::default()
        .installed()
        .with("a", deleting(&[FINALIZER, "example.com/other"]));
    server.state().conflicts = 1;
    let client = server.client();
    let found = look(&client).await.unwrap().unwrap();
    uninstall(&client, &found, true).await.unwrap();
    let state = server.state();
    assert_eq!(
        state.log,
        [
            r#"PATCH a {"spec":{"deletionPolicy":"Orphan"}}"#,
            r#"PATCH a {"metadata":{"finalizers":["example.com/other"],"resourceVersion":"2"}}"#,
            "DELETE",
        ]
    );
}
