//! Requests for target objects, and their answers.
//!
//! Answers are decoded directly into [`Value`]s, and the `Retry-After` header is kept.

use std::time::Duration;

use cluster::object::{Object, Unreadable};
use document::Value;
use kube::api::{
    DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
};
use kube::client::Body;
use kube::core::request::{Error, Request};
use kube::discovery::ApiResource;
use kube::{Client, Resource};
use object::ObjectKey;
use target::TargetKind;
use target::answer::{Failure, Status, is_status};
use target::decide::{Verb, Write};
use target::live::Observed;

/// How long to wait for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// The answer to a successful request.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The HTTP status.
    pub code: u16,
    /// The body, or the metadata of an object that cannot be read.
    pub body: Value,
    /// Why the object cannot be read.
    pub unreadable: Option<Unreadable>,
}

impl Answer {
    fn read(code: u16, object: Object) -> Self {
        let unreadable = object.unreadable().cloned();
        Self {
            code,
            body: match unreadable {
                Some(_) => object.bare(),
                None => object.into_value(),
            },
            unreadable,
        }
    }

    /// The version of the object; `""` if it is gone.
    pub(super) fn version(&self) -> &str {
        let version = self.body.get("metadata").get("resourceVersion");
        match version.as_str() {
            Some(version) if !is_status(&self.body) => version,
            _ => "",
        }
    }

    /// The object, as the Operator that sent the request sees it.
    pub(super) fn observed(&self, operator: &str) -> Observed {
        match &self.unreadable {
            Some(why) => Observed::unreadable(&self.body, operator, why),
            None => Observed::new(&self.body, operator),
        }
    }
}

type Http = http::Request<Vec<u8>>;

fn at(kind: &TargetKind, key: &ObjectKey) -> Request {
    let namespace = Some(key.namespace()).filter(|namespace| !namespace.is_empty());
    Request::new(Object::url_path(&resource(kind), namespace))
}

fn resource(kind: &TargetKind) -> ApiResource {
    ApiResource {
        group: kind.kind.group.as_str().to_owned(),
        version: kind.version.clone(),
        api_version: kind.api_version(),
        kind: kind.kind.kind.as_str().to_owned(),
        plural: kind.plural.clone(),
    }
}

/// A request for an object.
pub(super) fn read(kind: &TargetKind, key: &ObjectKey) -> Result<Http, Error> {
    at(kind, key).get(key.object_name(), &GetParams::default())
}

/// Deletes an object if it still has this uid and version.
pub(super) fn delete(
    kind: &TargetKind,
    key: &ObjectKey,
    uid: &str,
    version: &str,
) -> Result<Http, Error> {
    let params = DeleteParams {
        // The default policy of some kinds orphans the dependents.
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_owned()),
        }),
        ..DeleteParams::default()
    };
    at(kind, key).delete(key.object_name(), &params)
}

/// A dry run of creating an object.
pub(super) fn dry_create(kind: &TargetKind, key: &ObjectKey, write: &Write) -> Result<Http, Error> {
    let params = PostParams {
        dry_run: true,
        field_manager: Some(write.manager.clone()),
    };
    let body = serde_json::to_vec(&write.body).map_err(Error::SerializeBody)?;
    at(kind, key).create(&params, body)
}

/// The request of a write.
pub(super) fn write(kind: &TargetKind, key: &ObjectKey, write: &Write) -> Result<Http, Error> {
    let (at, name) = (at(kind, key), key.object_name());
    let post = PostParams {
        field_manager: Some(write.manager.clone()),
        ..PostParams::default()
    };
    let body = || serde_json::to_vec(&write.body).map_err(Error::SerializeBody);
    let mut params = PatchParams::apply(&write.manager);
    let patch = match write.verb {
        Verb::Create => return at.create(&post, body()?),
        Verb::Replace => return at.replace(name, &post, body()?),
        Verb::Merge => Patch::Merge(&write.body),
        Verb::Apply { force } => {
            params.force = force;
            Patch::Apply(&write.body)
        }
    };
    if write.status {
        return at.patch_subresource("status", name, &params, &patch);
    }
    at.patch(name, &params, &patch)
}

/// Sends a request and waits for its answer, at most for [`TIMEOUT`].
pub(super) async fn send(client: &Client, request: Result<Http, Error>) -> Result<Answer, Failure> {
    let request = request.map_err(|error| bad_request(&error))?;
    match tokio::time::timeout(TIMEOUT, exchange(client, request)).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::Lost(format!(
            "no answer within {} s",
            TIMEOUT.as_secs()
        ))),
    }
}

/// A request that cannot be built counts as refused.
fn bad_request(error: &Error) -> Failure {
    let status = Status::failure(400, "BadRequest", &error.to_string());
    Failure::Answer {
        status: Box::new(status),
        retry_after: None,
    }
}

async fn exchange(client: &Client, request: Http) -> Result<Answer, Failure> {
    let lost = |error: &kube::Error| Failure::Lost(brief(error));
    let response = client
        .send(request.map(Body::from))
        .await
        .map_err(|error| lost(&error))?;
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(http::header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let bytes = response
        .into_body()
        .collect_bytes()
        .await
        .map_err(|error| lost(&error))?;
    if code >= 400 {
        return Err(Failure::Answer {
            status: Box::new(Status::read(code, &bytes)),
            retry_after,
        });
    }
    // The parser's message is dropped: it may quote the object.
    let object = serde_json::from_slice(&bytes)
        .map_err(|_| Failure::Lost(format!("an answer of {} bytes is not JSON", bytes.len())))?;
    Ok(Answer::read(code, object))
}

/// Why there is no answer, without quoting the object.
fn brief(error: &kube::Error) -> String {
    match error {
        kube::Error::Service(error) => error.to_string(),
        kube::Error::HyperError(error) => error.to_string(),
        kube::Error::Auth(error) => error.to_string(),
        _ => "the request failed".to_owned(),
    }
}
