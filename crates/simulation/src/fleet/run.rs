//! A run: one seed, one fleet, one history.
//!
//! The clock is paused, and all tasks share one thread. Time moves only when all tasks wait, so
//! that the run is a function of the seed.

use std::time::Duration;

use seeded::Random;
use tokio::time::Instant;

use super::guard::{guard, has_secret, inspector};
use super::logs;
use super::member::{Edits, FLEETS, Member, has_limit, has_secrets, namespace_of};
use super::replica::Replicas;
use super::steps::{FleetStep, Histories, Source};
use super::world::World;
use crate::api::refusal::Refusal;
use crate::api::{Server, State};
use crate::clock::WallClock;
use crate::run::{Footprint, Outcome, history, same_versions};

/// The minimum number of steps of a history.
const LENGTH: usize = 40;
/// How many percent of the histories have two replicas.
const TWO_REPLICAS: usize = 40;
/// The cluster is quiet if there was no write for this long: longer than any pause between
/// retries.
const QUIET_TIME: Duration = Duration::from_secs(620);
/// The cluster must be quiet within this time.
const MAX_TIME_TO_QUIET: Duration = Duration::from_hours(4);
/// The cluster is quiet for the moment if there was no write for this long.
const SHORT_TIME: Duration = Duration::from_mins(1);
/// The maximum number of requests in [`QUIET_TIME`] while nothing happens, not counting those
/// for the lease: watches are opened again every five minutes.
const MAX_IDLE_REQUESTS: u64 = 100;
/// The maximum number of requests until the cluster is quiet: at the start of a process, and for
/// each step.
const MAX_START_REQUESTS: u64 = 200;
const MAX_STEP_REQUESTS: u64 = 60;
/// The maximum number of watches that a process holds once the cluster is quiet.
const MAX_WATCHES: i64 = 40;
/// The maximum number of tasks once the cluster is quiet.
const MAX_TASKS: usize = 600;

/// How much more memory a process may hold than one that has just started: besides its objects, it
/// knows the answers to its last writes.
const MAX_MEMORY_GROWTH: isize = 2;
/// What may be added to that, in bytes.
const MEMORY_SLACK: isize = 200_000;

/// The fleet of a seed.
fn fleet(seed: u64) -> (&'static str, &'static [Member]) {
    FLEETS[(seed % FLEETS.len() as u64) as usize]
}

/// The number of replicas of a seed.
fn replicas(seed: u64) -> usize {
    let two = Random::of(&[seed, 2]).chance(TWO_REPLICAS);
    1 + usize::from(two)
}

/// The history of a seed.
pub fn steps(seed: u64) -> Vec<FleetStep> {
    let mut histories = Histories {
        random: &mut Random::of(&[seed, 1]),
        fleet: fleet(seed).1,
        replicas: replicas(seed),
    };
    histories.history(LENGTH)
}

/// Runs a history on a runtime of its own.
///
/// # Panics
///
/// If no runtime can be built.
pub fn simulate(seed: u64, steps: &[FleetStep]) -> Outcome {
    // Where no Secret is read, there is nothing to look for.
    let _logs = has_secrets(fleet(seed).1).then(logs::watch);
    let mut outcome = history(async || {
        let mut run = Run::new(seed);
        let failure = run.run(steps).await.err();
        (run.server, failure)
    });
    let leaked = logs::leaked().map(|line| format!("a value of a Secret is logged: {line}"));
    outcome.failure = leaked.or(outcome.failure);
    outcome
}

struct Run {
    footprint: Footprint,
    random: Random,
    server: Server,
    world: World,
    replicas: Replicas,
    /// The steps since the last check, and the requests before them.
    since_check: (u64, u64),
}

impl Run {
    fn new(seed: u64) -> Self {
        let footprint = Footprint::begin();
        let time = WallClock::start();
        let server = Server::new(time.clock, seed);
        let (name, fleet) = fleet(seed);
        let world = World::new(server.clone(), fleet, time, namespace_of(name));
        let count = replicas(seed);
        server.with(|state| {
            state
                .trace
                .note(&format!("seed {seed}: {name}, {count} replicas"));
            state.trace.count(name);
            state.guard(guard(&world));
            state.inspector(inspector(count > 1, has_secrets(fleet)));
        });
        Self {
            footprint,
            random: Random::of(&[seed, 3]),
            replicas: Replicas::new(&world, seed, count),
            server,
            world,
            since_check: (0, 0),
        }
    }

