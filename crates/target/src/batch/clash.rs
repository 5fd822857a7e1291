//! Why values are not written, and what cannot be recorded.

use document::Value;
use fieldset::FieldPath;
use object::OperatorId;
use operator::spec::TargetType;

use super::{BatchObject, BatchWriter, Memory};
use crate::in_place::is_read_back;
use crate::others::leave_to_others;
use crate::written::{MAX_RECORD, Written};

/// Why values of a writer are not written.
#[derive(Clone, Debug, PartialEq)]
pub enum Clash {
    /// Another Updater comes first.
    Object {
        /// That Updater, by position.
        winner: usize,
    },
    /// Another Patcher or Applier comes first and sets the same field to another value.
    Field {
        /// The field.
        field: FieldPath,
        /// That writer, by position.
        winner: usize,
    },
    /// The object exists, and no controller created it.
    Existing,
    /// Others have set the field, and an Applier takes it only with `force`.
    Others {
        /// The field.
        field: FieldPath,
    },
    /// Another Operator has set the field.
    Record {
        /// The field.
        field: FieldPath,
        /// The other Operator.
        theirs: String,
    },
    /// A Patcher sets so many fields that their record does not fit on the object.
    RecordTooLarge {
        /// The size of the record in bytes.
        size: usize,
    },
    /// A Patcher would change a value in place whose former value cannot be stored.
    NotKept {
        /// The field.
        field: FieldPath,
    },
}

impl Clash {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Object { .. }
            | Self::Field { .. }
            | Self::Existing
            | Self::Others { .. }
            | Self::Record { .. } => "conflict",
            Self::RecordTooLarge { .. } => "record-too-large",
            Self::NotKept { .. } => "not-kept",
        }
    }
}

/// Removes from the patches of Patchers what other Operators have set.
pub(super) fn leave_records(
    live: &Value,
    writers: &mut [BatchWriter],
    object: BatchObject<'_>,
) -> Vec<(usize, Clash)> {
    let operator = OperatorId::new(object.operator, "");
    let others = Written::of_others(live, &operator, object.key);
    let mut clashes = Vec::new();
    for (at, writer) in writers.iter_mut().enumerate() {
        let patches = writer.kind == TargetType::Patcher;
        let Some(patch) = writer.document.as_mut().filter(|_| patches) else {
            continue;
        };
        let lost = leave_to_others(patch, &writer.added, live, &others, object.keys);
        clashes.extend(lost.into_iter().map(|lost| {
            let (field, theirs) = (lost.field, lost.operator);
            (at, Clash::Record { field, theirs })
        }));
    }
    clashes
}

/// The first Patcher that cannot be recorded, by position, and why. `read` is the object as
/// pipelines read it.
pub(super) fn unrecorded(
    writers: &[BatchWriter],
    memory: &Memory,
    object: BatchObject<'_>,
    read: Option<&Value>,
) -> Option<(usize, Clash)> {
    let patchers = writers.iter().enumerate();
    let mut patchers = patchers.filter(|(_, writer)| writer.kind == TargetType::Patcher);
    patchers.find_map(|(at, writer)| {
        writer.patch()?;
        let set = memory.layers.get(&writer.name)?;
        let size = set.record_size(object.operator, &writer.name, object.key);
        if size > MAX_RECORD {
            return Some((at, Clash::RecordTooLarge { size }));
        }
        let (target, read) = (writer.target.as_ref()?, read?);
        let field = set.not_kept(|place| is_read_back(target, place, read))?;
        let field = field.clone();
        Some((at, Clash::NotKept { field }))
    })
}
