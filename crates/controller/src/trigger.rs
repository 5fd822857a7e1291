//! Turns objects that changed into requests to reconcile: the triggers of a
//! [`Controller`](crate::Controller).
//!
//! Each function turns a stream of objects into a stream of requests. A stream that fails pauses
//! with back-off and goes on; neither the controller nor its other streams wait for it. Objects
//! without a name, which no API server sends, are skipped.

use std::hash::Hash;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use kube::runtime::controller::{ReconcileReason, ReconcileRequest};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::utils::StreamBackoff;
use kube::runtime::watcher::{self, DefaultBackoff};
use kube::{Resource, ResourceExt};

use crate::queue::Reason;

/// Requests for objects of kind `K`, and errors of the watch behind them.
pub(crate) type Requests<K> = BoxStream<'static, Result<ReconcileRequest<K>, watcher::Error>>;

/// Each object requests itself.
pub(crate) fn own<K>(
    objects: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
    dyntype: K::DynamicType,
) -> Requests<K>
where
    K: Resource + 'static,
    K::DynamicType: Clone,
{
    requests(objects, move |object| {
        let obj_ref = reference(&object, &dyntype)?;
        Some(ReconcileRequest {
            obj_ref,
            reason: ReconcileReason::ObjectUpdated,
        })
    })
}

/// Each object requests the objects that `mapper` returns for it.
pub(crate) fn related<Other, K, I>(
    objects: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
    mapper: impl Fn(Other) -> I + Send + 'static,
    dyntype: Other::DynamicType,
) -> Requests<K>
where
    Other: Resource + 'static,
    Other::DynamicType: Clone,
    K: Resource + 'static,
    I: IntoIterator<Item = ObjectRef<K>> + 'static,
    I::IntoIter: Send,
{
    requests(objects, move |object| {
        let other = reference(&object, &dyntype);
        let related = other.map(|other| (other.erase(), mapper(object).into_iter()));
        related.into_iter().flat_map(|(other, refs)| {
            refs.map(move |obj_ref| ReconcileRequest {
                obj_ref,
                reason: ReconcileReason::RelatedObjectUpdated {
                    obj_ref: Box::new(other.clone()),
                },
            })
        })
    })
}

/// Each object requests those of its owners that have the apiVersion and kind of `K`.
pub(crate) fn owners<Child, K>(
    objects: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
    owner_type: K::DynamicType,
    child_type: Child::DynamicType,
) -> Requests<K>
where
    Child: Resource + 'static,
    Child::DynamicType: Clone,
    K: Resource + 'static,
    K::DynamicType: Clone,
{
    let mapper = move |child: Child| {
        let namespace = child.meta().namespace.as_deref();
        let of_kind = |owner| ObjectRef::from_owner_ref(namespace, owner, owner_type.clone());
        child
            .owner_references()
            .iter()
            .filter_map(of_kind)
            .collect::<Vec<_>>()
    };
    related(objects, mapper, child_type)
}

/// Each signal requests all objects of the store, in the order of their names.
pub(crate) fn all<K>(
    signals: impl Stream<Item = ()> + Send + 'static,
    store: Store<K>,
    dyntype: K::DynamicType,
) -> Requests<K>
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let everything = move |()| {
        let objects = store.state();
        let mut refs: Vec<ObjectRef<K>> = objects
            .iter()
            .filter_map(|object| reference(&**object, &dyntype))
            .collect();
        refs.sort_unstable_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        stream::iter(refs)
    };
    signals
        .flat_map(everything)
        .map(|obj_ref| {
            Ok(ReconcileRequest {
                obj_ref,
                reason: ReconcileReason::BulkReconcile,
            })
        })
        .boxed()
}

/// The reference under which the store has an object.
///
/// An ownerReference has no namespace. So a namespaced object's reference to a cluster-scoped owner
/// looks like one to an object in its own namespace, and without this function one object would run
/// under several keys at the same time.
pub(crate) fn canonical<K>(store: &Store<K>, mut obj_ref: ObjectRef<K>) -> ObjectRef<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    if obj_ref.namespace.is_some()
        && let Some(object) = store.get(&obj_ref)
        && object.meta().namespace.is_none()
    {
        obj_ref.namespace = None;
    }
    obj_ref
}

fn requests<O, K, I>(
    objects: impl Stream<Item = Result<O, watcher::Error>> + Send + 'static,
    requests: impl Fn(O) -> I + Send + 'static,
) -> Requests<K>
where
    O: 'static,
    K: Resource + 'static,
    I: IntoIterator<Item = ReconcileRequest<K>> + 'static,
    I::IntoIter: Send,
{
    StreamBackoff::new(objects, DefaultBackoff::default())
        .map_ok(move |object| stream::iter(requests(object).into_iter().map(Ok)))
        .try_flatten()
        .boxed()
}

fn reference<K: Resource>(object: &K, dyntype: &K::DynamicType) -> Option<ObjectRef<K>>
where
    K::DynamicType: Clone,
{
    object.meta().name.as_ref()?;
    Some(ObjectRef::from_obj_with(object, dyntype.clone()))
}

impl Reason for ReconcileReason {
    fn requeue() -> Self {
        ReconcileReason::ReconcilerRequestedRetry
    }

    fn retry() -> Self {
        ReconcileReason::ErrorPolicyRequestedRetry
    }

    fn label(&self) -> &'static str {
        match self {
            ReconcileReason::Unknown => "unknown",
            ReconcileReason::ObjectUpdated => "object_updated",
            ReconcileReason::RelatedObjectUpdated { .. } => "related_object_updated",
            ReconcileReason::ReconcilerRequestedRetry => "reconciler_requested_retry",
            ReconcileReason::ErrorPolicyRequestedRetry => "error_policy_requested_retry",
            ReconcileReason::BulkReconcile => "bulk_reconcile",
            ReconcileReason::Custom { .. } => "custom",
        }
    }
}
