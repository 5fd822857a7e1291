//! deltic as a process that runs the Operators of a cluster.
//!
//! | module | what it does |
//! |---|---|
//! | [`config`] | the settings |
//! | [`run`] | runs the Operators of a cluster, or of files, until a shutdown |
//! | [`serve`] | serves `/healthz`, `/readyz` and `/metrics` |
//! | [`log`] and `trace` | log lines and OpenTelemetry traces |
//! | [`install`], [`rbac`] | what a cluster needs first: the definition of Operators, and roles |

pub mod config;
pub mod install;
pub mod log;
pub mod rbac;
pub mod run;
pub mod serve;
#[cfg(feature = "otel")]
pub mod trace;
