//! A run: one seed, one Operator, one history.
//!
//! The clock is paused, and all tasks share one thread. Time moves only when all tasks wait, so
//! that the run is a function of the seed.

use std::collections::BTreeMap;
use std::time::Duration;

use object::ObjectKey;
use tokio::time::{Instant, sleep, sleep_until};

use crate::api::{Server, State};
use crate::clock::{ClockSteps, Virtual};
use crate::guard::guard;
use crate::panics;
use crate::process::{Process, Start};
use crate::shape::{Edits, SHAPES, Shape};
use crate::steps::{self, Step};
use crate::world::World;
use seeded::{Random, memory};

/// The minimum number of steps of a history.
const LENGTH: usize = 55;
/// The cluster is quiet if there was no write for this long: longer than any pause between
/// retries.
const QUIET_TIME: Duration = Duration::from_secs(620);
/// The cluster must be quiet within this time.
const MAX_TIME_TO_QUIET: Duration = Duration::from_hours(4);
/// The cluster must stay quiet for this long.
const QUIET_AFTERWARDS: Duration = Duration::from_mins(25);

/// The maximum memory of a history after any of its steps, in bytes: of the server, the trace and all
/// processes.
const MAX_MEMORY: isize = 16 << 20;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is wrong, if anything.
    pub failure: Option<String>,
    /// The last lines of the trace.
    pub last: Vec<String>,
    /// A hash of the trace.
    pub hash: u64,
    /// How often each kind of event occurred.
    pub counts: BTreeMap<String, u64>,
}

/// The history of a seed.
pub fn steps(seed: u64) -> Vec<Step> {
    steps::history(&mut Random::new(seed), &shape(seed), LENGTH)
}

/// The Operator of a seed.
fn shape(seed: u64) -> Shape {
    SHAPES[(seed % SHAPES.len() as u64) as usize]
}

/// Runs a history on a runtime of its own.
///
/// # Panics
///
/// If no runtime can be built.
pub fn simulate(seed: u64, steps: &[Step]) -> Outcome {
    history(async || {
        let mut run = Run::new(seed);
        let failure = run.run(steps).await.err();
        (run.server, failure)
    })
}

/// Runs a history on a runtime of its own, whose clock is paused. `run` returns the server, and the
/// first failure.
pub(crate) fn history(run: impl AsyncFnOnce() -> (Server, Option<String>)) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built");
    panics::watch();
    let mut outcome = runtime.block_on(async {
        let (server, failure) = run().await;
        server.with(|state| Outcome {
            failure,
            last: state.trace.last(),
            hash: state.trace.hash(),
            counts: state.trace.counts().clone(),
        })
    });
    // A panic in a task does not end the others.
    let panicked = panics::take();
    outcome.failure = panicked.or(outcome.failure);
    outcome
}

/// Whether some objects have other versions than before.
pub(crate) fn same_versions(
    before: &BTreeMap<ObjectKey, String>,
    after: &BTreeMap<ObjectKey, String>,
) -> Result<(), String> {
    let mut changed = before
        .iter()
        .filter(|(key, version)| after.get(*key) != Some(*version));
    match changed.next() {
        Some((key, _)) => Err(format!("a restart has changed {key}")),
        None => Ok(()),
    }
}

/// The memory of a history. It is counted if the allocator is [`memory::Counting`].
pub(crate) struct Footprint {
    before: isize,
}

impl Footprint {
    /// A history begins on this thread.
    pub(crate) fn begin() -> Self {
        Self {
            before: memory::live(),
        }
    }

    /// Fails if the history holds too much memory.
    pub(crate) fn is_bounded(&self) -> Result<(), String> {
        let held = memory::live() - self.before;
        if held > MAX_MEMORY {
            return Err(format!("{held} bytes are held"));
        }
        Ok(())
    }
}

