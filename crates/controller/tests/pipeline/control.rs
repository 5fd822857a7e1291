//! The controller on streams: one test for each sentence of the specification.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use controller::watcher::{self, Event};
use controller::{Action, Config, Controller, ObjectRef, ReconcileReason, ReconcileRequest};
use futures::StreamExt;
use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::runtime::{WatchStreamExt, reflector};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::support::{Log, NOW, ms};

#[derive(Debug, thiserror::Error)]
#[error("out of order")]
struct Broken;

/// The watch of a controller, whose events the test sends. Dropping it ends the watch and with it
/// the controller.
struct Watch<K> {
    events: UnboundedSender<Result<Event<K>, watcher::Error>>,
    log: Log,
}

impl<K> Watch<K>
where
    K: Resource<DynamicType = ()> + Default + Clone + DeserializeOwned + Send + Sync + 'static,
{
    fn new() -> (Self, Controller<K>) {
        let (events, watch) = mpsc::unbounded();
        let (reader, writer) = reflector::store();
        let log = Log::new();
        let objects = reflector(writer, watch).applied_objects();
        let controller = Controller::for_stream(objects, reader).observe(Arc::new(log.clone()));
        (Self { events, log }, controller)
    }

    fn send(&self, event: Event<K>) {
        self.events.unbounded_send(Ok(event)).unwrap();
    }

    fn fail(&self) {
        self.events
            .unbounded_send(Err(watcher::Error::NoResourceVersion))
            .unwrap();
    }

    fn list(&self, names: &[&str]) {
        self.send(Event::Init);
        for name in names {
            self.send(Event::InitApply(named(name)));
        }
        self.send(Event::InitDone);
    }
}

fn named<K: Resource + Default>(name: &str) -> K {
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    object
}

/// Runs a controller whose reconciler takes `took` ms. Returns its results as text.
fn run<K>(controller: Controller<K>, took: u64) -> JoinHandle<Vec<String>>
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let reconcile = move |_: Arc<K>, _: Arc<()>| async move {
        sleep(ms(took)).await;
        Ok::<_, Broken>(Action::await_change())
    };
    let results = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
    let text = |result: Result<(ObjectRef<K>, Action), _>| match result {
        Ok((obj_ref, _)) => format!("reconciled {}", obj_ref.name),
        Err(error) => format!("{error}"),
    };
    tokio::spawn(results.map(text).collect())
}

#[tokio::test(start_paused = true)]
async fn the_time_line_of_the_specification() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(
        controller.with_config(Config::default().debounce(ms(1000))),
        0,
    );
    watch.list(&["a"]);
    sleep(ms(300)).await;
    watch.send(Event::Apply(named("a")));
    sleep(ms(900)).await;
    watch.send(Event::Apply(named("a")));
    drop(watch.events);
    assert_eq!(running.await.unwrap(), ["reconciled a", "reconciled a"]);
    assert_eq!(
        watch.log.reasons(),
        ["1000 a: object updated", "2200 a: object updated"]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_before_the_store_is_ready() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(controller, 0);
    watch.send(Event::Init);
    watch.send(Event::InitApply(named("b")));
    watch.send(Event::InitApply(named("a")));
    sleep(ms(5000)).await;
    assert!(watch.log.starts().is_empty());
    watch.send(Event::InitDone);
    drop(watch.events);
    assert_eq!(running.await.unwrap(), ["reconciled b", "reconciled a"]);
    assert_eq!(watch.log.starts(), ["5000 b", "5000 a"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_a_writer_is_reported_and_ends_the_stream() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(controller, 0);
    watch.send(Event::Init);
    drop(watch.events);
    let text = "runner error: readiness gate failed to become ready: writer was dropped before store became ready";
    assert_eq!(running.await.unwrap(), [text]);
}

#[tokio::test(start_paused = true)]
async fn a_trigger_during_a_run_gives_exactly_one_more() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(controller, 2000);
    watch.list(&["a"]);
    for _ in 0..3 {
        sleep(ms(500)).await;
        watch.send(Event::Apply(named("a")));
    }
    drop(watch.events);
    running.await.unwrap();
    assert_eq!(watch.log.starts(), ["0 a", "2000 a"]);
}

#[tokio::test(start_paused = true)]
async fn no_more_objects_run_than_the_limit() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(
        controller.with_config(Config {
            concurrency: 2,
            ..Config::default()
        }),
        1000,
    );
    watch.list(&["a", "b", "c", "d", "e"]);
    drop(watch.events);
    running.await.unwrap();
    assert_eq!(
        watch.log.starts(),
        ["0 a", "0 b", "1000 c", "1000 d", "2000 e"]
    );
}

