//! Views as streams of kube's watcher events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cluster::lease::Leadership;
use futures::{Stream, stream};
use kube::Resource;
use kube::runtime::watcher::{self, Event};
use object::GroupKind;
use serde::de::DeserializeOwned;
use store::{Selector, Start, Store, Version, Watch};

use super::read;
use crate::view_source::Gate;
use crate::{Views, clock};

/// The views of the Operators that a process runs, as part of its `process::config::Config`.
///
/// ```
/// use document::json;
/// use futures::TryStreamExt;
/// use kube::runtime::WatchStreamExt;
/// use kube::api::{ApiResource, GroupVersionKind};
/// use kube::ResourceExt;
/// use engine::native::ViewStore;
/// use cluster::object::Object;
/// use store::{Caller, Write};
/// use object::GroupKind;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let views = ViewStore::default();
/// # views.without_operators();
/// let group = "shop.view.dcontroller.io";
/// // Usually a declarative controller writes these; a program may, too.
/// let web = json!({
///     "apiVersion": "shop.view.dcontroller.io/v1alpha1", "kind": "Health",
///     "metadata": {"name": "web"}, "ready": 2
/// });
/// let health = GroupKind::new(group, "Health");
/// let me = Caller::user("shop-reconciler");
/// views.store().write(&me, &health, &Write::Create(web))?;
///
/// // With a type of your own it is `views.watch::<Health>()`.
/// let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", "Health"));
/// let mut objects = Box::pin(views.watch_with::<Object>(&kind).applied_objects());
/// let first = objects.try_next().await?.expect("a watch does not end");
/// assert_eq!(first.name_any(), "web");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ViewStore {
    store: Store,
    availability: Views,
    /// Whether this process leads. Only the leader's views are delivered to reconcilers, because
    /// these write.
    leadership: Arc<Mutex<Leadership>>,
}

/// An empty store, whose views are unavailable until Operators have filled them.
impl Default for ViewStore {
    fn default() -> Self {
        let settings = store::Config {
            // Higher than any version of an earlier process.
            first_version: Version(clock::micros()),
            ..store::Config::default()
        };
        let store = Store::new(clock::System, settings);
        Self {
            availability: Views::new(&store),
            store,
            leadership: Arc::new(Mutex::new(Leadership::always())),
        }
    }
}

impl ViewStore {
    /// The store. A reconciler writes to it as a [`Caller::user`](store::Caller::user) with a
    /// name of its own. It may write objects of its own. On objects that a controller yields,
    /// it may write the status, finalizers, and those labels and annotations that the pipeline
    /// does not set.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The availability of views, for the engines that fill and read them.
    pub fn views(&self) -> &Views {
        &self.availability
    }

    /// Makes all views available, for a process that runs no Operators and whose views contain
    /// only what users write.
    pub fn without_operators(&self) {
        self.availability.without_operators();
    }

    /// Delivers views to reconcilers only when this process leads.
    pub fn serve_when(&self, leadership: Leadership) {
        *self.lock() = leadership;
    }

    fn lock(&self) -> MutexGuard<'_, Leadership> {
        let leadership = self.leadership.lock();
        leadership.unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches the view of type `K`, whose API group is `<operator>.view.dcontroller.io`.
    ///
    /// The first list starts when the view is available, that is, when its Operator runs and
    /// has filled it, and this process leads. Until then a reconciler does not start, so that it does not take the view
    /// for empty. When the Operator is edited, deleted or stopped, no event is delivered until
    /// the view is available again; then a new list is delivered.
    pub fn watch<K>(&self) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K>
    where
        K: Resource + DeserializeOwned + Send + 'static,
        K::DynamicType: Default,
    {
        self.watch_with(&K::DynamicType::default())
    }

    /// As [`watch`](Self::watch), for a kind that is known at run time only.
    pub fn watch_with<K>(
        &self,
        dyntype: &K::DynamicType,
    ) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K>
    where
        K: Resource + DeserializeOwned + Send + 'static,
    {
        let collection = GroupKind::new(&K::group(dyntype), &K::kind(dyntype));
        let reader = ViewReader {
            views: self.clone(),
            gate: Gate::closed(&self.store, &collection),
            collection,
            phase: Phase::Begin,
        };
        stream::unfold(reader, |mut reader| async move {
            let event = reader.next().await;
            Some((Ok(event), reader))
        })
    }
}

/// A watch of a view that never ends.
struct ViewReader {
    views: ViewStore,
    gate: Gate,
    collection: GroupKind,
    phase: Phase,
}

enum Phase {
    /// Announces a list.
    Begin,
    /// Waits until the view is available.
    Open,
    /// Delivers the existing objects.
    List(Watch),
    /// Delivers changes.
    Follow(Watch),
}

impl ViewReader {
    async fn next<K: DeserializeOwned>(&mut self) -> Event<K> {
        loop {
            match &mut self.phase {
                Phase::Begin => {
                    self.phase = Phase::Open;
                    return Event::Init;
                }
                Phase::Open => self.open().await,
                Phase::List(watch) => match self.gate.next(watch, || {}).await {
                    Some(store::Event::Added(object) | store::Event::Modified(object)) => {
                        if let Some(object) = read(&object) {
                            return Event::InitApply(object);
                        }
                    }
                    Some(store::Event::Bookmark { .. }) => {
                        self.listed();
                        return Event::InitDone;
                    }
                    Some(store::Event::Deleted(_)) | None => self.phase = Phase::Begin,
                },
                Phase::Follow(watch) => match self.gate.next(watch, || {}).await {
                    Some(store::Event::Added(object) | store::Event::Modified(object)) => {
                        if let Some(object) = read(&object) {
                            return Event::Apply(object);
                        }
                    }
                    Some(store::Event::Deleted(object)) => match read(&object) {
                        Some(object) => return Event::Delete(object),
                        // An earlier version may have been delivered: list again without it.
                        None => self.phase = Phase::Begin,
                    },
                    Some(store::Event::Bookmark { .. }) => {}
                    None => self.phase = Phase::Begin,
                },
            }
        }
    }

    async fn open(&mut self) {
        self.gate.opened(|_| {}).await;
        let leadership = self.views.lock().clone();
        leadership.acquired().await;
        let watch = self
            .views
            .store
            .watch(&self.collection, Selector::default(), Start::Now);
        if let Ok(watch) = watch {
            self.phase = Phase::List(watch);
        }
    }

    fn listed(&mut self) {
        let phase = std::mem::replace(&mut self.phase, Phase::Begin);
        self.phase = match phase {
            Phase::List(watch) => Phase::Follow(watch),
            other => other,
        };
    }
}
