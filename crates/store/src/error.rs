//! Why a write was refused.

use std::fmt;

use document::Kind;
use object::{GroupKind, ObjectName};

use crate::caller::ControllerName;

/// Why a write was refused. Messages name keys, paths and types, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such object (404).
    #[error("{collection} {key} not found")]
    NotFound {
        /// Where it was looked for.
        collection: GroupKind,
        /// What was looked for.
        key: ObjectName,
    },
    /// There is such an object (409).
    #[error("{collection} {key} already exists")]
    AlreadyExists {
        /// Where it is.
        collection: GroupKind,
        /// What it is called.
        key: ObjectName,
    },
    /// The object is not the one, or not in the version, that the write was meant for
    /// (409).
    #[error("{key} has been changed: {field} is {found}, the write expects {expected}")]
    Changed {
        /// The object.
        key: ObjectName,
        /// `uid` or `resourceVersion`.
        field: &'static str,
        /// What the object has.
        found: String,
        /// What the write wants.
        expected: String,
    },
    /// A user may not do this to an object that a controller yields (403).
    #[error("{caller} may not change {what} of {key}, which {controller} derives")]
    Derived {
        /// Who may not.
        caller: String,
        /// The object.
        key: ObjectName,
        /// The controller that derives it.
        controller: ControllerName,
        /// What the write would change: a path, or "the existence".
        what: String,
    },
    /// A controller meets an object that is not its own, and waits (`conflict`).
    #[error("{caller} may not write {key}, which {holder} holds")]
    Held {
        /// Who may not.
        caller: String,
        /// The object.
        key: ObjectName,
        /// Who holds it.
        holder: Holder,
    },
    /// The object is being deleted, and its finalizers are waited for; a controller
    /// yields it again when it is gone.
    #[error("{key} is being deleted")]
    Terminating {
        /// The object.
        key: ObjectName,
    },
    /// No object has this form (422).
    #[error("{path}: expected {expected}, found {found}")]
    Form {
        /// Where.
        path: String,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: Kind,
    },
    /// The object is well-formed, but may not say this (422).
    #[error("{path}: {rule}")]
    Rule {
        /// Where.
        path: String,
        /// What holds there.
        rule: &'static str,
    },
}

/// Who holds an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Somebody who is no controller of deltic.
    User,
    /// A controller.
    Controller(ControllerName),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("a user"),
            Self::Controller(controller) => controller.fmt(f),
        }
    }
}
