//! Subresources that somebody else answers.
//!
//! `/apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE` is passed to an [`Extension`]
//! if it has registered for the name of the subresource. The resource need not be one that is served:
//! an explanation of a Pod, for example, is asked for in the group of the Operator that reads Pods.
//! Nothing of it is part of discovery, so that nobody lists or deletes it.

use std::sync::Arc;

use document::Value;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{Method, Response};

use crate::access::{User, attributes};
use crate::answer::{Answer, Body};
use crate::info::RequestInfo;
use crate::negotiate;
use crate::route::ObjectsRoute;
use crate::sending::{self, PIECE, holding};
use crate::server::Server;
use crate::status::StatusError;

/// Answers requests to read a subresource. The user has the permission to `get` it; whether that is
/// enough, the extension decides.
pub trait Extension: Send + Sync {
    /// The document that is sent.
    fn get<'a>(
        &'a self,
        request: ExtensionRequest<'a>,
    ) -> BoxFuture<'a, Result<Value, StatusError>>;
}

/// A request to read a subresource.
#[derive(Clone, Debug)]
pub struct ExtensionRequest<'a> {
    /// Who asks.
    pub user: &'a User,
    /// What is asked for. It has a name.
    pub route: &'a ObjectsRoute,
    /// The parameters behind the path.
    pub parameters: Vec<(String, String)>,
}

impl ExtensionRequest<'_> {
    /// The last value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter().rev();
        let found = parameters.find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The name of a subresource, and who answers for it.
pub(crate) type Registered = (&'static str, Arc<dyn Extension>);

impl Server {
    /// Lets somebody else answer requests for a subresource. Only the first one counts.
    pub fn extend(&self, subresource: &'static str, extension: Arc<dyn Extension>) {
        // A second one is not set.
        let _ = self.shared.extension.set((subresource, extension));
    }

    /// Who answers for a path, if it is not the server itself.
    pub(crate) fn extension_of(&self, route: &ObjectsRoute) -> Option<Arc<dyn Extension>> {
        let (name, extension) = self.shared.extension.get()?;
        let asked = route.subresource.as_deref() == Some(*name);
        asked.then(|| extension.clone())
    }

    /// Answers a request for a subresource.
    pub(crate) async fn extended(
        &self,
        extension: &dyn Extension,
        user: &User,
        parts: &Parts,
        route: &ObjectsRoute,
        info: &mut Option<RequestInfo>,
    ) -> Result<Response<Body>, StatusError> {
        if parts.method != Method::GET {
            return Err(StatusError::method_not_allowed());
        }
        let attributes = attributes("get", route);
        let (group, version) = (&route.group, &route.version);
        let served = self
            .shared
            .catalog
            .resource(group, version, &route.resource);
        *info = Some(RequestInfo {
            known: served.is_some(),
            ..RequestInfo::path(&attributes)
        });
        let permit = self.shared.permits.request(&user.name)?;
        self.check(user, attributes).await?;
        self.check_open()?;
        let query = parts.uri.query().unwrap_or_default();
        let parameters = form_urlencoded::parse(query.as_bytes());
        let request = ExtensionRequest {
            user,
            route,
            parameters: parameters.into_owned().collect(),
        };
        let answer = Answer::ok(extension.get(request).await?);
        let response = answer.respond(negotiate::accepts_gzip(&parts.headers), false);
        let length = sending::length(&response);
        let permits = &self.shared.permits;
        let sent = (length > PIECE).then(|| permits.answer(&user.name, length));
        Ok(holding(response, (permit, sent.transpose()?)))
    }
}
