//! Random histories with faults: lost and late answers, conflicts, busy servers, a watch
//! that lags, objects changed and deleted by others, restarts with lost memory. In the end
//! the cluster has exactly the derived state, nothing is written when it is right, and
//! nothing of others is touched.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod target_sim;

use std::collections::BTreeMap;
use std::time::Duration;

use document::{Key, Map, Value, json};
use operator::spec::TargetType;
use runtime::target::claim::{OPERATOR as LABEL, SET};
use runtime::target::{Desired, ObjectKey};
use seeded::Random;

use target_sim::harness::{Harness, OPERATOR, Who, config_map, widget};
use target_sim::{Sim, set, unset};

const SEEDS: std::ops::Range<u64> = 1..41;
const STEPS: usize = 150;

/// A history.
struct Story {
    random: Random,
    h: Harness,
    writers: Vec<Who>,
    /// Objects of others, with what they should look like without us.
    theirs: BTreeMap<ObjectKey, Value>,
    bystanders: BTreeMap<ObjectKey, Value>,
    restarts: usize,
}

impl Story {
    fn new(seed: u64) -> Self {
        let sim = Sim::new(seed);
        let bystanders = bystanders(&sim);
        let mut story = Self {
            random: Random::of(&[seed, 1]),
            h: Harness::new(sim),
            writers: vec![
                Who::new("u", 0, TargetType::Updater),
                Who::new("v", 1, TargetType::Updater),
                Who::new("p", 2, TargetType::Patcher),
                Who::new("q", 3, TargetType::Patcher),
                Who::new("a", 4, TargetType::Applier),
            ],
            theirs: BTreeMap::new(),
            bystanders,
            restarts: 0,
        };
        for i in 0..3 {
            story.they_write(&widget(&format!("theirs{i}")));
        }
        story
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.random.below(items.len())]
    }

    /// A key, and a controller that may want something of it.
    fn place(&mut self) -> (ObjectKey, Who) {
        let i = self.random.below(3);
        let (key, writers): (ObjectKey, &[usize]) = match self.random.below(4) {
            0 => (widget(&format!("ours{i}")), &[0, 1, 2]),
            1 => (config_map(&format!("ours{i}")), &[0]),
            2 => (widget(&format!("theirs{i}")), &[2, 3]),
            _ => (widget(&format!("applied{i}")), &[4]),
        };
        let writer = *self.pick(writers);
        (key, self.writers[writer].clone())
    }

    fn document(&mut self, key: &ObjectKey, who: &Who) -> Value {
        let mut document = json!({"metadata": {}});
        let number = self.random.below(3);
        if key.kind.as_str() == "ConfigMap" {
            let data = json!({"a": (number.to_string())});
            document = set(&document, &["data"], data);
            if self.random.chance(50) {
                document = set(&document, &["data", "b"], json!("1"));
            }
            return document;
        }
        let fields = [
            ("a", json!(number)),
            ("cpu", self.pick(&[json!("1000m"), json!("2")]).clone()),
            ("unknown", json!(1)),
            ("l", json!([1, number])),
            ("m", json!({"x": 1})),
            ("m", json!({"x": 1, "y": number})),
            ("probe", json!({"path": "/"})),
            ("empty", json!({})),
            ("m", json!({"z": 1})),
        ];
        document = set(&document, &["spec"], json!({}));
        for (field, value) in fields {
            // The two Patchers keep out of each other's way.
            let shared = value.get("z") == &json!(1);
            let free = who.0.controller != "q" || (matches!(field, "m" | "probe") && !shared);
            let other = who.0.controller == "p" && matches!(field, "m" | "probe") && !shared;
            // Server-side apply does not take back defaults.
            let default = who.0.controller == "a" && field == "probe";
            if free && !other && !default && self.random.chance(40) {
                document = set(&document, &["spec", field], value);
            }
        }
        if self.random.chance(40) && who.0.controller != "q" {
            document = set(
                &document,
                &["metadata", "labels", "l"],
                Value::from(number.to_string()),
            );
        }
        if self.random.chance(30) && matches!(who.0.controller.as_str(), "u" | "v" | "a") {
            document = set(&document, &["status", "n"], json!(number));
        }
        document
    }

    fn want(&mut self) {
        let (key, who) = self.place();
        if self.random.chance(25) {
            self.h.withdraw(&key, &who.0.controller);
            return;
        }
        let document = self.document(&key, &who);
        self.h.want(&key, &who.wants(&document));
    }

    /// Others write (or create) an object of theirs.
    fn they_write(&mut self, key: &ObjectKey) {
        let field = format!("f{}", self.random.below(2));
        let number = json!(self.random.below(100));
        let fresh =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}});
        let object = self.theirs.remove(key).unwrap_or_else(|| fresh.clone());
        let object = set(&object, &["spec", &field], number.clone());
        self.theirs.insert(key.clone(), object.clone());
        let exists = self.h.sim.get(key).is_some();
        self.h.sim.foreign(key, "them", |live| {
            if exists {
                return set(live, &["spec", &field], number);
            }
            object
        });
    }

    /// Others change or delete an object of ours.
    fn vandalise(&mut self) {
        let (key, _) = self.place();
        if self.theirs.contains_key(&key) {
            if self.random.chance(30) {
                self.h.sim.foreign_delete(&key);
                self.theirs.remove(&key);
            }
            return self.they_write(&key);
        }
        if self.h.sim.get(&key).is_none() {
            return;
        }
        if self.random.chance(30) {
            return self.h.sim.foreign_delete(&key);
        }
        // A field that an Applier lost and does not own any more stays lost: that is
        // history, and has a test of its own.
        if key.object_name().starts_with("applied") {
            return;
        }
        let top = if key.kind.as_str() == "ConfigMap" {
            "data"
        } else {
            "spec"
        };
        let field = *self.pick(&["a", "foreign"]);
        let junk = json!("junk");
        self.h
            .sim
            .foreign(&key, "vandal", |live| set(live, &[top, field], junk));
    }

    async fn live(&mut self) {
        match self.random.below(10) {
            0..=3 => self.want(),
            4 => self.vandalise(),
            5 => self.h.sim.lock().faults = *self.pick(&[0, 0, 20, 60]),
            6 if self.random.chance(30) => {
                self.restarts += 1;
                self.h.restart();
            }
            _ => {
                for _ in 0..self.random.below(6) {
                    self.h.lag = self.random.chance(30);
                    self.h.step(Duration::from_secs(5)).await;
                }
            }
        }
    }

    async fn come_to_rest(&mut self) {
        self.h.sim.lock().faults = 0;
        self.h.lag = false;
        self.h.settle_within(Duration::from_secs(700)).await;
    }

    /// What the cluster should look like: a quiet life with the same wishes.
    async fn expected(&self) -> BTreeMap<ObjectKey, Value> {
        let sim = Sim::new(1);
        bystanders(&sim);
        for (key, object) in &self.theirs {
            sim.foreign(key, "them", |_| object.clone());
        }
        let mut quiet = Harness::new(sim);
        let wanted: Vec<(ObjectKey, Desired)> = self
            .h
            .wanted
            .iter()
            .map(|((key, _), desired)| (key.clone(), desired.clone()))
            .collect();
        for (key, desired) in wanted {
            quiet.want(&key, &desired);
        }
        quiet.settle().await;
        comparable(&quiet.sim)
    }
}

