//! Wakes objects that wait for their namespace.
//!
//! A write into a namespace that does not exist, or is being deleted, is not repeated before
//! the namespace exists. Namespaces are watched only while an object waits for one, so an
//! Operator that never needs them sends no requests. Without the permission to watch them, such
//! objects are tried again once a minute, and the status says which permission to grant.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use controller::{Backoff, Pause, Queue};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Namespace;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt};
use object::ObjectKey;
use tokio::sync::watch;

use super::writes::WriteReason;
use crate::writer::Writer;

/// The pauses after a failed watch.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
/// If the server says that a namespace is missing which our watch has delivered, the two may
/// only be out of step: the object is tried again after this time.
const RECHECK_DELAY: Duration = Duration::from_secs(5);

/// The namespaces of an Operator's targets.
pub(super) struct Namespaces {
    writer: Arc<Writer>,
    queue: Queue<ObjectKey, WriteReason>,
    /// Notifies when an object begins to wait.
    waits: watch::Receiver<()>,
    /// The namespaces that exist and are not being deleted.
    existing: BTreeSet<String>,
    pause: Pause,
}

impl Namespaces {
    pub(super) fn new(writer: Arc<Writer>, queue: Queue<ObjectKey, WriteReason>) -> Self {
        Self {
            waits: writer.namespace_waits(),
            writer,
            queue,
            existing: BTreeSet::new(),
            pause: Pause::new(PAUSES),
        }
    }

    /// Watches namespaces, or `only` one, whenever objects wait.
    pub(super) async fn run(mut self, client: Client, only: Option<String>) {
        let api: Api<Namespace> = Api::all(client);
        let config = watcher::Config {
            field_selector: only.map(|name| format!("metadata.name={name}")),
            ..watcher::Config::default()
        };
        while self.waits.changed().await.is_ok() {
            self.pause.reset();
            let events = pin!(watcher::watcher(api.clone(), config.clone()));
            self.follow(events).await;
        }
    }

    /// Follows the watch until no object waits any more.
    async fn follow<S>(&mut self, mut events: std::pin::Pin<&mut S>)
    where
        S: Stream<Item = watcher::Result<Event<Namespace>>>,
    {
        while !self.writer.awaited_namespaces().is_empty() {
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(Ok(event)) => self.event(event),
                    Some(Err(error)) => self.failed(&error).await,
                    None => return,
                },
                Ok(()) = self.waits.changed() => {
                    tokio::time::sleep(RECHECK_DELAY).await;
                    self.wake();
                }
            }
        }
    }

    fn event(&mut self, event: Event<Namespace>) {
        match event {
            // Only namespaces that a list shows wake objects. Those that are gone are of no
            // interest here, so that no difference is computed.
            Event::Init => self.existing.clear(),
            Event::InitApply(namespace) => self.note(&namespace),
            Event::InitDone => {
                self.pause.reset();
                self.look(self.writer.watches_namespaces(true));
                self.wake();
            }
            Event::Apply(namespace) => {
                self.note(&namespace);
                self.wake();
            }
            Event::Delete(namespace) => {
                self.existing.remove(&namespace.name_any());
            }
        }
    }

    fn note(&mut self, namespace: &Namespace) {
        let name = namespace.name_any();
        if namespace.metadata.deletion_timestamp.is_none() {
            self.existing.insert(name);
        } else {
            self.existing.remove(&name);
        }
    }

    /// Checks the objects that wait for a namespace that exists.
    fn wake(&self) {
        let awaited = self.writer.awaited_namespaces();
        for namespace in awaited.intersection(&self.existing) {
            self.look(self.writer.namespace_changed(namespace));
        }
    }

    async fn failed(&mut self, error: &watcher::Error) {
        tracing::debug!(%error, "cannot watch namespaces");
        if is_refused(error) {
            self.look(self.writer.watches_namespaces(false));
        }
        tokio::time::sleep(self.pause.grow()).await;
    }

    fn look(&self, keys: Vec<ObjectKey>) {
        let reason = WriteReason::TargetChanged;
        self.queue.trigger_all(keys, &reason, Duration::ZERO);
    }
}

fn is_refused(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => {
            matches!(status.code, 401 | 403)
        }
        watcher::Error::WatchError(status) => matches!(status.code, 401 | 403),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
