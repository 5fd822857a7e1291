//! A caller of the server: a process, which may die.

use std::sync::Arc;

use tokio::sync::watch;

/// A process that sends requests. Clones are the same process.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its name in the trace.
    pub name: Arc<str>,
    dead: Arc<watch::Sender<bool>>,
}

impl Caller {
    /// A process that is alive.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            dead: Arc::new(watch::Sender::new(false)),
        }
    }

    /// From now on, its requests do not arrive, and it gets no answers.
    pub fn die(&self) {
        self.dead.send_replace(true);
    }

    /// Whether it is dead.
    pub fn is_dead(&self) -> bool {
        *self.dead.borrow()
    }

    /// Completes when it is dead.
    pub async fn died(&self) {
        let mut dead = self.dead.subscribe();
        // `self` keeps the sender.
        let _ = dead.wait_for(|dead| *dead).await;
    }

    /// Completes at once; never if the process is dead.
    pub(super) async fn dead_is_silent(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }
}
