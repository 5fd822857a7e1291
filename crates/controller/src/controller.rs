//! The controller for native reconcilers in Rust.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, BoxFuture};
use futures::{FutureExt, Stream, StreamExt, TryFuture};
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{Action, Error, ReconcileReason, ReconcileRequest};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store, reflector};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::action::requeue_after;
use crate::config::Config;
use crate::queue::{Next, Queue, Receiver, queue};
use crate::run::{self, Outcome};
use crate::runner::{Observer, Runner};
use crate::signal;
use crate::trigger::{self, Requests};

/// Reconciles objects of kind `K` when they, or objects related to them, change.
///
/// It has the interface and the types of kube-runtime's `Controller`, but schedules differently:
///
/// - a debounce window is not extended by later triggers;
/// - a watch that fails pauses by itself, while the others go on;
/// - a cluster-scoped object is one object, even if a namespaced one names it as its owner;
/// - when all trigger streams have ended, scheduled runs still take place before the stream ends.
///
/// See the [crate](crate) for an example.
pub struct Controller<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    triggers: Vec<Requests<K>>,
    reader: Store<K>,
    dyntype: K::DynamicType,
    config: Config,
    queue: Queue<ObjectRef<K>, ReconcileReason>,
    receiver: Receiver<ObjectRef<K>, ReconcileReason>,
    observer: Option<Arc<dyn Observer<ObjectRef<K>, ReconcileReason>>>,
    /// The first of these to complete begins a graceful shutdown.
    graceful: Vec<BoxFuture<'static, ()>>,
    /// The first of these to complete ends the stream at once.
    forced: Vec<BoxFuture<'static, ()>>,
}

/// Constructors and settings.
impl<K> Controller<K>
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// A controller of the objects that a watch of `api` delivers.
    #[must_use]
    pub fn new(api: Api<K>, wc: watcher::Config) -> Self
    where
        K: DeserializeOwned + Debug,
        K::DynamicType: Default,
    {
        Self::new_with(api, wc, K::DynamicType::default())
    }

    /// As [`new`](Self::new), for a kind that is known only at run time.
    #[must_use]
    pub fn new_with(api: Api<K>, wc: watcher::Config, dyntype: K::DynamicType) -> Self
    where
        K: DeserializeOwned + Debug,
    {
        let writer = Writer::new(dyntype.clone());
        let reader = writer.as_reader();
        let objects = reflector(writer, watcher(api, wc)).applied_objects();
        Self::for_stream_with(objects, reader, dyntype)
    }

    /// A controller of the objects in a store, triggered by the objects of a stream. An object must
    /// be in the store before the stream yields it, as with [`reflector()`].
    #[must_use]
    pub fn for_stream(
        objects: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: Store<K>,
    ) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_stream_with(objects, reader, K::DynamicType::default())
    }

    /// As [`for_stream`](Self::for_stream), for a kind that is known only at run time.
    #[must_use]
    pub fn for_stream_with(
        objects: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        let (queue, receiver) = queue(Duration::ZERO);
        Self {
            triggers: vec![trigger::own(objects, dyntype.clone())],
            reader,
            dyntype,
            config: Config::default(),
            queue,
            receiver,
            observer: None,
            graceful: Vec::new(),
            forced: Vec::new(),
        }
    }

    /// Sets debounce and concurrency.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self.queue.set_debounce(config.debounce);
        self
    }

    /// Calls `observer` at the start and the end of each run.
    #[must_use]
    pub fn observe(mut self, observer: Arc<dyn Observer<ObjectRef<K>, ReconcileReason>>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The store of the objects that this controller reconciles.
    pub fn store(&self) -> Store<K> {
        self.reader.clone()
    }

    /// A handle to trigger objects from outside, for any reason, and to read the counters.
    ///
    /// As long as it exists, the controller does not end by itself.
    pub fn queue(&self) -> Queue<ObjectRef<K>, ReconcileReason> {
        self.queue.clone()
    }
}

