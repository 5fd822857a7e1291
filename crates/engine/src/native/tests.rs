//! Views and targets as a reconciler in Rust sees them.

use std::sync::Arc;
use std::time::Duration;

use controller::{Action, Controller};
use document::json;
use futures::{StreamExt, pin_mut, poll};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::GroupVersionKind;
use kube::runtime::controller::Controller as KubeController;
use object::{GroupKind, OperatorId};
use store::{Caller, Preconditions, Write};
use tokio::sync::mpsc;

use super::*;

const GROUP: &str = "o.view.dcontroller.io";

fn kind() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1alpha1", "Health"))
}

fn put(views: &ViewStore, name: &str, data: Value) {
    let object = json!({
        "apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "Health",
        "metadata": {"name": name, "namespace": "n"}, "data": (data)
    });
    let write = Write::Put(object);
    let collection = GroupKind::new(GROUP, "Health");
    let written = views
        .store()
        .write(&Caller::user("alice"), &collection, &write);
    written.unwrap();
}

fn delete(views: &ViewStore, name: &str) {
    let write = Write::Delete(object::ObjectName::new("n", name), Preconditions::default());
    let collection = GroupKind::new(GROUP, "Health");
    let written = views
        .store()
        .write(&Caller::user("alice"), &collection, &write);
    written.unwrap();
}

fn views() -> ViewStore {
    let views = ViewStore::default();
    views.without_operators();
    views
}

/// An event as text.
fn describe<K: ResourceExt>(event: watcher::Result<Event<K>>) -> String {
    match event.unwrap() {
        Event::Init => "init".to_owned(),
        Event::InitDone => "listed".to_owned(),
        Event::InitApply(object) => format!("lists {}", object.name_any()),
        Event::Apply(object) => format!("applies {}", object.name_any()),
        Event::Delete(object) => format!("deletes {}", object.name_any()),
    }
}

/// The events that are available now.
async fn now<K: ResourceExt>(
    events: &mut (impl Stream<Item = watcher::Result<Event<K>>> + Unpin),
) -> Vec<String> {
    let mut words = Vec::new();
    while let std::task::Poll::Ready(Some(event)) = poll!(events.next()) {
        words.push(describe(event));
    }
    words
}

#[tokio::test]
async fn a_view_is_listed_and_then_followed() {
    let views = views();
    put(&views, "a", json!({}));
    let events = views.watch_with::<Object>(&kind());
    pin_mut!(events);
    assert_eq!(now(&mut events).await, ["init", "lists a", "listed"]);
    put(&views, "b", json!({}));
    delete(&views, "a");
    assert_eq!(now(&mut events).await, ["applies b", "deletes a"]);
}

#[tokio::test]
async fn a_view_without_a_running_operator_is_not_listed() {
    let views = ViewStore::default();
    put(&views, "a", json!({}));
    let events = views.watch_with::<Object>(&kind());
    pin_mut!(events);
    assert_eq!(now(&mut events).await, ["init"]);
    views.views().down("o", "the Operator has not started yet");
    assert_eq!(now(&mut events).await, [""; 0]);
    views.without_operators();
    assert_eq!(now(&mut events).await, ["lists a", "listed"]);
}

#[tokio::test]
async fn an_object_of_another_type_is_skipped() {
    let views = views();
    put(&views, "bad", json!({"k": [1]}));
    put(&views, "good", json!({"k": "v"}));
    // A type whose data is a map of strings.
    let events = views.watch_with::<Typed>(&kind());
    pin_mut!(events);
    assert_eq!(now(&mut events).await, ["init", "lists good", "listed"]);
    put(&views, "good", json!({"k": {}}));
    assert_eq!(now(&mut events).await, [""; 0]);
    delete(&views, "good");
    assert_eq!(now(&mut events).await, ["init", "listed"]);
}

#[tokio::test]
async fn a_reader_that_falls_behind_lists_again() {
    let views = views();
    let events = views.watch_with::<Object>(&kind());
    pin_mut!(events);
    assert_eq!(now(&mut events).await, ["init", "listed"]);
    for number in 0..3000 {
        put(&views, "a", json!({"k": (number)}));
    }
    assert_eq!(now(&mut events).await, ["init", "lists a", "listed"]);
}

/// A type with the strict form of a `ConfigMap`.
#[derive(Clone, Debug, serde::Deserialize)]
struct Typed {
    metadata: kube::api::ObjectMeta,
    #[serde(rename = "data")]
    _data: std::collections::BTreeMap<String, String>,
}

impl Resource for Typed {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> std::borrow::Cow<'_, str> {
        resource.kind.as_str().into()
    }
    fn group(resource: &ApiResource) -> std::borrow::Cow<'_, str> {
        resource.group.as_str().into()
    }
    fn version(resource: &ApiResource) -> std::borrow::Cow<'_, str> {
        resource.version.as_str().into()
    }
    fn plural(resource: &ApiResource) -> std::borrow::Cow<'_, str> {
        resource.plural.as_str().into()
    }
    fn meta(&self) -> &kube::api::ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut kube::api::ObjectMeta {
        &mut self.metadata
    }
}

