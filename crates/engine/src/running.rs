//! A running Operator, and what it starts from.

use std::collections::{BTreeMap, BTreeSet};

use object::{GroupKind, OperatorId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::kinds::Kinds;
use crate::status::OperatorStatus;
use crate::turns::Halt;

/// A running Operator. Dropping it aborts its task.
#[derive(Debug)]
pub struct Running {
    pub(crate) status: watch::Receiver<OperatorStatus>,
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) task: JoinHandle<()>,
    pub(crate) halt: Halt,
}

/// What a running Operator is asked to do.
pub(crate) enum Command {
    Stop,
    Lead,
    DeleteAll(oneshot::Sender<Option<Left>>),
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

/// The derived objects that are left of an Operator that is being deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// How many there are of each kind.
    pub kinds: BTreeMap<GroupKind, usize>,
    /// One that is being deleted and has finalizers, for people: `ConfigMap ns/a waits for …`.
    pub waits: Option<String>,
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

    /// Removes all derived objects. Returns what is left, or `None` while that is not known; the
    /// caller repeats the call until nothing is.
    pub async fn delete_all(&self) -> Option<Left> {
        let (answer, answered) = oneshot::channel();
        let _ = self.commands.send(Command::DeleteAll(answer));
        answered.await.ok().flatten()
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