/// The objects, without the records of what was set: they may remember more after a long
/// history.
fn comparable(sim: &Sim) -> BTreeMap<ObjectKey, Value> {
    let mut content = sim.content();
    for object in content.values_mut() {
        let annotations = object.get("metadata").get("annotations").clone();
        if let Some(map) = annotations.as_map() {
            let plain: Map = map
                .iter()
                .filter(|(key, _)| !key.as_str().starts_with(SET))
                .cloned()
                .collect();
            let metadata = object
                .get("metadata")
                .as_map()
                .unwrap()
                .without("annotations");
            let metadata = if plain.is_empty() {
                metadata
            } else {
                metadata.with(Key::new("annotations"), plain.into())
            };
            *object = set(object, &["metadata"], metadata.into());
        }
    }
    content
}

/// Objects that look like ours and are not.
fn bystanders(sim: &Sim) -> BTreeMap<ObjectKey, Value> {
    let claim = |target: &str| {
        json!({"operator": OPERATOR, "controller": "u", "origin": [], "target": target, "created": true}).to_string()
    };
    let mut all = BTreeMap::new();
    for (name, labels, annotations) in [
        ("ours9", json!({LABEL: OPERATOR}), json!({})),
        (
            "copied",
            json!({LABEL: OPERATOR}),
            json!({"dcontroller.io/owner": (claim("example.com/Widget/ns/ours0"))}),
        ),
        (
            "other",
            json!({}),
            json!({"dcontroller.io/owner": (claim("example.com/Widget/ns/other").replace("\"op\"", "\"them\""))}),
        ),
        (
            "helm",
            json!({"app.kubernetes.io/managed-by": "Helm"}),
            json!({}),
        ),
    ] {
        for key in [widget(name), config_map(name)] {
            let object = json!({"metadata": {"name": name, "labels": (labels.clone()), "annotations": (annotations.clone())}, "spec": {"a": 1}});
            sim.foreign(&key, "them", |_| object);
            all.insert(key.clone(), sim.get(&key).unwrap());
        }
    }
    all
}

