//! The effects of deltic that an administrator can observe: the status of Operators, and the audit
//! log.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::audit::AuditEntry;
use crate::installed::{DELTIC, Installed};
use crate::wait::{PATIENCE, await_some, wait_until};

/// The condition `Ready` of an Operator or of one of its controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason in one word.
    pub reason: String,
    /// The message for people.
    pub message: String,
}

impl Installed {
    /// An Operator on the cluster.
    pub fn operator(&self, name: &str) -> Value {
        self.cluster.get(&["operators.dcontroller.io", name])
    }

    /// The status of a controller; null if there is none yet.
    pub fn controller(&self, operator: &str, controller: &str) -> Value {
        let operator = self.operator(operator);
        let controllers = operator["status"]["controllers"].as_array();
        let mut controllers = controllers.into_iter().flatten();
        let found = controllers.find(|status| status["name"] == controller);
        found.cloned().unwrap_or_default()
    }

    /// The condition of an Operator, if its status is about its current spec.
    pub fn condition(&self, operator: &str) -> Option<Condition> {
        let operator = self.operator(operator);
        let current =
            operator["status"]["observedGeneration"] == operator["metadata"]["generation"];
        current.then(|| ready(&operator["status"]))
    }

    /// Waits until the condition of an Operator has this reason. Returns the message.
    pub fn await_reason(&self, operator: &str, reason: &str) -> String {
        let mut last = None;
        let found = wait_until(PATIENCE, || {
            last = self.condition(operator).or(last.take());
            last.as_ref().is_some_and(|now| now.reason == reason)
        });
        assert!(found, "{operator} is not {reason}: {last:?}");
        last.map(|now| now.message).unwrap_or_default()
    }

    /// All write requests of deltic so far, except those for its lease and Events.
    pub fn writes(&self) -> Vec<AuditEntry> {
        let mut writes = self.cluster.audit();
        writes.retain(|write| {
            write.user == DELTIC && write.resource != "leases" && write.resource != "events"
        });
        writes
    }

    /// Waits until deltic has written nothing for a time. Returns the number of its writes.
    pub fn await_silence(&self, silence: Duration) -> usize {
        let mut writes = self.writes().len();
        let mut since = Instant::now();
        await_some("deltic falls silent", || {
            let now = self.writes().len();
            if now != writes {
                writes = now;
                since = Instant::now();
            }
            (since.elapsed() >= silence).then_some(writes)
        })
    }
}

/// The condition `Ready` of a status.
fn ready(status: &Value) -> Condition {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|condition| condition["type"] == "Ready");
    let text = |field: &str| {
        let value = found.map(|found| found[field].as_str().unwrap_or_default());
        value.unwrap_or_default().to_owned()
    };
    Condition {
        status: text("status"),
        reason: text("reason"),
        message: text("message"),
    }
}
