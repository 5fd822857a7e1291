//! What follows a run, a failed watch, a shutdown or a panic.

use std::sync::atomic::{AtomicUsize, Ordering};

use controller::Config;
use futures::channel::mpsc::UnboundedReceiver;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use super::*;

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
