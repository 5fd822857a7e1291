//! The replicas of a fleet, which die and start again.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{pending, select_all};
use tokio::time::{Instant, sleep, sleep_until};

use super::guard::LEASE;
use super::truth::Truth;
use super::world::World;
use crate::api::{Partition, Server};
use crate::clock::WallClock;
use crate::process::{Process, Start};
use seeded::{Random, memory};

/// How long it takes to start a process that has died by itself.
const PAUSE: Duration = Duration::from_millis(500);

/// One or two replicas.
pub(super) struct Replicas {
    server: Server,
    time: WallClock,
    truth: Truth,
    /// The namespace that the processes are limited to.
    namespace: Option<&'static str>,
    random: Random,
    all: Vec<Replica>,
    /// The number of processes so far.
    started: u64,
}

/// A process, or when the next one starts.
enum Replica {
    Runs(Process),
    StartsAt(Instant),
}

impl Replicas {
    /// Starts the replicas.
    pub(super) fn new(world: &World, seed: u64, count: usize) -> Self {
        let now = Instant::now();
        let mut replicas = Self {
            server: world.server.clone(),
            time: world.time.clone(),
            truth: world.truth.clone(),
            namespace: world.namespace,
            random: Random::new(seed.wrapping_mul(37)),
            all: (0..count).map(|_| Replica::StartsAt(now)).collect(),
            started: 0,
        };
        replicas.start_due();
        replicas
    }

    fn process(&mut self) -> Process {
        self.started += 1;
        let name = format!("deltic-{}", self.started);
        self.truth.start(&name);
        let start = Start {
            name,
            clock: self.time.clock,
            steps: self.time.steps.clone(),
            seed: self.random.bits(),
            lease: (self.all.len() > 1).then_some(LEASE),
        };
        Process::start_within(&self.server, start, self.namespace)
    }

    fn start_due(&mut self) {
        let now = Instant::now();
        for at in 0..self.all.len() {
            if matches!(self.all[at], Replica::StartsAt(time) if time <= now) {
                self.all[at] = Replica::Runs(self.process());
            }
        }
    }

    /// Kills a replica. It starts again after the pause.
    pub(super) fn crash(&mut self, at: usize, pause: Duration) {
        let next = Replica::StartsAt(Instant::now() + pause);
        if let Replica::Runs(process) = std::mem::replace(&mut self.all[at], next) {
            process.kill(&self.server);
        }
    }

    /// Shuts a replica down, and starts it again.
    pub(super) async fn restart(&mut self, at: usize) -> Result<(), String> {
        let next = Replica::StartsAt(Instant::now());
        if let Replica::Runs(process) = std::mem::replace(&mut self.all[at], next) {
            process.stop(&self.server).await?;
        }
        self.start_due();
        Ok(())
    }

    /// Shuts all replicas down, and starts them again with the next wait. Returns how much memory
    /// they held, in bytes.
    pub(super) async fn restart_all(&mut self) -> Result<isize, String> {
        let before = memory::live();
        for replica in &mut self.all {
            let next = Replica::StartsAt(Instant::now());
            if let Replica::Runs(process) = std::mem::replace(replica, next) {
                process.stop(&self.server).await?;
            }
        }
        // Tasks that are aborted free their memory when they are scheduled.
        sleep(PAUSE).await;
        Ok(before - memory::live())
    }

    /// Cuts a replica off from the server.
    pub(super) fn cut_off(&self, at: usize, time: Duration, refuses: bool) {
        if let Replica::Runs(process) = &self.all[at] {
            let until = Instant::now() + time;
            process.caller.cut_off(Partition { until, refuses });
        }
    }

    /// Ends all partitions.
    pub(super) fn reconnect(&self) {
        self.running()
            .for_each(|process| process.caller.reconnect());
    }

    /// The processes that run.
    pub(super) fn running(&self) -> impl Iterator<Item = &Process> {
        self.all.iter().filter_map(|replica| match replica {
            Replica::Runs(process) => Some(process),
            Replica::StartsAt(_) => None,
        })
    }

    /// Lets time pass. Replicas that die are started again.
    pub(super) async fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            self.start_due();
            let starts = self.all.iter().filter_map(|replica| match replica {
                Replica::Runs(_) => None,
                Replica::StartsAt(time) => Some(*time),
            });
            let next = starts.min().unwrap_or(end).min(end);
            let died = tokio::select! {
                biased;
                at = self.died() => Some(at),
                () = sleep_until(next) => None,
            };
            if let Some(at) = died {
                self.crash(at, PAUSE);
            } else if Instant::now() >= end {
                return;
            }
        }
    }

    /// Completes when a replica has died, with its position.
    async fn died(&self) -> usize {
        let replicas = self.all.iter().enumerate();
        let died = replicas.filter_map(|(at, replica)| match replica {
            Replica::Runs(process) => Some(process.died().map(move |()| at).boxed()),
            Replica::StartsAt(_) => None,
        });
        let died: Vec<_> = died.collect();
        if died.is_empty() {
            return pending().await;
        }
        select_all(died).await.0
    }
}
