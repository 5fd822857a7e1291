//! The checks of the options of requests, which clients send as query parameters.

use document::Value;
use object::GroupKind;

use crate::query::Query;
use crate::status::{Cause, StatusError};

/// The longest name of a field manager, in bytes.
const MAX_MANAGER: usize = 128;

/// The options of a kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Options {
    Create,
    Update,
    Patch,
    Apply,
    Delete,
    List,
}

impl Options {
    fn kind(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch | Self::Apply => "PatchOptions",
            Self::Delete => "DeleteOptions",
            Self::List => "ListOptions",
        }
    }

    /// 422 for options that are not valid.
    pub(crate) fn invalid(self, causes: &[Cause]) -> StatusError {
        let kind = GroupKind::new("meta.k8s.io", self.kind());
        StatusError::invalid(&kind, "", causes)
    }

    /// Checks the options of a write.
    pub(crate) fn check(self, query: &Query) -> Result<(), StatusError> {
        let mut causes = Vec::new();
        match self {
            Self::Apply if query.field_manager.is_empty() => {
                let why = "is required for apply patch";
                causes.push(Cause::required("fieldManager", why));
            }
            Self::Patch if query.force.is_some() => {
                let why = "may not be specified for non-apply patch";
                causes.push(Cause::forbidden("force", why));
            }
            Self::Create | Self::Update | Self::Patch | Self::Apply | Self::Delete | Self::List => {
            }
        }
        if query.field_manager.len() > MAX_MANAGER {
            causes.push(Cause {
                reason: "FieldValueTooLong",
                field: "fieldManager".to_owned(),
                message: format!("Too long: may not be more than {MAX_MANAGER} bytes"),
            });
        }
        causes.extend(dry_run(&query.dry_run));
        let validation = query.field_validation_text();
        if !matches!(validation, "" | "Ignore" | "Warn" | "Strict") {
            let supported = ["", "Ignore", "Strict", "Warn"];
            causes.push(Cause::not_supported(
                "fieldValidation",
                &validation.into(),
                &supported,
            ));
        }
        if self == Self::Delete {
            causes.extend(propagation(&query.propagation_policy));
        }
        if causes.is_empty() {
            return Ok(());
        }
        Err(self.invalid(&causes))
    }
}

/// What is wrong with the values of `dryRun`.
pub(crate) fn dry_run(values: &[String]) -> Option<Cause> {
    if values.iter().all(|value| value == "All") {
        return None;
    }
    let values: Value = values
        .iter()
        .map(|value| Value::from(value.as_str()))
        .collect();
    Some(Cause::not_supported("dryRun", &values, &["All"]))
}

/// What is wrong with a propagation policy.
pub(crate) fn propagation(policy: &str) -> Option<Cause> {
    let supported = ["Foreground", "Background", "Orphan", "nil"];
    if policy.is_empty() || supported[..3].contains(&policy) {
        return None;
    }
    let policy = Value::from(policy);
    Some(Cause::not_supported(
        "propagationPolicy",
        &policy,
        &supported,
    ))
}
