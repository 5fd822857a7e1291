//! The audit log of the API server: all writes with their users.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::installed::DELTIC;
use crate::wait::wait_until;

/// A write request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// The user that sent it.
    pub user: String,
    /// The user that was impersonated, if any.
    pub impersonated: Option<String>,
    /// The API group; `""` for the core group.
    pub group: String,
    /// The resource, such as `configmaps`.
    pub resource: String,
    /// The subresource, such as `status`, or `""`.
    pub subresource: String,
    /// The namespace, or `""`.
    pub namespace: String,
    /// The object's name; `""` if the request has none.
    pub name: String,
    /// The path and the query.
    pub uri: String,
    /// The program that sent it.
    pub user_agent: String,
    /// The status code of the answer.
    pub code: u16,
    /// When it arrived, as in the log. These texts sort by time.
    pub received: String,
}

/// Reads new entries of the audit log.
#[derive(Debug)]
pub struct AuditTail {
    file: PathBuf,
    offset: u64,
}

impl Cluster {
    /// All write requests so far, oldest first. Needs [`Options::audit`](crate::Options).
    pub fn audit(&self) -> Vec<AuditEntry> {
        AuditTail::new(self, 0).read()
    }

    /// The write requests from now on.
    pub fn audit_tail(&self) -> AuditTail {
        let log = std::fs::metadata(self.plane().file("audit.log"));
        AuditTail::new(self, log.map_or(0, |log| log.len()))
    }
}

impl AuditTail {
    fn new(cluster: &Cluster, offset: u64) -> Self {
        assert!(cluster.plane().options.audit, "the audit log is off");
        Self {
            file: cluster.plane().file("audit.log"),
            offset,
        }
    }

    /// Waits until `count` writes of deltic in a namespace have succeeded. Returns all entries
    /// meanwhile; panics after a minute.
    pub fn await_writes(&mut self, namespace: &str, count: usize) -> Vec<AuditEntry> {
        let mut seen = Vec::new();
        let done = |seen: &[AuditEntry]| {
            let writes = seen.iter().filter(|entry| entry.is_deltic_in(namespace));
            writes.filter(|entry| entry.code < 300).count()
        };
        let came = wait_until(Duration::from_mins(1), || {
            seen.extend(self.read());
            done(&seen) >= count
        });
        assert!(came, "{} of {count} writes in {namespace}", done(&seen));
        seen
    }

    /// The entries since the last call. The API server logs a request before it answers it, so all
    /// answered requests are included.
    pub fn read(&mut self) -> Vec<AuditEntry> {
        let Ok(mut file) = File::open(&self.file) else {
            return Vec::new();
        };
        let mut log = Vec::new();
        let read = file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_| file.read_to_end(&mut log));
        read.expect("the audit log can be read");
        // The last line may be incomplete.
        let end = log.iter().rposition(|byte| *byte == b'\n');
        let end = end.map_or(0, |position| position + 1);
        self.offset += u64::try_from(end).expect("a length fits");
        log[..end]
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .map(|line: Value| AuditEntry::of(&line))
            .collect()
    }
}

impl AuditEntry {
    /// Whether it is a write of deltic to an object of this namespace.
    pub fn is_deltic_in(&self, namespace: &str) -> bool {
        self.user == DELTIC && self.namespace == namespace
    }

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
