//! The runner: one test for each of its rules.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller::{Backoff, Next, Retries, Runner, queue};
use futures::{FutureExt, StreamExt, future};
use tokio::time::{Instant, sleep, sleep_until};

use crate::support::{Gauge, Log, NOW, Why, ms};

struct Setup {
    debounce: u64,
    concurrency: u16,
    /// How long each run takes.
    run: u64,
    /// When the gate opens.
    ready: u64,
}

const PLAIN: Setup = Setup {
    debounce: 0,
    concurrency: 0,
    run: 0,
    ready: 0,
};

/// Checks the starts that triggers `(time, key, delay)`, in ms, lead to.
async fn check(setup: Setup, triggers: &[(u64, &'static str, u64)], expect: &[&str]) {
    let log = Log::new();
    let zero = Instant::now();
    let (queue, receiver) = queue(ms(setup.debounce));
    let run = move |_: &&str, _: &Why| sleep(ms(setup.run));
    let ready = async move {
        sleep(ms(setup.ready)).await;
        Ok::<(), ()>(())
    };
    let runner = Runner::new(receiver, run, |_, ()| Next::Done)
        .concurrency(setup.concurrency)
        .gate(ready)
        .observe(Arc::new(log.clone()));
    let feed = async {
        for &(time, key, delay) in triggers {
            sleep_until(zero + ms(time)).await;
            queue.trigger(key, Why("test"), ms(delay));
        }
        drop(queue);
    };
    future::join(feed, runner.count()).await;
    assert_eq!(log.starts(), expect);
}

#[tokio::test(start_paused = true)]
async fn the_time_line_of_the_specification() {
    let setup = Setup {
        debounce: 1000,
        ..PLAIN
    };
    check(
        setup,
        &[(0, "A", 0), (300, "A", 0), (1200, "A", 0)],
        &["1000 A", "2200 A"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn constant_triggers_run_once_per_window() {
    let setup = Setup {
        debounce: 1000,
        ..PLAIN
    };
    let triggers: Vec<_> = (0..20).map(|n| (n * 300, "A", 0)).collect();
    check(
        setup,
        &triggers,
        &["1000 A", "2200 A", "3400 A", "4600 A", "5800 A"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_later_trigger_never_postpones() {
    check(PLAIN, &[(0, "A", 500), (100, "A", 900)], &["500 A"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_earlier_trigger_advances() {
    check(PLAIN, &[(0, "A", 5000), (100, "A", 200)], &["300 A"]).await;
    check(
        PLAIN,
        &[(0, "A", 5000), (100, "B", 0), (200, "A", 0)],
        &["100 B", "200 A"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_before_the_gate_opens() {
    let setup = Setup {
        ready: 5000,
        ..PLAIN
    };
    let triggers = [(0, "B", 0), (10, "A", 0), (20, "B", 0), (30, "C", 7000)];
    check(setup, &triggers, &["5000 B", "5000 A", "7030 C"]).await;
}

#[tokio::test(start_paused = true)]
async fn triggers_during_a_run_give_exactly_one_more() {
    let setup = Setup { run: 2000, ..PLAIN };
    let triggers = [
        (0, "A", 0),
        (500, "A", 0),
        (1000, "A", 0),
        (1500, "A", 0),
        (1600, "B", 0),
    ];
    check(setup, &triggers, &["0 A", "1600 B", "2000 A"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_window_that_opens_during_a_run_is_waited_for() {
    let setup = Setup {
        debounce: 1000,
        run: 2000,
        ..PLAIN
    };
    check(setup, &[(0, "A", 0), (2800, "A", 0)], &["1000 A", "3800 A"]).await;
}

#[tokio::test(start_paused = true)]
async fn at_most_the_limit_runs_in_the_order_of_arrival() {
    let setup = Setup {
        concurrency: 2,
        run: 1000,
        ..PLAIN
    };
    let triggers = [
        (0, "A", 0),
        (0, "B", 0),
        (0, "C", 0),
        (0, "A", 0),
        (1, "D", 0),
        (2, "A", 0),
    ];
    check(
        setup,
        &triggers,
        &["0 A", "0 B", "1000 C", "1000 D", "2000 A"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_zero_means_no_limit() {
    let names = ["A", "B", "C", "D", "E"];
    let triggers = names.map(|name| (0, name, 0));
    let setup = Setup { run: 1000, ..PLAIN };
    check(setup, &triggers, &["0 A", "0 B", "0 C", "0 D", "0 E"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_frees_a_slot_lets_the_next_one_start() {
    let setup = Setup {
        concurrency: 1,
        run: 1000,
        ..PLAIN
    };
    check(
        setup,
        &[(0, "A", 0), (0, "B", 500), (0, "C", 3000)],
        &["0 A", "1000 B", "3000 C"],
    )
    .await;
}

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
    assert_eq!(
        queue.stats().depth,
        0,
        "a queue without a runner keeps nothing"
    );
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
    let stats = queue.clone();
    drop(queue);
    let ended = runner
        .take(7)
        .map(|Ok(done)| done.next)
        .collect::<Vec<_>>()
        .await;
    assert_eq!(ended[1], Next::Retry(ms(1000)));
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
    let stats = stats.stats();
    assert_eq!(
        (
            stats.successes,
            stats.requeues,
            stats.failures,
            stats.retries
        ),
        (3, 2, 4, 4)
    );
    assert_eq!(
        stats.reasons,
        BTreeMap::from([("requeue", 2), ("retry", 4), ("test", 1)])
    );
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
        assert_eq!(queue.stats().failures, 2);
        drop(queue);
    };
    future::join(feed, runner.count()).await;
    assert_eq!(log.starts(), ["0 A", "60000 A"]);
}

#[tokio::test(start_paused = true)]
async fn trigger_all_runs_every_key_once_in_order() {
    let log = Log::new();
    let (queue, receiver) = queue(NOW);
    let runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| future::ready(()),
        |_, ()| Next::Done,
    )
    .observe(Arc::new(log.clone()));
    queue.trigger("B", Why("test"), NOW);
    queue.trigger_all(["A", "B", "C"], &Why("all"), NOW);
    drop(queue);
    assert_eq!(runner.count().await, 3);
    assert_eq!(log.reasons(), ["0 B: test", "0 A: all", "0 C: all"]);
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
    let stats = queue.stats();
    assert_eq!(
        (stats.depth, stats.delayed, stats.held, stats.running),
        (0, 0, 0, 0)
    );
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
    assert_eq!((queue.stats().running, Arc::strong_count(&held)), (1, 3));
    drop(runner);
    assert_eq!((queue.stats().running, Arc::strong_count(&held)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn memory_is_proportional_to_keys_not_triggers() {
    let (queue, _receiver) = queue(ms(1000));
    for n in 0..1_000_000_u32 {
        queue.trigger(n % 10, Why("test"), NOW);
    }
    let stats = queue.stats();
    assert_eq!(
        (stats.delayed, stats.adds, stats.triggers),
        (10, 10, 1_000_000)
    );
}

/// A key that counts how many times it is hashed, compared and cloned.
#[derive(Debug)]
struct Counted(u32);

static WORK: AtomicUsize = AtomicUsize::new(0);

fn count() {
    WORK.fetch_add(1, Ordering::Relaxed);
}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        count();
        self.0.hash(state);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        count();
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl Clone for Counted {
    fn clone(&self) -> Self {
        count();
        Self(self.0)
    }
}

impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The work of one run must not grow with the number of keys.
#[tokio::test(start_paused = true)]
async fn work_per_key_is_the_same_for_many_keys() {
    async fn work(keys: u32) -> usize {
        let polls = Arc::new(AtomicUsize::new(0));
        let (queue, receiver) = queue(ms(10));
        let counter = Arc::clone(&polls);
        let run = move |_: &Counted, _: &Why| {
            let counter = Arc::clone(&counter);
            let mut waits = 2;
            future::poll_fn(move |cx| {
                counter.fetch_add(1, Ordering::Relaxed);
                waits -= 1;
                if waits == 0 {
                    std::task::Poll::Ready(())
                } else {
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                }
            })
        };
        let runner = Runner::new(receiver, run, |_, ()| Next::Done).concurrency(16);
        WORK.store(0, Ordering::Relaxed);
        for round in 0..3 {
            for key in 0..keys {
                queue.trigger(Counted(key), Why("test"), ms(30 - round * 10));
            }
        }
        drop(queue);
        assert_eq!(runner.count().await, keys as usize);
        assert_eq!(polls.load(Ordering::Relaxed), 2 * keys as usize);
        WORK.load(Ordering::Relaxed)
    }
    let (few, many) = (work(1_000).await, work(100_000).await);
    assert!(
        many <= few * 110,
        "{many} operations for 100,000 keys, {few} for 1,000"
    );
}

/// Waits for all runs of a busy runner: no key runs twice at a time, and at most the limit runs.
#[tokio::test(start_paused = true)]
async fn a_busy_runner_keeps_both_limits() {
    let (queue, receiver) = queue(NOW);
    let all = Arc::new(Mutex::new(Gauge::default()));
    let each: Arc<[Mutex<Gauge>; 8]> = Arc::default();
    let gauges = (Arc::clone(&all), Arc::clone(&each));
    let run = move |key: &usize, _: &Why| {
        let ((all, each), key) = (gauges.clone(), *key);
        async move {
            all.lock().unwrap().enter();
            each[key].lock().unwrap().enter();
            sleep(ms(7)).await;
            each[key].lock().unwrap().leave();
            all.lock().unwrap().leave();
        }
    };
    let runner = Runner::new(receiver, run, |_, ()| Next::Done).concurrency(3);
    let feed = async {
        for n in 0..500_usize {
            queue.trigger(n * n % 8, Why("test"), NOW);
            sleep(ms(1)).await;
        }
        drop(queue);
    };
    future::join(feed, runner.count()).await;
    assert_eq!(all.lock().unwrap().most, 3);
    assert!(each.iter().all(|gauge| gauge.lock().unwrap().most <= 1));
}
