//! Which runs there are, when, and with which object.

use std::sync::Mutex;

use controller::Config;
use k8s_openapi::api::core::v1::ConfigMap;

use super::*;
use crate::support::NOW;

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

#[tokio::test(start_paused = true)]
async fn many_triggers_at_once_are_all_received() {
    let (watch, controller) = Watch::<ConfigMap>::new();
    let many = futures::stream::iter(0..5000).map(|n| ObjectRef::new(&n.to_string()));
    let queue = controller.queue();
    let running = run(controller.reconcile_on(many), 0);
    // The gate of the runner is closed, so nothing else polls the triggers again.
    sleep(ms(1)).await;
    assert_eq!(queue.depth(), 5000);
    running.abort();
    drop(watch);
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
