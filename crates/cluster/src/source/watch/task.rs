//! The task of a watch. It resolves the kind, lists, delivers the events of kube's watcher to the
//! sinks, and starts again after failures:
//!
//! ```text
//! run ─▶ open (resolve, schema, follow) ─┬▶ End::Joined    list again for the new sink
//!                                        ├▶ End::Expired   list again after a pause
//!                                        ├▶ End::NoStreaming   list first, then watch
//!                                        └▶ End::Failed    unavailable; retry after a longer pause
//! ```

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use controller::{Backoff, Pause};
use fieldset::MergeKeys;
use futures::{FutureExt, Stream, StreamExt};
use kube::Api;
use kube::runtime::watcher::{self, Event};
use metrics::Metrics;
use object::ObjectName;
use object::relist::Known;
use tokio::time::Instant;

use super::joins::Joins;
use super::sinks::{Owners, Writers, guarded};
use super::slots::Slots;
use super::streaming::Strategy;
use super::{Shared, WatchKey, Watches};
use crate::client::Clients;
use crate::connect::describe;
use crate::object::{Unreadable, lost_event};
use crate::source::discovery::Resolved;
use crate::source::schema::Schema;
use crate::source::{Arrival, KIND_MISSING, Sink, Unavailable, discovery};

/// The pause before a list, so that sinks that join at the same time share the list.
const GATHER: Duration = Duration::from_millis(20);
/// The pauses after failures.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
/// How long sinks that have joined wait for the list of a stream that was opened without them.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a watch tries to resume where it was before it lists again.
const RESUMES: usize = 10;
/// The longest pause while the kind is missing.
const MISSING: Duration = Duration::from_secs(3);

/// The task of a watch.
pub(super) struct Watch {
    clients: Clients,
    metrics: Metrics,
    key: WatchKey,
    shared: Arc<Shared>,
    /// The objects that were delivered and still exist.
    known: Known<ObjectName>,
    /// The Operators that write them, if a sink gets only the objects of one.
    owners: Owners,
    joins: Joins,
    /// The number of the last sink that this stream was opened for. Later sinks get nothing from
    /// it, because its objects may lack the parts that they read.
    opened_for: u64,
    /// Whether the list of this stream is complete.
    followed: bool,
    /// How often in a row the stream failed to resume.
    resumed: usize,
    /// The reason for the next list, for the metrics.
    reason: &'static str,
    strategy: Strategy,
    pause: Pause,
    slots: Slots,
}

/// Why a stream ends.
enum End {
    /// A sink joined and needs all objects.
    Joined,
    /// The server no longer has the version (410). The kind may have changed too, for example if
    /// its CRD was deleted and created again.
    Expired,
    /// The server does not begin a watch with all objects.
    NoStreaming,
    /// The stream failed.
    Failed(Unavailable),
}

impl Watch {
    pub(super) fn new(watches: &Watches, key: WatchKey, shared: Arc<Shared>) -> Self {
        Self {
            clients: watches.clients.clone(),
            metrics: watches.metrics.clone(),
            key,
            shared,
            known: Known::default(),
            owners: Owners::default(),
            joins: Joins::default(),
            opened_for: 0,
            followed: false,
            resumed: 0,
            reason: "first",
            strategy: Strategy::new(&watches.no_streaming),
            pause: Pause::new(PAUSES),
            slots: watches.for_accounts.clone(),
        }
    }

