//! The whole runtime: several Operators with views between them, one or two replicas, faults of
//! the network, of the server and of machines.
//!
//! ```text
//! producer ─▶ view ─┬▶ middle ─▶ view ─▶ leaf ─▶ ConfigMaps
//!                   ├▶ groups ─▶ ConfigMaps
//!                   └▶ …
//! ```
//!
//! After each storm the cluster must have the state that the offline runner derives, and stay
//! as it is. In between, these invariants hold for every request:
//!
//! - Nothing is removed that is not ours, or that was derived as long as the process can know
//!   ([`truth`]).
//! - What has the uid of a former Operator is not removed ([`identity`]).
//! - With `maxDeletions: 0`, an object is deleted only if a watch event, and not just a list, can have
//!   told the process that it is no longer derived ([`truth::Truth::was_told`]).
//! - A process without the lease sends no write but those of the lease and access reviews.
//! - No value of a Secret is in a request for another kind, in a log line, or in a metric.
//! - The number of requests is bounded, and so are watches and tasks once the cluster is quiet.

mod check;
mod guard;
mod identity;
mod logs;
pub mod member;
mod replica;
mod run;
mod steps;
pub mod truth;
mod vandals;
mod world;

pub use run::{simulate, steps};
pub use steps::{FleetStep, Source};
