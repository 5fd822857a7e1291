//! What `metadata.managedFields` says about the fields of an object.

use document::Value;
use fieldset::{FieldSet, PathElement};
use object::marks::is_manager_of;
use object::metadata::KEYS;

/// A field manager of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Manager {
    /// Its name.
    pub name: String,
    /// The fields that it owns, without the status.
    pub fields: FieldSet,
    /// When it last changed them; empty if the server does not say it.
    pub time: String,
}

/// The fields of a status that controllers of the Operator have applied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AppliedStatus {
    /// By field manager.
    pub(super) own: Vec<(String, FieldSet)>,
    /// The fields of the status that others own.
    pub(super) others: Vec<FieldSet>,
}

/// The fields that controllers of the Operator have written without applying them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenFields {
    pub(super) all: FieldSet,
    /// Those that one of the controllers has applied as well.
    pub(super) applied: FieldSet,
}

impl Manager {
    pub(super) fn read(entry: &Value, operator: &str) -> Option<Self> {
        let name = entry.get("manager").as_str()?;
        if is_manager_of(name, operator) || is_of_status(entry) {
            return None;
        }
        let status = PathElement::Field(KEYS.status.clone());
        let fields = owned_fields(entry).with_whole_lists().without(&status);
        (!fields.is_empty()).then(|| Self {
            name: name.to_owned(),
            fields,
            time: entry.get("time").as_str().unwrap_or_default().to_owned(),
        })
    }
}

/// Whether an entry of `managedFields` is that of the status.
fn is_of_status(entry: &Value) -> bool {
    entry.get("subresource").as_str() == Some("status")
}

/// The fields of an entry of `managedFields`. If they cannot be parsed, it may own anything.
fn owned_fields(entry: &Value) -> FieldSet {
    let fields = FieldSet::from_fields_v1(entry.get("fieldsV1"));
    fields.unwrap_or_else(|_| FieldSet::everything())
}

/// Removes the maps in which others have no fields any more.
pub(super) fn leave_maps(others: &mut Vec<Manager>, managed: &Value) {
    if others.is_empty() {
        return;
    }
    let entries = managed.as_list().into_iter().flatten();
    let entries = entries.filter(|entry| !is_of_status(entry));
    let all = entries.fold(FieldSet::default(), |all, entry| {
        all.union(&owned_fields(entry).with_whole_lists())
    });
    for other in &mut *others {
        other.fields = other.fields.without_maps_of(&all);
    }
    others.retain(|other| !other.fields.is_empty());
}

/// The fields that controllers of the Operator have written without applying them; `None` if they
/// have not both applied and written something.
pub(super) fn written(managed: &Value, operator: &str) -> Option<WrittenFields> {
    let entries = managed.as_list().into_iter().flatten();
    let own = |entry: &&Value| {
        let name = entry.get("manager").as_str();
        name.is_some_and(|name| is_manager_of(name, operator))
    };
    let is_applied = |entry: &&Value| entry.get("operation").as_str() == Some("Apply");
    let (applied, written): (Vec<&Value>, Vec<&Value>) = entries.filter(own).partition(is_applied);
    if applied.is_empty() || written.is_empty() {
        return None;
    }
    let all = |entries: Vec<&Value>| {
        let fields = entries.into_iter().map(owned_fields);
        fields.fold(FieldSet::default(), |all, fields| {
            all.union(&fields.with_whole_lists())
        })
    };
    let all_written = all(written);
    Some(WrittenFields {
        applied: all(applied).intersection(&all_written),
        all: all_written,
    })
}

/// What controllers of the Operator have applied to the status; `None` if they have applied nothing.
pub(super) fn applied_status(managed: &Value, operator: &str) -> Option<AppliedStatus> {
    let mut status = AppliedStatus {
        own: Vec::new(),
        others: Vec::new(),
    };
    let mut all = FieldSet::default();
    for entry in managed.as_list().into_iter().flatten() {
        let name = entry.get("manager").as_str().unwrap_or_default();
        if !is_of_status(entry) {
            continue;
        }
        let fields = owned_fields(entry);
        all = all.union(&fields);
        if !is_manager_of(name, operator) {
            status.others.push(fields);
        } else if entry.get("operation").as_str() == Some("Apply") {
            status.own.push((name.to_owned(), fields));
        }
    }
    for fields in &mut status.others {
        *fields = fields.without_maps_of(&all);
    }
    (!status.own.is_empty()).then_some(status)
}
