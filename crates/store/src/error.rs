//! Errors of requests.

use document::Kind;
use object::{GroupKind, ObjectName};

use crate::caller::ControllerName;
use crate::version::Version;
use crate::views::Holder;

/// Why a request was refused. Messages contain keys, paths and types, but no values.
/// [`code`](Self::code) and [`reason`](Self::reason) are those of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The object does not exist.
    #[error("{collection} {key} not found")]
    NotFound {
        /// Its collection.
        collection: GroupKind,
        /// Its key.
        key: ObjectName,
    },
    /// The object exists already.
    #[error("{collection} {key} already exists")]
    AlreadyExists {
        /// Its collection.
        collection: GroupKind,
        /// Its key.
        key: ObjectName,
    },
    /// The object has another uid or version than the write expects.
    #[error("{key} has been changed: {field} is {found}, the write expects {expected}")]
    Changed {
        /// The object.
        key: ObjectName,
        /// `uid` or `resourceVersion`.
        field: &'static str,
        /// The value of the stored object.
        found: String,
        /// The value in the write.
        expected: String,
    },
    /// The strategy of the collection does not allow the write.
    #[error("{caller} may not write {key}: {why}")]
    Forbidden {
        /// Who made the write.
        caller: Box<str>,
        /// The object.
        key: ObjectName,
        /// Why it is not allowed.
        why: &'static str,
    },
    /// A user may not change this in an object that a controller yields.
    #[error("{caller} may not {}, which {controller} derives", changed(what.as_deref(), key))]
    Derived {
        /// Who made the write.
        caller: Box<str>,
        /// The object.
        key: ObjectName,
        /// The controller that derives it.
        controller: ControllerName,
        /// The path that the write would change; `None` if it would delete the object.
        what: Option<String>,
    },
    /// The object belongs to somebody else, so that the controller waits (`conflict`).
    #[error("{caller} may not write {key}, which {holder} holds")]
    Held {
        /// Who made the write.
        caller: Box<str>,
        /// The object.
        key: ObjectName,
        /// Whom the object belongs to.
        holder: Holder,
    },
    /// The object is being deleted and waits for its finalizers. A controller can yield it
    /// again when it is gone.
    #[error("{key} is being deleted")]
    Terminating {
        /// The object.
        key: ObjectName,
    },
    /// The collection does not contain all objects that belong to it.
    #[error("{collection} is not complete: {reason}")]
    Incomplete {
        /// The collection.
        collection: GroupKind,
        /// Why it is incomplete.
        reason: String,
    },
    /// The version of a list to continue is no longer in the history.
    #[error("version {from} is not in the history; list again")]
    Expired {
        /// The version.
        from: Version,
        /// A token that continues the list at the newest version instead. The pages then show
        /// different versions.
        fresh: Option<String>,
    },
    /// The `continue` token of a list is invalid.
    #[error("the continue token is invalid; list again without it")]
    Token,
    /// A part of the object has the wrong type.
    #[error("{path}: expected {expected}, found {found}")]
    Form {
        /// Its path.
        path: String,
        /// The expected type.
        expected: &'static str,
        /// The type that was found.
        found: Kind,
    },
    /// The object is well-formed, but breaks a rule.
    #[error("{path}: {rule}")]
    Rule {
        /// The path of the offending field.
        path: String,
        /// The rule.
        rule: &'static str,
    },
}

/// What a user may not do with an object: change a path, or delete it.
fn changed(what: Option<&str>, key: &ObjectName) -> String {
    match what {
        Some(what) => format!("change {what} of {key}"),
        None => format!("delete {key}"),
    }
}

impl Error {
    /// The HTTP status that an API server returns for it.
    pub fn code(&self) -> u16 {
        self.status().0
    }

    /// The `metav1.Status` reason that an API server returns for it.
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
            what: Some("spec".to_owned()),
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

    /// The position in the table. A new variant does not compile until it is added here.
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
