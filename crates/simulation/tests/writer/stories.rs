//! Stories of one object, told twice: to the driver of a cluster, on a server, and to
//! `settle`, with which views and the offline runner decide. Both must agree after each step.
//! That views and the offline runner agree, a random test of the views shows.

mod random;
mod records;
mod shared;
mod undo;

use std::collections::BTreeMap;

use fieldset::MergeKeys;
use object::marks::MANAGED_BY;
use target::batch::{self, Memory, settle};

use super::*;
use simulation::fields::merge_patch;

/// One step of a story.
#[derive(Clone, Debug)]
enum Step {
    /// A controller wants this; in a patch null removes.
    Wants(&'static str, Value),
    /// It wants nothing any more.
    Gone(&'static str),
    /// Others change the object with a merge patch.
    They(Value),
    /// Others do so while no process runs.
    TheyMeanwhile(Value),
    /// Another process takes over.
    Restart,
    /// Checks the object.
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

/// The paths of the literal nulls in a document.
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

fn controller_of(name: &str, document: &Value) -> Actor {
    let rank = CONTROLLERS.iter().position(|(other, _)| *other == name);
    let rank = rank.unwrap();
    let mut target = target(CONTROLLERS[rank].1);
    nulls(document, &mut Vec::new(), &mut target.written_nulls);
    Actor::of(OPERATOR, name, rank, target)
}

/// An object without the fields that identify it, and without our marks.
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

    async fn run(&mut self, step: &Step) {
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
        story.run(step).await;
        let requests = writes(&story.h);
        assert!(
            requests.len() < 10,
            "step {number} sends too many requests: {requests:?}"
        );
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

/// A patch whose undo restores the object, also after a restart.
async fn check_undone(theirs: Value, patch: Value) {
    let after = Is(theirs.clone());
    let wants = Wants("p", patch);
    check(theirs.clone(), &[wants.clone(), Gone("p"), after.clone()]).await;
    check(theirs, &[wants, Restart, Gone("p"), after]).await;
}
