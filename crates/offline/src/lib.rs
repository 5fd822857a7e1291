//! Runs an Operator on objects in memory, without a cluster.
//!
//! A batch takes events of objects and returns the watch events of targets and the errors. Within
//! the batch the controllers run in topological order of the kinds that they read and write. Each
//! writes its targets to the objects in memory, and the controllers that read those run after it:
//!
//! ```text
//! events ─▶ objects ─▶ controller a ─▶ objects (view V) ─▶ controller b ─▶ objects (targets)
//!                                                                              └─▶ events
//! ```
//!
//! Controllers in a cycle run again until nothing changes, at most [`MAX_ROUNDS`] times.
//!
//! | question | file |
//! |---|---|
//! | what happens in a batch, and in which order | `runner.rs` |
//! | what enters and leaves a batch | `batch.rs` |
//! | which objects exist, and which of them changed | `cluster.rs` |
//! | where the objects of a kind are stored | `stored.rs` |
//! | what waits for the next step of a controller | `pending.rs` |
//! | what is written to an object | `write.rs` |
//! | when Periodic sources tick | `ticks.rs` |
//! | which errors last | `errors.rs` |
//! | how many documents pass each stage | `flow.rs` |
//! | what is explained | `snapshot.rs` |

mod batch;
mod cluster;
mod errors;
mod flow;
mod pending;
mod runner;
mod snapshot;
mod stored;
mod ticks;
mod write;

pub use batch::{Batch, Event, EventType, OfflineError};
pub use flow::{Flow, FlowBranch};
pub use runner::{MAX_ROUNDS, Offline};
