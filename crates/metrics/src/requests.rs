//! Metrics of requests for views, with the names and labels of kube-apiserver.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;

use crate::Metrics;
use crate::series::{Answered, Asked, Took};

/// The label `component`.
const COMPONENT: &str = "deltic";

/// A request for views. A client can make up any number of resources, so those that are not
/// served must be left empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedRequest {
    /// The verb in upper case, such as `LIST`.
    pub verb: &'static str,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name of the resource.
    pub resource: String,
    /// `status`, or empty.
    pub subresource: String,
    /// `resource` for one object, `namespace` or `cluster` for several; empty for other paths.
    pub scope: &'static str,
}

/// An open watch; it is counted until this is dropped.
#[derive(Debug)]
pub struct Watching(Gauge);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl ServedRequest {
    fn labels(&self) -> Asked {
        let request = self.clone();
        Asked {
            verb: request.verb,
            group: request.group,
            version: request.version,
            resource: request.resource,
            subresource: request.subresource,
            scope: request.scope,
            component: COMPONENT,
        }
    }
}

impl Metrics {
    /// Counts a request for views that was answered with this code.
    pub fn answered(&self, request: &ServedRequest, code: u16) {
        let labels = Answered {
            asked: request.labels(),
            dry_run: dry_run(request.dry_run),
            code,
        };
        self.0.answered.get(&labels).inc();
    }

    /// Records how long a request for views took.
    pub fn took(&self, request: &ServedRequest, time: Duration) {
        let labels = Took {
            asked: request.labels(),
            dry_run: dry_run(request.dry_run),
        };
        self.0.took.get(&labels).observe(time.as_secs_f64());
    }

    /// Counts a watch as open.
    pub fn watching(&self, request: &ServedRequest) -> Watching {
        let gauge = self.0.long_running.get(&request.labels());
        gauge.inc();
        Watching(gauge)
    }
}

/// The label as kube-apiserver has it.
fn dry_run(dry_run: bool) -> &'static str {
    if dry_run { "All" } else { "" }
}
