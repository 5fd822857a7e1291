//! What an Operator's life needs of an engine, so that tests can stand in for one.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::status::OperatorStatus;
use engine::{Context, Engine, EngineEvents, Running};
use futures::future::BoxFuture;
use operator::Operator;
use tokio::sync::watch;

/// Starts operators.
pub trait Engines: Send + Sync {
    /// Starts an operator. `held` are the controllers whose removals were held when it ran
    /// last: they stay so.
    fn start(
        &self,
        operator: Operator,
        held: BTreeSet<String>,
        events: Arc<dyn EngineEvents>,
    ) -> Box<dyn Run>;

    /// An operator does not run, because of this: its views are not available.
    fn down(&self, operator: &str, why: &str);

    /// An operator is gone, and its engine has stopped: what it put into views goes.
    fn forget(&self, operator: &str);
}

/// A running operator; see [`Running`]. Dropping it ends it without waiting.
pub trait Run: Send + Sync {
    /// How it stands. Its sender is gone when the engine has ended by itself.
    fn status(&self) -> watch::Receiver<OperatorStatus>;

    /// Finishes what runs, and ends; what is derived stays.
    fn stop(self: Box<Self>) -> BoxFuture<'static, ()>;

    /// Removes all that is derived; to be asked again until nothing is left.
    fn delete_all(&self) -> BoxFuture<'_, bool>;

    /// Lets held deletions go on, and others that are too many, or not any more.
    fn allow_deletions(&self, allowed: bool);
}

impl Engines for Context {
    fn start(
        &self,
        operator: Operator,
        held: BTreeSet<String>,
        events: Arc<dyn EngineEvents>,
    ) -> Box<dyn Run> {
        Box::new(Engine::resume(self.clone(), operator, held, events))
    }

    fn down(&self, operator: &str, why: &str) {
        self.views.down(operator, why);
    }

    fn forget(&self, operator: &str) {
        Context::forget(self, operator);
    }
}

impl Run for Running {
    fn status(&self) -> watch::Receiver<OperatorStatus> {
        Self::status(self)
    }

    fn stop(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { Self::stop(*self).await })
    }

    fn delete_all(&self) -> BoxFuture<'_, bool> {
        Box::pin(Self::delete_all(self))
    }

    fn allow_deletions(&self, allowed: bool) {
        Self::allow_deletions(self, allowed);
    }
}