#[tokio::test(start_paused = true)]
async fn without_configuration_there_is_no_window_and_no_limit() {
    assert_eq!(
        Config::default(),
        Config {
            debounce: NOW,
            concurrency: 0
        }
    );
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(controller, 1000);
    watch.list(&["a", "b", "c"]);
    drop(watch.events);
    running.await.unwrap();
    assert_eq!(watch.log.starts(), ["0 a", "0 b", "0 c"]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_is_reported_and_not_reconciled() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(
        controller.with_config(Config::default().debounce(ms(1000))),
        0,
    );
    watch.list(&["a"]);
    sleep(ms(500)).await;
    watch.send(Event::Delete(named("a")));
    drop(watch.events);
    let text = "tried to reconcile object ConfigMap.v1./a that was not found in local store";
    assert_eq!(running.await.unwrap(), [text]);
}

#[tokio::test(start_paused = true)]
async fn the_reconciler_gets_the_object_as_it_is_in_the_store() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let controller = controller.with_config(Config::default().debounce(ms(1000)));
    let reconcile = |map: Arc<ConfigMap>, seen: Arc<Mutex<Vec<_>>>| async move {
        seen.lock()
            .unwrap()
            .push(map.labels().get("version").cloned());
        Ok::<_, Broken>(Action::await_change())
    };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let results = controller.run(
        reconcile,
        |_, _, _| Action::await_change(),
        Arc::clone(&seen),
    );
    watch.list(&["a"]);
    let mut newer: ConfigMap = named("a");
    newer
        .labels_mut()
        .insert("version".to_owned(), "2".to_owned());
    watch.send(Event::Apply(newer));
    drop(watch.events);
    assert_eq!(results.count().await, 1);
    assert_eq!(*seen.lock().unwrap(), [Some("2".to_owned())]);
}

/// Checks whether a pod with this owner triggers the deployment of that name.
async fn check_owner(api_version: &str, kind: &str, triggers: bool) {
    let (watch, controller) = Watch::<Deployment>::new();
    let (pods, stream) = mpsc::unbounded();
    let running = run(controller.owns_stream::<Pod>(stream), 0);
    watch.list(&[]);
    let mut web: Deployment = named("web");
    web.meta_mut().namespace = Some("ns".to_owned());
    watch.send(Event::Apply(web));
    sleep(ms(1000)).await;
    let mut pod: Pod = named("web-0");
    pod.metadata.namespace = Some("ns".to_owned());
    let owner = OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: "web".to_owned(),
        ..OwnerReference::default()
    };
    pod.metadata.owner_references = Some(vec![owner]);
    pods.unbounded_send(Ok(pod)).unwrap();
    drop((watch.events, pods));
    running.await.unwrap();
    let all = [
        "0 web.ns: object updated",
        "1000 web.ns: related object updated: Pod.v1./web-0.ns",
    ];
    assert_eq!(
        watch.log.reasons(),
        all[..=usize::from(triggers)],
        "{api_version} {kind}"
    );
}

#[tokio::test(start_paused = true)]
async fn only_owners_with_the_same_api_version_and_kind_trigger() {
    check_owner("apps/v1", "Deployment", true).await;
    check_owner("apps/v1beta1", "Deployment", false).await;
    check_owner("example.com/v1", "Deployment", false).await;
    check_owner("v1", "Deployment", false).await;
    check_owner("apps/v1", "ReplicaSet", false).await;
}

#[tokio::test(start_paused = true)]
async fn related_objects_trigger_what_the_mapper_names() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let (pods, stream) = mpsc::unbounded();
    let mapper = |pod: Pod| {
        let names = pod.labels().get("maps").cloned().unwrap_or_default();
        names.split(' ').map(ObjectRef::new).collect::<Vec<_>>()
    };
    let running = run(controller.watches_stream(stream, mapper), 0);
    watch.list(&["a", "b", "c"]);
    sleep(ms(1000)).await;
    let mut pod: Pod = named("p");
    pod.labels_mut().insert("maps".to_owned(), "c a".to_owned());
    pods.unbounded_send(Ok(pod)).unwrap();
    drop((watch.events, pods));
    running.await.unwrap();
    let related = [
        "1000 c: related object updated: Pod.v1./p",
        "1000 a: related object updated: Pod.v1./p",
    ];
    assert_eq!(watch.log.reasons()[3..], related);
}

