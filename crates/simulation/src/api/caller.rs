//! A caller of the server: a process, which may die, and may be cut off from the server.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// A process that sends requests. Clones are the same process.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its name in the trace.
    pub name: Arc<str>,
    dead: Arc<watch::Sender<bool>>,
    partition: Arc<Mutex<Option<Partition>>>,
    open_watches: Arc<AtomicI64>,
}

/// A time in which nothing passes between a process and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// When it ends.
    pub until: Instant,
    /// Whether requests fail at once. Otherwise messages wait until it ends, as they do if the
    /// process is suspended.
    pub refuses: bool,
}

impl Caller {
    /// A process that is alive.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            dead: Arc::new(watch::Sender::new(false)),
            partition: Arc::default(),
            open_watches: Arc::default(),
        }
    }

    /// The number of its open watches.
    pub fn open_watches(&self) -> i64 {
        self.open_watches.load(Ordering::SeqCst)
    }

    pub(super) fn watches(&self, more: i64) {
        self.open_watches.fetch_add(more, Ordering::SeqCst);
    }

    /// From now on, its requests do not arrive, and it gets no answers.
    pub fn die(&self) {
        self.dead.send_replace(true);
    }

    /// Whether it is dead.
    pub fn is_dead(&self) -> bool {
        *self.dead.borrow()
    }

    /// Cuts it off from the server.
    pub fn cut_off(&self, partition: Partition) {
        *self.partition() = Some(partition);
    }

    /// Ends a partition.
    pub fn reconnect(&self) {
        *self.partition() = None;
    }

    fn partition(&self) -> std::sync::MutexGuard<'_, Option<Partition>> {
        self.partition
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The partition at this moment.
    pub(super) fn partitioned(&self) -> Option<Partition> {
        let partition = *self.partition();
        partition.filter(|partition| partition.until > Instant::now())
    }

    /// Completes when it is dead.
    pub async fn died(&self) {
        let mut dead = self.dead.subscribe();
        // `self` keeps the sender.
        let _ = dead.wait_for(|dead| *dead).await;
    }

    /// Completes when a message can pass: at once, or after a partition; never if the process is
    /// dead.
    pub(super) async fn reachable(&self) {
        while let Some(partition) = self.partitioned() {
            sleep_until(partition.until).await;
        }
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }
}
