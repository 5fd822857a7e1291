//! Admission: what the server refuses to store.

use document::Value;
use object::ObjectKey;

use super::refusal::Refusal;
use crate::fields::at;

/// Looks at the old and the new state of an object, and may refuse it.
pub type Policy = fn(&ObjectKey, Option<&Value>, &Value) -> Option<Refusal>;

/// The policies of a new server.
pub const POLICIES: &[Policy] = &[rejected, immutable];

/// What says `spec.reject: true` is refused, in words that quote the object.
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

/// `spec.fixed` never changes, nor does the selector of a Job.
fn immutable(key: &ObjectKey, old: Option<&Value>, new: &Value) -> Option<Refusal> {
    let field = match key.kind.kind.as_str() {
        "Job" => "selector",
        _ => "fixed",
    };
    let path = ["spec", field];
    let changed = at(old?, &path) != at(new, &path);
    changed.then(|| Refusal::invalid(&format!("spec.{field}"), "field is immutable"))
}