struct Run {
    footprint: Footprint,
    clock: Virtual,
    random: Random,
    server: Server,
    world: World,
    process: Option<Process>,
    /// The number of processes so far.
    started: u64,
    /// Whether the namespace `far` exists.
    far: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        let footprint = Footprint::begin();
        let clock = Virtual::start();
        let random = Random::new(seed.wrapping_mul(31));
        let server = Server::new(clock, seed);
        let shape = shape(seed);
        let world = World::new(server.clone(), shape);
        server.with(|state| {
            state.trace.note(&format!("seed {seed}: {}", shape.name));
            state.trace.count(shape.name);
            state.guard(guard(&world));
        });
        Self {
            footprint,
            clock,
            random,
            server,
            world,
            process: None,
            started: 0,
            far: true,
        }
    }

    async fn run(&mut self, steps: &[Step]) -> Result<(), String> {
        self.start();
        for step in steps {
            self.server.note_step(step);
            self.step(*step).await?;
            self.server.is_obeyed()?;
            self.footprint.is_bounded()?;
        }
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<(), String> {
        let (world, server) = (&mut self.world, &self.server);
        match step {
            Step::PutItem(number) => world.put_item(&mut Random::new(number)),
            Step::DeleteItem(number) => world.delete_item(&mut Random::new(number)),
            Step::PutLink(number) => world.put_link(&mut Random::new(number)),
            Step::DeleteLink(number) => world.delete_link(&mut Random::new(number)),
            Step::PutUserObject(number) => world.put_user_object(&mut Random::new(number)),
            Step::DeleteUserObject(number) => world.delete_user_object(&mut Random::new(number)),
            Step::Empty => world.empty(),
            Step::Vandalise(number) => world.vandalise(&mut Random::new(number)),
            Step::DeleteDerived(number) => world.delete_derived(&mut Random::new(number)),
            Step::EditOperator(number) => {
                world.put_operator(Edits::random(&mut Random::new(number)));
            }
            Step::DeleteOperator => world.delete_operator(),
            Step::ReplaceOperator(number) => {
                world.delete_operator();
                world.put_operator(Edits::random(&mut Random::new(number)));
            }
            Step::Namespace => self.namespace().await,
            Step::Faults(percent) => server.with(|state| state.faults.rate(percent)),
            Step::Compact => server.with(State::compact),
            Step::Cut => server.with(State::cut_watches),
            Step::StreamingLists => server.with(|state| {
                state.streaming_lists = state.streaming_lists.next();
                state.cut_watches();
            }),
            Step::Crash(pause) => self.crash(pause).await,
            Step::CrashWithWrite => server.with(|state| state.faults.crash_with_next_write()),
            Step::Restart => self.restart().await?,
            Step::Wait(time) => self.wait(Duration::from_millis(time)).await,
            Step::Check => self.check().await?,
        }
        Ok(())
    }

    async fn namespace(&mut self) {
        if self.far {
            self.server.delete_namespace("far");
            self.wait(Duration::from_secs(3)).await;
            self.server.finish_namespace("far");
            self.world.forget_namespace("far");
        } else {
            self.server.create_namespace("far");
        }
        self.far = !self.far;
    }
}

/// The process.
impl Run {
    fn start(&mut self) {
        self.started += 1;
        let name = format!("deltic-{}", self.started);
        let seed = self.random.bits();
        self.world.truth.start();
        self.world.identity.start();
        let start = Start {
            name,
            clock: self.clock,
            steps: ClockSteps::default(),
            seed,
            lease: None,
        };
        self.process = Some(Process::start(&self.server, start));
    }

    async fn restart(&mut self) -> Result<(), String> {
        if let Some(process) = self.process.take() {
            process.stop(&self.server).await?;
        }
        self.start();
        Ok(())
    }

    async fn crash(&mut self, pause: u64) {
        if let Some(process) = self.process.take() {
            process.kill(&self.server);
        }
        sleep(Duration::from_millis(pause)).await;
        self.start();
    }

    /// Lets time pass. A process that dies is started again.
    async fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Some(process) = &self.process {
            tokio::select! {
                biased;
                () = process.died() => {}
                () = sleep_until(end) => return,
            }
            self.crash(500).await;
        }
    }
}

/// The checks after a storm.
impl Run {
    async fn check(&mut self) -> Result<(), String> {
        self.server.with(|state| state.faults.cease());
        self.world.release();
        if self.random.chance(50) {
            self.world.heal();
        }
        self.quiet().await?;
        // Without a policy that deletes them, objects of a deleted Operator stay. Creates the
        // Operator again, so that they belong to somebody.
        if !self.world.exists && !self.world.takes_all {
            self.world.put_operator(self.world.edits);
            self.quiet().await?;
        }
        self.world.check()?;
        self.stays_quiet().await?;
        if self.random.chance(30) {
            self.survives_a_restart().await?;
        }
        Ok(())
    }

    /// Waits until there are no more writes.
    async fn quiet(&mut self) -> Result<(), String> {
        let end = Instant::now() + MAX_TIME_TO_QUIET;
        loop {
            let before = self.writes();
            self.wait(QUIET_TIME).await;
            if self.writes() == before {
                return Ok(());
            }
            if Instant::now() > end {
                return Err("writes never end".to_owned());
            }
        }
    }

    async fn stays_quiet(&mut self) -> Result<(), String> {
        let before = self.writes();
        self.wait(QUIET_AFTERWARDS).await;
        if self.writes() == before {
            return Ok(());
        }
        Err("there was a write while nothing had changed".to_owned())
    }

    /// A new process changes nothing, and sends at most one write for each object to find that
    /// out.
    async fn survives_a_restart(&mut self) -> Result<(), String> {
        let before = self.world.versions();
        self.server.with(|state| state.trace.take_sent());
        self.restart().await?;
        self.quiet().await?;
        same_versions(&before, &self.world.versions())?;
        let sent = self.server.with(|state| state.trace.take_sent());
        let mut paths = BTreeMap::new();
        for sent in sent
            .iter()
            .filter(|sent| sent.method != "GET" && sent.code == 200)
        {
            let times: &mut u64 = paths.entry(&sent.path).or_default();
            *times += 1;
            if *times > 1 && !sent.path.contains("/operators/") && !sent.path.contains("/events") {
                return Err(format!("a restart has written {} twice", sent.path));
            }
        }
        Ok(())
    }

    fn writes(&self) -> u64 {
        self.server.with(|state| state.trace.writes())
    }
}
