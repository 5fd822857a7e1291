//! A rehearsal: deltic runs on a copy of a cluster, and the cluster stays as it is.
//!
//! ```text
//! deltic ─▶ requests ─┬─ discovery ────────────────────────▶ cluster, which is only read
//!                     └─ objects ─▶ Copy (store, apiserver) ◀─ list, get ─┘
//! ```
//!
//! It runs the same process as `deltic run`, which writes to the copy what it would write to the
//! cluster. A collection is copied when it is first read. The [`Plan`] is the difference
//! between the objects as they were copied and as they are at the end.
//!
//! | module | content |
//! |---|---|
//! | `cluster` | the requests that a rehearsal sends to the cluster; none of them writes |
//! | `copy` | the objects, and when they are copied |
//! | `service` | which request is answered from where |
//! | `related` | the Operators that take part, because they share views |
//! | `run` | the rehearsal from the beginning to the end |
//! | `status` | what the status of an Operator says: whether it is done, and its errors |
//! | `plan` | what it has changed |

mod cluster;
mod copy;
mod plan;
mod related;
mod run;
mod service;
mod status;

pub use plan::{Action, Plan, PlannedChange, Unsettled};
pub use run::{Ending, Options, PlanError, rehearse};