#[tokio::test(start_paused = true)]
async fn references_from_outside_have_an_unknown_reason_and_requests_their_own() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let (refs, refs_stream) = mpsc::unbounded::<ObjectRef<ConfigMap>>();
    let (requests, requests_stream) = mpsc::unbounded::<ReconcileRequest<ConfigMap>>();
    let queue = controller.queue();
    let custom = |reason: &str| ReconcileReason::Custom {
        reason: reason.to_owned(),
    };
    let running = run(
        controller
            .reconcile_on(refs_stream)
            .reconcile_on(requests_stream),
        0,
    );
    watch.list(&["a"]);
    sleep(ms(1000)).await;
    refs.unbounded_send(ObjectRef::new("a")).unwrap();
    sleep(ms(1000)).await;
    let request = ReconcileRequest {
        obj_ref: ObjectRef::new("a"),
        reason: custom("a webhook called"),
    };
    requests.unbounded_send(request).unwrap();
    sleep(ms(500)).await;
    queue.trigger(ObjectRef::new("a"), custom("a timer fired"), ms(500));
    drop((watch.events, refs, requests, queue));
    running.await.unwrap();
    let expect = [
        "0 a: object updated",
        "1000 a: unknown",
        "2000 a: a webhook called",
        "3000 a: a timer fired",
    ];
    assert_eq!(watch.log.reasons(), expect);
}

#[tokio::test(start_paused = true)]
async fn reconcile_all_triggers_every_object_of_the_store_in_order() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let (all, stream) = mpsc::unbounded();
    let running = run(controller.reconcile_all_on(stream), 0);
    all.unbounded_send(()).unwrap();
    sleep(ms(500)).await;
    watch.list(&["c", "a", "b"]);
    sleep(ms(500)).await;
    all.unbounded_send(()).unwrap();
    drop((watch.events, all));
    running.await.unwrap();
    let bulk = ["a", "b", "c"].map(|name| format!("1000 {name}: bulk reconcile requested"));
    assert_eq!(watch.log.reasons()[3..], bulk);
}

/// Runs `a` with these results, one after the other.
async fn outcomes(results: &'static [Result<u64, ()>]) -> (Vec<String>, Vec<String>) {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let reconcile = move |_: Arc<ConfigMap>, done: Arc<AtomicUsize>| async move {
        match results.get(done.fetch_add(1, Ordering::Relaxed)) {
            Some(Ok(after)) => Ok(Action::requeue(ms(*after))),
            Some(Err(())) => Err(Broken),
            None => Ok(Action::await_change()),
        }
    };
    let error_policy = |map: Arc<ConfigMap>, error: &Broken, done: Arc<AtomicUsize>| {
        assert_eq!(
            (map.name_any(), error.to_string()),
            ("a".to_owned(), "out of order".to_owned())
        );
        Action::requeue(ms(1000) * u32::try_from(done.load(Ordering::Relaxed)).unwrap())
    };
    let stream = controller.run(reconcile, error_policy, Arc::new(AtomicUsize::new(0)));
    watch.list(&["a"]);
    drop(watch.events);
    let results = stream.map(|result| {
        result.map_or_else(
            |error| error.to_string(),
            |(_, action)| format!("{action:?}"),
        )
    });
    (results.collect().await, watch.log.reasons())
}

#[tokio::test(start_paused = true)]
async fn an_action_requeues_after_its_time() {
    let (results, reasons) = outcomes(&[Ok(300_000), Ok(0)]).await;
    let again = "300000 a: reconciler requested retry";
    assert_eq!(reasons, ["0 a: object updated", again, again]);
    assert_eq!(results[0], "Action { requeue_after: Some(300s) }");
    assert_eq!(results[2], "Action { requeue_after: None }");
}

#[tokio::test(start_paused = true)]
async fn the_error_policy_decides_when_to_retry() {
    let (results, reasons) = outcomes(&[Err(()), Err(())]).await;
    let retries = [
        "1000 a: error policy requested retry",
        "3000 a: error policy requested retry",
    ];
    assert_eq!(reasons[1..], retries);
    assert_eq!(
        results[..2],
        ["reconciler for object ConfigMap.v1./a failed: out of order"; 2]
    );
}

