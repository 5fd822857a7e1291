//! The status of an Operator, as it is stored on the cluster.

use document::{ListRef, Value, one_line};

/// The status of an Operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OperatorStatus {
    pub(crate) name: String,
    /// `None` while deltic has not written any.
    pub(crate) ready: Option<Condition>,
    pub(crate) controllers: Vec<ControllerStatus>,
}

/// The condition `Ready`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    /// `True`, `False` or `Unknown`.
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// The status of a controller.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ControllerStatus {
    pub(crate) name: String,
    pub(crate) ready: Option<Condition>,
    /// The newest errors, in full.
    pub(crate) errors: Vec<String>,
    /// The numbers of objects that are read, of those that are derived, and of errors.
    pub(crate) objects: Option<f64>,
    pub(crate) derived: Option<f64>,
    pub(crate) error_count: Option<f64>,
}

impl OperatorStatus {
    /// Reads an Operator object. Parts of a form that is not known are left out.
    pub(crate) fn read(object: &Value) -> Self {
        let status = object.get("status");
        Self {
            name: text(object.get("metadata").get("name")),
            ready: ready(status),
            controllers: list(status.get("controllers"))
                .map(ControllerStatus::read)
                .collect(),
        }
    }
}

impl ControllerStatus {
    fn read(status: &Value) -> Self {
        let counts = status.get("counts");
        Self {
            name: text(status.get("name")),
            ready: ready(status),
            errors: list(status.get("lastErrors")).map(text).collect(),
            objects: count(counts.get("objects")),
            derived: count(counts.get("targets")),
            error_count: count(counts.get("errors")),
        }
    }
}

fn ready(status: &Value) -> Option<Condition> {
    let mut conditions = list(status.get("conditions"));
    let ready = conditions.find(|condition| condition.get("type").as_str() == Some("Ready"))?;
    Some(Condition {
        status: text(ready.get("status")),
        reason: text(ready.get("reason")),
        message: text(ready.get("message")),
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_list().into_iter().flat_map(ListRef::iter)
}

/// A text in one line: nothing in it may move the cursor of a terminal.
fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    one_line(text).into_owned()
}

fn count(value: &Value) -> Option<f64> {
    value.as_int().map(|count| count as f64)
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn a_status_is_read() {
        let object = json!({
            "metadata": {"name": "shop"},
            "status": {
                "conditions": [
                    {"type": "Other"},
                    {"type": "Ready", "status": "Unknown", "reason": "ReconciliationFailed", "message": "1\u{1b}[31m error"}
                ],
                "controllers": [
                    {"name": "web", "lastErrors": ["type at 0: a\nb", 7], "counts": {"objects": 3, "targets": 2, "errors": 1}},
                    "?"
                ]
            }
        });
        let status = OperatorStatus::read(&object);
        let ready = status.ready.unwrap();
        assert_eq!(ready.reason, "ReconciliationFailed");
        assert_eq!(ready.message, r"1\u{1b}[31m error");
        assert_eq!(status.controllers.len(), 2);
        let web = &status.controllers[0];
        assert_eq!(web.errors, ["type at 0: a b", ""]);
        let counts = (web.objects, web.derived, web.error_count);
        assert_eq!(counts, (Some(3.0), Some(2.0), Some(1.0)));
        assert_eq!(status.controllers[1], ControllerStatus::default());
    }

    #[test]
    fn an_operator_that_never_ran_has_no_status() {
        let status = OperatorStatus::read(&json!({"metadata": {"name": "new"}}));
        let expect = OperatorStatus {
            name: "new".to_owned(),
            ..OperatorStatus::default()
        };
        assert_eq!(status, expect);
        assert_eq!(
            OperatorStatus::read(&Value::NULL),
            OperatorStatus::default()
        );
    }
}
