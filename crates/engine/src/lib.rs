//! Running one operator: its sources feed its circuits, what these derive is converged.
//!
//! ```text
//! Inbox ─▶ Circuit::step ─┬▶ views  ─▶ store ─▶ Inbox
//!                         └▶ Writer ◀─ target watches
//!                              └─ queue ─▶ Runner ─▶ converge(key)
//! ```
//!
//! [`Engine::start`] starts the task (`task.rs`) that owns the circuits. A controller is *open*
//! once it has received all that it reads: until then nothing that it derives is written. When
//! all controllers are open, what earlier runs left behind is removed (`sweep.rs`).
//!
//! | question | file |
//! |---|---|
//! | where do objects come from, and where do they wait | `inputs.rs`, `view_source.rs`, `inbox.rs` |
//! | what happens with a batch | `task.rs`, `controller_task.rs` |
//! | who writes views, who writes targets | `views.rs` with `patches.rs`, `writes.rs` with `writer.rs` |
//! | what may be removed, and when | `sweep.rs`, `upstream.rs`, `deletions.rs`, `unread.rs` |
//! | which views are available to whom | `availability.rs`, `causes.rs` |
//! | what status says | `status.rs`, `problem_log.rs` |
//! | how a program in Rust takes part | `native.rs` |

mod availability;
mod budget;
mod causes;
pub mod clock;
mod controller_task;
mod deletions;
pub mod inbox;
mod inputs;
mod limits;
mod measures;
mod namespaces;
pub mod native;
mod newest;
mod problem_log;
mod secrets;
pub mod status;
mod sweep;
mod task;
mod unread;
mod upstream;
pub mod view_source;
mod views;
pub mod writer;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use availability::Views;
pub use budget::Budget;
use cluster::client::Clients;
use cluster::source::Watches;
use metrics::Metrics;
use object::ObjectKey;
use operator::Operator;
use store::Store;
use task::Task;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use views::take_out;

use crate::clock::Clock;
use crate::native::ViewStore;
use crate::status::{OperatorStatus, ReportedError};

/// What all operators of a process share.
#[derive(Clone, Debug)]
pub struct Context {
    /// Who talks to the cluster.
    pub clients: Clients,
    /// The watches.
    pub watches: Watches,
    /// The views.
    pub store: Store,
    /// Which views are available.
    pub views: Views,
    /// What an operator may use.
    pub budget: Budget,
    /// Only objects of this namespace are read.
    pub namespace: Option<String>,
    /// Where numbers go.
    pub metrics: Metrics,
    /// The time of day and random numbers.
    pub clock: Arc<dyn Clock>,
}

impl Context {
    /// With the default budget, the system's clock, and no limit on namespaces.
    pub fn new(clients: Clients, views: &ViewStore, metrics: Metrics) -> Self {
        Self {
            watches: Watches::new(clients.clone(), metrics.clone()),
            clients,
            store: views.store().clone(),
            views: views.views().clone(),
            budget: Budget::default(),
            namespace: None,
            metrics,
            clock: Arc::new(clock::System),
        }
    }

    /// Empties the views of an Operator that no longer exists.
    pub fn forget(&self, operator: &str) {
        // Before its views are emptied: readers must not take that for deletions.
        self.views.down(operator, "the Operator is being deleted");
        take_out(&self.store, operator, |_, _| true);
        self.views.remove(operator);
        self.views.secrets().remove(operator);
        let version = self.store.version().0;
        self.views.causes().forget(operator, version);
    }
}

/// Receives what happens to objects and what goes wrong. Calls must not block.
pub trait EngineEvents: Send + Sync {
    /// An object that existed was taken over.
    fn adopted(&self, key: &ObjectKey, controller: &str);

    /// Something went wrong, which was not so before.
    fn reported(&self, controller: &str, reported: &ReportedError);
}

/// Starts operators.
#[derive(Debug)]
pub struct Engine;

/// A running operator. Dropping it ends it without waiting.
#[derive(Debug)]
pub struct Running {
    status: watch::Receiver<OperatorStatus>,
    commands: mpsc::UnboundedSender<Command>,
    task: JoinHandle<()>,
}

enum Command {
    Stop,
    DeleteAll(oneshot::Sender<bool>),
    AllowDeletions(bool),
}

impl Engine {
    /// Starts an operator.
    pub fn start(context: Context, operator: Operator, events: Arc<dyn EngineEvents>) -> Running {
        Self::resume(context, operator, BTreeSet::new(), events)
    }

    /// Starts an operator that ran before. `held` are the controllers whose removals
    /// `maxDeletions` held then: what they left stays held.
    pub fn resume(
        context: Context,
        operator: Operator,
        held: BTreeSet<String>,
        events: Arc<dyn EngineEvents>,
    ) -> Running {
        let (status, receiver) = watch::channel(OperatorStatus::default());
        let (commands, inbound) = mpsc::unbounded_channel();
        let mut task = Task::new(context, operator, events, status);
        task.begin_start(held);
        Running {
            status: receiver,
            commands,
            task: tokio::spawn(task.run(inbound)),
        }
    }
}

impl Running {
    /// How the operator stands.
    pub fn status(&self) -> watch::Receiver<OperatorStatus> {
        self.status.clone()
    }

    /// Starts no more writes, finishes those that run, and ends. What is derived stays.
    pub async fn stop(mut self) {
        let _ = self.commands.send(Command::Stop);
        let _ = (&mut self.task).await;
    }

    /// Removes all that is derived. Says whether nothing is left; to be asked again until
    /// it is so.
    pub async fn delete_all(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        let _ = self.commands.send(Command::DeleteAll(answer));
        answered.await.unwrap_or(false)
    }

    /// Lets any number of deletions go on, those that `maxDeletions` holds among them, or
    /// not any more.
    pub fn allow_deletions(&self, allowed: bool) {
        let _ = self.commands.send(Command::AllowDeletions(allowed));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
