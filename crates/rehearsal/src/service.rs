//! Which request is answered from where.

use std::sync::Arc;

use apiserver::{ObjectsRoute, User};
use bytes::Bytes;
use document::{Value, json};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use object::metadata::{KEYS, is_terminating, with_metadata};
use object::{GroupKind, ObjectKey, ObjectName};

use crate::cluster::{DRY_RUN, Refusal, encoded};
use crate::copy::{Copy, Served, collection_path, operator_kind};

/// A client of the copy. Discovery, and questions about permissions, are answered by the cluster.
pub(crate) fn client(copy: &Arc<Copy>, dry_run: bool) -> Client {
    let copy = copy.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let service = Service {
            copy: copy.clone(),
            dry_run,
        };
        async move { service.answer(request).await }
    });
    Client::new(service, "default")
}

/// Answers the requests of deltic.
struct Service {
    copy: Arc<Copy>,
    /// Whether the server tries each write, so that its defaults and its admission show.
    dry_run: bool,
}

/// The body of an answer: of the cluster, or of the copy.
type Sent = UnsyncBoxBody<Bytes, tower::BoxError>;

type Answer = Result<Response<Sent>, tower::BoxError>;

impl Service {
    async fn answer(&self, request: Request<Body>) -> Answer {
        let route = ObjectsRoute::parse(request.uri().path());
        let Some(route) = route.filter(|route| !is_question(route)) else {
            let answer = self.copy.cluster.forward(request).await?;
            return Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()));
        };
        let (mut parts, body) = request.into_parts();
        // The copy was read with the permissions of the user.
        parts.headers.remove("impersonate-user");
        let body = body.collect().await?.to_bytes();
        // A watch is answered at once; what it delivers later is not a request.
        let _under_way = self.copy.begin();
        if parts.method == Method::POST && route.resource == "events" {
            return Ok(json_answer(StatusCode::CREATED, body.to_vec()));
        }
        match self.objects(parts, &route, &body).await {
            Ok(response) => Ok(response),
            // deltic sees the error of the cluster as it is.
            Err(Refusal::Answer(code, body)) => Ok(json_answer(code, body)),
            Err(Refusal::Failed(error)) => Err(error.into()),
            Err(Refusal::Malformed(why)) => Err(why.into()),
        }
    }

    async fn objects(
        &self,
        parts: Parts,
        route: &ObjectsRoute,
        body: &[u8],
    ) -> Result<Response<Sent>, Refusal> {
        let Some(served) = self.copy.resource(route).await? else {
            return Ok(not_found(
                "the server could not find the requested resource",
            ));
        };
        let sent = Value::from_json(body).unwrap_or_default();
        let name = route.name.clone().or_else(|| {
            let created = parts.method == Method::POST;
            created.then(|| object::metadata::name(&sent).to_owned())
        });
        match &name {
            Some(name) => self.copy.load_name(route, &served, name).await?,
            None => {
                let selector = selector(parts.uri.query().unwrap_or_default());
                self.copy.load_list(route, &served, &selector).await?;
            }
        }
        let Some(name) = name.filter(|_| parts.method != Method::GET) else {
            return Ok(self.handle(parts, body).await);
        };
        if let Some(missing) = self.missing_namespace(route).await? {
            return Ok(missing);
        }
        let key = ObjectKey {
            kind: served.kind.clone(),
            name: ObjectName::new(route.namespace.as_deref().unwrap_or_default(), &name),
        };
        self.write(parts, route, &served, (key, body)).await
    }

    async fn handle(&self, parts: Parts, body: &[u8]) -> Response<Sent> {
        let user = User {
            name: "deltic".to_owned(),
            ..User::default()
        };
        let request = Request::from_parts(parts, Full::from(body.to_vec()));
        let response = self.copy.server.handle(&user, request).await;
        response.map(|body| body.map_err(|never| match never {}).boxed_unsync())
    }

    /// Carries out a write on the copy.
    async fn write(
        &self,
        parts: Parts,
        route: &ObjectsRoute,
        served: &Served,
        (key, body): (ObjectKey, &[u8]),
    ) -> Result<Response<Sent>, Refusal> {
        let before = self.copy.store.get(&key.kind, &key.name);
        let deletes = parts.method == Method::DELETE;
        let tries = self.dry_run && key.kind != operator_kind() && route.subresource.is_none();
        let first = !self.copy.has_written(&key);
        let mut tried = None;
        if tries && first {
            tried = self.try_request(&parts, (&key, body)).await?;
        }
        let manager = field_manager(parts.uri.query().unwrap_or_default());
        let response = self.handle(parts, body).await;
        if !response.status().is_success() {
            return Ok(response);
        }
        if tries && !first && !deletes {
            match self.try_result(route, &key, &manager).await {
                Ok(result) => tried = result,
                Err(refusal) => {
                    if let Some(before) = &before {
                        let _ = self.copy.store.import(&served.kind, before);
                    }
                    return Err(refusal);
                }
            }
        }
        self.copy.note(key.clone(), before);
        if deletes && key.kind != operator_kind() {
            self.copy.let_go(&key);
        }
        let Some(tried) = tried.filter(|_| !deletes) else {
            return Ok(response);
        };
        let stored = self.copy.store.import(&served.kind, &tried);
        let stored = stored.map_err(|error| Refusal::Malformed(error.to_string()))?;
        let text = stored.object.to_string().into_bytes();
        Ok(json_answer(response.status(), text))
    }

    /// Lets the server try the first write to an object. Returns the object that it would store.
    async fn try_request(
        &self,
        parts: &Parts,
        (key, body): (&ObjectKey, &[u8]),
    ) -> Result<Option<Value>, Refusal> {
        let path = parts.uri.path();
        let query = parts.uri.query().filter(|query| !query.is_empty());
        let query = query.map_or(DRY_RUN.to_owned(), |query| format!("{query}&{DRY_RUN}"));
        let mut request = Request::builder()
            .method(parts.method.clone())
            .uri(format!("{path}?{query}"));
        for (name, value) in &parts.headers {
            request = request.header(name, value);
        }
        let body = self.copy.with_version_of_cluster(key, body);
        let answer = self.copy.cluster.send(request, body).await?;
        let is_object = GroupKind::of(&answer).as_ref() == Some(&key.kind);
        Ok(is_object.then_some(answer))
    }

    /// Sends the result of several writes to an object to the server as a dry run. The server has
    /// not seen the writes before the last one. Returns the object that it would store, with the managers of the
    /// copy; `None` if that cannot be tried, because the object was replaced.
    async fn try_result(
        &self,
        route: &ObjectsRoute,
        key: &ObjectKey,
        manager: &str,
    ) -> Result<Option<Value>, Refusal> {
        let Some(object) = self.copy.store.get(&key.kind, &key.name) else {
            return Ok(None);
        };
        let Some((method, body)) = self.copy.as_one_write(key, &object) else {
            return Ok(None);
        };
        let path = collection_path(route);
        let path = match method {
            Method::PUT => format!("{path}/{}", encoded(key.object_name())),
            _ => path,
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}?{manager}{DRY_RUN}"))
            .header(http::header::CONTENT_TYPE, "application/json");
        let answer = self.copy.cluster.send(request, body).await?;
        Ok(Some(identified(&answer, &object)))
    }

    /// The answer of the server to a write in a namespace that does not exist. If the user may
    /// not read namespaces, it is assumed to exist.
    async fn missing_namespace(
        &self,
        route: &ObjectsRoute,
    ) -> Result<Option<Response<Sent>>, Refusal> {
        let Some(namespace) = &route.namespace else {
            return Ok(None);
        };
        let namespaces = ObjectsRoute {
            version: "v1".to_owned(),
            resource: "namespaces".to_owned(),
            ..ObjectsRoute::default()
        };
        let Some(served) = self.copy.resource(&namespaces).await? else {
            return Ok(None);
        };
        match self.copy.load_name(&namespaces, &served, namespace).await {
            Ok(()) => {}
            Err(Refusal::Answer(StatusCode::FORBIDDEN, _)) => return Ok(None),
            Err(refusal) => return Err(refusal),
        }
        let name = ObjectName::new("", namespace);
        let found = self.copy.store.get(&served.kind, &name);
        if found.is_some_and(|found| !is_terminating(&found)) {
            return Ok(None);
        }
        Ok(Some(not_found(&format!(
            "namespaces \"{namespace}\" not found"
        ))))
    }
}

