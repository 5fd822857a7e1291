//! Admission: which objects the server refuses.

use document::Value;
use object::ObjectKey;

use super::refusal::Refusal;
use crate::fields::at;

/// Checks the old and the new state of an object, and may refuse it.
pub type Policy = fn(&ObjectKey, Option<&Value>, &Value) -> Option<Refusal>;

/// The policies of a new server.
pub const POLICIES: &[Policy] = &[rejected, immutable];

/// Refuses objects with `spec.reject: true`, with a message that quotes the object.
fn rejected(_: &ObjectKey, _: Option<&Value>, new: &Value) -> Option<Refusal> {
    let reject = at(new, &["spec", "reject"]).as_bool() == Some(true);
    let quoted = at(new, &["spec", "reason"]);
    reject.then(|| {
        Refusal::invalid(
            "spec.reject",
            &format!("Invalid value: {quoted}: not allowed"),
        )
    })
}

/// `spec.fixed` and the selector of a Job are immutable.
fn immutable(key: &ObjectKey, old: Option<&Value>, new: &Value) -> Option<Refusal> {
    let field = match key.kind.kind.as_str() {
        "Job" => "selector",
        _ => "fixed",
    };
    let path = ["spec", field];
    let changed = at(old?, &path) != at(new, &path);
    changed.then(|| Refusal::invalid(&format!("spec.{field}"), "field is immutable"))
}
