//! The interface between an Operator's task and its engine. Tests implement it with fakes.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::status::OperatorStatus;
use engine::{Context, Engine, EngineEvents, Left, Resume, Running};
use futures::future::BoxFuture;
use operator::Operator;
use tokio::sync::watch;

/// Starts the engines of Operators.
pub trait Engines: Send + Sync {
    /// Starts the engine of an Operator, which writes when it [leads](Run::lead).
    fn start(
        &self,
        operator: Operator,
        resume: Resume,
        events: Arc<dyn EngineEvents>,
    ) -> Box<dyn Run>;

    /// Marks the views of an Operator as unavailable, because it does not run for this reason.
    fn down(&self, operator: &str, why: &str);

    /// Sets the names of all Operators of the cluster; `None` if there is no complete list.
    fn exist(&self, names: Option<BTreeSet<String>>);

    /// Removes the view objects of an Operator that was deleted and whose engine has stopped.
    fn forget(&self, operator: &str);
}

/// A running engine; see [`Running`]. Dropping it ends it without waiting.
pub trait Run: Send + Sync {
    /// Its status. The sender is dropped when the engine ends by itself.
    fn status(&self) -> watch::Receiver<OperatorStatus>;

    /// Lets it write to the cluster, because this process leads.
    fn lead(&self);

    /// Finishes the writes under way and ends. Derived objects stay.
    fn stop(self: Box<Self>) -> BoxFuture<'static, ()>;

    /// Removes derived objects. Returns what is left, or `None` while that is not known; call it
    /// again until nothing is.
    fn delete_all(&self) -> BoxFuture<'_, Option<Left>>;

    /// Sets whether deletions beyond `maxDeletions` are carried out. With `true`, held deletions
    /// are released.
    fn allow_deletions(&self, allowed: bool);
}

impl Engines for Context {
    fn start(
        &self,
        operator: Operator,
        resume: Resume,
        events: Arc<dyn EngineEvents>,
    ) -> Box<dyn Run> {
        Box::new(Engine::resume(self.clone(), operator, resume, events))
    }

    fn down(&self, operator: &str, why: &str) {
        self.views.down(operator, why);
    }

    fn exist(&self, names: Option<BTreeSet<String>>) {
        self.roster.set_cluster(names);
    }

    fn forget(&self, operator: &str) {
        Context::forget(self, operator);
    }
}

impl Run for Running {
    fn status(&self) -> watch::Receiver<OperatorStatus> {
        Self::status(self)
    }

    fn lead(&self) {
        Self::lead(self);
    }

    fn stop(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { Self::stop(*self).await })
    }

    fn delete_all(&self) -> BoxFuture<'_, Option<Left>> {
        Box::pin(Self::delete_all(self))
    }

    fn allow_deletions(&self, allowed: bool) {
        Self::allow_deletions(self, allowed);
    }
}
