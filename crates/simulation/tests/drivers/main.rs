//! One story, three drivers. The same controllers write a config map on a server, an object of a
//! view, and both offline. After each step of a random story, the server and the store must have
//! what the offline runner has.
//!
//! What each controller derives is the object `Wish` with its name, which is an object of a user
//! in a view of the Operator. So all drivers get the same events, and wishes survive a restart of
//! the engine.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod world;

use document::{Value, json};
use seeded::Random;
use simulation::fields::set;
use world::World;

/// The controllers by rank, and the types of their targets.
const CONTROLLERS: [(&str, &str); 5] = [
    ("p", "Patcher"),
    ("u", "Updater"),
    ("v", "Updater"),
    ("q", "Patcher"),
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

/// Fields that controllers and others set at random; null only for others, whose patch it is.
fn fields(random: &mut Random, others: bool) -> Value {
    let number = |random: &mut Random| json!(random.below(3));
    let mut document = json!({});
    let fields: [(&[&str], Value); 7] = [
        (&["data", "a"], number(random)),
        (&["data", "b"], number(random)),
        (
            &["metadata", "labels", "l"],
            json!(random.below(2).to_string()),
        ),
        (&["spec", "m", "x"], number(random)),
        (&["spec", "m", "y"], number(random)),
        (&["spec", "s"], json!([1, (number(random))])),
        (
            &["spec", "containers"],
            json!([{"name": "a", "v": (number(random))}, {"name": "b"}]),
        ),
    ];
    for (path, value) in fields {
        if random.chance(40) {
            document = set(&document, path, value);
        } else if others && random.chance(30) {
            document = set(&document, path, Value::NULL);
        }
    }
    document
}

fn step(random: &mut Random, controllers: &[&'static str]) -> Step {
    let controller = *random.pick(controllers);
    match random.below(10) {
        0..=3 => Step::Wants(controller, fields(random, false)),
        4 | 5 => Step::Gone(controller),
        6 | 7 => Step::They(fields(random, true)),
        8 => Step::TheyMeanwhile(fields(random, true)),
        _ => Step::Restart,
    }
}

/// Random stories of these controllers, on objects that `exist` before or not.
async fn stories(controllers: &[&'static str], exist: impl Fn(u64) -> bool) {
    for seed in seeded::seeds(30) {
        let mut random = Random::new(seed);
        let theirs = exist(seed).then(|| fields(&mut random, false));
        let mut world = World::new(theirs.as_ref()).await;
        let mut told = vec![format!("{theirs:?}")];
        for _ in 0..20 {
            let step = step(&mut random, controllers);
            told.push(format!("{step:?}"));
            world.run(&step).await;
            for kind in world::KINDS {
                let (found, expected) = world.states(kind);
                assert_eq!(
                    found,
                    expected,
                    "{kind}, RANDOM_SEED={seed}:\n{}",
                    told.join("\n")
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn patches_are_the_same_for_all_drivers() {
    stories(&["p", "q", "nulls"], |seed| seed % 4 > 0).await;
}

#[tokio::test(start_paused = true)]
async fn updates_are_the_same_for_all_drivers() {
    stories(&["u", "v"], |seed| seed % 2 == 0).await;
}

#[tokio::test(start_paused = true)]
async fn patched_updates_are_the_same_for_all_drivers() {
    stories(&["u", "v", "p", "q", "nulls"], |seed| seed % 3 == 0).await;
}
