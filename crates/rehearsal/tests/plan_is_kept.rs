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

fn run_on_paused_time<T>(seed: u64, play: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    println!("seed {seed}");
    runtime.block_on(play)
}

#[test]
fn deltic_does_what_was_planned() {
    for seed in 0..HISTORIES {
        run_on_paused_time(seed, play(seed));
    }
}

/// A manifest with another text in its JSON.
fn replaced(manifest: &Value, from: &str, to: &str) -> Value {
    let manifest = manifest.to_string();
    let other = manifest.replace(from, to);
    assert_ne!(other, manifest);
    Value::from_json(other.as_bytes()).unwrap()
}

/// Plans an edit of a Patcher after which it yields nothing, while no removal is allowed.
async fn plan_held_undos() {
    let patcher = SHAPES.iter().position(|shape| shape.name == "patcher");
    let mut history = History::new(u64::try_from(patcher.unwrap()).unwrap());
    for _ in 0..3 {
        history.change_objects();
    }
    let manifest = history.world.shape.manifest(Edits::default());
    let limited = replaced(&manifest, r#""spec":{"c"#, r#""spec":{"maxDeletions":0,"c"#);
    let edited = replaced(&limited, r#"{"@exists":"$.spec.to"}"#, "false");
    let key = ObjectKey::new("dcontroller.io", "Operator", "", "patcher");
    history.server.put(&key, "admin", &limited);
    history.run().await;
    let before = history.objects();
    let plan = history.plan(&edited, Ending::Apply).await;
    assert!(!plan.changes.is_empty());
    for change in &plan.changes {
        assert_eq!((change.action, change.held), (Action::Change, true));
    }
    history.server.put(&key, "admin", &edited);
    history.run().await;
    assert_eq!(difference(&before, &history.objects()), []);
}

#[test]
fn undone_patches_that_are_held_are_marked() {
    run_on_paused_time(0, plan_held_undos());
}

/// An object without claims and records.
fn unmarked(object: &Value) -> Value {
    let metadata = object.get("metadata").as_map().unwrap();
    let unmarked = metadata.get_str("annotations").and_then(Value::as_map);
    let unmarked = unmarked.into_iter().flat_map(|map| map.iter());
    let unmarked = unmarked.filter(|(name, _)| !object::marks::is_mark(name.as_str()));
    let unmarked: document::Map = unmarked.cloned().collect();
    let metadata = metadata.with(document::Key::new("annotations"), unmarked.into());
    object::metadata::with_metadata(object, metadata)
}

/// Plans a second Operator, which yields nearly what one on the cluster has written. Returns the name of
/// that one, and the number of errors.
async fn plan_a_rival(seed: u64) -> (&'static str, usize) {
    let mut history = History::new(seed);
    for _ in 0..3 {
        history.change_objects();
    }
    history.run().await;
    let before = history.objects();
    let shape = history.world.shape;
    let edits = Edits {
        salt: seed % 3,
        ..Edits::default()
    };
    let manifest = shape.manifest(edits).to_string();
    // Its label selectors name it, too.
    let manifest = manifest.replace(
        &format!("\"name\":\"{}\"", shape.name),
        "\"name\":\"rival\"",
    );
    let manifest = Value::from_json(manifest.as_bytes()).unwrap();
    let plan = history.plan(&manifest, Ending::Apply).await;
    let at = format!("seed {seed} ({})", shape.name);
    let key = ObjectKey::new("dcontroller.io", "Operator", "", "rival");
    history.server.put(&key, "admin", &manifest);
    history.run().await;
    let done = difference(&before, &history.objects());
    // The Operator gets another uid when it is created.
    let bare = |changes: &[PlannedChange]| -> Vec<_> {
        let changes = changes.iter();
        let bare = changes.map(|one| {
            (
                one.key.clone(),
                one.action,
                one.after.as_ref().map(unmarked),
            )
        });
        bare.collect()
    };
    assert_eq!(bare(&plan.changes), bare(&done), "{at}");
    (shape.name, plan.error_count)
}

#[test]
fn what_other_operators_have_is_left_to_them_in_a_plan() {
    let mut errors: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..HISTORIES / 2 {
        let (shape, count) = run_on_paused_time(seed, plan_a_rival(seed));
        *errors.entry(shape).or_default() += count;
    }
    for shape in ["copy", "patcher"] {
        assert!(errors[shape] > 0, "{errors:?}");
    }
}
