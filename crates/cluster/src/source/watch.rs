//! Watches of the cluster, shared by all sinks that read the same objects.
//!
//! A watch stores the names of objects, not the objects. When a sink joins, the watch lists again;
//! the other sinks recognize the objects that they have. After an interruption the watch resumes
//! where it was. If the server no longer has that version, the watch lists again and delivers the
//! difference, with a deletion for each object that is gone.
//!
//! Few watches are open, and they last. When each Operator watched its own targets, hundreds of
//! Operators exhausted the open files, so that connections failed and watches ended; now the targets
//! of an identity are one watch (`sinks.rs`), and the watches of accounts are limited (`slots.rs`), as
//! are all other requests (`client.rs`). A sink that joined used to end the stream at once, also
//! one whose list was under way, so that Operators that started one after the other kept opening it;
//! now that list completes first, and those that join share the next one (`joins.rs`). A stream that
//! the server ends is opened again after a pause that grows while it does not last
//! (`client/pace.rs`).

mod joins;
mod sinks;
mod slots;
mod streaming;
mod task;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::Metrics;
use object::KindRef;
use sinks::Sinks;
use slots::{MAX_ACCOUNT_WATCHES, Slots};
use streaming::Unsupported;
use task::Watch;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Reading, Reads, Sink};
use crate::client::{Clients, Identity};

/// The objects that a watch delivers. Sinks with equal keys share a watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchKey {
    /// The kind.
    pub resource: KindRef,
    /// Only objects of this namespace.
    pub namespace: Option<String>,
    /// Only objects with these labels, in the format of the API server.
    pub selector: Option<String>,
    /// The identity that watches. Identities do not share watches, because they may have different
    /// permissions.
    pub identity: Identity,
}

/// All watches of a process.
#[derive(Clone)]
pub struct Watches {
    clients: Clients,
    metrics: Metrics,
    open: Arc<Mutex<HashMap<WatchKey, Arc<Shared>>>>,
    no_streaming: Unsupported,
    /// The watches that may be opened as service accounts.
    for_accounts: Slots,
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watches = self.watches();
        f.debug_struct("Watches")
            .field("count", &watches.len())
            .finish_non_exhaustive()
    }
}

/// One watch and its sinks.
#[derive(Default)]
struct Shared {
    readers: Mutex<Readers>,
    joined: Notify,
    task: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
struct Readers {
    next: u64,
    /// Shared with a delivery that is in progress.
    sinks: Arc<Sinks>,
}

/// The subscription of one sink. Dropping it ends it; the last one ends the watch.
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
    /// Starts without watches.
    pub fn new(clients: Clients, metrics: Metrics) -> Self {
        Self {
            clients,
            metrics,
            open: Arc::default(),
            no_streaming: Unsupported::default(),
            for_accounts: Slots::new(MAX_ACCOUNT_WATCHES),
        }
    }

    /// Subscribes a sink to a watch, which is opened if necessary. The sink gets all objects first,
    /// then the changes.
    pub fn subscribe(&self, key: WatchKey, sink: Arc<dyn Sink>) -> Subscription {
        let mut watches = self.watches();
        let shared = watches.entry(key.clone()).or_default().clone();
        let number = shared.join(sink);
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

    /// Whether no watch is open.
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
        Arc::make_mut(&mut readers.sinks).remove(self.number);
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

    /// Adds a sink. Returns its number.
    fn join(&self, sink: Arc<dyn Sink>) -> u64 {
        let mut readers = self.readers();
        readers.next += 1;
        let number = readers.next;
        Arc::make_mut(&mut readers.sinks).add(number, sink);
        number
    }

    /// The sinks. They are called without the lock, because a sink may be slow.
    fn sinks(&self) -> Arc<Sinks> {
        self.readers().sinks.clone()
    }

    /// A reading of all parts that the sinks need.
    fn reading(&self) -> Reading {
        let sinks = self.sinks();
        let reads: Vec<Reads> = sinks.all().map(Sink::reads).collect();
        Reading::new(&reads)
    }

    /// Whether a sink needs to know how lists are merged.
    fn wants_lists(&self) -> bool {
        self.sinks().all().any(Sink::wants_lists)
    }
}