    async fn run(&mut self, steps: &[FleetStep]) -> Result<(), String> {
        for (at, step) in steps.iter().enumerate() {
            self.since_check.0 += 1;
            self.server.note_step(step);
            let done = self.step(*step, at + 1 == steps.len()).await;
            self.server.is_obeyed()?;
            done?;
            self.footprint.is_bounded()?;
            self.measures_no_secrets()?;
        }
        Ok(())
    }

    /// No value of a Secret is in the metrics of a process.
    fn measures_no_secrets(&self) -> Result<(), String> {
        if !has_secrets(self.world.fleet) {
            return Ok(());
        }
        for process in self.replicas.running() {
            let text = process.metrics.encode();
            if let Some(line) = text.lines().find(|line| has_secret(line)) {
                return Err(format!("a value of a Secret is in a metric: {line}"));
            }
        }
        Ok(())
    }

    /// Carries out a step, which may be the last one.
    async fn step(&mut self, step: FleetStep, last: bool) -> Result<(), String> {
        let (world, server) = (&mut self.world, &self.server);
        match step {
            FleetStep::Put(source, number) => {
                let random = &mut Random::new(number);
                match source {
                    Source::Item => world.put_item(random),
                    Source::Link => world.put_link(random),
                    Source::Secret => world.put_secret(random),
                    Source::Deployment => world.put_deployment(random),
                }
            }
            FleetStep::Delete(source, number) => {
                world.delete_one(source.kind(), &mut Random::new(number));
            }
            FleetStep::Lose(source, number) => {
                world.lose_some(source.kind(), &mut Random::new(number));
            }
            FleetStep::Spoil(number) => world.spoil_item(&mut Random::new(number)),
            FleetStep::Empty => world.empty(),
            FleetStep::Vandalise(number) => world.vandalise(&mut Random::new(number)),
            FleetStep::DeleteDerived(number) => world.delete_derived(&mut Random::new(number)),
            FleetStep::EditOperator(at, number) => {
                let edits = Edits::random(&mut Random::new(number));
                world.put_operator(&world.fleet[at], edits);
            }
            FleetStep::DeleteOperator(at) => world.delete_operator(&world.fleet[at]),
            FleetStep::RenameOperator(at) => world.rename_operator(&world.fleet[at]),
            FleetStep::Backup => world.back_up(),
            FleetStep::Restore => world.restore(),
            FleetStep::RepairOperators => world.repair_operators(),
            FleetStep::Faults(percent) => server.with(|state| state.faults.rate(percent)),
            FleetStep::Compact => server.with(State::compact),
            FleetStep::Cut => server.with(State::cut_watches),
            FleetStep::StreamingLists => server.with(|state| {
                state.streaming_lists = state.streaming_lists.next();
                state.cut_watches();
            }),
            FleetStep::ServerRestart(time) => {
                server.with(|state| state.restart(Duration::from_millis(time)));
            }
            FleetStep::Refuse(kind, code) => server.with(|state| {
                state.refused.insert(kind, refusal(code));
                state.cut_watches();
            }),
            FleetStep::Deny(kind) => server.with(|state| {
                state.denied.insert(kind);
                state.cut_watches();
            }),
            FleetStep::RefuseNone => server.with(allow_all),
            FleetStep::ClockStep(seconds) => world.time.steps.step(seconds),
            FleetStep::Crash(at, pause) => self.replicas.crash(at, Duration::from_millis(pause)),
            FleetStep::CrashWithWrite => server.with(|state| state.faults.crash_with_next_write()),
            FleetStep::Restart(at) => self.replicas.restart(at).await?,
            FleetStep::Partition(at, time, refuses) => {
                self.replicas
                    .cut_off(at, Duration::from_millis(time), refuses);
            }
            FleetStep::Wait(time) => self.replicas.wait(Duration::from_millis(time)).await,
            FleetStep::Check => self.check(last).await?,
        }
        Ok(())
    }
}