/// Further triggers.
impl<K> Controller<K>
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Objects of kind `Child` trigger their owners: the objects of kind `K` in their
    /// ownerReferences. Only the metadata of `Child` is watched.
    #[must_use]
    pub fn owns<Child>(self, api: Api<Child>, wc: watcher::Config) -> Self
    where
        Child: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        self.owns_with(api, (), wc)
    }

    /// As [`owns`](Self::owns), for a kind that is known only at run time.
    #[must_use]
    pub fn owns_with<Child>(
        self,
        api: Api<Child>,
        dyntype: Child::DynamicType,
        wc: watcher::Config,
    ) -> Self
    where
        Child: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        Child::DynamicType: Clone,
    {
        #[expect(
            deprecated,
            reason = "an Api cannot be turned into one of PartialObjectMeta"
        )]
        let children = kube::runtime::metadata_watcher(api, wc).touched_objects();
        self.with_trigger(|owner| trigger::owners(children, owner, dyntype))
    }

    /// The objects of a stream trigger their owners, as with [`owns`](Self::owns).
    #[must_use]
    pub fn owns_stream<Child>(
        self,
        children: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
    ) -> Self
    where
        Child: Resource<DynamicType = ()> + 'static,
    {
        self.owns_stream_with(children, ())
    }

    /// As [`owns_stream`](Self::owns_stream), for a kind that is known only at run time.
    #[must_use]
    pub fn owns_stream_with<Child>(
        self,
        children: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
        dyntype: Child::DynamicType,
    ) -> Self
    where
        Child: Resource + 'static,
        Child::DynamicType: Clone,
    {
        self.with_trigger(|owner| trigger::owners(children, owner, dyntype))
    }

    /// Objects of kind `Other` trigger the objects that `mapper` returns for them.
    #[must_use]
    pub fn watches<Other, I>(
        self,
        api: Api<Other>,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Default + Clone,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.watches_with(api, Other::DynamicType::default(), wc, mapper)
    }

    /// As [`watches`](Self::watches), for a kind that is known only at run time.
    #[must_use]
    pub fn watches_with<Other, I>(
        self,
        api: Api<Other>,
        dyntype: Other::DynamicType,
        wc: watcher::Config,
        mapper: impl Fn(Other) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        Other::DynamicType: Clone,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.watches_stream_with(watcher(api, wc).touched_objects(), mapper, dyntype)
    }

    /// The objects of a stream trigger the objects that `mapper` returns for them.
    #[must_use]
    pub fn watches_stream<Other, I>(
        self,
        others: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
        mapper: impl Fn(Other) -> I + Send + 'static,
    ) -> Self
    where
        Other: Resource + 'static,
        Other::DynamicType: Default + Clone,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.watches_stream_with(others, mapper, Other::DynamicType::default())
    }

    /// As [`watches_stream`](Self::watches_stream), for a kind that is known only at run time.
    #[must_use]
    pub fn watches_stream_with<Other, I>(
        self,
        others: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
        mapper: impl Fn(Other) -> I + Send + 'static,
        dyntype: Other::DynamicType,
    ) -> Self
    where
        Other: Resource + 'static,
        Other::DynamicType: Clone,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.with_trigger(|_| trigger::related(others, mapper, dyntype))
    }

    /// The references of a stream trigger their objects, for the reason
    /// [`Unknown`](ReconcileReason::Unknown); [`ReconcileRequest`]s carry their own reason.
    #[must_use]
    pub fn reconcile_on<Request>(
        self,
        requests: impl Stream<Item = Request> + Send + 'static,
    ) -> Self
    where
        Request: Into<ReconcileRequest<K>>,
    {
        self.with_trigger(|_| requests.map(|request| Ok(request.into())).boxed())
    }

    /// Each item of a stream triggers all objects of the store, in the order of their names.
    #[must_use]
    pub fn reconcile_all_on(self, signals: impl Stream<Item = ()> + Send + 'static) -> Self {
        let store = self.store();
        self.with_trigger(|dyntype| trigger::all(signals, store, dyntype))
    }

    fn with_trigger(mut self, requests: impl FnOnce(K::DynamicType) -> Requests<K>) -> Self {
        self.triggers.push(requests(self.dyntype.clone()));
        self
    }
}

