//! Problems of target objects, and how they are reported.
//!
//! Messages contain names, paths, types and codes and, for refused writes, the message of the
//! server, but never values of documents.

mod hidden;

use std::fmt;
use std::time::Duration;

use document::Value;
use object::{Misplaced, ObjectKey};

pub use hidden::without_key_values;
use object::Unreadable;
use operator::describe_origin;

/// Something that prevents an object from reaching its derived state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct Problem {
    /// The controller whose document it is.
    pub controller: String,
    /// The origin of that document.
    pub origin: Value,
    /// What is wrong.
    pub cause: Cause,
}

/// The cause of a [`Problem`].
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Somebody else has the object or the field.
    Conflict(Conflict),
    /// Others keep changing the object back, or deleting it.
    Fighting {
        /// The fields; empty if the object was deleted.
        fields: Vec<String>,
        /// The field managers that changed them last.
        managers: Vec<String>,
        /// How long we pause before the next write.
        pause: Duration,
    },
    /// The server does not accept the object.
    Refused {
        /// The HTTP status.
        code: u16,
        /// The server's message, at most [`MAX_MESSAGE`](super::answer::MAX_MESSAGE) bytes; for
        /// Secrets only the fields.
        message: String,
    },
    /// A permission is missing.
    Forbidden {
        /// The verb.
        verb: String,
        /// The API group; `""` for the core group.
        group: String,
        /// The resource, possibly with a subresource.
        resource: String,
        /// The namespace; `""` for the whole cluster.
        namespace: String,
    },
    /// The removal is held, because too many objects would be removed at once.
    DeletionHeld,
    /// The write is held, because the writes of this process cause each other.
    Cycle,
    /// An ownerReference is not written.
    OwnerDropped {
        /// Its position.
        index: usize,
        /// The reason.
        reason: OwnerProblem,
    },
    /// The object cannot be where it is derived.
    Misplaced(Misplaced),
    /// A Patcher sets so many fields that their record does not fit on the object.
    RecordTooLarge {
        /// The size of the record in bytes.
        size: usize,
    },
    /// A Patcher would change a value in place whose former value cannot be stored.
    NotKept {
        /// The field.
        field: String,
    },
    /// The namespace does not exist, or is being deleted.
    NoNamespace {
        /// Whether namespaces cannot be watched, so that the write is only tried now and then.
        unwatched: bool,
    },
    /// The cluster does not serve this kind.
    NoKind,
    /// The object exists, but cannot be read.
    Unreadable(Unreadable),
    /// The server does not answer, or the object changes too often.
    Unavailable(String),
}

/// The message of [`Cause::Cycle`].
pub const CYCLE: &str = "the controllers read what they write and never settle: the last 64 writes \
    were each caused by one before; the object is written again when something else that they read \
    changes, or after 10 minutes";

/// Who has the object or the field.
#[derive(Clone, Debug, PartialEq)]
pub enum Conflict {
    /// A controller of the same Operator that comes first.
    Object {
        /// Its name.
        winner: String,
        /// The origin of its document.
        origin: Value,
    },
    /// A controller of the same Operator that comes first sets the same field.
    Field {
        /// The field.
        field: String,
        /// Its name.
        winner: String,
        /// The origin of its document.
        origin: Value,
    },
    /// Another Operator, which has claimed the object.
    Operator {
        /// This Operator.
        ours: String,
        /// The other Operator.
        theirs: String,
    },
    /// Another Operator, which has set the field.
    Record {
        /// The field.
        field: String,
        /// The other Operator.
        theirs: String,
    },
    /// An object without a claim, and `existing: Refuse` is set.
    Existing,
    /// Other field managers own fields that we have never owned.
    Managers(Vec<OwnedField>),
}

/// A field that is left to its field manager.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedField {
    /// The field.
    pub field: String,
    /// The name of the field manager.
    pub manager: String,
    /// The Operator of the field manager, if it no longer exists. What it has left counts as set by
    /// a user: it may be a user's value that it has restored.
    pub gone: Option<String>,
}

/// Why an ownerReference is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerProblem {
    /// The object is not derived from that owner.
    NotAnOrigin,
    /// The owner is in another namespace.
    OtherNamespace,
}

/// The code of [`Cause::DeletionHeld`].
pub const DELETION_HELD: &str = "deletion-held";

