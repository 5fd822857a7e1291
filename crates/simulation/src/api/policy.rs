//! Admission: which objects the server refuses. Access reviews: what accounts may do.

use document::{Value, json};
use object::ObjectKey;

use super::refusal::Refusal;
use crate::fields::{at, set};

/// Checks the old and the new state of an object, and may refuse it.
pub type Policy = fn(&ObjectKey, Option<&Value>, &Value) -> Option<Refusal>;

/// The question of a `SubjectAccessReview`. Missing texts are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessReview {
    /// Whose permission it is about.
    pub user: String,
    /// The verb.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The namespace; empty for all.
    pub namespace: String,
}

impl AccessReview {
    pub(super) fn of(review: &Value) -> Self {
        let text = |path: &[&str]| at(review, path).as_str().unwrap_or_default().to_owned();
        let attribute = |name: &str| text(&["spec", "resourceAttributes", name]);
        Self {
            user: text(&["spec", "user"]),
            verb: attribute("verb"),
            group: attribute("group"),
            resource: attribute("resource"),
            namespace: attribute("namespace"),
        }
    }

    /// The review with the answer.
    pub(super) fn answered(review: &Value, allowed: bool) -> Value {
        set(review, &["status"], json!({"allowed": allowed}))
    }
}

/// Answers access reviews.
pub type Access = Box<dyn Fn(&AccessReview) -> bool + Send>;

/// All views, in the list of kinds that an account may not read.
pub const VIEWS: &str = "views";

/// Every value of a Secret in the simulation of fleets contains this text.
pub const TOKEN: &str = "s3cr3t";

/// The policies of a new server.
pub const POLICIES: &[Policy] = &[rejected, immutable, quoted];

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

/// Refuses objects with the label `quoted: yes`, with a message that quotes the data of a Secret,
/// or what a webhook knows of another one.
fn quoted(key: &ObjectKey, _: Option<&Value>, new: &Value) -> Option<Refusal> {
    if at(new, &["metadata", "labels", "quoted"]).as_str() != Some("yes") {
        return None;
    }
    let data = match key.kind.kind.as_str() {
        "Secret" => at(new, &["data"]).to_string(),
        _ => format!("{TOKEN}-1"),
    };
    Some(Refusal::invalid(
        "data",
        &format!("Invalid value: {data}: not allowed"),
    ))
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
