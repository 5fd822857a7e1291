//! A real Kubernetes control plane for tests: a fresh etcd, kube-apiserver and
//! kube-controller-manager on this machine. There are no nodes: pods stay pending unless a test
//! makes them run ([`Cluster::run_pod`]).
//!
//! Tests share [`Cluster::shared`], each in its own [`Cluster::namespace`]. A test that stops
//! servers starts its own [`Cluster`]; the type system ensures this, because these functions take
//! `&mut`.
//!
//! Everything here panics where a test would fail. After a panic the logs of the servers are kept,
//! and their path is printed; otherwise nothing is left, even if the test is killed.
#![allow(
    clippy::missing_panics_doc,
    reason = "a harness panics where a test would fail"
)]

mod access;
mod aggregated;
mod audit;
mod binaries;
mod bystanders;
mod certificates;
mod cluster;
mod control_plane;
mod copies;
mod etcd;
mod failure;
mod http;
mod installed;
mod kubectl;
mod many;
mod observed;
mod oracle;
mod pods;
mod process;
mod proxy;
mod served;
mod tokens;
mod view_operators;
mod wait;
mod watchdog;

pub use access::{Access, ClientCertificate};
pub use aggregated::{Aggregated, free_port};
pub use audit::{AuditEntry, AuditTail};
pub use binaries::{Binaries, deltic, deltic_release, helm, native_reconciler, root, views_client};
pub use bystanders::Bystanders;
pub use cluster::{Cluster, Options};
pub use copies::{Copies, copy_name};
pub use installed::{
    DELTIC, Installed, get_health, health_port, metric, metrics, run_deltic, stop_deltic,
};
pub use kubectl::Failed;
pub use observed::Condition;
pub use process::Process;
pub use proxy::{Network, Proxy};
pub use served::Served;
pub use tokens::TokenKey;
pub use view_operators::{TWIN, VIEWS, health_operator, health_twin, operator_with_view};
pub use wait::{await_some, await_true, eventually, eventually_with};