/// Shutdown and running.
impl<K> Controller<K>
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// When `stop` completes, no further run starts, current runs finish, and the stream ends. If
    /// this is called several times, the first future to complete counts.
    #[must_use]
    pub fn graceful_shutdown_on(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.graceful.push(stop.boxed());
        self
    }

    /// Shuts down gracefully when the process is interrupted or terminated. A second signal ends
    /// the stream at once and cancels current runs.
    #[must_use]
    pub fn shutdown_on_signal(mut self) -> Self {
        self.graceful.push(signal::received(1).boxed());
        self.forced.push(signal::received(2).boxed());
        self
    }

    /// Runs the controller: returns a stream that works while it is polled, and yields the result
    /// of each run.
    ///
    /// Nothing runs before the store is ready. `reconcile` is called with the object from the
    /// store, in its own task; `error_policy` decides what follows from an error. An object that is
    /// not in the store is reported as [`Error::ObjectNotFound`] and not reconciled. An error of a
    /// watch is reported as [`Error::QueueError`]; that watch goes on after a pause. If the store
    /// can never become ready, because its writer was dropped, the stream ends with
    /// [`Error::RunnerError`]. A panic of `reconcile` is propagated. Dropping the stream cancels
    /// current runs.
    pub fn run<ReconcilerFut, Ctx>(
        self,
        mut reconcile: impl FnMut(Arc<K>, Arc<Ctx>) -> ReconcilerFut,
        error_policy: impl Fn(Arc<K>, &ReconcilerFut::Error, Arc<Ctx>) -> Action,
        ctx: Arc<Ctx>,
    ) -> impl Stream<Item = Result<(ObjectRef<K>, Action), Error<ReconcilerFut::Error, watcher::Error>>>
    where
        ReconcilerFut: TryFuture<Ok = Action> + Send + 'static,
        ReconcilerFut::Error: std::error::Error + Send + 'static,
    {
        let (store, gate) = (self.reader.clone(), self.reader.clone());
        let policy_ctx = Arc::clone(&ctx);
        let run = move |key: &ObjectRef<K>, _: &ReconcileReason| {
            run::conclude(run::begin(&store, key, |object| {
                reconcile(object, Arc::clone(&ctx))
            }))
        };
        let settle =
            move |_: &ObjectRef<K>, outcome: &Outcome<K, ReconcilerFut::Error>| match outcome {
                Outcome::Reconciled(action) => {
                    requeue_after(action).map_or(Next::Done, Next::Requeue)
                }
                Outcome::Failed(error, object) => {
                    let action = error_policy(Arc::clone(object), error, Arc::clone(&policy_ctx));
                    requeue_after(&action).map_or(Next::Failed, Next::Retry)
                }
                Outcome::Missing | Outcome::Elsewhere(_) => Next::Done,
            };
        let mut runner = Runner::new(self.receiver, run, settle)
            .concurrency(self.config.concurrency)
            .gate(async move { gate.wait_until_ready().await })
            .shutdown_on(first_of(self.graceful));
        if let Some(observer) = self.observer {
            runner = runner.observe(observer);
        }
        run::drive(self.triggers, self.queue, self.reader, runner).take_until(first_of(self.forced))
    }
}

/// Completes with the first of the futures; never if there is none.
async fn first_of(futures: Vec<BoxFuture<'static, ()>>) {
    if futures.is_empty() {
        future::pending::<()>().await;
    }
    future::select_all(futures).await;
}

impl<K> Debug for Controller<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
