//! Operators on a Kubernetes cluster.

pub mod object;
pub mod target;
pub mod client;
pub mod clock;
pub mod engine;
pub mod source;
pub mod status;
pub mod config;
pub mod connect;
pub mod crd;
pub mod install;
pub mod lease;
pub mod log;
pub mod metrics;
pub mod rbac;
pub mod serve;
pub mod events;
pub mod operators;
pub mod run;
