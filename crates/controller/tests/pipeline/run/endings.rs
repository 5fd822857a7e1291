//! How runs end, and how the runner ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use controller::{Backoff, Retries};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_gate_that_fails_is_reported_and_ends_the_stream() {
    let (queue, receiver) = queue(NOW);
    queue.trigger("A", Why("test"), NOW);
    let never = |_: &&str, _: &Why| -> future::Ready<()> { panic!("nothing runs") };
    let runner =
        Runner::new(receiver, never, |_, ()| Next::Done).gate(future::ready(Err("no source")));
    let results: Vec<_> = runner
        .map(|result| result.map(|done| done.key))
        .collect()
        .await;
    assert_eq!(results, [Err("no source")]);
    queue.trigger("A", Why("test"), NOW);
    assert_eq!(queue.depth(), 0, "a queue without a runner keeps nothing");
}

#[tokio::test(start_paused = true)]
async fn results_requeue_and_failures_back_off_until_a_success() {
    let log = Log::new();
    let (queue, receiver) = queue(NOW);
    queue.trigger("A", Why("test"), NOW);
    let backoff = Backoff {
        initial: ms(1000),
        max: ms(3000),
    };
    let mut retries = Retries::new(backoff, 1);
    // Retries without jitter, so that the times are round.
    let mut round = move |key: &&'static str, result: &_| match retries.settle(key, result) {
        Next::Retry(_) => Next::Retry(backoff.pause(retries.failures(key), 0)),
        next => next,
    };
    let mut results = [
        Ok(Some(ms(100))),
        Err(()),
        Err(()),
        Err(()),
        Ok(Some(ms(50))),
        Err(()),
        Ok(None),
    ]
    .into_iter();
    let run = move |_: &&str, _: &Why| future::ready(results.next().unwrap());
    let settle =
        move |key: &&'static str, result: &Result<Option<Duration>, ()>| round(key, result);
    let runner = Runner::new(receiver, run, settle).observe(Arc::new(log.clone()));
    let ended = runner
        .take(7)
        .map(|Ok(done)| done.next)
        .collect::<Vec<_>>()
        .await;
    assert_eq!(
        ended,
        [
            Next::Requeue(ms(100)),
            Next::Retry(ms(1000)),
            Next::Retry(ms(2000)),
            Next::Retry(ms(3000)),
            Next::Requeue(ms(50)),
            Next::Retry(ms(1000)),
            Next::Done,
        ]
    );
    let expect = [
        "0 A: test",
        "100 A: requeue",
        "1100 A: retry",
        "3100 A: retry",
        "6100 A: retry",
        "6150 A: requeue",
        "7150 A: retry",
    ];
    assert_eq!(log.reasons(), expect);
}

#[tokio::test(start_paused = true)]
async fn a_failure_without_a_retry_waits_for_a_trigger() {
    let log = Log::new();
    let (queue, receiver) = queue(NOW);
    let runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| future::ready(()),
        |_, ()| Next::Failed,
    )
    .observe(Arc::new(log.clone()));
    let feed = async {
        for _ in 0..2 {
            queue.trigger("A", Why("test"), NOW);
            sleep(ms(60_000)).await;
        }
        drop(queue);
    };
    let ended = runner.map(|Ok(done)| done.next).collect::<Vec<_>>();
    let ((), ended) = future::join(feed, ended).await;
    assert_eq!(ended, [Next::Failed, Next::Failed]);
    assert_eq!(log.starts(), ["0 A", "60000 A"]);
}

#[tokio::test(start_paused = true)]
async fn shutdown_starts_nothing_and_waits_for_current_runs() {
    let log = Log::new();
    let finished = Arc::new(AtomicUsize::new(0));
    let (queue, receiver) = queue(NOW);
    let count = Arc::clone(&finished);
    let run = move |_: &&str, _: &Why| {
        let count = Arc::clone(&count);
        sleep(ms(3000)).map(move |()| count.fetch_add(1, Ordering::Relaxed))
    };
    let runner = Runner::new(receiver, run, |_, _| Next::Requeue(NOW))
        .concurrency(2)
        .shutdown_on(sleep(ms(1000)))
        .observe(Arc::new(log.clone()));
    let feed = async {
        for key in ["A", "B", "C"] {
            queue.trigger(key, Why("test"), NOW);
        }
        queue.trigger("D", Why("test"), ms(1500));
        sleep(ms(2000)).await;
        queue.trigger("A", Why("test"), NOW);
        queue.trigger("E", Why("test"), NOW);
    };
    let ((), ended) = future::join(feed, runner.count().map(|count| (count, log.starts()))).await;
    assert_eq!(ended, (2, vec!["0 A".to_owned(), "0 B".to_owned()]));
    assert_eq!(finished.load(Ordering::Relaxed), 2);
    sleep(ms(10_000)).await;
    assert_eq!(queue.depth(), 0, "nothing is left for later");
}

#[tokio::test(start_paused = true)]
async fn shutdown_before_the_gate_opens_ends_at_once() {
    let (queue, receiver) = queue(NOW);
    queue.trigger("A", Why("test"), NOW);
    let runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| future::ready(()),
        |_, ()| Next::Done,
    )
    .gate(future::pending::<Result<(), ()>>())
    .shutdown_on(sleep(ms(1000)));
    let zero = Instant::now();
    assert_eq!(runner.count().await, 0);
    assert_eq!(zero.elapsed(), ms(1000));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_has_ended_stays_ended() {
    let (queue, receiver) = queue::<&str, Why>(NOW);
    let mut runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| future::ready(()),
        |_, ()| Next::Done,
    )
    .shutdown_on(future::ready(()));
    assert!(runner.next().await.is_none());
    queue.trigger("A", Why("test"), NOW);
    assert!(runner.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_runner_drops_current_runs() {
    let (queue, receiver) = queue(NOW);
    queue.trigger("A", Why("test"), NOW);
    let held = Arc::new(());
    let run = {
        let held = Arc::clone(&held);
        move |_: &&str, _: &Why| {
            let held = Arc::clone(&held);
            sleep(ms(1000)).map(move |()| drop(held))
        }
    };
    let mut runner = Runner::new(receiver, run, |_, ()| Next::Done);
    assert!(runner.next().now_or_never().is_none());
    assert_eq!(Arc::strong_count(&held), 3);
    drop(runner);
    assert_eq!(Arc::strong_count(&held), 1);
}
