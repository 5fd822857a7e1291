//! Runs one Operator: its sources feed its circuits, and the engine writes the objects that the
//! circuits derive.
//!
//! ```text
//! Inbox ─▶ Circuit::step ─┬▶ views  ─▶ Circuit::step ─▶ … ─▶ store
//!                         └▶ Writer ◀─ target watches
//!                              └─ queue ─▶ Runner ─▶ converge(key)
//! ```
//!
//! [`Engine::start`] starts the task (`task.rs`) that owns the circuits, under a supervisor
//! (`supervisor.rs`) that starts it again after a panic. A controller is *open*
//! once it has received everything that it reads; nothing that it derives is written before that.
//! When all controllers are open, the engine removes objects that an earlier run derived and this
//! one does not (`sweep.rs`).
//!
//! | question | file |
//! |---|---|
//! | where do objects come from, and where do they wait | `inputs.rs`, `view_source.rs`, `own_views.rs`, `inbox.rs`, `relists.rs` |
//! | what happens with a batch, and on which thread | `task.rs`, `controller_task.rs`, `workers.rs` |
//! | what happens at a deadline or a tick | `task/time.rs`, `wall_clock.rs` |
//! | what happens after a panic | `supervisor.rs`, `guard.rs`, `turns.rs`; in tasks of the process, `background.rs` |
//! | what writes views, what writes targets | `views.rs` with `views/`, `writes.rs` with `writer.rs` |
//! | which writes cause each other, and what ends a cycle | `echoes.rs`, `cycles.rs` |
//! | what may be removed, and when | `sweep.rs`, `kinds.rs`, `upstream.rs`, `deletions.rs`, `unread.rs` |
//! | when views are complete, and which of their changes count for `maxDeletions` | `availability.rs`, `causes.rs` |
//! | what the status contains, and when an Operator is Ready | `status.rs`, `problem_log.rs`, `progress.rs` |
//! | what messages hide because of Secrets | `masks.rs`, `secrets.rs` |
//! | how does a reconciler in Rust read views and targets | `native.rs` |
//! | what does an explanation of derived objects start from | `snapshot.rs` |

mod availability;
pub mod background;
mod budget;
mod causes;
pub mod clock;
mod context;
mod controller_task;
mod cycles;
mod deletions;
mod echoes;
mod forgotten;
pub mod guard;
mod in_error;
pub mod inbox;
mod inputs;
pub mod kinds;
mod limits;
mod masks;
mod measures;
mod namespaces;
pub mod native;
mod newest;
mod own_views;
mod problem_log;
mod progress;
mod relists;
mod roster;
mod running;
mod secrets;
mod snapshot;
pub mod status;
mod supervisor;
mod sweep;
mod task;
mod turns;
mod unread;
mod upstream;
mod view_source;
mod views;
mod wall_clock;
pub mod workers;
pub mod writer;
mod writes;

use std::sync::Arc;

pub use availability::{ServedViews, Views};
pub use budget::Budget;
pub use context::Context;
pub use echoes::Echoes;
use object::{GroupKind, ObjectName};
use operator::Operator;
pub use roster::Roster;
use running::Command;
pub use running::{DEFAULT_INSTANCE, Left, Resume, Running};
pub use snapshot::{NoSnapshot, OperatorSnapshot};
use supervisor::Supervisor;
pub use target::problem::DELETION_HELD;
use task::Task;
use tokio::sync::mpsc;
pub use turns::Turns;
pub use wall_clock::WallClock;

use crate::status::ReportedError;

/// A receiver of adoptions and errors. Its functions must not block.
pub trait EngineEvents: Send + Sync {
    /// A controller took over an object that already existed; without its name if that may be a
    /// value of a Secret.
    fn adopted(&self, kind: &GroupKind, name: Option<&ObjectName>, controller: &str);

    /// A new error occurred.
    fn reported(&self, controller: &str, reported: &ReportedError);

    /// The engine ended because of a panic, and will be started again.
    fn crashed(&self, _message: &str) {}
}

/// Starts Operators.
#[derive(Debug)]
pub struct Engine;

impl Engine {
    /// Starts an Operator that is not stored on the cluster.
    pub fn start(context: Context, operator: Operator, events: Arc<dyn EngineEvents>) -> Running {
        let resume = Resume::of_instance(DEFAULT_INSTANCE);
        let running = Self::resume(context, operator, resume, events);
        running.lead();
        running
    }

    /// Starts an Operator that may have run before. It derives objects, but writes none to the
    /// cluster until [`Running::lead`].
    pub fn resume(
        context: Context,
        operator: Operator,
        resume: Resume,
        events: Arc<dyn EngineEvents>,
    ) -> Running {
        let (commands, inbound) = mpsc::unbounded_channel();
        let supervisor = Supervisor::new(context, operator, resume, events);
        Running {
            status: supervisor.status.subscribe(),
            halt: supervisor.halt.clone(),
            commands,
            task: tokio::spawn(supervisor.run(inbound)),
        }
    }
}