impl Problem {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.cause {
            Cause::Conflict(_) => "conflict",
            Cause::Fighting { .. } => "fighting",
            Cause::Refused { .. } => "refused",
            Cause::Forbidden { .. } => "forbidden",
            Cause::DeletionHeld => DELETION_HELD,
            Cause::Cycle => "cycle",
            Cause::OwnerDropped { .. } => "owner-dropped",
            Cause::Misplaced(why) => why.code(),
            Cause::RecordTooLarge { .. } => "record-too-large",
            Cause::NotKept { .. } => "not-kept",
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
                if fields.is_empty() {
                    f.write_str("the object is deleted repeatedly, by others")?;
                } else {
                    let fields = fields.join(", ");
                    write!(f, "{fields}: the value is changed back repeatedly")?;
                }
                if !managers.is_empty() {
                    write!(f, " by {}", managers.join(", "))?;
                }
                write!(f, "; the next write is in {} s", pause.as_secs())
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
                write!(f, "missing permission: the account that the Operator writes as may not {verb} {resource} in API group {group:?}")?;
                if namespace.is_empty() {
                    return Ok(());
                }
                write!(f, " in namespace {namespace}")
            }
            Self::DeletionHeld => f.write_str(
                "its removal is held, because maxDeletions allows fewer removals at once",
            ),
            Self::Cycle => f.write_str(CYCLE),
            Self::OwnerDropped { index, reason } => write!(
                f,
                "metadata.ownerReferences[{index}] is not written: {}",
                match reason {
                    OwnerProblem::NotAnOrigin => "the object is not derived from that owner",
                    OwnerProblem::OtherNamespace => "the owner is in another namespace",
                }
            ),
            Self::Misplaced(why) => fmt::Display::fmt(why, f),
            Self::RecordTooLarge { size } => write!(
                f,
                "expected a patch whose record has at most 200 KiB, found {} KiB: it sets too many fields of one object",
                size.div_ceil(1024)
            ),
            Self::NotKept { field } => write!(
                f,
                "{field} is not changed in place: its former value is not stored (it is in a Secret, over 1 KiB, or there are over 16 KiB), so that the pipeline would read its own value; write it to another field, or derive it from other objects"
            ),
            Self::NoNamespace { unwatched: false } => f.write_str("waiting for the namespace"),
            Self::NoNamespace { unwatched: true } => f.write_str(
                "waiting for the namespace; the write is tried every minute, because namespaces cannot be watched: grant list and watch of namespaces",
            ),
            Self::NoKind => f.write_str("waiting for the kind: the cluster does not serve it"),
            Self::Unreadable(why) => write!(f, "left as it is: {why}"),
            Self::Unavailable(message) => write!(f, "not written yet, and tried again: {message}"),
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { winner, origin } => write!(
                f,
                "also written by controller {winner}, which comes first: {}",
                describe_origin(origin)
            ),
            Self::Field {
                field,
                winner,
                origin,
            } => write!(
                f,
                "{field} is also set by controller {winner}, which comes first: {}",
                describe_origin(origin)
            ),
            Self::Operator { ours, theirs } => write!(
                f,
                "claimed by Operator {theirs}; Operator {ours} does not write it"
            ),
            Self::Record { field, theirs } => {
                write!(f, "{field} is set by Operator {theirs}, and is left to it")
            }
            Self::Existing => {
                f.write_str("the object exists already, and target.existing is Refuse")
            }
            Self::Managers(fields) => {
                let each = fields.iter().map(ToString::to_string);
                f.write_str(&each.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl fmt::Display for OwnedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is owned by {}", self.field, self.manager)?;
        let Some(gone) = &self.gone else {
            return Ok(());
        };
        write!(
            f,
            " of Operator {gone}, which does not exist: it has left the value, or restored the one \
             that was there before, so that it counts as a user's (target.force: true takes it over)"
        )
    }
}

/// An event in the life of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// An existing object without a claim was adopted.
    Adopted,
}

/// Receives problems and events of targets. Implementations return quickly and do not block.
pub trait Report: Send + Sync {
    /// Something else than a problem has changed that the status shows.
    fn changed(&self) {}

    /// Reports all current problems of an object; empty when there are none. Called only when
    /// they have changed.
    fn problems(&self, key: &ObjectKey, problems: &[Problem]);

    /// Reports an event, once.
    fn happened(&self, key: &ObjectKey, controller: &str, what: Happened);

    /// An object in log lines and traces.
    fn describe(&self, key: &ObjectKey) -> String {
        key.to_string()
    }

    /// Reports a write and its answer. `verb` is the Kubernetes verb, `code` the HTTP status or
    /// 0 if there was no answer.
    fn sent(&self, _key: &ObjectKey, _controller: &str, _verb: &'static str, _code: u16) {}
}
