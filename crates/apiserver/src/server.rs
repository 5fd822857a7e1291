//! The server: what a request is about, who may make it, and who answers it.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use document::Value;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use object::ObjectName;
use store::{Caller, Store};
use tokio::time::timeout;

use crate::access::{Access, Attributes, User, attributes, path_attributes, refused};
use crate::answer::{Answer, Body};
use crate::encodings::Encodings;
use crate::info::RequestInfo;
use crate::limits::{Limits, Permit, Permits};
use crate::patch::APPLY;
use crate::query::Query;
use crate::resource::{Catalog, Resource};
use crate::reviews::Review;
use crate::route::{ObjectsRoute, Probe, Route};
use crate::sending::{PIECE, holding};
use crate::status::StatusError;
use crate::subresource::Registered;
use crate::{discovery, negotiate, openapi, sending};

/// A write with a body of more bytes is carried out on a thread of its own.
const LARGE: usize = 64 * 1024;

/// The time and random numbers.
pub trait Env: Send + Sync {
    /// The time, in seconds since 1970.
    fn now(&self) -> i64;
    /// A random number.
    fn random(&self) -> u64;
}

/// Serves the objects of a store. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) access: Arc<dyn Access>,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) limits: Limits,
    pub(crate) permits: Permits,
    pub(crate) encodings: Encodings,
    pub(crate) extension: OnceLock<Registered>,
    /// Why objects are not served at the moment.
    closed: RwLock<Option<String>>,
}

