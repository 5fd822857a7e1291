//! Stories of one object, told twice: to the driver of a cluster, on a server, and to
//! `settle`, with which views and the offline runner decide. Both must agree after each step.
//! That all three drivers agree, the random test `tests/drivers` shows.

mod random;
mod records;
mod shared;
mod types;
mod undo;

use std::collections::BTreeMap;

use fieldset::MergeKeys;
use target::batch::{self, Memory, settle};

use super::*;
use simulation::fields::merge_patch;
use simulation::stories::content;

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
    /// The target of a controller has another type after an edit of the Operator.
    Becomes(&'static str, TargetType),
    /// Checks the object.
    Is(Value),
}

use Step::{Becomes, Gone, Is, Restart, They, TheyMeanwhile, Wants};

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
    let mut controllers = CONTROLLERS.iter();
    let kind = controllers.find(|(other, _)| *other == name).unwrap().1;
    typed_controller(name, kind, document)
}

fn typed_controller(name: &str, kind: TargetType, document: &Value) -> Actor {
    let rank = CONTROLLERS.iter().position(|(other, _)| *other == name);
    let rank = rank.unwrap();
    let mut target = target(kind);
    nulls(document, &mut Vec::new(), &mut target.written_nulls);
    Actor::of(OPERATOR, name, rank, target)
}

struct Story {
    key: ObjectKey,
    h: Harness,
    /// The object as it is offline; null if there is none.
    object: Value,
    documents: BTreeMap<&'static str, Option<Value>>,
    memory: Memory,
    /// The types of the controllers that have another one than at first.
    types: BTreeMap<&'static str, TargetType>,
    /// Controllers that had another type until the last edit.
    former: Vec<(&'static str, TargetType)>,
}

impl Story {
    fn kind(&self, name: &str) -> TargetType {
        let mut controllers = CONTROLLERS.iter();
        let first = controllers.find(|(other, _)| *other == name).unwrap().1;
        self.types.get(name).copied().unwrap_or(first)
    }

    fn actor(&self, name: &str, document: &Value) -> Actor {
        typed_controller(name, self.kind(name), document)
    }

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
            types: BTreeMap::new(),
            former: Vec::new(),
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
                let who = self.actor(name, document);
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
            Becomes(name, kind) => {
                self.former.push((name, self.kind(name)));
                self.types.insert(name, *kind);
                let controller = (self.key.clone(), (*name).to_owned());
                if let Some(desired) = self.h.wanted.remove(&controller) {
                    let who = self.actor(name, &desired.document);
                    let desired = who.wants(&desired.document);
                    self.h.wanted.insert(controller, desired);
                }
                self.h.restart();
            }
            Is(_) => {}
        }
        self.h.settle().await;
        self.settle();
    }

    /// The same without a server.
    fn settle(&mut self) {
        let empty = json!({});
        let former = std::mem::take(&mut self.former).into_iter();
        let former = former.map(|(name, kind)| {
            let who = typed_controller(name, kind, &empty);
            batch::BatchWriter::new(name.to_owned(), &who.0.target, None)
        });
        let writers = CONTROLLERS.iter().filter_map(|(name, _)| {
            let document = self.documents.get(name)?.as_ref();
            let who = self.actor(name, document.unwrap_or(&empty));
            let name = (*name).to_owned();
            Some(batch::BatchWriter::new(name, &who.0.target, document))
        });
        let writers: Vec<_> = former.chain(writers.collect::<Vec<_>>()).collect();
        let keys = MergeKeys::of_group(self.key.kind.group.as_str());
        let live = Some(&self.object).filter(|object| !object.is_null());
        let object = batch::BatchObject {
            key: &self.key,
            operator: OPERATOR,
            keys: &keys,
        };
        let settled = settle(live, &writers, &mut self.memory, object);
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
