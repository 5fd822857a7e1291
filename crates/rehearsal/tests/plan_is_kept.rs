//! What is planned is what is done: on random clusters, a plan lists exactly the changes that
//! deltic then makes, and leaves the cluster as it is.
#![allow(clippy::unwrap_used)] // A test fails by panicking.
#![allow(clippy::print_stdout)] // The seed is shown if a test fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use document::Value;
use engine::workers::Workers;
use object::ObjectKey;
use process::config::Config;
use rehearsal::{Action, Ending, Options, Plan, PlannedChange, rehearse};
use seeded::Random;
use simulation::api::kind::KINDS;
use simulation::api::{Caller, Server};
use simulation::clock::{ClockSteps, ProcessClock, Virtual};
use simulation::process::{Process, Start};
use simulation::shape::{Edits, SHAPES};
use simulation::world::World;
use tokio::time::sleep;

/// How many histories are run: several of each Operator.
const HISTORIES: u64 = 96;
/// How often an Operator is planned and run in a history.
const ROUNDS: u64 = 4;

/// A cluster with an Operator, which runs now and then.
struct History {
    clock: Virtual,
    server: Server,
    world: World,
    random: Random,
}

/// All objects of a cluster.
type Objects = BTreeMap<ObjectKey, Value>;

impl History {
    fn new(seed: u64) -> Self {
        let clock = Virtual::start();
        let server = Server::new(clock, seed);
        server.with(|state| state.faults.no_delays());
        let shape = SHAPES[usize::try_from(seed).unwrap() % SHAPES.len()];
        Self {
            world: World::new(server.clone(), shape),
            random: Random::new(seed.wrapping_mul(31)),
            clock,
            server,
        }
    }

    /// Users change some objects, and others change derived ones.
    fn change_objects(&mut self) {
        let (world, random) = (&mut self.world, &mut self.random);
        for _ in 0..6 {
            match random.below(10) {
                0..=3 => world.put_item(random),
                4 => world.delete_item(random),
                5 | 6 => world.put_link(random),
                7 => world.put_user_object(random),
                8 => world.vandalise(random),
                _ => world.delete_derived(random),
            }
        }
        // Objects that wait for the finalizers of others would keep Operators from being ready.
        world.release();
    }

    fn objects(&self) -> Objects {
        let operator = self.world.shape.key().kind;
        let all = KINDS.iter().flat_map(|kind| self.server.all(kind));
        let all = all.filter(|(key, _)| key.kind != operator && key.kind.kind.as_str() != "Event");
        all.collect()
    }

    async fn plan(&mut self, manifest: &Value, ending: Ending) -> Plan {
        let clock = ProcessClock::new(self.clock, ClockSteps::default(), self.random.bits());
        let config = Config {
            clock: Arc::new(clock),
            workers: Workers::inline(),
            ..Config::default()
        };
        let options = Options {
            ending,
            // The server sets defaults, and refuses some objects.
            dry_run: true,
            timeout: Duration::from_mins(5),
            config,
        };
        let client = self.server.client(&Caller::new("planner"));
        let operators = [manifest.clone()];
        rehearse(client, &operators, options, |_| {}).await.unwrap()
    }

    /// Runs deltic until it has nothing to do.
    async fn run(&mut self) {
        let start = Start {
            name: "deltic".to_owned(),
            clock: self.clock,
            steps: ClockSteps::default(),
            seed: self.random.bits(),
            lease: None,
        };
        let process = Process::start(&self.server, start);
        sleep(Duration::from_mins(3)).await;
        process.stop(&self.server).await.unwrap();
    }
}

/// The changes from one state of the cluster to another, as a plan has them.
fn difference(before: &Objects, after: &Objects) -> Vec<PlannedChange> {
    let keys = before.keys().chain(after.keys());
    let mut keys: Vec<&ObjectKey> = keys.collect();
    keys.sort();
    keys.dedup();
    let changes = keys.iter().filter_map(|key| {
        let change = PlannedChange::new(key, before.get(key), after.get(key))?;
        Some(change)
    });
    let mut plan = Plan {
        changes: changes.collect(),
        ..Plan::default()
    };
    plan.sort();
    plan.changes
}

/// The changes by object.
fn comparable(changes: &[PlannedChange]) -> BTreeMap<String, (Action, Option<&Value>)> {
    let changes = changes.iter().map(|change| {
        let after = change.after.as_ref();
        (change.key.to_string(), (change.action, after))
    });
    changes.collect()
}

async fn play(seed: u64) {
    let mut history = History::new(seed);
    let mut edits = Edits::default();
    for round in 0..ROUNDS {
        history.change_objects();
        let before = history.objects();
        let last = round + 1 == ROUNDS;
        if round > 0 && !last {
            edits = Edits::random(&mut history.random);
        }
        let shape = history.world.shape;
        let manifest = shape.manifest(edits);
        let ending = if last { Ending::Delete } else { Ending::Apply };
        let plan = history.plan(&manifest, ending).await;
        let name = shape.name;
        assert_eq!(
            history.objects(),
            before,
            "seed {seed} ({name}): the plan writes"
        );
        history.world.put_operator(edits);
        if last {
            history.run().await;
            history.world.delete_operator();
        }
        history.run().await;
        let done = difference(&before, &history.objects());
        let at = format!("seed {seed} ({name}), round {round}");
        let (planned, done) = (comparable(&plan.changes), comparable(&done));
        for (key, change) in &planned {
            let was = before.iter().find(|(one, _)| one.to_string() == *key);
            assert_eq!(
                Some(change),
                done.get(key),
                "{at}: {key} is planned; {was:?}"
            );
        }
        for (key, change) in &done {
            assert_eq!(planned.get(key), Some(change), "{at}: {key} is done");
        }
    }
}

#[test]
fn deltic_does_what_was_planned() {
    for seed in 0..HISTORIES {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        println!("seed {seed}");
        runtime.block_on(play(seed));
    }
}
