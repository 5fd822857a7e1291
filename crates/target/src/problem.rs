//! What stands between an object and its derived state, and who is told.
//!
//! Messages carry names, paths, types and codes, and for refused writes what the server
//! said; never the values of documents.

use std::fmt;
use std::time::Duration;

use document::Value;
use object::ObjectKey;

use object::Unreadable;

/// Something that stands against an object.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct Problem {
    /// The controller whose document it is.
    pub controller: String,
    /// What that document is derived from.
    pub origin: Value,
    /// What it is.
    pub cause: Cause,
}

/// What kind of [`Problem`] it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Someone else has what we want to write.
    Conflict(Conflict),
    /// The object keeps being changed back.
    Fighting {
        /// The fields.
        fields: Vec<String>,
        /// The field managers that own them.
        managers: Vec<String>,
        /// How long we wait before we write again.
        pause: Duration,
    },
    /// The server does not take the object as it is.
    Refused {
        /// The HTTP status.
        code: u16,
        /// What the server said, at most [`MAX_MESSAGE`](super::answer::MAX_MESSAGE)
        /// bytes; of Secrets only which fields it is about.
        message: String,
    },
    /// A permission is missing.
    Forbidden {
        /// The verb.
        verb: String,
        /// The API group; `""` for the core group.
        group: String,
        /// The resource, perhaps with a subresource.
        resource: String,
        /// The namespace; `""` for the whole cluster.
        namespace: String,
    },
    /// The object is to be removed, but too many are at once.
    DeletionHeld,
    /// An ownerReference was left out.
    OwnerDropped {
        /// Its position.
        index: usize,
        /// Why.
        reason: OwnerProblem,
    },
    /// The derived document has a namespace, and objects of this kind have none.
    Namespaced,
    /// The derived document has no namespace, and objects of this kind need one.
    NotNamespaced,
    /// The derived document has a name that no object can have.
    BadName,
    /// A Patcher sets so many fields that the object cannot hold the record of them.
    RecordTooLarge {
        /// The size of the record in bytes.
        size: usize,
    },
    /// The namespace does not exist, or is going.
    NoNamespace {
        /// Whether nobody tells when it comes, because namespaces may not be watched.
        unwatched: bool,
    },
    /// The cluster does not serve this kind.
    NoKind,
    /// The object is there, and cannot be read.
    Unreadable(Unreadable),
    /// The server could not be reached, or could not answer.
    Unavailable(String),
}

/// Who has what we want to write.
#[derive(Clone, Debug, PartialEq)]
pub enum Conflict {
    /// A controller of the same operator, which comes first.
    Object {
        /// That controller.
        winner: String,
        /// What it derives the object from.
        origin: Value,
    },
    /// A controller of the same operator sets the same field, and comes first.
    Field {
        /// The field.
        field: String,
        /// That controller.
        winner: String,
        /// What it derives the object from.
        origin: Value,
    },
    /// Another operator, whose claim the object has.
    Operator {
        /// This operator.
        ours: String,
        /// That operator.
        theirs: String,
    },
    /// Nobody that we know, and `existing: Refuse` is set.
    Existing,
    /// Field managers that own fields which we never owned.
    Managers(Vec<(String, String)>),
}

/// Why an ownerReference was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerProblem {
    /// The object is not derived from that owner.
    NotAnOrigin,
    /// The owner lives in another namespace.
    OtherNamespace,
}

