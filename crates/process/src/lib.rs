//! deltic as a process: Operators of a cluster, from the settings to the last flush.
//!
//! | module | what it does |
//! |---|---|
//! | [`config`] | all settings |
//! | [`run`] | runs the Operators of a cluster, or of files, until it is asked to stop |
//! | [`serve`] | `/healthz`, `/readyz` and `/metrics` |
//! | [`log`] and `trace` | what is written about the work |
//! | [`install`], [`rbac`] | what the cluster needs before |

pub mod config;
pub mod install;
pub mod log;
pub mod rbac;
pub mod run;
pub mod serve;
#[cfg(feature = "otel")]
pub mod trace;
