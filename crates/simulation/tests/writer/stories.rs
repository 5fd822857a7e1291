//! Stories of one object, told twice: to the driver of a cluster, on a server, and to
//! `settle`, with which views and the offline runner decide. Both must agree after each step.
//! That views and the offline runner agree, a random test of the views shows.

use std::collections::BTreeMap;

use fieldset::MergeKeys;
use object::marks::MANAGED_BY;
use seeded::Random;
use target::batch::{self, Memory, settle};

use super::*;
use simulation::fields::merge_patch;

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// A controller wants this; in a patch null removes.
    Wants(&'static str, Value),
    /// It wants nothing any more.
    Gone(&'static str),
    /// Others change the object: a merge patch.
    They(Value),
    /// They do so while the process is not running.
    TheyMeanwhile(Value),
    /// Another process takes over.
    Restart,
    /// This is what the object looks like.
    Is(Value),
}

use Step::{Gone, Is, Restart, They, TheyMeanwhile, Wants};

/// The controllers, by rank.
const CONTROLLERS: [(&str, TargetType); 4] = [
    ("p", TargetType::Patcher),
    ("u", TargetType::Updater),
    ("v", TargetType::Updater),
    ("q", TargetType::Patcher),
];
const PATCHERS: [&str; 2] = ["p", "q"];

/// The paths of the nulls in a document, which are written there.
fn nulls(document: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if document.is_null() {
        found.push(path.clone());
    }
    for (key, value) in document.as_map().into_iter().flatten() {
        path.push(key.as_str().to_owned());
        nulls(value, path, found);
        path.pop();
    }
}

fn controller_of(name: &str, document: &Value) -> Who {
    let rank = CONTROLLERS.iter().position(|(other, _)| *other == name);
    let rank = rank.unwrap();
    let mut target = target(CONTROLLERS[rank].1);
    nulls(document, &mut Vec::new(), &mut target.written_nulls);
    Who::of(OPERATOR, name, rank, target)
}

/// An object without what says which one it is, and without our marks.
fn content(object: &Value) -> Value {
    if object.is_null() {
        return Value::NULL;
    }
    let plain = ["annotations", "labels"].map(|field| {
        let map = object.get("metadata").get(field).as_map();
        let members = map.into_iter().flatten();
        let plain = members.filter(|(name, _)| {
            !object::marks::is_mark(name.as_str()) && name.as_str() != MANAGED_BY
        });
        (field, plain.cloned().collect::<document::Map>())
    });
    let mut object = timeless(object);
    for path in [
        &["apiVersion"][..],
        &["kind"],
        &["metadata", "name"],
        &["metadata", "namespace"],
    ] {
        object = unset(&object, path);
    }
    for (field, plain) in plain {
        object = unset(&object, &["metadata", field]);
        if !plain.is_empty() {
            object = set(&object, &["metadata", field], plain.into());
        }
    }
    if object.get("metadata") == &json!({}) {
        object = unset(&object, &["metadata"]);
    }
    object
}

struct Story {
    key: ObjectKey,
    h: Harness,
    /// The object as it is offline; null if there is none.
    object: Value,
    documents: BTreeMap<&'static str, Option<Value>>,
    memory: Memory,
}

impl Story {
    fn new(key: ObjectKey, theirs: &Value) -> Self {
        let mut story = Self::without_object(key);
        let object = document::merge(&story.named(), theirs);
        story.h.sim.foreign(&story.key, "human", |_| object.clone());
        story.object = object;
        story
    }

    fn without_object(key: ObjectKey) -> Self {
        Self {
            key,
            h: harness(),
            object: Value::NULL,
            documents: BTreeMap::new(),
            memory: Memory::default(),
        }
    }

    fn named(&self) -> Value {
        json!({"apiVersion": "v1", "kind": (self.key.kind.kind.as_str()), "metadata": {"name": "x"}})
    }

    fn they(&mut self, patch: &Value) {
        if self.object.is_null() {
            return;
        }
        let change = |object: &Value| merge_patch(object, patch);
        self.h.sim.foreign(&self.key, "human", change);
        self.object = change(&self.object);
    }

    async fn tell(&mut self, step: &Step) {
        match step {
            Wants(name, document) => {
                let who = controller_of(name, document);
                let document = document::merge(&self.named(), document);
                self.h.want(&self.key, &who.wants(&document));
                self.documents.insert(name, Some(document));
            }
            Gone(name) => {
                self.documents.insert(name, None);
                self.h.withdraw(&self.key, name);
            }
            They(patch) => self.they(patch),
            TheyMeanwhile(patch) => {
                self.they(patch);
                self.h.restart();
            }
            Restart => self.h.restart(),
            Is(_) => {}
        }
        self.h.settle().await;
        self.settle();
    }

    /// The same without a server.
    fn settle(&mut self) {
        let writers = CONTROLLERS.iter().filter_map(|(name, _)| {
            let document = self.documents.get(name)?.as_ref();
            let empty = json!({});
            let who = controller_of(name, document.unwrap_or(&empty));
            let name = (*name).to_owned();
            Some(batch::Writer::new(name, &who.0.target, document))
        });
        let writers: Vec<_> = writers.collect();
        let keys = MergeKeys::of_group(self.key.kind.group.as_str());
        let live = Some(&self.object).filter(|object| !object.is_null());
        let settled = settle(live, &writers, &mut self.memory, &keys);
        self.object = settled.object.unwrap_or_default();
        self.documents.retain(|_, document| document.is_some());
    }

    fn on_server(&self) -> Value {
        match self.h.sim.get(&self.key) {
            Some(object) => content(&object),
            None => Value::NULL,
        }
    }
}

async fn check_on(key: ObjectKey, theirs: Value, steps: &[Step]) {
    let mut story = Story::new(key, &theirs);
    for (number, step) in steps.iter().enumerate() {
        story.tell(step).await;
        let requests = writes(&story.h);
        assert!(requests.len() < 10, "step {number} is a loop: {requests:?}");
        let found = story.on_server();
        assert_eq!(found, content(&story.object), "step {number}: {step:?}");
        if let Is(expected) = step {
            assert_eq!(found, *expected, "step {number}");
        }
    }
}

async fn check(theirs: Value, steps: &[Step]) {
    check_on(config_map("x"), theirs, steps).await;
}

/// A patch that leaves no trace, also if the process that takes it back is another.
async fn check_undone(theirs: Value, patch: Value) {
    let after = Is(theirs.clone());
    let wants = Wants("p", patch);
    check(theirs.clone(), &[wants.clone(), Gone("p"), after.clone()]).await;
    check(theirs, &[wants, Restart, Gone("p"), after]).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_passed_through_stays() {
    let theirs = json!({
        "metadata": {"labels": {"app": "x", "role": "y"}, "annotations": {"team": "a"}},
        "data": {"a": "1", "b": "2"},
    });
    let added = set(&theirs, &["metadata", "annotations", "seen"], json!("yes"));
    check(
        theirs.clone(),
        &[
            Wants("p", added.clone()),
            Is(added.clone()),
            They(json!({"metadata": {"labels": {"role": null}}})),
            Is(added.clone()),
            They(json!({"metadata": {"labels": {"role": "z"}}})),
            Is(added.clone()),
            Gone("p"),
            Is(set(&theirs, &["metadata", "labels", "role"], json!("z"))),
        ],
    )
    .await;
    check_undone(theirs, added).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_not_written() {
    let theirs = json!({"metadata": {"labels": {"app": "x"}}, "data": {"a": "1"}});
    let mut story = Story::new(config_map("x"), &theirs);
    story.h.sim.take_sent();
    for step in [Wants("p", theirs.clone()), Restart, Gone("p"), Restart] {
        story.tell(&step).await;
        assert_eq!(writes(&story.h), [""; 0], "{step:?}");
    }
    assert_eq!(story.on_server(), theirs);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_says_less_takes_back_only_what_was_set() {
    let theirs = json!({"metadata": {"annotations": {"team": "a"}}});
    let both = json!({"metadata": {"annotations": {"team": "a", "mine": "1"}}});
    let mine = json!({"metadata": {"annotations": {"mine": "1"}}});
    check(
        theirs.clone(),
        &[
            Wants("p", both.clone()),
            Wants("p", mine),
            Is(both),
            Wants("p", json!({"metadata": {"annotations": {"new": "1"}}})),
            Is(json!({"metadata": {"annotations": {"team": "a", "new": "1"}}})),
            Gone("p"),
            Is(theirs),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn elements_with_the_same_content_stay() {
    let container = json!({"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]});
    let theirs =
        json!({"spec": {"containers": [(container.clone()), {"name": "b", "image": "2"}]}});
    let containers = |list: Value| json!({"spec": {"containers": list}});
    check_undone(theirs.clone(), theirs.clone()).await;
    check_undone(theirs.clone(), containers(json!([(container)]))).await;
    check_undone(theirs.clone(), containers(json!([{"name": "a"}]))).await;
    let env = json!([{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]);
    check_undone(
        theirs.clone(),
        containers(json!([{"name": "a", "image": "1", "env": env}, {"name": "c", "image": "1"}])),
    )
    .await;
    // Without keys, by position; and whole.
    let theirs = json!({"spec": {"l": [{"k": 1}, {"k": 2}], "s": [1, 2]}});
    check_undone(theirs.clone(), theirs.clone()).await;
    check_undone(theirs.clone(), json!({"spec": {"l": [{"k": 1, "x": 1}]}})).await;
    check_undone(theirs, json!({"spec": {"l": [{}, {"k": 2}, {"k": 3}]}})).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_replaced_comes_back() {
    let theirs = json!({
        "metadata": {"labels": {"l": "1"}},
        "spec": {"replicas": 3, "l": [1], "text": "x", "containers": [{"name": "a", "image": "1"}]},
    });
    check_undone(theirs.clone(), json!({"spec": {"replicas": 5}})).await;
    check_undone(
        theirs.clone(),
        json!({"metadata": {"labels": {"l": "2"}}, "spec": {"l": [], "text": {"x": 1},
            "containers": [{"name": "a", "image": "2"}, {"name": "b"}]}}),
    )
    .await;
    let replicas = |number: i64| set(&theirs, &["spec", "replicas"], json!(number));
    let patch = |number: i64| Wants("p", json!({"spec": {"replicas": number}}));
    check(
        theirs.clone(),
        &[
            patch(5),
            patch(6),
            Restart,
            patch(7),
            Is(replicas(7)),
            // What others write in between is what comes back.
            They(json!({"spec": {"replicas": 4}})),
            Is(replicas(7)),
            Restart,
            Gone("p"),
            Is(replicas(4)),
        ],
    )
    .await;
    check(
        theirs.clone(),
        &[
            patch(5),
            TheyMeanwhile(json!({"spec": {"replicas": 9}})),
            Is(replicas(5)),
            Gone("p"),
            Is(replicas(9)),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_removed_comes_back() {
    let theirs = json!({"data": {"a": "1", "b": "1"}, "spec": {"m": {"x": 1}}});
    check_undone(theirs.clone(), json!({"data": {"a": null, "none": null}})).await;
    check_undone(theirs.clone(), json!({"spec": {"m": null}})).await;
    let without = unset(&theirs, &["data", "a"]);
    let patch = Wants("p", json!({"data": {"a": null}}));
    let steps = [
        patch.clone(),
        Is(without.clone()),
        Restart,
        Is(without),
        They(json!({"data": {"a": "2"}})),
        Gone("p"),
        Is(set(&theirs, &["data", "a"], json!("2"))),
    ];
    check(theirs, &steps).await;
    // What others have removed before, they have removed.
    let gone = json!({"data": {"b": "1"}});
    check(gone.clone(), &[patch, Gone("p"), Is(gone)]).await;
}

#[tokio::test(start_paused = true)]
async fn what_others_have_deleted_stays_deleted() {
    let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1", "b": "1"}}));
    story.tell(&Wants("p", json!({"data": {"a": "2"}}))).await;
    story.they(&json!({"data": {"a": null}}));
    story.tell(&Gone("p")).await;
    assert_eq!(story.on_server(), json!({"data": {"b": "1"}}));
    assert_eq!(content(&story.object), json!({"data": {"b": "1"}}));
}

#[tokio::test(start_paused = true)]
async fn long_values_and_those_of_secrets_are_not_kept() {
    let long = Value::from("x".repeat(2000));
    let theirs = json!({"data": {"long": (long.clone()), "short": "MQ=="}});
    let steps = |left: Value| {
        let patch = json!({"data": {"long": "Mg==", "short": "Mg==", "new": "Mg=="}});
        [Wants("p", patch), Restart, Gone("p"), Is(left)]
    };
    let left = json!({"data": {"long": "Mg==", "short": "MQ=="}});
    check(theirs.clone(), &steps(left)).await;
    let left = json!({"data": {"long": "Mg==", "short": "Mg=="}});
    let secret = ObjectKey::new("", "Secret", "ns", "x");
    check_on(secret, theirs, &steps(left)).await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_is_an_error_before_any_write() {
    let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1"}}));
    let fields = (0..6000).map(|i| {
        let name = format!("a-field-with-a-name-{i}");
        (document::Key::new(&name), Value::from("1"))
    });
    let data: document::Map = fields.collect();
    let document = json!({"data": data});
    story.h.sim.take_sent();
    story
        .h
        .want(&story.key, &controller_of("p", &document).wants(&document));
    let other = json!({"data": {"b": "1"}});
    story
        .h
        .want(&story.key, &controller_of("q", &other).wants(&other));
    story.h.settle().await;
    assert_eq!(story.h.codes(&story.key), ["record-too-large"].into());
    assert_eq!(story.on_server(), json!({"data": {"a": "1", "b": "1"}}));
    story
        .h
        .want(&story.key, &controller_of("p", &other).wants(&other));
    story.h.settle().await;
    assert!(story.h.codes(&story.key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_map_that_we_made_is_shared_with_those_who_add_to_it() {
    check(
        json!({}),
        &[
            Wants("p", json!({"spec": {"m": {"x": 1}}})),
            They(json!({"spec": {"m": {"y": 1}}})),
            Wants("p", json!({"spec": {"m": {"x": 1, "y": 1}}})),
            Is(json!({"spec": {"m": {"x": 1, "y": 1}}})),
            Restart,
            Gone("p"),
            Is(json!({"spec": {"m": {"y": 1}}})),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_map_with_a_value_that_came_back_is_not_ours_alone() {
    let patch = |name: &'static str, m: Value| Wants(name, json!({"spec": {"m": m}}));
    for (first, second) in [("p", "q"), ("q", "p")] {
        for end in [patch(second, json!({"z": 1})), Gone(second), Restart] {
            let steps = [
                patch(first, json!({"x": 1})),
                They(json!({"spec": {"m": {"y": 1}}})),
                patch(second, json!({"y": 2, "z": 1})),
                end,
                Gone(first),
                Restart,
                Gone(second),
                Is(json!({"spec": {"m": {"y": 1}}})),
            ];
            check(json!({}), &steps).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_we_took_off_stays_off() {
    let containers = |fields: Value| {
        let named = document::merge(&json!({"name": "side"}), &fields);
        json!({"spec": {"containers": [named]}})
    };
    let steps = [
        Wants("q", containers(json!({}))),
        They(containers(json!({"image": "1"}))),
        Wants("p", containers(json!({"image": "2"}))),
        Restart,
        Gone("q"),
        Is(containers(json!({"image": "2"}))),
        Gone("p"),
        Is(containers(json!({"image": "1"}))),
    ];
    check(json!({}), &steps).await;
}

#[tokio::test(start_paused = true)]
async fn what_others_change_to_the_wanted_value_is_theirs() {
    check(
        json!({}),
        &[
            Wants("p", json!({"data": {"a": "1", "b": "1"}})),
            TheyMeanwhile(json!({})),
            Is(json!({"data": {"a": "1", "b": "1"}})),
        ],
    )
    .await;
    // The pipeline yields 2 only after they have written it.
    let mut story = Story::new(config_map("x"), &json!({}));
    story.tell(&Wants("p", json!({"data": {"a": "1"}}))).await;
    story.they(&json!({"data": {"a": "2"}}));
    story.tell(&Wants("p", json!({"data": {"a": "2"}}))).await;
    story.tell(&Gone("p")).await;
    assert_eq!(story.on_server(), json!({"data": {"a": "2"}}));
    assert_eq!(content(&story.object), json!({"data": {"a": "2"}}));
}

#[tokio::test(start_paused = true)]
async fn two_patchers_of_one_place_leave_what_was_there() {
    let theirs = json!({"metadata": {"annotations": {"team": "a"}}});
    check(
        theirs.clone(),
        &[
            Wants("p", theirs.clone()),
            Wants("q", theirs.clone()),
            Gone("p"),
            Is(theirs.clone()),
            Restart,
            Gone("q"),
            Is(theirs),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_place_is_inherited_by_the_other_patcher_that_wants_it() {
    for theirs in [json!({}), json!({"data": {"a": "0"}})] {
        inherited(&theirs).await;
    }
}

async fn inherited(theirs: &Value) {
    let one = json!({"data": {"a": "1"}});
    let ends: [&[Step]; 3] = [
        &[Gone("p")],
        &[Wants("p", json!({"data": {"b": "1"}}))],
        &[Restart, Wants("p", json!({})), Restart],
    ];
    for end in ends {
        for second in [one.clone(), json!({"data": {"a": "2"}})] {
            let mut steps = vec![Wants("p", one.clone()), Wants("q", second.clone())];
            steps.push(Is(one.clone()));
            steps.extend(end.iter().cloned());
            steps.extend([Gone("p"), Is(second), Gone("q"), Is(theirs.clone())]);
            check(theirs.clone(), &steps).await;
        }
    }
    let steps = [
        Wants("q", one.clone()),
        Wants("p", one.clone()),
        Gone("q"),
        Is(one),
        Gone("p"),
        Is(theirs.clone()),
    ];
    check(theirs.clone(), &steps).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_there_stays() {
    let key = ObjectKey::new("example.com", "Widget", "ns", "x");
    let theirs = json!({"spec": {"defaulted": "yes"}, "status": {"ready": true, "n": 1}});
    let more = json!({"status": {"ready": true, "n": 2, "ours": 1}});
    let with = |n: i64, ours: i64| {
        let object = set(&theirs, &["status", "n"], json!(n));
        set(&object, &["status", "ours"], json!(ours))
    };
    let steps = [
        Wants("p", more),
        Is(with(2, 1)),
        Restart,
        Wants("p", json!({"status": {"n": 3, "ours": 2}})),
        Is(with(3, 2)),
        Restart,
        Wants("p", json!({"status": {"ours": 2}})),
        Is(with(1, 2)),
        Gone("p"),
        Is(theirs.clone()),
    ];
    check_on(key, theirs.clone(), &steps).await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_somebody_took_off_is_remembered() {
    let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1"}}));
    story
        .tell(&Wants("p", json!({"data": {"a": "1", "b": "1"}})))
        .await;
    let stripped = |object: &Value| unset(object, &["metadata", "annotations"]);
    story.h.sim.foreign(&story.key, "human", stripped);
    story.tell(&They(json!({}))).await;
    story.tell(&Restart).await;
    story.tell(&Gone("p")).await;
    assert_eq!(story.on_server(), json!({"data": {"a": "1"}}));
}

/// Quantities may be written in several ways.
#[tokio::test(start_paused = true)]
async fn an_equal_quantity_is_there() {
    let theirs = json!({"spec": {"limits": {"cpu": "1", "memory": "1Gi"}}});
    let mut story = Story::new(config_map("x"), &theirs);
    story.h.sim.take_sent();
    let equal = json!({"spec": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}});
    story
        .h
        .want(&story.key, &controller_of("p", &equal).wants(&equal));
    story.h.settle().await;
    assert_eq!(writes(&story.h), [""; 0]);
    story.h.withdraw(&story.key, "p");
    story.h.settle().await;
    assert_eq!(story.on_server(), theirs);
}

#[tokio::test(start_paused = true)]
async fn a_change_between_read_and_write_is_seen() {
    let racing = |patch: Value| {
        let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1"}}));
        let key = story.key.clone();
        story.h.sim.race(&key, patch);
        let wanted = json!({"data": {"a": "1", "b": "1"}});
        story
            .h
            .want(&key, &controller_of("p", &wanted).wants(&wanted));
        story
    };
    // It was there when we read it, and is something else when we write.
    let mut story = racing(json!({"data": {"a": "2"}}));
    story.h.settle().await;
    assert!(!story.h.sim.has_races());
    assert_eq!(story.on_server(), json!({"data": {"a": "1", "b": "1"}}));
    // It was not there when we read it, and is what we want when we write: it is theirs.
    let mut story = racing(json!({"data": {"b": "1"}}));
    story.h.settle().await;
    assert!(!story.h.sim.has_races());
    story.h.withdraw(&story.key.clone(), "p");
    story.h.settle().await;
    assert_eq!(story.on_server(), json!({"data": {"a": "1", "b": "1"}}));
}

/// Objects that Patchers and others change at random.
struct Chance(Random);

impl Chance {
    fn some(&mut self, others: bool) -> Value {
        let number = |random: &mut Random| json!(random.below(3));
        let mut document = json!({});
        let random = &mut self.0;
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

    fn step(&mut self, controllers: &[&'static str]) -> Step {
        let controller = *self.0.pick(controllers);
        match self.0.below(10) {
            0..=3 => {
                let removes = PATCHERS.contains(&controller) && self.0.chance(30);
                Wants(controller, self.some(removes))
            }
            4 | 5 => Gone(controller),
            6 | 7 => They(self.some(true)),
            8 => TheyMeanwhile(self.some(true)),
            _ => Restart,
        }
    }
}

/// A map of ours of which a field is removed is empty, or gone: nobody can tell.
fn without_empty_maps(value: &Value) -> Value {
    let Some(map) = value.as_map() else {
        return value.clone();
    };
    let members = map.iter();
    let members = members.map(|(key, value)| (key.clone(), without_empty_maps(value)));
    let kept = members.filter(|(_, value)| *value != json!({}));
    kept.collect::<document::Map>().into()
}

/// Random stories of these controllers.
async fn random_stories(controllers: &[&'static str], exists: impl Fn(u64) -> bool) {
    for seed in seeded::seeds(100) {
        let mut chance = Chance(Random::new(seed));
        let mut story = if exists(seed) {
            Story::new(config_map("x"), &chance.some(false))
        } else {
            Story::without_object(config_map("x"))
        };
        let mut told = vec![story.on_server().to_string()];
        for _ in 0..20 {
            let step = chance.step(controllers);
            story.tell(&step).await;
            told.push(format!("{step:?}\n  {}", story.on_server()));
            assert!(writes(&story.h).len() < 20, "a loop:\n{}", told.join("\n"));
            assert_eq!(
                without_empty_maps(&story.on_server()),
                without_empty_maps(&content(&story.object)),
                "seed {seed}:\n{}",
                told.join("\n")
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn patches_on_a_server_are_as_they_are_offline() {
    random_stories(&PATCHERS, |_| true).await;
}

#[tokio::test(start_paused = true)]
async fn updates_on_a_server_are_as_they_are_offline() {
    random_stories(&["u", "v"], |seed| seed % 2 == 0).await;
}

#[tokio::test(start_paused = true)]
async fn patched_updates_on_a_server_are_as_they_are_offline() {
    random_stories(&["u", "v", "p", "q"], |seed| seed % 3 == 0).await;
}

/// A record as the first format had it: a text for each place, and all that is wanted.
fn in_first_format(object: &Value, more: &[&str]) -> Value {
    let annotations = object.get("metadata").get("annotations").as_map().unwrap();
    let mut records = annotations.iter();
    let record = records.find(|(name, _)| name.as_str().starts_with("dcontroller.io/set."));
    let (name, text) = record.unwrap();
    let record: Value = text.as_str().unwrap().parse().unwrap();
    let paths = record.get("paths").as_map().unwrap().iter();
    let paths = paths.map(|(place, mark)| (place.clone(), mark.get("sent").clone()));
    let more = more.iter().map(|place| {
        let hash = Value::from("0123456789abc");
        (document::Key::new(place), hash)
    });
    let paths: document::Map = paths.chain(more).collect();
    let text = Value::from(set(&record, &["paths"], paths.into()).to_string());
    set(object, &["metadata", "annotations", name.as_str()], text)
}

#[tokio::test(start_paused = true)]
async fn of_a_record_in_the_first_format_counts_what_only_we_have_written() {
    let annotations = |list: Value| json!({"annotations": list});
    let theirs = json!({"metadata": (annotations(json!({"theirs": "1"}))), "data": {"theirs": "1", "added": "1"}});
    let wanted = json!({"metadata": (annotations(json!({"theirs": "1", "ours": "1"}))),
        "data": {"theirs": "1", "ours": "1"}});
    let places = [
        "/data/theirs",
        "/data/added",
        "/metadata/annotations/theirs",
    ];
    // What was at /data/ours before, such a record does not say.
    let left = set(&theirs, &["data", "ours"], json!("1"));
    let laid = document::merge(&theirs, &wanted);
    for again in [false, true] {
        let mut story = Story::new(config_map("x"), &theirs);
        story.tell(&Wants("p", wanted.clone())).await;
        let old = |object: &Value| in_first_format(object, &places);
        story.h.sim.foreign(&story.key, "deltic/op/p", old);
        if again {
            story.tell(&Restart).await;
            assert_eq!(story.on_server(), laid);
        }
        story.h.wanted.clear();
        story.h.restart();
        story.h.settle().await;
        assert_eq!(story.on_server(), left, "wanted again: {again}");
    }
}
