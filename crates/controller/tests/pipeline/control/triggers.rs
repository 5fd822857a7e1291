//! What triggers an object: owners, related objects, references and requests from outside.

use controller::{ReconcileReason, ReconcileRequest};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::*;

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
