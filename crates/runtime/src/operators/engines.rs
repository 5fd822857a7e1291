//! What an Operator's life needs of an engine, so that tests can stand in for one.

use std::sync::Arc;

use futures::future::BoxFuture;
use operator::Operator;
use tokio::sync::watch;

use crate::engine::{Context, Engine, EngineEvents, Running};
use crate::status::OperatorStatus;

/// Starts operators.
pub trait Engines: Send + Sync {
    /// Starts an operator.
    fn start(&self, operator: Operator, events: Arc<dyn EngineEvents>) -> Box<dyn Run>;

    /// An operator will start: until it has filled its views, they are not complete.
    fn expect(&self, operator: &Operator);

    /// All operators that there are at the start have been expected.
    fn all_expected(&self);

    /// An operator is gone, or does not start after all.
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

    /// Lets held deletions go on.
    fn allow_deletions(&self);
}

impl Engines for Context {
    fn start(&self, operator: Operator, events: Arc<dyn EngineEvents>) -> Box<dyn Run> {
        Box::new(Engine::start(self.clone(), operator, events))
    }

    fn expect(&self, operator: &Operator) {
        let targets = operator.controllers.iter().flat_map(|c| &c.targets);
        for target in targets.filter(|target| target.resource.is_view()) {
            self.views.expect(&operator.name, &target.resource);
        }
    }

    fn all_expected(&self) {
        self.views.all_expected();
    }

    fn forget(&self, operator: &str) {
        self.views.remove(operator);
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

    fn allow_deletions(&self) {
        Self::allow_deletions(self);
    }
}