/// The versions of all objects.
fn versions(sim: &Sim) -> BTreeMap<ObjectKey, Value> {
    let inner = sim.lock();
    let objects = inner.objects.iter();
    objects
        .map(|(key, stored)| {
            let metadata = stored.object.get("metadata");
            (key.clone(), metadata.get("resourceVersion").clone())
        })
        .collect()
}

/// Gives how often the process was restarted.
async fn check(seed: u64) -> usize {
    let mut story = Story::new(seed);
    for _ in 0..STEPS {
        story.live().await;
    }
    story.come_to_rest().await;
    let expected = story.expected().await;
    let mut found = comparable(&story.h.sim);
    for (key, object) in &mut found {
        // A status that is not yielded any more is left alone.
        let yielded = expected
            .get(key)
            .is_some_and(|o| !o.get("status").is_null());
        if !yielded && key.object_name().starts_with("ours") {
            *object = unset(object, &["status"]);
        }
    }
    let keys: Vec<&ObjectKey> = found.keys().collect();
    assert_eq!(keys, expected.keys().collect::<Vec<_>>(), "seed {seed}");
    for (key, expected) in &expected {
        assert_eq!(
            &found[key],
            expected,
            "seed {seed}: {key}\n{:?}\n{}\n{:?}",
            story.h.messages(key),
            story.h.live(key),
            story.h.last.get(key)
        );
    }
    for (key, before) in &story.bystanders {
        assert_eq!(
            story.h.sim.get(key).as_ref(),
            Some(before),
            "seed {seed}: {key}"
        );
    }

    story.h.sim.take_writes();
    story.h.look_again().await;
    assert_eq!(
        story.h.sim.take_writes(),
        [],
        "seed {seed}: written though right"
    );

    let before = versions(&story.h.sim);
    story.h.restart();
    story.h.settle().await;
    let writes = story.h.sim.take_writes();
    assert_eq!(
        versions(&story.h.sim),
        before,
        "seed {seed}: changed by a restart: {writes:?}"
    );
    let mut paths: Vec<&str> = writes.iter().map(|write| write.path.as_str()).collect();
    paths.sort_unstable();
    let all = paths.len();
    paths.dedup();
    assert_eq!(
        paths.len(),
        all,
        "seed {seed}: more than one write: {writes:?}"
    );

    // Insert, then delete everything: nothing is left.
    let wanted: Vec<(ObjectKey, String)> = story.h.wanted.keys().cloned().collect();
    for (key, controller) in wanted {
        story.h.withdraw(&key, &controller);
    }
    story.h.settle().await;
    for (key, object) in story.h.sim.content() {
        if story.bystanders.contains_key(&key) {
            continue;
        }
        let plain = set(&story.theirs[&key], &["spec", "defaulted"], json!("yes"));
        assert_eq!(
            object.get("spec"),
            plain.get("spec"),
            "seed {seed}: {key} is not as it was"
        );
        let metadata = object.get("metadata");
        assert!(
            metadata.get("annotations").is_null() && metadata.get("labels").is_null(),
            "seed {seed}: {key}: {metadata}"
        );
    }
    story.restarts
}

#[tokio::test(start_paused = true)]
async fn every_history_ends_in_the_derived_state() {
    let mut restarts = 0;
    for seed in SEEDS {
        restarts += check(seed).await;
    }
    assert!(restarts > 20, "only {restarts} restarts");
}
