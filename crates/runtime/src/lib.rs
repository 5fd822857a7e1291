//! Operators on a Kubernetes cluster.

pub mod client;
pub mod clock;
pub mod config;
pub mod connect;
pub mod crd;
pub mod engine;
pub mod events;
pub mod install;
pub mod lease;
pub mod log;
pub mod metrics;
pub mod native;
pub mod object;
pub mod operators;
pub mod rbac;
pub mod run;
pub mod serve;
pub mod source;
pub mod status;
#[cfg(feature = "otel")]
pub mod trace;
pub mod writer;
