//! Counts requests, and writes a line about each write to the audit log.

use std::time::Duration;

use apiserver::{RequestInfo, Scope, User};
use http::Method;
use metrics::{Metrics, ServedRequest};

/// The target of the audit log in `tracing`.
pub const AUDIT: &str = "audit";

/// What the metrics say about a request.
pub(crate) fn served(method: &Method, info: Option<&RequestInfo>) -> ServedRequest {
    let Some(info) = info else {
        return ServedRequest {
            verb: method_label(method),
            ..ServedRequest::default()
        };
    };
    let Scope::Resource {
        group,
        version,
        resource,
        subresource,
        namespace,
        name,
    } = &info.attributes.scope
    else {
        return ServedRequest {
            verb: method_label(method),
            ..ServedRequest::default()
        };
    };
    let verb = match (info.attributes.verb.as_ref(), info.apply) {
        ("get", _) => "GET",
        ("list", _) => "LIST",
        ("watch", _) => "WATCH",
        ("create", _) => "POST",
        ("update", _) => "PUT",
        ("patch", true) => "APPLY",
        ("patch", false) => "PATCH",
        ("delete", _) => "DELETE",
        ("deletecollection", _) => "DELETECOLLECTION",
        _ => "other",
    };
    let scope = match (name.is_empty(), namespace.is_empty()) {
        (false, _) => "resource",
        (true, false) => "namespace",
        (true, true) => "cluster",
    };
    let known = |text: &String| {
        if info.known {
            text.clone()
        } else {
            String::new()
        }
    };
    ServedRequest {
        verb,
        dry_run: info.dry_run,
        group: known(group),
        version: known(version),
        resource: known(resource),
        subresource: known(subresource),
        scope,
    }
}

/// Clients can make up methods.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

/// Counts an answer. The time of a watch is not measured: it ends when the client wants.
pub(crate) fn count(metrics: &Metrics, request: &ServedRequest, code: u16, time: Duration) {
    metrics.answered(request, code);
    if request.verb != "WATCH" {
        metrics.took(request, time);
    }
}

/// Logs a write: who, what, and the outcome, but no content.
pub(crate) fn audit(user: &User, info: &RequestInfo, code: u16) {
    let verb = info.attributes.verb.as_ref();
    if !matches!(
        verb,
        "create" | "update" | "patch" | "delete" | "deletecollection"
    ) {
        return;
    }
    let Scope::Resource {
        group,
        resource,
        subresource,
        namespace,
        name,
        ..
    } = &info.attributes.scope
    else {
        return;
    };
    let (user, dry_run) = (&user.name, info.dry_run);
    tracing::info!(
        target: AUDIT,
        user, verb, group, resource, subresource, namespace, name, code, dry_run,
        "a write to views"
    );
}
