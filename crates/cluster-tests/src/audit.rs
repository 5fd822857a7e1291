//! The audit log of the API server: who wrote what, in its own words.

use serde_json::Value;

use crate::cluster::Cluster;

/// A write request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// Who sent it.
    pub user: String,
    /// As whom it was done, if that is somebody else.
    pub impersonated: Option<String>,
    /// The API group; `""` for the core group.
    pub group: String,
    /// The resource, such as `configmaps`.
    pub resource: String,
    /// The subresource, such as `status`, or `""`.
    pub subresource: String,
    /// The namespace, or `""`.
    pub namespace: String,
    /// The object's name, or `""` if the server was to choose.
    pub name: String,
    /// The path and the query.
    pub uri: String,
    /// The program that sent it.
    pub user_agent: String,
    /// The status code of the answer.
    pub code: u16,
    /// When it arrived, as in the log: such texts sort by time.
    pub received: String,
}

impl Cluster {
    /// All write requests so far, oldest first. Needs [`Options::audit`](crate::Options).
    pub fn audit(&self) -> Vec<AuditEntry> {
        assert!(self.plane().options.audit, "the audit log is off");
        // The API server answers a request after it has written its line.
        let log = std::fs::read_to_string(self.plane().file("audit.log")).unwrap_or_default();
        log.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(|line: Value| AuditEntry::of(&line))
            .collect()
    }
}

impl AuditEntry {
    fn of(line: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &line["objectRef"];
        let code = line["responseStatus"]["code"].as_u64();
        Self {
            verb: text(&line["verb"]),
            user: text(&line["user"]["username"]),
            impersonated: line["impersonatedUser"]["username"]
                .as_str()
                .map(str::to_owned),
            group: text(&object["apiGroup"]),
            resource: text(&object["resource"]),
            subresource: text(&object["subresource"]),
            namespace: text(&object["namespace"]),
            name: text(&object["name"]),
            uri: text(&line["requestURI"]),
            user_agent: text(&line["userAgent"]),
            code: code.and_then(|code| code.try_into().ok()).unwrap_or(0),
            received: text(&line["requestReceivedTimestamp"]),
        }
    }
}