#[tokio::test(start_paused = true)]
async fn shutdown_starts_nothing_and_waits_for_current_runs() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let controller = controller
        .with_config(Config::default().concurrency(1))
        .graceful_shutdown_on(sleep(ms(9000)))
        .graceful_shutdown_on(sleep(ms(1000)));
    let running = run(controller, 3000);
    watch.list(&["a", "b"]);
    sleep(ms(2000)).await;
    assert!(watch.events.is_closed(), "the shutdown drops the watch");
    assert!(!running.is_finished());
    assert_eq!(running.await.unwrap(), ["reconciled a"]);
    assert_eq!(watch.log.starts(), ["0 a"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_cancels_current_runs() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let reconcile = |_: Arc<ConfigMap>, finished: Arc<AtomicUsize>| async move {
        sleep(ms(3000)).await;
        finished.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Broken>(Action::await_change())
    };
    let finished = Arc::new(AtomicUsize::new(0));
    let results = controller.run(
        reconcile,
        |_, _, _| Action::await_change(),
        Arc::clone(&finished),
    );
    let running = tokio::spawn(results.count());
    watch.list(&["a"]);
    sleep(ms(1000)).await;
    assert_eq!(watch.log.starts(), ["0 a"]);
    running.abort();
    sleep(ms(9000)).await;
    assert!(watch.events.is_closed());
    assert_eq!(finished.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn many_triggers_at_once_are_all_received() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let many = futures::stream::iter(0..5000).map(|n| ObjectRef::new(&n.to_string()));
    let queue = controller.queue();
    let running = run(controller.reconcile_on(many), 0);
    // The gate of the runner is closed, so nothing else polls the triggers again.
    sleep(ms(1)).await;
    assert_eq!((queue.stats().triggers, queue.stats().depth), (5000, 5000));
    running.abort();
    drop(watch);
}

#[tokio::test(start_paused = true)]
async fn errors_of_a_watch_are_yielded_with_pauses_and_end_nothing() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(controller, 0);
    for _ in 0..3 {
        watch.fail();
    }
    watch.list(&["a"]);
    drop(watch.events);
    let error = "event queue error: no metadata.resourceVersion in watch result (does resource support watch?)";
    assert_eq!(
        running.await.unwrap(),
        [error, error, error, "reconciled a"]
    );
    let start = watch.log.starts().pop().unwrap();
    let paused: u64 = start.split(' ').next().unwrap().parse().unwrap();
    assert!(
        (5_600..=11_200).contains(&paused),
        "0.8 s, 1.6 s and 3.2 s, with jitter: {start}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_does_not_delay_the_others() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let (pods, stream): (_, UnboundedReceiver<Result<Pod, _>>) = mpsc::unbounded();
    let running = run(controller.watches_stream(stream, |_| None), 0);
    pods.unbounded_send(Err(watcher::Error::NoResourceVersion))
        .unwrap();
    sleep(ms(1)).await;
    watch.list(&["a"]);
    drop((watch.events, pods));
    assert_eq!(running.await.unwrap().len(), 2);
    assert_eq!(watch.log.starts(), ["1 a"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_object_is_one_object_whatever_namespace_its_children_are_in() {
    let (watch, controller) = Watch::<Namespace>::new();
    let (maps, stream) = mpsc::unbounded();
    let running = run(controller.owns_stream::<ConfigMap>(stream), 1000);
    let child = |namespace: &str| {
        let mut map: ConfigMap = named("m");
        map.metadata.namespace = Some(namespace.to_owned());
        let owner: Namespace = named("team");
        map.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            name: owner.name_any(),
            ..OwnerReference::default()
        }]);
        map
    };
    // One trigger before the owner is in the store, one after.
    maps.unbounded_send(Ok(child("x"))).unwrap();
    sleep(ms(10)).await;
    watch.list(&["team"]);
    sleep(ms(500)).await;
    maps.unbounded_send(Ok(child("y"))).unwrap();
    drop((watch.events, maps));
    assert_eq!(
        running.await.unwrap(),
        ["reconciled team", "reconciled team"]
    );
    let starts = watch.log.starts();
    assert_eq!(
        starts
            .iter()
            .filter(|start| start.ends_with(" team"))
            .collect::<Vec<_>>(),
        ["10 team", "1010 team"]
    );
}

#[tokio::test(start_paused = true)]
async fn scheduled_runs_take_place_after_all_triggers_have_ended() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let running = run(
        controller.with_config(Config::default().debounce(ms(1000)).concurrency(1)),
        500,
    );
    watch.list(&["a", "b"]);
    drop(watch.events);
    assert_eq!(running.await.unwrap(), ["reconciled a", "reconciled b"]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_trigger_does_not_keep_the_runner_from_running() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let endless = futures::stream::repeat_with(|| ObjectRef::new("a"));
    let controller = controller.reconcile_on(endless);
    watch.list(&["a"]);
    let reconcile =
        |_: Arc<ConfigMap>, _: Arc<()>| async { Ok::<_, Broken>(Action::await_change()) };
    let results = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
    assert_eq!(results.take(3).count().await, 3);
}

#[tokio::test(start_paused = true)]
async fn objects_without_a_name_are_skipped() {
    let objects = futures::stream::iter([Ok(ConfigMap::default())]);
    let (reader, mut writer) = reflector::store();
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(
        run(Controller::for_stream(objects, reader), 0)
            .await
            .unwrap(),
        [""; 0]
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_reconciler_is_propagated() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    watch.list(&["a"]);
    let reconcile = |map: Arc<ConfigMap>, _: Arc<()>| async move {
        assert_ne!(map.name_any(), "a", "a bug");
        Ok::<_, Broken>(Action::await_change())
    };
    let results = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
    let panic = tokio::spawn(results.count())
        .await
        .unwrap_err()
        .into_panic();
    assert!(
        panic
            .downcast_ref::<String>()
            .unwrap()
            .ends_with("a bug\n  left: \"a\"\n right: \"a\"")
    );
}