    /// Runs until it is aborted, when the last sink has left.
    pub(super) async fn run(mut self) {
        let _slot = self.slots.take(&self.key, &self.shared).await;
        loop {
            tokio::time::sleep(GATHER).await;
            let opened = AssertUnwindSafe(self.open()).catch_unwind().await;
            let failed = match opened.unwrap_or_else(|_| Err(crashed())) {
                Ok(End::Joined) => {
                    self.lists_again("joined");
                    continue;
                }
                Ok(End::Expired) => {
                    self.lists_again("expired");
                    tokio::time::sleep(PAUSES.initial).await;
                    continue;
                }
                Ok(End::NoStreaming) => {
                    self.strategy.give_up();
                    self.lists_again("streaming");
                    continue;
                }
                Ok(End::Failed(why)) | Err(why) => why,
            };
            self.reason = "failed";
            tracing::debug!(kind = self.key.resource.kind, why = failed.message, "watch");
            let sinks = self.shared.sinks();
            sinks
                .all()
                .for_each(guarded(|sink| sink.unavailable(&failed)));
            let mut pause = self.pause.grow();
            if failed.is_kind_missing() {
                pause = pause.min(MISSING);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Tells the sinks that the next stream begins with a list. kube's watcher reports a streaming
    /// list only when the server answers, and until then the sinks must not count as complete.
    fn lists_again(&mut self, reason: &'static str) {
        self.reason = reason;
        self.tell(|sink| sink.listing());
    }

    /// Opens a stream for the sinks that have joined so far.
    fn begin(&mut self) {
        self.followed = false;
        self.joins.begin();
        self.opened_for = self.shared.readers().next;
    }

    async fn open(&mut self) -> Result<End, Unavailable> {
        self.begin();
        let client = self.clients.of(&self.key.identity);
        let mut resolved = discovery::resolve(&client, &self.key.resource).await?;
        if let Some(why) = resolved.unreadable() {
            return Err(why);
        }
        let schema = self.schema(&client, &resolved).await?;
        if let Some(schema) = &schema {
            resolved.lists.clone_from(&schema.lists);
        }
        self.tell(|sink| sink.resolved(&resolved));
        let api = self.api(client.clone(), &resolved);
        let mut config = watcher::Config::default();
        config.label_selector.clone_from(&self.key.selector);
        config.page_size = Some(500);
        config.initial_list_strategy = self.strategy.begin();
        let stream = Box::pin(watcher::watcher(api, config));
        let reading = self.shared.reading().of_kind(&resolved.resource);
        let stream = pin!(reading.stream(stream));
        let followed = self.follow(stream);
        let Some(schema) = schema else {
            return Ok(followed.await);
        };
        tokio::select! {
            biased;
            end = followed => Ok(end),
            // All objects are delivered again, as for a sink that joins.
            () = schema.changed(&client, &resolved.resource) => Ok(End::Joined),
        }
    }

    /// The schema of the kind, if a sink needs to know how its lists are merged. For the kinds of
    /// Kubernetes itself that is built in.
    async fn schema(
        &self,
        client: &kube::Client,
        resolved: &Resolved,
    ) -> Result<Option<Schema>, Unavailable> {
        let wanted = self.shared.wants_lists();
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

    fn api(&self, client: kube::Client, resolved: &Resolved) -> Api<Arrival> {
        match &self.key.namespace {
            Some(namespace) if resolved.namespaced => {
                Api::namespaced_with(client, namespace, &resolved.resource)
            }
            _ => Api::all_with(client, &resolved.resource),
        }
    }

    /// Delivers the events of the stream until it ends.
    async fn follow<S>(&mut self, mut stream: std::pin::Pin<&mut S>) -> End
    where
        S: Stream<Item = watcher::Result<Event<Arrival>>>,
    {
        let shared = self.shared.clone();
        let opened = Instant::now();
        loop {
            let event = tokio::select! {
                biased;
                () = shared.joined.notified() => {
                    self.plan_list(opened);
                    continue;
                }
                () = self.joins.due() => return End::Joined,
                () = self.strategy.overdue() => return End::NoStreaming,
                event = stream.next() => event,
            };
            match event {
                None => return End::Failed(ended("the watch has ended")),
                Some(Ok(event)) => {
                    let was_followed = self.followed;
                    if let Err(why) = self.event(event) {
                        return End::Failed(why);
                    }
                    if self.followed && !was_followed {
                        // Those that joined meanwhile no longer wait for this list.
                        self.joins.begin();
                        self.plan_list(opened);
                    }
                }
                Some(Err(error)) if is_expired(&error) => return End::Expired,
                Some(Err(error)) if self.refuses_streaming(&error) => return End::NoStreaming,
                Some(Err(error)) if self.resumes(&error) => {
                    tokio::time::sleep(PAUSES.initial).await;
                }
                Some(Err(error)) => match self.failed(&error) {
                    None => tokio::time::sleep(PAUSES.initial).await,
                    Some(why) => return End::Failed(why),
                },
            }
        }
    }

    /// Plans a list if a sink has joined since this stream was opened. The list of this stream, if
    /// it is under way, completes first: otherwise sinks that keep joining would delay the others
    /// forever.
    fn plan_list(&mut self, opened: Instant) {
        if !self.somebody_waits() || self.joins.is_planned() {
            return;
        }
        let patience = if self.followed {
            Duration::ZERO
        } else {
            PATIENCE
        };
        self.joins.wait(opened + patience);
    }

    /// Whether a sink joined after this stream was opened.
    fn somebody_waits(&self) -> bool {
        self.shared.readers().next > self.opened_for
    }

    /// Calls the sinks that this stream was opened for.
    fn tell(&self, tell: impl Fn(&dyn Sink)) {
        let sinks = self.shared.sinks();
        sinks.up_to(self.opened_for).for_each(guarded(tell));
    }

    /// Delivers an event. Fails if the name of the object cannot be read. Then the sinks keep their
    /// objects, but are not complete.
    fn event(&mut self, event: Event<Arrival>) -> Result<(), Unavailable> {
        self.resumed = 0;
        match event {
            Event::Init => {
                let resource = &self.key.resource;
                let reason = std::mem::replace(&mut self.reason, "failed");
                self.metrics.listed(&resource.group, &resource.kind, reason);
                self.strategy.arrived();
                self.known.begin();
                self.tell(|sink| sink.listing());
            }
            Event::InitApply(object) => {
                self.strategy.arrived();
                self.applied(&object, true)?;
            }
            Event::InitDone => self.listed(),
            Event::Apply(object) => self.applied(&object, false)?,
            Event::Delete(object) => {
                let name = self.name(&object)?;
                self.deleted(&name, Some(&object));
                self.known.remove(&name);
            }
        }
        Ok(())
    }

    /// Delivers the state of an object: to the sinks of all objects, and to those of the Operators
    /// that write it.
    fn applied(&mut self, object: &Arrival, listing: bool) -> Result<(), Unavailable> {
        let name = self.name(object)?;
        let sinks = self.shared.sinks();
        let sink_of_all = sinks.of_all(self.opened_for);
        sink_of_all.for_each(guarded(|sink| sink.apply(&name, object, listing)));
        if sinks.routes() {
            let writers = Writers::of(object);
            let before = self.owners.set(&name, &writers);
            let old = sinks.of(before.gone(&writers), self.opened_for);
            old.for_each(guarded(|sink| sink.delete(&name, Some(object))));
            let own = sinks.of(writers.iter(), self.opened_for);
            own.for_each(guarded(|sink| sink.apply(&name, object, listing)));
        }
        self.known.show(name);
        Ok(())
    }

    /// Delivers the deletion of an object.
    fn deleted(&mut self, name: &ObjectName, last: Option<&Arrival>) {
        let writers = self.owners.set(name, &Writers::default());
        let sinks = self.shared.sinks();
        let all = sinks.of_all(self.opened_for);
        let all = all.chain(sinks.of(writers.iter(), self.opened_for));
        all.for_each(guarded(|sink| sink.delete(name, last)));
    }

    fn name(&self, object: &Arrival) -> Result<ObjectName, Unavailable> {
        let name = object.header.object_name();
        name.ok_or_else(|| unnamed(&self.key.resource.kind))
    }

    /// The list is complete: objects that it does not contain are gone.
    fn listed(&mut self) {
        let Some(gone) = self.known.complete() else {
            return;
        };
        for name in &gone {
            self.deleted(name, None);
        }
        self.followed = true;
        self.strategy.listed();
        self.pause.reset();
        self.tell(|sink| sink.synced());
    }

    /// Whether the server refuses a watch because it should begin with all objects.
    fn refuses_streaming(&self, error: &watcher::Error) -> bool {
        matches!(
            error,
            watcher::Error::WatchStartFailed(kube::Error::Api(status))
                if !self.followed && self.strategy.is_refused(status.code)
        )
    }

    /// Whether the stream tries to resume where it was, which costs less than a list: after a
    /// connection broke, or while the server is busy.
    fn resumes(&mut self, error: &watcher::Error) -> bool {
        let watcher::Error::WatchStartFailed(error) = error else {
            return false;
        };
        let busy = match error {
            kube::Error::Api(status) => matches!(status.code, 429 | 500..),
            _ => true,
        };
        self.resumed += 1;
        busy && self.followed && self.resumed <= RESUMES
    }

    /// Why the stream must be closed; `None` if it continues by itself.
    fn failed(&mut self, error: &watcher::Error) -> Option<Unavailable> {
        let kind = &self.key.resource.kind;
        match error {
            // The event could not be read, so it is unknown which object it was for.
            error if lost_event(error) => Some(unnamed(kind)),
            // The stream resumes where it was, or lists again.
            watcher::Error::WatchFailed(_) | watcher::Error::WatchError(_) => None,
            watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
                if let kube::Error::Api(status) = error {
                    return Some(refused(&self.key, status));
                }
                Some(ended(&format!("cannot read {kind}: {}", describe(error))))
            }
            watcher::Error::NoResourceVersion => Some(ended(&format!("{kind} cannot be watched"))),
        }
    }
}

/// Whether the server no longer has the version at which the watch should resume.
fn is_expired(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::WatchError(status)
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 410
    )
}

fn ended(message: &str) -> Unavailable {
    Unavailable {
        code: "unavailable",
        message: message.to_owned(),
    }
}

/// The server refused a list or a watch.
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
            code: KIND_MISSING,
            message: format!("the cluster has no kind {kind} any more: waiting for it"),
        },
        code => Unavailable {
            code: "unavailable",
            message: format!("cannot list {kind}{place}: {} ({code})", status.message),
        },
    }
}

/// The task panicked. It goes on with the objects that it knows, so that no deletion is missed.
fn crashed() -> Unavailable {
    ended("reading failed because of an error in deltic itself: please report this, with the log")
}

fn unnamed(kind: &str) -> Unavailable {
    Unavailable {
        code: Unreadable::CODE,
        message: format!("the name of an object of kind {kind} cannot be read"),
    }
}

#[cfg(test)]
mod tests;
