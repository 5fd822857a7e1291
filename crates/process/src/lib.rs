//! deltic as a process that runs the Operators of a cluster.
//!
//! | module | what it does |
//! |---|---|
//! | [`config`] | the settings |
//! | [`run`] | runs the Operators of a cluster, or of files, until a shutdown |
//! | [`instance`] | remembers the kinds of Operators of files, on a Lease |
//! | [`serve`] | serves `/healthz`, `/readyz` and `/metrics` |
//! | [`view_server`] | serves views to kubectl |
//! | [`aggregate`] | makes views part of the cluster's own API |
//! | [`explain`] | explains what Operators derive, to users |
//! | [`log`] and `trace` | log lines and OpenTelemetry traces |
//! | [`orphans`] | finds and deletes objects that no Operator owns any more |
//! | [`install`], [`rbac`] | what a cluster needs first: the definition of Operators, and roles |

pub mod aggregate;
pub mod config;
pub mod explain;
mod files;
pub mod install;
pub mod instance;
pub mod log;
pub mod orphans;
pub mod rbac;
pub mod run;
pub mod serve;
#[cfg(feature = "otel")]
pub mod trace;
pub mod view_server;
