//! A limit on the watches that a process opens as service accounts.
//!
//! The watches of the process's own identity are limited by the number of kinds. But accounts do
//! not share watches, so many accounts could exhaust connections and memory. A watch over the
//! limit waits, and its sinks are unavailable until another watch ends.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::sinks::guarded;
use super::{Shared, WatchKey};
use crate::client::Identity;
use crate::source::Unavailable;

/// How many watches a process opens as service accounts.
pub(super) const MAX_ACCOUNT_WATCHES: usize = 1000;

/// A limited number of watches.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    most: usize,
    free: Arc<Semaphore>,
}

/// A watch that is open. Dropping it lets another one open.
pub(super) type Slot = Option<OwnedSemaphorePermit>;

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            free: Arc::new(Semaphore::new(most)),
        }
    }

    /// Waits until the watch may be opened.
    pub(super) async fn take(&self, key: &WatchKey, shared: &Shared) -> Slot {
        if key.identity == Identity::Own {
            return None;
        }
        if let Ok(slot) = self.free.clone().try_acquire_owned() {
            return Some(slot);
        }
        let mut slot = pin!(self.free.clone().acquire_owned());
        loop {
            let why = self.exhausted();
            let sinks = shared.sinks();
            sinks.all().for_each(guarded(|sink| sink.unavailable(&why)));
            tokio::select! {
                biased;
                slot = &mut slot => return slot.ok(),
                // Another sink waits, too.
                () = shared.joined.notified() => {}
            }
        }
    }

    fn exhausted(&self) -> Unavailable {
        let most = self.most;
        Unavailable {
            code: "too-many-watches",
            message: format!(
                "this process has {most} watches open as service accounts, which is the maximum: \
                 let Operators share accounts, or divide them among processes with \
                 --operator-selector"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use object::{KindRef, ObjectName};

    use super::*;
    use crate::source::{Arrival, Reads, Sink};

    #[derive(Default)]
    struct Recorder(Mutex<Vec<&'static str>>);

    impl Sink for Recorder {
        fn reads(&self) -> Reads {
            Reads::Everything
        }
        fn apply(&self, _name: &ObjectName, _object: &Arrival, _listing: bool) {}
        fn delete(&self, _name: &ObjectName, _last: Option<&Arrival>) {}
        fn synced(&self) {}
        fn unavailable(&self, why: &Unavailable) {
            self.0.lock().unwrap().push(why.code);
        }
    }

    fn key(account: Option<&str>) -> WatchKey {
        WatchKey {
            resource: KindRef {
                group: String::new(),
                version: None,
                kind: "ConfigMap".to_owned(),
            },
            namespace: None,
            selector: None,
            identity: account.map_or(Identity::Own, |name| Identity::Account {
                namespace: "n".to_owned(),
                name: name.to_owned(),
            }),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn watches_of_accounts_over_the_limit_wait_and_say_so() {
        let slots = Slots::new(1);
        let first = slots.take(&key(Some("a")), &Shared::default()).await;
        assert!(first.is_some());
        // The process itself is not limited.
        assert!(slots.take(&key(None), &Shared::default()).await.is_none());
        let (shared, sink) = (Arc::new(Shared::default()), Arc::new(Recorder::default()));
        shared.join(sink.clone());
        let waiting = {
            let (slots, shared) = (slots.clone(), shared.clone());
            tokio::spawn(async move { slots.take(&key(Some("b")), &shared).await })
        };
        tokio::task::yield_now().await;
        assert_eq!(*sink.0.lock().unwrap(), ["too-many-watches"]);
        assert!(!waiting.is_finished());
        let late = Arc::new(Recorder::default());
        shared.join(late.clone());
        shared.joined.notify_one();
        tokio::task::yield_now().await;
        assert_eq!(*late.0.lock().unwrap(), ["too-many-watches"]);
        drop(first);
        assert!(waiting.await.unwrap().is_some());
    }
}
