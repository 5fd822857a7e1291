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
mod controller_task;
mod cycles;
mod deletions;
mod echoes;
pub mod guard;
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
mod secrets;
mod snapshot;
pub mod status;
mod supervisor;
mod sweep;
mod task;
mod turns;
mod unread;
mod upstream;
pub mod view_source;
mod views;
mod wall_clock;
pub mod workers;
pub mod writer;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use availability::{ServedViews, Views};
pub use budget::Budget;
use cluster::access::Reviews;
use cluster::client::Clients;
use cluster::source::Watches;
pub use echoes::Echoes;
use metrics::Metrics;
use object::{GroupKind, ObjectName, OperatorId};
use operator::Operator;
pub use roster::Roster;
pub use snapshot::{NoSnapshot, OperatorSnapshot};
use store::Store;
use supervisor::Supervisor;
use task::Task;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use turns::Halt;
pub use turns::Turns;
use views::take_out;
pub use wall_clock::WallClock;

use crate::background::Background;
use crate::clock::Clock;
use crate::guard::FailPoints;
use crate::kinds::Kinds;
use crate::native::ViewStore;
use crate::status::{OperatorStatus, ReportedError};
use crate::workers::Workers;

/// The services that all Operators of a process share.
#[derive(Clone, Debug)]
pub struct Context {
    /// The clients of the cluster.
    pub clients: Clients,
    /// The shared watches.
    pub watches: Watches,
    /// Asks what accounts may read.
    pub reviews: Reviews,
    /// The objects of views.
    pub store: Store,
    /// The availability of views.
    pub views: Views,
    /// The resources that an Operator may use.
    pub budget: Budget,
    /// The only namespace whose objects are read and written. Cluster-scoped objects are read, and
    /// not written.
    pub namespace: Option<String>,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The time of day and random numbers.
    pub clock: Arc<dyn Clock>,
    /// The time of `"@now"`.
    pub wall_clock: WallClock,
    /// The threads for batches.
    pub workers: Workers,
    /// Where tests make Operators fail.
    pub fail_points: FailPoints,
    /// One engine at a time for each Operator.
    pub turns: Turns,
    /// The objects that are as this process wrote them, to find cycles.
    pub echoes: Echoes,
    /// The Operators that exist.
    pub roster: Roster,
}

impl Context {
    /// A context with the default budget and the system's clock, for all namespaces.
    pub fn new(clients: Clients, views: &ViewStore, metrics: Metrics) -> Self {
        Self {
            watches: Watches::new(clients.clone(), metrics.clone()),
            reviews: Reviews::new(clients.clone()),
            clients,
            store: views.store().clone(),
            views: views.views().clone(),
            budget: Budget::default(),
            namespace: None,
            metrics,
            clock: Arc::new(clock::System),
            wall_clock: WallClock::default(),
            workers: Workers::default(),
            fail_points: FailPoints::default(),
            turns: Turns::default(),
            echoes: Echoes::default(),
            roster: Roster::default(),
        }
    }

    /// Runs the tasks that belong to no Operator.
    pub(crate) fn background(&self) -> Background {
        Background::new(self.metrics.clone(), self.fail_points.clone())
    }

    /// Empties the views of an Operator that no longer exists.
    pub fn forget(&self, operator: &str) {
        // This comes first, so that readers do not take the empty views for deletions.
        self.views.down(operator, "the Operator is being deleted");
        take_out(&self.store, operator, |_, _| true);
        self.views.remove(operator);
        self.views.secrets().remove(operator);
        let version = self.store.version().0;
        self.views.causes().forget(operator, version);
    }
}

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

/// A running Operator. Dropping it aborts its task.
#[derive(Debug)]
pub struct Running {
    status: watch::Receiver<OperatorStatus>,
    commands: mpsc::UnboundedSender<Command>,
    task: JoinHandle<()>,
    halt: Halt,
}

enum Command {
    Stop,
    Lead,
    DeleteAll(oneshot::Sender<bool>),
    AllowDeletions(bool),
}

/// What is known of an Operator when its engine starts.
#[derive(Clone, Debug)]
pub struct Resume {
    /// The uid of the Operator, or that of its instance (see [`OperatorId`]).
    pub uid: String,
    /// The controllers whose removals `maxDeletions` held when it last ran. They remain held.
    pub held: BTreeSet<String>,
    /// The kinds that may hold objects of it. Those that are not its targets any more are swept.
    pub kinds: Kinds,
}

/// The instance of Operators that are given as files, unless it is set.
pub const DEFAULT_INSTANCE: &str = "default";

impl Resume {
    /// An Operator that is given as a file, to a process of this instance.
    pub fn of_instance(instance: &str) -> Self {
        Self {
            uid: OperatorId::of_instance("", instance).uid,
            held: BTreeSet::new(),
            kinds: Kinds::default(),
        }
    }
}

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

impl Running {
    /// The status of the Operator.
    pub fn status(&self) -> watch::Receiver<OperatorStatus> {
        self.status.clone()
    }

    /// Starts to write, because this process leads.
    pub fn lead(&self) {
        let _ = self.commands.send(Command::Lead);
    }

    /// Interrupts a batch, starts no more writes, and waits for those in flight. Derived objects
    /// remain.
    pub async fn stop(mut self) {
        self.halt.raise();
        let _ = self.commands.send(Command::Stop);
        let _ = (&mut self.task).await;
    }

    /// Removes all derived objects. Returns whether none is left; the caller repeats the call
    /// until then.
    pub async fn delete_all(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        let _ = self.commands.send(Command::DeleteAll(answer));
        answered.await.unwrap_or(false)
    }

    /// If `allowed`, lifts the limit `maxDeletions` and carries out the removals that it holds.
    /// Otherwise the limit applies again.
    pub fn allow_deletions(&self, allowed: bool) {
        let _ = self.commands.send(Command::AllowDeletions(allowed));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt.raise();
        self.task.abort();
    }
}
