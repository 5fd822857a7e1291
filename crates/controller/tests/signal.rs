//! Signals, tested in their own process: the first one shuts down gracefully, the second one at
//! once.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::process::{Command, id};
use std::sync::Arc;
use std::time::Duration;

use controller::{Action, Controller};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, reflector};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

#[derive(Debug, thiserror::Error)]
#[error("never")]
struct Never;

fn send(signal: &str) {
    let status = Command::new("kill")
        .args([signal, &id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// A controller with one object. Its run reports its start and ends with `end`.
async fn controller(end: impl Future<Output = ()> + Send + 'static) -> JoinHandle<usize> {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".to_owned());
    let (reader, writer) = reflector::store();
    let events =
        futures::stream::iter([Event::Init, Event::InitApply(map), Event::InitDone].map(Ok));
    let objects = reflector(writer, events.chain(futures::stream::pending())).applied_objects();
    let mut end = Some(end);
    let reconcile = move |_: Arc<ConfigMap>, started: Arc<UnboundedSender<()>>| {
        let end = end.take();
        async move {
            started.send(()).unwrap();
            if let Some(end) = end {
                end.await;
            }
            Ok::<_, Never>(Action::requeue(Duration::from_millis(1)))
        }
    };
    let (started, mut starts) = unbounded_channel();
    let results = Controller::for_stream(objects, reader)
        .shutdown_on_signal()
        .run(
            reconcile,
            |_, _, _| Action::await_change(),
            Arc::new(started),
        );
    let running = tokio::spawn(results.count());
    starts.recv().await.unwrap();
    running
}

#[tokio::test]
async fn the_first_signal_lets_runs_finish_and_the_second_does_not() {
    let (end, ended) = tokio::sync::oneshot::channel();
    let graceful = controller(async { ended.await.unwrap() }).await;
    let endless = controller(std::future::pending()).await;
    send("-TERM");
    let mut graceful = graceful;
    let waiting = timeout(Duration::from_millis(200), &mut graceful).await;
    assert!(waiting.is_err(), "the current run is waited for");
    end.send(()).unwrap();
    let done = timeout(Duration::from_secs(10), graceful)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(done, 1, "the requeue is not started");
    assert!(!endless.is_finished());
    send("-INT");
    assert_eq!(
        timeout(Duration::from_secs(10), endless)
            .await
            .unwrap()
            .unwrap(),
        0
    );
}