impl Server {
    /// A server of the resources in the catalog.
    pub fn new(
        store: Store,
        catalog: Catalog,
        access: Arc<dyn Access>,
        env: Arc<dyn Env>,
        limits: Limits,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                catalog,
                access,
                env,
                permits: Permits::new(&limits),
                encodings: Encodings::default(),
                extension: OnceLock::new(),
                limits,
                closed: RwLock::new(None),
            }),
        }
    }

    /// Answers all requests for objects with 503 and this reason, or serves them again. A
    /// replica that does not lead names the leader here.
    pub fn close(&self, reason: Option<String>) {
        let closed = self.shared.closed.write();
        *closed.unwrap_or_else(PoisonError::into_inner) = reason;
    }

    /// Answers a request of an authenticated user.
    pub async fn handle<B>(&self, user: &User, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let mut info = None;
        let answer = self.dispatch(user, &parts, body, &mut info).await;
        let mut response = answer.unwrap_or_else(|error| error.respond());
        if let Some(info) = info {
            response.extensions_mut().insert(info);
        }
        if parts.method == Method::HEAD {
            // HTTP/2 clients reject an answer to HEAD that has content.
            *response.body_mut() = Body::new(Empty::new());
        }
        response
    }

    async fn dispatch<B>(
        &self,
        user: &User,
        parts: &Parts,
        body: B,
        info: &mut Option<RequestInfo>,
    ) -> Result<Response<Body>, StatusError>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        refuse_impersonation(&parts.headers)?;
        let path = parts.uri.path();
        let route = Route::parse(path).ok_or_else(StatusError::no_such_path)?;
        let gzip = negotiate::accepts_gzip(&parts.headers);
        let route = match route {
            Route::Objects(route) if route.group.is_empty() && !self.has_core() => {
                return Err(StatusError::no_such_path());
            }
            Route::Objects(route) => route,
            Route::Namespace(name) if self.has_core() => ObjectsRoute::namespace(name),
            Route::Health(probe) => return Ok(self.health(probe)),
            // kubectl looks whether the namespace of a missing object exists. All do here.
            Route::Namespace(name) if parts.method == Method::GET => {
                let answer = discovery::namespace(&name);
                return Ok(answer.respond(gzip, false));
            }
            other => {
                let attributes = path_attributes(&parts.method, path);
                *info = Some(RequestInfo::path(&attributes));
                self.check(user, attributes).await?;
                if !matches!(parts.method, Method::GET | Method::HEAD) {
                    return Err(StatusError::method_not_allowed());
                }
                if other == Route::OpenApiV2 && openapi::wants_protobuf(&parts.headers) {
                    return Ok(openapi::v2_protobuf());
                }
                let answer = self.describe(&other, &parts.headers)?;
                return Ok(answer.respond(gzip, false));
            }
        };
        if let Some(review) = Review::of(&parts.method, &route) {
            let _permit = self.shared.permits.request(&user.name)?;
            let content = self.read_body(body).await?;
            let answer = review.answer(self, user, &parts.headers, &content).await?;
            return Ok(answer.respond(gzip, false));
        }
        if let Some(extension) = self.extension_of(&route) {
            return self.extended(&*extension, user, parts, &route, info).await;
        }
        let query = Query::parse(parts.uri.query().unwrap_or_default())?;
        let verb = verb(&parts.method, &route, &query);
        let verb = verb.ok_or_else(|| self.unsupported(&parts.method, &route))?;
        let mut attributes = attributes(verb, &route);
        if matches!(verb, "list" | "watch")
            && let Some(name) = query.exact_name()
        {
            attributes = attributes.of(name);
        }
        *info = Some(RequestInfo {
            known: self.resource(&route).is_ok(),
            apply: is_apply(parts),
            dry_run: query.dry_run(),
            ..RequestInfo::path(&attributes)
        });
        let permit = self.shared.permits.request(&user.name)?;
        self.check(user, attributes).await?;
        self.check_open()?;
        let resource = self.resource(&route)?;
        let may_create = self
            .check_apply(user, verb, &route, &resource, parts)
            .await?;
        let content = self.read_body(body).await?;
        let pretty = query.pretty;
        let request = ObjectRequest {
            server: self.clone(),
            user: user.clone(),
            resource,
            route,
            query,
            headers: parts.headers.clone(),
            content,
            may_create,
        };
        if verb == "watch" {
            drop(permit);
            return request.watch();
        }
        let large = request.content.len() > LARGE;
        let work = move || request.respond(verb, gzip, pretty, permit);
        let (response, value) = match verb {
            "list" | "deletecollection" => self.aside(work).await?,
            _ if large => self.aside(work).await?,
            _ => work()?,
        };
        if let Some(info) = info {
            info.named(&value);
        }
        Ok(response)
    }

    /// Carries out work that may take long on a thread of its own: the runtime has few threads,
    /// which among others renew the lease of the process. The turn lasts until the work ends,
    /// even if the client has gone.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StatusError> + Send + 'static,
    ) -> Result<T, StatusError> {
        let turn = self.shared.permits.turn().await;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        let failed = |_| {
            Err(StatusError::internal(
                "the request could not be carried out",
            ))
        };
        done.await.unwrap_or_else(failed)
    }

    /// Whether kinds of the core group are served.
    fn has_core(&self) -> bool {
        self.shared.catalog.group("").is_some()
    }

    /// Discovery and schemas.
    fn describe(&self, route: &Route, headers: &HeaderMap) -> Result<Answer, StatusError> {
        let catalog = &self.shared.catalog;
        let not_served = StatusError::no_such_path;
        match route {
            Route::Root => Ok(discovery::paths(catalog)),
            Route::Version => Ok(discovery::version()),
            Route::CoreVersions => Ok(discovery::core_versions(headers)),
            Route::Groups => Ok(discovery::groups(catalog, headers)),
            Route::Group(group) => discovery::group(catalog, group).ok_or_else(not_served),
            Route::Resources { group, version } => {
                discovery::resources(catalog, group, version).ok_or_else(not_served)
            }
            Route::OpenApiV2 => Ok(openapi::v2(catalog)),
            Route::OpenApiV3Index => Ok(openapi::v3_index(catalog)),
            Route::OpenApiV3 { group, version } => {
                openapi::v3(catalog, group, version).ok_or_else(not_served)
            }
            Route::Health(_) | Route::Namespace(_) | Route::Objects(_) => Err(not_served()),
        }
    }

    fn health(&self, probe: Probe) -> Response<Body> {
        match (probe, self.check_open()) {
            (Probe::Ready, Err(error)) => {
                crate::answer::bytes(503, "text/plain; charset=utf-8", error.message.into_bytes())
            }
            (Probe::Ready | Probe::Live, _) => {
                crate::answer::bytes(200, "text/plain; charset=utf-8", b"ok".to_vec())
            }
        }
    }

    pub(crate) async fn check(
        &self,
        user: &User,
        attributes: Attributes,
    ) -> Result<(), StatusError> {
        match self.shared.access.check(user, &attributes).await? {
            None => Ok(()),
            Some(why) => Err(refused(user, &attributes, &why)),
        }
    }

    /// An apply of an object that does not exist creates it, so the user needs that permission,
    /// too. Returns whether it may create the object.
    async fn check_apply(
        &self,
        user: &User,
        verb: &'static str,
        route: &ObjectsRoute,
        resource: &Resource,
        parts: &Parts,
    ) -> Result<bool, StatusError> {
        if verb != "patch" || !is_apply(parts) {
            return Ok(false);
        }
        let namespace = route.namespace.as_deref().unwrap_or_default();
        let key = ObjectName::new(namespace, route.name.as_deref().unwrap_or_default());
        if self.shared.store.get(&resource.kind, &key).is_some() {
            return Ok(false);
        }
        self.check(user, attributes("create", route)).await?;
        Ok(true)
    }

    pub(crate) fn check_open(&self) -> Result<(), StatusError> {
        let closed = self.shared.closed.read();
        let closed = closed.unwrap_or_else(PoisonError::into_inner);
        match &*closed {
            None => Ok(()),
            Some(reason) => Err(StatusError::unavailable(reason.clone())),
        }
    }

    fn resource(&self, route: &ObjectsRoute) -> Result<Arc<Resource>, StatusError> {
        let ObjectsRoute {
            group,
            version,
            resource,
            ..
        } = route;
        let found = self.shared.catalog.resource(group, version, resource);
        let found = found.ok_or_else(StatusError::no_such_path)?;
        match route.subresource.as_deref() {
            None | Some("status") => Ok(found),
            Some(_) => {
                let name = route.name.as_deref().unwrap_or_default();
                Err(StatusError::not_found(found.name(), name))
            }
        }
    }

    /// The answer to a method that a path of objects does not have.
    fn unsupported(&self, method: &Method, route: &ObjectsRoute) -> StatusError {
        if *method == Method::PUT && route.name.is_none() {
            return StatusError::bad_request("name must be provided");
        }
        match self.resource(route) {
            Ok(resource) if *method == Method::DELETE => {
                StatusError::not_supported(resource.name(), "delete")
            }
            Ok(_) => StatusError::method_not_allowed(),
            Err(error) => error,
        }
    }

    async fn read_body<B>(&self, body: B) -> Result<Bytes, StatusError>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limit = self.shared.limits.body_bytes;
        let read = Limited::new(body, limit).collect();
        match timeout(self.shared.limits.body_time, read).await {
            Ok(Ok(collected)) => Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(StatusError::too_large(limit)),
            Ok(Err(_)) => Err(StatusError::bad_request("the body could not be read")),
            Err(_) => Err(StatusError::bad_request("the body did not arrive in time")),
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// A request for objects that the user may make.
pub(crate) struct ObjectRequest {
    pub(crate) server: Server,
    pub(crate) user: User,
    pub(crate) resource: Arc<Resource>,
    pub(crate) route: ObjectsRoute,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) content: Bytes,
    /// Whether an apply may create the object.
    pub(crate) may_create: bool,
}

