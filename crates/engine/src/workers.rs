//! Runs long computations on threads of their own.
//!
//! A batch may take as long as `--max-step-time` allows, and the start of an engine as long as its
//! spec is large. If they ran on a thread of the runtime, other Operators, probes and signals would
//! have to wait for them. So they run on a thread that nobody else needs, and the operating system
//! divides the cores.

use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// How many computations run at the same time by default. An Operator has one at most, so this
/// many Operators have to be busy for a long time before another one has to wait.
const THREADS: usize = 64;

/// The threads for long computations. Clones share them.
#[derive(Clone, Debug)]
pub struct Workers(Option<Arc<Semaphore>>);

impl Default for Workers {
    fn default() -> Self {
        Self::new(THREADS)
    }
}

impl Workers {
    /// At most this many threads. In a runtime with a single thread, such as that of a test on
    /// paused time, computations run on that thread, so that their order is deterministic.
    pub fn new(threads: usize) -> Self {
        Self(Some(Arc::new(Semaphore::new(threads.max(1)))))
    }

    /// No threads: computations run in the task that asks for them.
    pub fn inline() -> Self {
        Self(None)
    }

    /// Runs a computation. If the caller is dropped meanwhile, the computation runs on. A panic is
    /// passed on.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let threads = self.0.as_ref().filter(|_| is_multi_threaded());
        let Some(threads) = threads else {
            return work();
        };
        // The semaphore is never closed.
        let permit = threads.clone().acquire_owned().await.ok();
        let span = tracing::Span::current();
        let done = tokio::task::spawn_blocking(move || {
            let done = span.in_scope(work);
            drop(permit);
            done
        });
        match done.await.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime is being shut down.
            Err(Err(_)) => std::future::pending().await,
        }
    }
}

fn is_multi_threaded() -> bool {
    let runtime = Handle::try_current();
    runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
