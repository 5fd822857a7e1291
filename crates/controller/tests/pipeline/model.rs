//! Random histories: the scheduler is compared with a naive model that stores every trigger and
//! scans all of them, and the runner is checked for invariants.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller::schedule::{Due, Scheduler};
use controller::{Next, Runner, queue};
use futures::{StreamExt, future};
use seeded::Random;
use tokio::time::{Instant, sleep};

use crate::support::{Why, ms};

/// The naive model: every trigger since the last start of its key.
#[derive(Default)]
struct Naive {
    debounce: Duration,
    /// The limit of each pool; keys are distributed over the pools.
    limits: Vec<usize>,
    triggers: Vec<Trigger>,
    running: Vec<u64>,
    arrivals: usize,
}

#[derive(Debug, Clone, Copy)]
struct Trigger {
    key: u64,
    at: Instant,
    arrival: usize,
}

impl Naive {
    fn trigger(&mut self, key: u64, now: Instant, delay: Duration) {
        let at = now + delay.max(self.debounce);
        self.triggers.push(Trigger {
            key,
            at,
            arrival: self.arrivals,
        });
        self.arrivals += 1;
    }

    fn pool(&self, key: u64) -> usize {
        key as usize % self.limits.len()
    }

    fn is_full(&self, pool: usize) -> bool {
        let running = self.running.iter();
        running.filter(|key| self.pool(**key) == pool).count() >= self.limits[pool]
    }

    /// The earliest trigger of all keys that do not run and whose pool is not full.
    fn first(&self) -> Option<Trigger> {
        let free = self.triggers.iter().filter(|trigger| {
            !self.running.contains(&trigger.key) && !self.is_full(self.pool(trigger.key))
        });
        free.min_by_key(|trigger| (trigger.at, trigger.arrival))
            .copied()
    }

    fn start(&mut self, now: Instant) -> Option<Due<u64, usize>> {
        let Trigger { key, at, arrival } = self.first().filter(|first| first.at <= now)?;
        self.triggers.retain(|trigger| trigger.key != key);
        self.running.push(key);
        Some(Due {
            key,
            reason: arrival,
            at,
        })
    }

    fn finish(&mut self, key: u64) {
        self.running.retain(|running| *running != key);
    }
}

/// Runs one random history with these limits of pools. The reason of a trigger is the order of its
/// arrival.
fn check(seed: u64, limits: &[usize]) {
    let mut random = Random::new(seed);
    let debounce = ms(*random.pick(&[0, 0, 5, 40]));
    let keys = 1 + random.range(0..12);
    let (mut naive, mut scheduler) = (
        Naive {
            debounce,
            limits: limits.to_vec(),
            ..Naive::default()
        },
        Scheduler::new(debounce),
    );
    scheduler.set_pools(limits.iter().copied());
    let pool_of = |key: &u64| *key as usize % limits.len();
    let mut now = Instant::now();
    for step in 0..300 {
        match random.range(0..10) {
            0..=4 => {
                let (key, delay) = (
                    random.range(0..keys),
                    ms(random.range(0..4) * random.range(0..30)),
                );
                scheduler.trigger(key, naive.arrivals, now, delay);
                naive.trigger(key, now, delay);
            }
            5..=6 => now += ms(random.range(0..15)),
            7..=8 => assert_eq!(
                scheduler.start_in(now, pool_of),
                naive.start(now),
                "seed {seed}, step {step}"
            ),
            _ => {
                let key = random.range(0..keys);
                scheduler.finish(&key);
                naive.finish(key);
            }
        }
        // Parked keys are due already.
        if limits == [usize::MAX] {
            assert_eq!(
                scheduler.next_at(),
                naive.first().map(|first| first.at),
                "seed {seed}, step {step}"
            );
        }
        assert_eq!(
            scheduler.running(),
            naive.running.len(),
            "seed {seed}, step {step}"
        );
        assert!(
            scheduler.waiting() + scheduler.held() <= keys as usize,
            "seed {seed}, step {step}"
        );
    }
}

#[test]
fn the_scheduler_equals_the_naive_model() {
    for seed in seeded::seeds(2_000) {
        check(seed, &[usize::MAX]);
    }
}

#[test]
fn the_scheduler_with_pools_equals_the_naive_model() {
    for seed in seeded::seeds(2_000) {
        check(seed, &[1, 3, usize::MAX]);
        check(seed, &[2]);
    }
}

/// An event of a history.
#[derive(Debug, Clone, Copy)]
enum Event {
    Trigger(u64),
    Start(u64),
    End(u64),
}

#[tokio::test(start_paused = true)]
async fn no_trigger_is_lost_and_no_key_runs_twice_at_once() {
    for seed in seeded::seeds(200) {
        let mut random = Random::new(seed);
        let limit = random.range(0..4);
        let keys = 1 + random.range(0..8);
        let events = Arc::new(Mutex::new(Vec::new()));
        let (queue, receiver) = queue(ms(*random.pick(&[0, 10])));
        let log = Arc::clone(&events);
        let mut lengths = Random::of(&[seed, 1]);
        let run = move |key: &u64, _: &Why| {
            let (log, key, length) = (Arc::clone(&log), *key, ms(lengths.range(0..20)));
            log.lock().unwrap().push(Event::Start(key));
            async move {
                sleep(length).await;
                log.lock().unwrap().push(Event::End(key));
            }
        };
        let runner = Runner::new(receiver, run, |_, ()| Next::Done).concurrency(limit as u16);
        let feed = async {
            for _ in 0..100 {
                let key = random.range(0..keys);
                events.lock().unwrap().push(Event::Trigger(key));
                queue.trigger(key, Why("test"), ms(random.range(0..3) * 10));
                sleep(ms(random.range(0..6))).await;
            }
            drop(queue);
        };
        future::join(feed, runner.count()).await;
        judge(&events.lock().unwrap(), keys, limit, seed);
    }
}

fn judge(events: &[Event], keys: u64, limit: u64, seed: u64) {
    let mut running = 0;
    for event in events {
        match event {
            Event::Start(_) => running += 1,
            Event::End(_) => running -= 1,
            Event::Trigger(_) => {}
        }
        assert!(
            limit == 0 || running <= limit,
            "seed {seed}: {running} run, the limit is {limit}"
        );
    }
    for of in 0..keys {
        let (mut asked, mut running) = (0, false);
        for event in events {
            match *event {
                Event::Trigger(key) if key == of => asked += 1,
                Event::Start(key) if key == of => {
                    assert!(
                        !running && asked > 0,
                        "seed {seed}: key {of} starts while it runs, or unasked"
                    );
                    (asked, running) = (0, true);
                }
                Event::End(key) if key == of => running = false,
                _ => {}
            }
        }
        assert!(
            asked == 0 && !running,
            "seed {seed}: a trigger of key {of} is lost"
        );
    }
}