/// What the server would store, with the identity and the managers of the object in the copy.
fn identified(answer: &Value, object: &Value) -> Value {
    let keys = &*KEYS;
    let of = object.get_key(&keys.metadata);
    let metadata = answer.get_key(&keys.metadata).as_map().cloned();
    let mut metadata = metadata.unwrap_or_default();
    let same = [
        &keys.uid,
        &keys.generation,
        &keys.creation_timestamp,
        &keys.managed_fields,
    ];
    for key in same {
        metadata = metadata.with(key.clone(), of.get_key(key).clone());
    }
    with_metadata(answer, metadata)
}

/// The field manager of a query, as the beginning of another one.
fn field_manager(query: &str) -> String {
    let mut pairs = query.split('&');
    let manager = pairs.find(|pair| pair.starts_with("fieldManager="));
    manager.map_or_else(String::new, |manager| format!("{manager}&"))
}

/// Whether a route is that of a question, which is not stored.
fn is_question(route: &ObjectsRoute) -> bool {
    ["authorization.k8s.io", "authentication.k8s.io"].contains(&route.group.as_str())
}

/// The selectors of a query, which choose what is copied.
fn selector(query: &str) -> String {
    let chosen = query.split('&').filter(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        ["labelSelector", "fieldSelector"].contains(&name) && !value.is_empty()
    });
    let mut chosen: Vec<&str> = chosen.collect();
    chosen.sort_unstable();
    chosen.iter().flat_map(|pair| ["&", pair]).collect()
}

fn json_answer(code: StatusCode, body: Vec<u8>) -> Response<Sent> {
    let mut response = Response::new(full(body));
    *response.status_mut() = code;
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}

fn full(body: Vec<u8>) -> Sent {
    let full = Full::new(Bytes::from(body));
    full.map_err(|never| match never {}).boxed_unsync()
}

fn not_found(message: &str) -> Response<Sent> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": "NotFound", "code": 404
    });
    json_answer(StatusCode::NOT_FOUND, status.to_string().into_bytes())
}