impl ObjectRequest {
    /// Carries out the request. Returns the document of the answer, too.
    fn respond(
        self,
        verb: &'static str,
        gzip: bool,
        pretty: bool,
        permit: Permit,
    ) -> Result<(Response<Body>, Value), StatusError> {
        let answer = self.answer(verb)?;
        let value = answer.value.clone();
        let response = answer.respond(gzip, pretty);
        let length = sending::length(&response);
        // A write is not refused after the fact.
        let large = matches!(verb, "get" | "list") && length > PIECE;
        let permits = &self.server.shared.permits;
        let sent = large.then(|| permits.answer(&self.user.name, length));
        Ok((holding(response, (permit, sent.transpose()?)), value))
    }

    fn answer(&self, verb: &'static str) -> Result<Answer, StatusError> {
        match verb {
            "get" => self.get(),
            "list" => self.list(),
            "create" => self.create(),
            "update" => self.update(),
            "patch" => self.patch(),
            "delete" => self.delete(),
            "deletecollection" => self.delete_collection(),
            _ => Err(StatusError::method_not_allowed()),
        }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.server.shared.store
    }

    /// The object in the path. A path without a namespace is that of an object without one.
    pub(crate) fn key(&self) -> ObjectName {
        ObjectName::new(
            self.namespace(),
            self.route.name.as_deref().unwrap_or_default(),
        )
    }

    pub(crate) fn namespace(&self) -> &str {
        self.route.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn on_status(&self) -> bool {
        self.route.subresource.as_deref() == Some("status")
    }

    /// The caller for the store. The field manager is the one in the query, or else the first
    /// part of the user agent, as in kube-apiserver.
    pub(crate) fn caller(&self) -> Caller {
        let manager = if self.query.field_manager.is_empty() {
            let agent = self.headers.get(http::header::USER_AGENT);
            let agent = agent.and_then(|agent| agent.to_str().ok());
            let agent = agent.and_then(|agent| agent.split('/').next());
            agent.filter(|agent| !agent.is_empty()).unwrap_or("unknown")
        } else {
            &self.query.field_manager
        };
        Caller::user(&self.user.name)
            .with_groups(self.user.groups.iter().cloned())
            .with_field_manager(manager)
    }
}

fn is_apply(parts: &Parts) -> bool {
    parts.method == Method::PATCH && negotiate::media_type(&parts.headers, &CONTENT_TYPE) == APPLY
}

/// Refuses impersonation: without support for it, the request would be carried out as the real user.
fn refuse_impersonation(headers: &HeaderMap) -> Result<(), StatusError> {
    let mut names = headers.keys().map(http::HeaderName::as_str);
    if names.any(|name| name.starts_with("impersonate-")) {
        let message = "impersonation is not supported here";
        return Err(StatusError::new(403, "Forbidden", message));
    }
    Ok(())
}

/// The verb of a request for objects.
fn verb(method: &Method, route: &ObjectsRoute, query: &Query) -> Option<&'static str> {
    let (one, sub) = (route.name.is_some(), route.subresource.is_some());
    match (method.as_str(), one, sub) {
        // One object is watched by a field selector. As in kube-apiserver, there is no HEAD.
        ("GET", false, _) if query.watch => Some("watch"),
        ("GET", true, _) => Some("get"),
        ("GET", false, _) => Some("list"),
        ("POST", false, _) => Some("create"),
        ("PUT", true, _) => Some("update"),
        ("PATCH", true, _) => Some("patch"),
        ("DELETE", true, false) => Some("delete"),
        ("DELETE", false, _) => Some("deletecollection"),
        _ => None,
    }
}
