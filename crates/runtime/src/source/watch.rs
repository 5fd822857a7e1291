//! Watches of the cluster, shared by all who read the same.
//!
//! A watch holds no objects, only their names: who joins makes it list anew, which is
//! nothing new to the others. After a break it lists again and tells what is gone, so a
//! re-list is one difference and never a storm.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dataflow::ObjectName;
use document::Value;
use futures::{Stream, StreamExt};
use kube::Api;
use kube::runtime::watcher::{self, Event, InitialListStrategy};
use operator::patch::MergeKeys;
use operator::spec::Resource;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::discovery::{self, Resolved};
use super::schema::Schema;
use super::{Sink, Unavailable};
use crate::client::{Clients, Identity};
use crate::object::Object;

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchKey {
    /// The kind.
    pub resource: Resource,
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
    watches: Arc<Mutex<HashMap<WatchKey, Arc<Shared>>>>,
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
    sinks: Vec<(u64, Arc<dyn Sink>)>,
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

/// Others may want the same watch at the same moment: they share one list.
const GATHER: Duration = Duration::from_millis(20);
/// The first pause after a failure, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// A kind that is missing is asked for at least this often.
const MISSING: Duration = Duration::from_secs(3);

impl Watches {
    /// No watches yet.
    pub fn new(clients: Clients) -> Self {
        Self {
            clients,
            watches: Arc::default(),
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
            readers.sinks.push((number, sink));
            number
        };
        shared.joined.notify_one();
        let mut task = shared.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            let run = Watch::new(self.clients.clone(), key.clone(), shared.clone()).run();
            *task = Some(tokio::spawn(run).abort_handle());
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
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut watches = self.watches.watches();
        let Some(shared) = watches.get(&self.key).cloned() else {
            return;
        };
        let mut readers = shared.readers();
        readers.sinks.retain(|(number, _)| *number != self.number);
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

    fn each(&self, tell: impl Fn(&dyn Sink)) {
        self.up_to(u64::MAX, tell);
    }

    /// Tells those who joined before this one.
    fn up_to(&self, number: u64, tell: impl Fn(&dyn Sink)) {
        // Told outside the lock: a sink may be slow.
        let sinks: Vec<_> = self.readers().sinks.clone();
        let sinks = sinks.iter().filter(|(joined, _)| *joined <= number);
        sinks.for_each(|(_, sink)| tell(sink.as_ref()));
    }
}

/// The task of a watch.
struct Watch {
    clients: Clients,
    key: WatchKey,
    shared: Arc<Shared>,
    /// The objects that were told and are not gone.
    known: HashSet<ObjectName>,
    /// While listing: the objects of the list.
    listing: Option<HashSet<ObjectName>>,
    /// The last reader that gets all of the list.
    listed_for: u64,
    strategy: InitialListStrategy,
    pause: Duration,
}

/// Why a stream is given up.
enum End {
    /// Somebody joined, who wants to be told all.
    Joined,
    /// It failed.
    Failed(Unavailable),
}

impl Watch {
    fn new(clients: Clients, key: WatchKey, shared: Arc<Shared>) -> Self {
        Self {
            clients,
            key,
            shared,
            known: HashSet::new(),
            listing: None,
            listed_for: 0,
            strategy: InitialListStrategy::StreamingList,
            pause: PAUSES.0,
        }
    }

    async fn run(mut self) {
        loop {
            tokio::time::sleep(GATHER).await;
            let failed = match self.open().await {
                Ok(End::Joined) => continue,
                Ok(End::Failed(why)) | Err(why) => why,
            };
            tracing::debug!(kind = self.key.resource.kind, why = failed.message, "watch");
            self.shared.each(|sink| sink.unavailable(&failed));
            let pause = if failed.code == "kind-missing" {
                self.pause.min(MISSING)
            } else {
                self.pause
            };
            tokio::time::sleep(pause).await;
            self.pause = (self.pause * 2).min(PAUSES.1);
        }
    }

    async fn open(&mut self) -> Result<End, Unavailable> {
        let client = self.clients.of(&self.key.identity);
        let mut resolved = discovery::resolve(&client, &self.key.resource).await?;
        let schema = self.schema(&client, &resolved).await?;
        if let Some(schema) = &schema {
            resolved.lists.clone_from(&schema.lists);
        }
        self.shared.each(|sink| sink.resolved(&resolved));
        let api = self.api(client.clone(), &resolved);
        let mut config = watcher::Config::default();
        config.label_selector.clone_from(&self.key.selector);
        config.page_size = Some(500);
        config.initial_list_strategy = self.strategy.clone();
        let events = pin!(watcher::watcher(api, config));
        let followed = self.follow(events, &resolved);
        let Some(schema) = schema else {
            return Ok(followed.await);
        };
        tokio::select! {
            end = followed => Ok(end),
            // As for somebody who joins: all is told anew.
            () = schema.changed(&client, &resolved.resource) => Ok(End::Joined),
        }
    }

    /// The schema of the kind, if somebody wants to know its lists. Those of Kubernetes' own
    /// kinds are known.
    async fn schema(
        &self,
        client: &kube::Client,
        resolved: &Resolved,
    ) -> Result<Option<Schema>, Unavailable> {
        let sinks: Vec<_> = self.shared.readers().sinks.clone();
        let wanted = sinks.iter().any(|(_, sink)| sink.wants_lists());
        let keys = MergeKeys::of_group(&resolved.resource.group);
        if !wanted || keys.built_in() {
            return Ok(None);
        }
        let schema = Schema::read(client, &resolved.resource).await;
        let kind = &resolved.resource.kind;
        let schema =
            schema.map_err(|error| ended(&format!("cannot read the schema of {kind}: {error}")))?;
        Ok(Some(schema))
    }

    fn api(&self, client: kube::Client, resolved: &Resolved) -> Api<Object> {
        match &self.key.namespace {
            Some(namespace) if resolved.namespaced => {
                Api::namespaced_with(client, namespace, &resolved.resource)
            }
            _ => Api::all_with(client, &resolved.resource),
        }
    }

    /// Tells what the stream says until it ends.
    async fn follow<S>(&mut self, mut stream: std::pin::Pin<&mut S>, resolved: &Resolved) -> End
    where
        S: Stream<Item = watcher::Result<Event<Object>>>,
    {
        let shared = self.shared.clone();
        loop {
            let event = tokio::select! {
                biased;
                () = shared.joined.notified() => {
                    if self.somebody_waits() {
                        return End::Joined;
                    }
                    continue;
                }
                event = stream.next() => event,
            };
            match event {
                None => return End::Failed(ended("the watch has ended")),
                Some(Ok(event)) => self.event(event, resolved),
                Some(Err(error)) => match self.failed(&error) {
                    None => tokio::time::sleep(PAUSES.0).await,
                    Some(why) => return End::Failed(why),
                },
            }
        }
    }

    /// Whether a reader joined after the last list began.
    fn somebody_waits(&self) -> bool {
        self.shared.readers().next > self.listed_for
    }

    fn event(&mut self, event: Event<Object>, resolved: &Resolved) {
        match event {
            Event::Init => {
                self.listing = Some(HashSet::new());
                self.listed_for = self.shared.readers().next;
                self.shared.each(|sink| sink.listing());
            }
            Event::InitApply(object) => {
                if let Some((name, object)) = named(object, resolved) {
                    if let Some(listed) = &mut self.listing {
                        listed.insert(name.clone());
                    }
                    self.shared.each(|sink| sink.apply(&name, &object, true));
                }
            }
            Event::InitDone => self.listed(),
            Event::Apply(object) => {
                if let Some((name, object)) = named(object, resolved) {
                    self.shared.each(|sink| sink.apply(&name, &object, false));
                    self.known.insert(name);
                }
            }
            Event::Delete(object) => {
                if let Some((name, object)) = named(object, resolved) {
                    self.shared.each(|sink| sink.delete(&name, Some(&object)));
                    self.known.remove(&name);
                }
            }
        }
    }

    /// A list is complete: what is not in it is gone.
    fn listed(&mut self) {
        let Some(listed) = self.listing.take() else {
            return;
        };
        let mut gone: Vec<&ObjectName> = self.known.difference(&listed).collect();
        gone.sort();
        for name in gone {
            self.shared.each(|sink| sink.delete(name, None));
        }
        self.known = listed;
        self.pause = PAUSES.0;
        self.shared.up_to(self.listed_for, |sink| sink.synced());
    }

    /// Why the stream is given up; `None` if it goes on by itself.
    fn failed(&mut self, error: &watcher::Error) -> Option<Unavailable> {
        let kind = &self.key.resource.kind;
        match error {
            // The stream goes on where it was, or lists anew.
            watcher::Error::WatchFailed(_) | watcher::Error::WatchError(_) => None,
            watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
                if let kube::Error::Api(status) = error {
                    // A server without streaming lists.
                    if matches!(status.code, 400 | 422)
                        && self.strategy == InitialListStrategy::StreamingList
                    {
                        self.strategy = InitialListStrategy::ListWatch;
                        return Some(ended("streaming lists are not supported"));
                    }
                    return Some(refused(&self.key, status));
                }
                Some(ended(&format!("cannot read {kind}: {error}")))
            }
            watcher::Error::NoResourceVersion => Some(ended(&format!("{kind} cannot be watched"))),
        }
    }
}

fn ended(message: &str) -> Unavailable {
    Unavailable {
        code: "unavailable",
        message: message.to_owned(),
    }
}

/// The server refuses a list or a watch.
fn refused(key: &WatchKey, status: &kube::core::Status) -> Unavailable {
    let kind = &key.resource.kind;
    let identity = &key.identity;
    let place = key
        .namespace
        .as_ref()
        .map_or_else(String::new, |namespace| {
            format!(" in namespace {namespace}")
        });
    match status.code {
        401 | 403 => Unavailable {
            code: "forbidden",
            message: format!(
                "{identity} may not list and watch {kind}{place}: {}; grant it, `deltic rbac` prints the rules",
                status.message
            ),
        },
        404 => Unavailable {
            code: "kind-missing",
            message: format!("the cluster has no kind {kind} any more: waiting for it"),
        },
        code => Unavailable {
            code: "unavailable",
            message: format!("cannot list {kind}{place}: {} ({code})", status.message),
        },
    }
}

/// The name and the document of an object.
fn named(object: Object, resolved: &Resolved) -> Option<(ObjectName, Value)> {
    let object = object.with_types(&resolved.resource).into_value();
    Some((ObjectName::of(&object)?, object))
}