#[derive(Debug, thiserror::Error)]
#[error("never")]
struct Never;

type Seen = mpsc::UnboundedSender<String>;

async fn reconcile(object: Arc<Object>, seen: Arc<Seen>) -> Result<Action, Never> {
    let data = object.value().get("data").to_string();
    seen.send(format!("{} {data}", object.name_any())).unwrap();
    Ok(Action::await_change())
}

fn error_policy(_: Arc<Object>, _: &Never, _: Arc<Seen>) -> Action {
    Action::await_change()
}

/// Runs one reconciler on a controller that `run` builds from a view.
async fn check<S>(run: impl FnOnce(ViewStore, Arc<Seen>) -> S)
where
    S: Future<Output = ()> + Send + 'static,
{
    let views = views();
    put(&views, "a", json!({"n": 1}));
    let (sender, mut seen) = mpsc::unbounded_channel();
    let running = tokio::spawn(run(views.clone(), Arc::new(sender)));
    assert_eq!(seen.recv().await.unwrap(), r#"a {"n":1}"#);
    put(&views, "a", json!({"n": 2}));
    assert_eq!(seen.recv().await.unwrap(), r#"a {"n":2}"#);
    put(&views, "b", json!({}));
    assert_eq!(seen.recv().await.unwrap(), "b {}");
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(seen.try_recv().is_err());
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn our_controller_runs_on_a_view() {
    check(|views, seen| async move {
        let events = views.watch_with::<Object>(&kind());
        let (objects, store) = reflected_with(events, kind());
        let controller = Controller::for_stream_with(objects, store, kind());
        let results = controller.run(reconcile, error_policy, seen);
        results.for_each(|_| async {}).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_controller_of_kube_runs_on_a_view() {
    check(|views, seen| async move {
        let events = views.watch_with::<Object>(&kind());
        let (objects, store) = reflected_with(events, kind());
        let controller = KubeController::for_stream_with(objects, store, kind());
        let results = controller.run(reconcile, error_policy, seen);
        results.for_each(|_| async {}).await;
    })
    .await;
}

#[test]
fn only_targets_with_a_claim_of_the_operator_are_delivered() {
    let resource = ApiResource::erase::<ConfigMap>(&());
    let object = |name: &str, operator: &str, claimed: &str| {
        let operator = OperatorId::new(operator, "u");
        let claim = claim::Claim::new(&operator, "c", &json!([]), true);
        let claim = claim.print(&ObjectKey::new("", "ConfigMap", "n", claimed));
        let annotations = json!({"dcontroller.io/owner": (claim)});
        // Without `apiVersion` and `kind`, as in a list.
        let metadata = json!({"name": name, "namespace": "n", "annotations": (annotations)});
        Object::from(json!({"metadata": (metadata)}))
    };
    let told = |event| owned::<ConfigMap>(event, "o", &resource).map(|event| describe(Ok(event)));
    let ours = || object("a", "o", "a");
    let copied = || object("a", "o", "b");
    let others = || object("a", "p", "a");
    assert_eq!(told(Event::InitApply(ours())).as_deref(), Some("lists a"));
    assert_eq!(told(Event::InitApply(copied())), None);
    assert_eq!(told(Event::InitApply(others())), None);
    assert_eq!(told(Event::Apply(ours())).as_deref(), Some("applies a"));
    assert_eq!(told(Event::Apply(others())).as_deref(), Some("deletes a"));
    assert_eq!(told(Event::Delete(ours())).as_deref(), Some("deletes a"));
    assert_eq!(told(Event::Init).as_deref(), Some("init"));
}

#[test]
fn an_unreadable_target_stays_current_until_it_is_gone() {
    let resource = ApiResource::erase::<ConfigMap>(&());
    let operator = OperatorId::new("o", "u");
    let claim = claim::Claim::new(&operator, "c", &json!([]), true);
    let claim = claim.print(&ObjectKey::new("", "ConfigMap", "n", "a"));
    let annotations = json!({"dcontroller.io/owner": (claim)});
    let metadata = json!({"name": "a", "namespace": "n", "annotations": (annotations)});
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let text = format!(r#"{{"metadata": {metadata}, "extra": {deep}}}"#);
    let object = || serde_json::from_str::<Object>(&text).unwrap();
    let told = |event, operator| {
        let event = owned::<ConfigMap>(event, operator, &resource);
        event.map(|event| describe(Ok(event)))
    };
    assert_eq!(told(Event::InitApply(object()), "o"), None);
    assert_eq!(told(Event::Apply(object()), "o"), None);
    // Now another Operator has claimed it.
    let gone = Some("deletes a".to_owned());
    assert_eq!(told(Event::Apply(object()), "p"), gone);
    assert_eq!(told(Event::Delete(object()), "o"), gone);
}
