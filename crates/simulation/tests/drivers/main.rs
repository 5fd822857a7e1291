//! One story, three drivers. The same controllers write a pod on a server, an object of a
//! view, and both offline. After each step of a random story, the server and the store must have
//! what the offline runner has.
//!
//! What each controller derives is the object `Wish` with its name, which is an object of a user
//! in a view of the Operator. So all drivers get the same events, and wishes survive a restart of
//! the engine.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod world;

use document::Value;
use seeded::Random;
use simulation::stories::{Removals, random_fields};
use world::World;

/// The controllers by rank, and the types of their targets.
const CONTROLLERS: [(&str, &str); 8] = [
    ("p", "Patcher"),
    ("a", "Applier"),
    ("u", "Updater"),
    ("v", "Updater"),
    ("q", "Patcher"),
    ("b", "Applier"),
    ("forces", "Applier"),
    ("nulls", "Patcher"),
];

/// A step of a story.
#[derive(Clone, Debug)]
enum Step {
    /// A controller derives this.
    Wants(&'static str, Value),
    /// It derives nothing any more.
    Gone(&'static str),
    /// Others change the objects with a merge patch.
    They(Value),
    /// Others do so while no engine runs.
    TheyMeanwhile(Value),
    /// Another engine takes over.
    Restart,
}

/// What a story is about.
#[derive(Clone, Copy)]
struct Cast {
    /// The controllers in it.
    controllers: &'static [&'static str],
    /// Whether they and others set a status.
    status: bool,
}

fn step(random: &mut Random, cast: Cast) -> Step {
    let fields = |random: &mut Random, removals| random_fields(random, cast.status, removals);
    let controller = *random.pick(cast.controllers);
    match random.below(10) {
        0..=3 => Step::Wants(controller, fields(random, Removals::None)),
        4 | 5 => Step::Gone(controller),
        6 | 7 => Step::They(fields(random, Removals::Some)),
        8 => Step::TheyMeanwhile(fields(random, Removals::Some)),
        _ => Step::Restart,
    }
}

/// Random stories, on objects that `exist` before or not.
async fn stories(cast: Cast, exist: impl Fn(u64) -> bool) {
    for seed in seeded::seeds(60) {
        let mut random = Random::new(seed);
        let theirs = exist(seed).then(|| random_fields(&mut random, cast.status, Removals::None));
        let mut world = World::new(theirs.as_ref()).await;
        let mut told = vec![format!("{theirs:?}")];
        for _ in 0..20 {
            let step = step(&mut random, cast);
            told.push(format!("{step:?}"));
            world.run(&step).await;
            for kind in world::KINDS {
                let (found, expected) = world.states(kind);
                assert_eq!(
                    found,
                    expected,
                    "{kind}, RANDOM_SEED={seed}:\n{}\n{}",
                    told.join("\n"),
                    world.last_requests()
                );
            }
        }
    }
}

/// Controllers in stories with a status.
fn cast_with_status(controllers: &'static [&'static str]) -> Cast {
    let status = true;
    Cast {
        controllers,
        status,
    }
}

#[tokio::test(start_paused = true)]
async fn patches_are_the_same_for_all_drivers() {
    stories(cast_with_status(&["p", "q", "nulls"]), |seed| seed % 4 > 0).await;
}

#[tokio::test(start_paused = true)]
async fn updates_are_the_same_for_all_drivers() {
    stories(cast_with_status(&["u", "v"]), |seed| seed % 2 == 0).await;
}

#[tokio::test(start_paused = true)]
async fn patched_updates_are_the_same_for_all_drivers() {
    let all = cast_with_status(&["u", "v", "p", "q", "nulls"]);
    stories(all, |seed| seed % 3 == 0).await;
}

#[tokio::test(start_paused = true)]
async fn applies_are_the_same_for_all_drivers() {
    let all = cast_with_status(&["a", "b", "forces"]);
    stories(all, |seed| seed % 3 > 0).await;
}

#[tokio::test(start_paused = true)]
async fn applied_updates_are_the_same_for_all_drivers() {
    stories(cast_with_status(&["a", "b", "u", "v"]), |seed| {
        seed % 3 == 0
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn patches_and_applies_are_the_same_for_all_drivers() {
    let all = cast_with_status(&["p", "a", "q", "b", "nulls"]);
    stories(all, |seed| seed % 3 > 0).await;
}

#[tokio::test(start_paused = true)]
async fn patched_and_applied_updates_are_the_same_for_all_drivers() {
    let all = cast_with_status(&["p", "a", "u", "v", "q", "b", "forces", "nulls"]);
    stories(all, |seed| seed % 3 == 0).await;
}
