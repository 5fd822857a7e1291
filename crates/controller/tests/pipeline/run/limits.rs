//! Limits on runs, and the memory and work that many keys take.

use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::support::Gauge;

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
async fn memory_is_proportional_to_keys_not_triggers() {
    let (queue, _receiver) = queue(ms(1000));
    for n in 0..1_000_000_u32 {
        queue.trigger(n % 10, Why("test"), NOW);
    }
    sleep(ms(1000)).await;
    assert_eq!(queue.depth(), 10);
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
