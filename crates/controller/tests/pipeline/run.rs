//! The runner: one test for each of its rules.

mod endings;
mod limits;

use std::sync::Arc;

use controller::{Next, Runner, queue};
use futures::{FutureExt, StreamExt, future};
use tokio::time::{Instant, sleep, sleep_until};

use crate::support::{Log, NOW, Why, ms};

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