/// No kind is refused any more, to nobody.
fn allow_all(state: &mut State) {
    state.refused.clear();
    state.denied.clear();
}

fn refusal(code: u16) -> Refusal {
    match code {
        403 => Refusal::forbidden(),
        404 => Refusal::no_resource(),
        code => Refusal::new(code, "ServiceUnavailable", "not now"),
    }
}

/// The checks after a storm.
impl Run {
    async fn check(&mut self, last: bool) -> Result<(), String> {
        self.server.with(|state| {
            state.faults.cease();
            allow_all(state);
        });
        self.replicas.reconnect();
        self.world.time.catch_up();
        self.world.heal();
        self.world.repair_operators();
        self.quiet(SHORT_TIME).await?;
        self.few_requests()?;
        // Those that are being deleted can be created again only when they are gone.
        let end = Instant::now() + MAX_TIME_TO_QUIET;
        while let Some(name) = self.world.leaving() {
            if Instant::now() > end {
                return Err(format!("{name} is never gone"));
            }
            self.replicas.wait(SHORT_TIME).await;
        }
        self.world.repair_operators();
        self.world.allow_deletions(true);
        let requests = self.quiet(QUIET_TIME).await?;
        while self.world.falls_due() {
            self.replicas.wait(SHORT_TIME).await;
        }
        self.world.check()?;
        self.is_idle(requests)?;
        if last || self.random.chance(30) {
            self.survives_a_restart().await?;
        }
        self.world.allow_deletions(false);
        if has_limit(self.world.fleet) {
            // A process that does not know it yet would go on deleting.
            self.replicas.wait(SHORT_TIME).await;
        }
        self.since_check = (0, self.requests());
        Ok(())
    }

    /// The number of requests since the last check is bounded by the number of steps.
    fn few_requests(&self) -> Result<(), String> {
        let (steps, before) = self.since_check;
        let requests = self.requests() - before;
        let max = MAX_START_REQUESTS + steps * MAX_STEP_REQUESTS;
        if requests > max {
            return Err(format!("{requests} requests for {steps} steps"));
        }
        Ok(())
    }

    /// Waits until there was no write for this long. Returns how many requests there were in
    /// that time.
    async fn quiet(&mut self, time: Duration) -> Result<u64, String> {
        let end = Instant::now() + MAX_TIME_TO_QUIET;
        loop {
            let (writes, requests) = (self.writes(), self.requests());
            self.replicas.wait(time).await;
            self.server.is_obeyed()?;
            if self.writes() == writes {
                return Ok(self.requests() - requests);
            }
            if Instant::now() > end {
                return Err("writes never end".to_owned());
            }
        }
    }

    /// Processes with nothing to do send few requests, and have few watches and tasks.
    fn is_idle(&self, requests: u64) -> Result<(), String> {
        if requests > MAX_IDLE_REQUESTS {
            return Err(format!("{requests} requests, while nothing happens"));
        }
        for process in self.replicas.running() {
            let open = process.caller.open_watches();
            if open > MAX_WATCHES {
                let name = &process.caller.name;
                return Err(format!("{name} holds {open} watches"));
            }
        }
        let tasks = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        if tasks > MAX_TASKS {
            return Err(format!("there are {tasks} tasks"));
        }
        Ok(())
    }

    /// New processes change nothing, and the old ones did not hold much more memory than they do.
    async fn survives_a_restart(&mut self) -> Result<(), String> {
        let before = self.world.versions();
        let old = self.replicas.restart_all().await?;
        self.quiet(QUIET_TIME).await?;
        same_versions(&before, &self.world.versions())?;
        let new = self.replicas.restart_all().await?;
        if old > MAX_MEMORY_GROWTH * new + MEMORY_SLACK {
            return Err(format!(
                "the processes held {old} bytes, new ones hold {new}"
            ));
        }
        Ok(())
    }

    fn writes(&self) -> u64 {
        self.server.with(|state| state.trace.writes())
    }

    /// The number of requests, without those for the lease.
    fn requests(&self) -> u64 {
        self.server.with(|state| state.trace.requests())
    }
}
