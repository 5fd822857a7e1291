//! Watches the Operator objects of a cluster, and runs the Operators.
//!
//! ```text
//! watch of Operators ─▶ Operators ─┬▶ OperatorTask (one task for each Operator) ─▶ engine
//!                                  └▶ …        └─▶ status, finalizer, Events
//! ```
//!
//! Each event is passed to the task of its Operator. The task reads the object, starts and stops
//! the engine, and writes the status. An Operator that is slow or invalid does not delay the
//! others. While Operator objects cannot be read, the running engines continue.
//!
//! | question | file |
//! |---|---|
//! | which Operators exist, and which of them run here | `manager.rs` |
//! | what happens in the life of one Operator | `operator_task.rs` with `operator_task/` |
//! | what an Operator object contains | `resource.rs`; its definition: `crd.rs` |
//! | which Operators are refused | `policy.rs`, `targets.rs`; cycles of views: `cycles.rs` |
//! | what the status says, and how it is written | `report.rs`, `status.rs`, `kinds.rs` |
//! | when Kubernetes waits with the deletion of an Operator | `finalizer.rs` |
//! | which Events are sent | `events.rs` |
//! | how engines are started; tests use other ones | `engines.rs` |
//! | whether the process is ready | `health.rs` |

pub mod crd;
pub mod cycles;
mod engines;
pub mod events;
mod finalizer;
mod health;
mod kinds;
mod manager;
mod operator_task;
mod policy;
pub mod report;
mod resource;
mod status;
pub mod targets;

pub use engines::{Engines, Run};
pub use health::Health;
pub use manager::{Operators, Services};
pub use policy::Policy;

#[cfg(test)]
mod tests;
