//! Why a request was refused.

use document::Kind;
use object::{GroupKind, ObjectName};

use crate::caller::ControllerName;
use crate::version::Version;
use crate::views::Holder;

/// Why a request was refused. Messages name keys, paths and types, never values;
/// [`code`](Self::code) and [`reason`](Self::reason) are those of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such object.
    #[error("{collection} {key} not found")]
    NotFound {
        /// Where it was looked for.
        collection: GroupKind,
        /// What was looked for.
        key: ObjectName,
    },
    /// There is such an object already.
    #[error("{collection} {key} already exists")]
    AlreadyExists {
        /// Where it is.
        collection: GroupKind,
        /// What it is called.
        key: ObjectName,
    },
    /// The object is not the one, or not in the version, that the write was meant for.
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
    /// The strategy of the collection does not let the caller do this.
    #[error("{caller} may not write {key}: {why}")]
    Forbidden {
        /// Who may not.
        caller: Box<str>,
        /// The object.
        key: ObjectName,
        /// Why not.
        why: &'static str,
    },
    /// A user may not do this to an object that a controller yields.
    #[error("{caller} may not change {what} of {key}, which {controller} derives")]
    Derived {
        /// Who may not.
        caller: Box<str>,
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
        caller: Box<str>,
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
    /// The collection does not hold all that belongs into it.
    #[error("{collection} is not complete: {reason}")]
    Incomplete {
        /// The collection.
        collection: GroupKind,
        /// What is missing.
        reason: String,
    },
    /// The version that a list should go on from is not remembered any more.
    #[error("version {from} is not within what is remembered")]
    Expired {
        /// The version.
        from: Version,
        /// A token with which the list goes on at the newest version instead: its pages are
        /// not of one version then.
        fresh: Option<String>,
    },
    /// What should say where a list goes on is no token of a store.
    #[error("the token of the list cannot be read")]
    Token,
    /// No object has this form.
    #[error("{path}: expected {expected}, found {found}")]
    Form {
        /// Where.
        path: String,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: Kind,
    },
    /// The object is well-formed, but may not say this.
    #[error("{path}: {rule}")]
    Rule {
        /// Where.
        path: String,
        /// What holds there.
        rule: &'static str,
    },
}

impl Error {
    /// The HTTP status with which an API server answers.
    pub fn code(&self) -> u16 {
        self.status().0
    }

    /// The reason in the `metav1.Status` with which an API server answers.
    pub fn reason(&self) -> &'static str {
        self.status().1
    }

    fn status(&self) -> (u16, &'static str) {
        match self {
            Self::NotFound { .. } => (404, "NotFound"),
            Self::AlreadyExists { .. } => (409, "AlreadyExists"),
            Self::Changed { .. } | Self::Held { .. } | Self::Terminating { .. } => {
                (409, "Conflict")
            }
            Self::Forbidden { .. } | Self::Derived { .. } => (403, "Forbidden"),
            Self::Expired { .. } => (410, "Expired"),
            Self::Token => (400, "BadRequest"),
            Self::Incomplete { .. } => (503, "ServiceUnavailable"),
            Self::Form { .. } | Self::Rule { .. } => (422, "Invalid"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection() -> GroupKind {
        GroupKind::new("shop.view.dcontroller.io", "Health")
    }

    fn key() -> ObjectName {
        ObjectName::new("", "web")
    }

    fn caller() -> Box<str> {
        "user alice".into()
    }

    /// One of each variant, with its code and reason.
    fn table() -> Vec<(Error, u16, &'static str)> {
        let (collection, key) = (collection(), key());
        let controller = ControllerName {
            operator: "shop".to_owned(),
            controller: "health".to_owned(),
        };
        let not_found = Error::NotFound {
            collection: collection.clone(),
            key: key.clone(),
        };
        let exists = Error::AlreadyExists {
            collection,
            key: key.clone(),
        };
        let changed = Error::Changed {
            key: key.clone(),
            field: "uid",
            found: "a".to_owned(),
            expected: "b".to_owned(),
        };
        let derived = Error::Derived {
            caller: caller(),
            key: key.clone(),
            controller,
            what: "spec".to_owned(),
        };
        let held = Error::Held {
            caller: caller(),
            key: key.clone(),
            holder: Holder::User,
        };
        let form = Error::Form {
            path: "metadata".to_owned(),
            expected: "a map",
            found: Kind::Str,
        };
        let rule = Error::Rule {
            path: "kind".to_owned(),
            rule: "must be the kind of the collection",
        };
        let incomplete = Error::Incomplete {
            collection: self::collection(),
            reason: "it has not started".to_owned(),
        };
        let forbidden = Error::Forbidden {
            caller: caller(),
            key: key.clone(),
            why: "it is not theirs",
        };
        let expired = Error::Expired {
            from: Version(1),
            fresh: None,
        };
        vec![
            (not_found, 404, "NotFound"),
            (exists, 409, "AlreadyExists"),
            (changed, 409, "Conflict"),
            (derived, 403, "Forbidden"),
            (held, 409, "Conflict"),
            (Error::Terminating { key }, 409, "Conflict"),
            (form, 422, "Invalid"),
            (rule, 422, "Invalid"),
            (incomplete, 503, "ServiceUnavailable"),
            (expired, 410, "Expired"),
            (Error::Token, 400, "BadRequest"),
            (forbidden, 403, "Forbidden"),
        ]
    }

    /// The position in the table: a new variant does not compile before it is there.
    fn position(error: &Error) -> usize {
        match error {
            Error::NotFound { .. } => 0,
            Error::AlreadyExists { .. } => 1,
            Error::Changed { .. } => 2,
            Error::Derived { .. } => 3,
            Error::Held { .. } => 4,
            Error::Terminating { .. } => 5,
            Error::Form { .. } => 6,
            Error::Rule { .. } => 7,
            Error::Incomplete { .. } => 8,
            Error::Expired { .. } => 9,
            Error::Token => 10,
            Error::Forbidden { .. } => 11,
        }
    }

    #[test]
    fn each_error_has_the_code_and_reason_of_kubernetes() {
        for (at, (error, code, reason)) in table().into_iter().enumerate() {
            assert_eq!(position(&error), at, "{error}");
            assert_eq!((error.code(), error.reason()), (code, reason), "{error}");
        }
    }
}
