//! Derived objects for reconcilers written in Rust: views and targets as event streams.
//!
//! [`ViewStore::watch`] and [`targets`] return the same streams for views and targets that
//! kube's `watcher` returns for objects of a cluster. They work with a reflector, and in
//! `for_stream`, `owns_stream` and `watches_stream` of our `Controller` and of kube's.
//! [`reflected`] returns the arguments for `for_stream`.
//!
//! An object that does not match the type `K` is skipped with a warning; if an earlier version
//! of it was delivered, that one stays current. Other objects are not affected.

mod view;

use cluster::object::Object;
use document::Value;
use futures::{Stream, StreamExt, future};
use kube::api::{Api, ApiResource};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Store as Reflector, reflector};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as kube_watcher};
use kube::{Client, Resource};
use object::ObjectKey;
use serde::de::DeserializeOwned;
use target::claim;
pub use view::ViewStore;

/// Watches the objects of one kind that an Operator's Updaters and Appliers keep on the
/// cluster, in one namespace or in all.
///
/// It watches the objects with the Operator's label, and delivers those with its claim: users
/// sometimes copy a label to another object.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use engine::native::{reflected, targets};
///
/// # fn main_loop(client: kube::Client) {
/// let (changed, store) = reflected(targets::<ConfigMap>(client, "shop", None));
/// # let _ = (changed, store);
/// # }
/// ```
pub fn targets<K>(
    client: Client,
    operator: &str,
    namespace: Option<&str>,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K>
where
    K: Resource + DeserializeOwned + Send + 'static,
    K::DynamicType: Default,
{
    targets_with(client, operator, namespace, &K::DynamicType::default())
}

/// As [`targets`], for a kind that is known at run time only.
pub fn targets_with<K>(
    client: Client,
    operator: &str,
    namespace: Option<&str>,
    dyntype: &K::DynamicType,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K>
where
    K: Resource + DeserializeOwned + Send + 'static,
{
    let resource = ApiResource::erase::<K>(dyntype);
    let api: Api<Object> = match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let label = format!(
        "{}={}",
        object::marks::OPERATOR,
        object::marks::operator_label(operator)
    );
    let config = watcher::Config::default().labels(&label);
    let owner = operator.to_owned();
    kube_watcher(api, config).filter_map(move |event| {
        let event = event
            .map(|event| owned(event, &owner, &resource))
            .transpose();
        future::ready(event)
    })
}

/// The event, if the object has this Operator's claim; a deletion, if it has lost the claim.
fn owned<K: DeserializeOwned>(
    event: Event<Object>,
    operator: &str,
    resource: &ApiResource,
) -> Option<Event<K>> {
    let ours = |object: &Value| {
        let key = ObjectKey::of_kind(&resource.group, &resource.kind, object);
        let claim = key.and_then(|key| claim::Claim::read(object, &key));
        claim.is_some_and(|claim| claim.operator == operator)
    };
    match event {
        Event::Init => Some(Event::Init),
        Event::InitDone => Some(Event::InitDone),
        Event::InitApply(object) => {
            let object = object.with_types(resource);
            let object = ours(&object.value()).then(|| read_whole(&object)).flatten();
            object.map(Event::InitApply)
        }
        Event::Apply(object) => {
            let object = object.with_types(resource);
            if ours(&object.value()) {
                return read_whole(&object).map(Event::Apply);
            }
            read(&object.value()).map(Event::Delete)
        }
        Event::Delete(object) => read(&object.with_types(resource).value()).map(Event::Delete),
    }
}

/// Decodes an object, unless a part of it could not be read.
fn read_whole<K: DeserializeOwned>(object: &Object) -> Option<K> {
    if let Some(why) = object.unreadable() {
        tracing::warn!(?object, %why, "skipping an object that cannot be read");
        return None;
    }
    read(&object.value())
}

/// The changed objects, and a [`Store`](Reflector) of all objects: the arguments of
/// `for_stream`. Polling the stream fills the store. The store's `wait_until_ready` wakes only
/// the last task that waits for it, which is the controller's; other tasks need a watch of
/// their own.
pub fn reflected<K>(
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
) -> (
    impl Stream<Item = watcher::Result<K>> + Send + 'static,
    Reflector<K>,
)
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Default + Eq + std::hash::Hash + Clone + Send + Sync,
{
    reflected_with(events, K::DynamicType::default())
}

/// As [`reflected`], for a kind that is known at run time only.
pub fn reflected_with<K>(
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    dyntype: K::DynamicType,
) -> (
    impl Stream<Item = watcher::Result<K>> + Send + 'static,
    Reflector<K>,
)
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + std::hash::Hash + Clone + Send + Sync,
{
    let writer = Writer::new(dyntype);
    let store = writer.as_reader();
    (reflector(writer, events).applied_objects(), store)
}

/// Decodes an object. The parser's message is not logged, because it may contain values.
fn read<K: DeserializeOwned>(object: &Value) -> Option<K> {
    let text = object.to_string();
    let read = serde_json::from_str(&text);
    if read.is_err() {
        let (kind, metadata) = (object.get("kind"), object.get("metadata"));
        let (namespace, name) = (metadata.get("namespace"), metadata.get("name"));
        let expected = std::any::type_name::<K>();
        tracing::warn!(%kind, %namespace, %name, expected, "skipping an object that does not match the expected type");
    }
    read.ok()
}

#[cfg(test)]
mod tests;
