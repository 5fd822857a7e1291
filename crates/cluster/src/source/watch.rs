//! Watches of the cluster, shared by all who read the same.
//!
//! A watch holds no objects, only their names: who joins makes it list anew, which is
//! nothing new to the others. After a break it goes on where it was, or, if the server has
//! forgotten that, lists again and tells what is gone: a re-list is one difference and
//! never a storm.

mod task;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::Metrics;
use object::KindRef;
use task::Watch;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Reading, Reads, Sink};
use crate::client::{Clients, Identity};

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchKey {
    /// The kind.
    pub resource: KindRef,
    /// Only objects of this namespace.
    pub namespace: Option<String>,
    /// Only objects with these labels, as the API server reads it.
    pub selector: Option<String>,
    /// On whose behalf: nobody sees more than it may.
    pub identity: Identity,
}

/// All watches of a process.
#[derive(Clone)]
pub struct Watches {
    clients: Clients,
    metrics: Metrics,
    open: Arc<Mutex<HashMap<WatchKey, Arc<Shared>>>>,
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watches = self.watches();
        f.debug_struct("Watches")
            .field("count", &watches.len())
            .finish_non_exhaustive()
    }
}

/// One watch and those who read it.
#[derive(Default)]
struct Shared {
    readers: Mutex<Readers>,
    joined: Notify,
    task: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
struct Readers {
    next: u64,
    /// Shared with those who deliver an event meanwhile.
    sinks: Arc<Vec<(u64, Arc<dyn Sink>)>>,
}

/// A part in a watch; dropping it ends it.
pub struct Subscription {
    watches: Watches,
    key: WatchKey,
    number: u64,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.key).finish()
    }
}

impl Watches {
    /// No watches yet.
    pub fn new(clients: Clients, metrics: Metrics) -> Self {
        Self {
            clients,
            metrics,
            open: Arc::default(),
        }
    }

    /// Takes part in a watch; `sink` is told all objects, from the beginning.
    pub fn subscribe(&self, key: WatchKey, sink: Arc<dyn Sink>) -> Subscription {
        let mut watches = self.watches();
        let shared = watches.entry(key.clone()).or_default().clone();
        let number = {
            let mut readers = shared.readers();
            readers.next += 1;
            let number = readers.next;
            Arc::make_mut(&mut readers.sinks).push((number, sink));
            number
        };
        shared.joined.notify_one();
        let mut task = shared.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            let watch = Watch::new(self, key.clone(), shared.clone());
            *task = Some(tokio::spawn(watch.run()).abort_handle());
        }
        Subscription {
            watches: self.clone(),
            key,
            number,
        }
    }

    /// How many watches are open.
    pub fn len(&self) -> usize {
        self.watches().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn watches(&self) -> MutexGuard<'_, HashMap<WatchKey, Arc<Shared>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut watches = self.watches.watches();
        let Some(shared) = watches.get(&self.key).cloned() else {
            return;
        };
        let mut readers = shared.readers();
        let sinks = Arc::make_mut(&mut readers.sinks);
        sinks.retain(|(number, _)| *number != self.number);
        if readers.sinks.is_empty() {
            watches.remove(&self.key);
            let task = shared.task.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(task) = &*task {
                task.abort();
            }
        }
    }
}

impl Shared {
    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How to read what somebody reads.
    fn reading(&self) -> Reading {
        let sinks = self.readers().sinks.clone();
        let reads: Vec<Reads> = sinks.iter().map(|(_, sink)| sink.reads()).collect();
        Reading::new(&reads)
    }

    /// Whether somebody wants to know how lists are merged.
    fn wants_lists(&self) -> bool {
        let readers = self.readers();
        readers.sinks.iter().any(|(_, sink)| sink.wants_lists())
    }

    fn each(&self, tell: impl Fn(&dyn Sink)) {
        self.up_to(u64::MAX, tell);
    }

    /// Tells those who joined before this one.
    fn up_to(&self, number: u64, tell: impl Fn(&dyn Sink)) {
        // Told outside the lock: a sink may be slow.
        let sinks = self.readers().sinks.clone();
        let sinks = sinks.iter().filter(|(joined, _)| *joined <= number);
        sinks.for_each(|(_, sink)| tell(sink.as_ref()));
    }
}