impl Problem {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.cause {
            Cause::Conflict(_) => "conflict",
            Cause::Fighting { .. } => "fighting",
            Cause::Refused { .. } => "refused",
            Cause::Forbidden { .. } => "forbidden",
            Cause::DeletionHeld => "deletion-held",
            Cause::OwnerDropped { .. } => "owner-dropped",
            Cause::Namespaced | Cause::NotNamespaced => "wrong-scope",
            Cause::BadName => "bad-name",
            Cause::RecordTooLarge { .. } => "record-too-large",
            Cause::NoNamespace { .. } => "no-namespace",
            Cause::NoKind => "no-kind",
            Cause::Unreadable(_) => Unreadable::CODE,
            Cause::Unavailable(_) => "unavailable",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(conflict) => fmt::Display::fmt(conflict, f),
            Self::Fighting {
                fields,
                managers,
                pause,
            } => {
                let fields = fields.join(", ");
                write!(f, "{fields} keeps being changed back")?;
                if !managers.is_empty() {
                    write!(f, " by {}", managers.join(", "))?;
                }
                write!(f, ", next write in {} s", pause.as_secs())
            }
            Self::Refused { code, message } => {
                write!(f, "the server refused the object ({code}): {message}")
            }
            Self::Forbidden {
                verb,
                group,
                resource,
                namespace,
            } => {
                write!(f, "not allowed to {verb} {resource} in API group {group:?}")?;
                if namespace.is_empty() {
                    return Ok(());
                }
                write!(f, " in namespace {namespace}")
            }
            Self::DeletionHeld => f.write_str(
                "its removal is held, because more than maxDeletions are removed at once; \
                 the annotation dcontroller.io/allow-deletions with the generation of the \
                 Operator lets them go on",
            ),
            Self::OwnerDropped { index, reason } => write!(
                f,
                "metadata.ownerReferences[{index}] is left out: {}",
                match reason {
                    OwnerProblem::NotAnOrigin => "the object is not derived from that owner",
                    OwnerProblem::OtherNamespace => "the owner is in another namespace",
                }
            ),
            Self::Namespaced => {
                f.write_str("expected no metadata.namespace: the kind is cluster-scoped")
            }
            Self::NotNamespaced => {
                f.write_str("expected a metadata.namespace: the kind is namespaced")
            }
            Self::BadName => f.write_str(
                "expected a metadata.name and a metadata.namespace without spaces and / % ? # \\",
            ),
            Self::RecordTooLarge { size } => write!(
                f,
                "expected a patch whose record has at most 200 KiB, found {} KiB: it sets too many fields of one object",
                size.div_ceil(1024)
            ),
            Self::NoNamespace { unwatched: false } => f.write_str("waiting for the namespace"),
            Self::NoNamespace { unwatched: true } => f.write_str(
                "waiting for the namespace, which is tried every minute: grant list and watch of namespaces to be told when it comes",
            ),
            Self::NoKind => f.write_str("waiting for the kind: the cluster does not serve it"),
            Self::Unreadable(why) => write!(f, "left as it is: {why}"),
            Self::Unavailable(message) => write!(f, "the server gave no answer: {message}"),
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { winner, origin } => write!(
                f,
                "also written by controller {winner}, which comes first: {origin}"
            ),
            Self::Field {
                field,
                winner,
                origin,
            } => write!(
                f,
                "{field} is also set by controller {winner}, which comes first: {origin}"
            ),
            Self::Operator { ours, theirs } => write!(
                f,
                "claimed by operator {theirs}: operator {ours} leaves it alone"
            ),
            Self::Existing => f.write_str("exists already, and target.existing is Refuse"),
            Self::Managers(fields) => {
                let each = fields
                    .iter()
                    .map(|(field, manager)| format!("{field} is owned by {manager}"));
                f.write_str(&each.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Something that happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// An object that existed without a claim was taken over.
    Adopted,
}

/// Who is told about targets. All calls are short and must not block.
pub trait Report: Send + Sync {
    /// What stands against an object from now on: all of it, empty when it is right. Told
    /// only when it changed.
    fn problems(&self, key: &ObjectKey, problems: &[Problem]);

    /// Something happened to an object, once.
    fn happened(&self, key: &ObjectKey, controller: &str, what: Happened);

    /// A write was sent and answered; `verb` is the Kubernetes verb, `code` the HTTP
    /// status or 0 if there was no answer.
    fn sent(&self, _key: &ObjectKey, _controller: &str, _verb: &'static str, _code: u16) {}
}
