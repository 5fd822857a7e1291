//! The store as one would write it without a care for cost: typed objects, and a list
//! of everything that ever happened.
#![allow(unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, json};

pub const LABELS: [&str; 3] = ["x", "y", "z"];
pub const FINALIZERS: [&str; 2] = ["f", "g"];

pub type Labels = BTreeMap<&'static str, i64>;

/// The content of a write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    pub labels: Labels,
    pub finalizers: BTreeSet<&'static str>,
    pub spec: i64,
    pub status: Option<i64>,
    pub version: Option<u64>,
}

/// Who writes: no operator for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    User,
    Controller(&'static str, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Create,
    Replace,
    Status,
    Put,
    /// The content is the object, and all of it is yielded.
    Derive,
    Delete,
}

/// One write.
#[derive(Clone, Debug)]
pub struct Op {
    pub who: Who,
    pub verb: Verb,
    pub collection: usize,
    pub name: usize,
    pub content: Content,
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Created,
    Updated,
    Unchanged,
    Deleted,
    NotFound,
    AlreadyExists,
    Changed,
    Derived,
    Held,
    Terminating,
    Rule,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub name: usize,
    pub collection: usize,
    pub labels: Labels,
    finalizers: BTreeSet<&'static str>,
    spec: i64,
    status: Option<i64>,
    owner: Option<(&'static str, &'static str, Labels)>,
    uid: u64,
    created: u64,
    deleted: Option<u64>,
    generation: i64,
    version: u64,
}

/// One change: (version, old, new).
pub type Record = (u64, Option<Object>, Option<Object>);

#[derive(Default)]
pub struct Model {
    pub version: u64,
    pub history: usize,
    uids: u64,
    times: u64,
    pub objects: BTreeMap<(usize, usize), Object>,
    /// By collection: what is remembered, and the version of what was last forgotten.
    pub logs: [(Vec<Record>, u64); 2],
}

impl Model {
    pub fn new(version: u64, history: usize) -> Self {
        Self {
            version,
            history,
            logs: [(Vec::new(), version), (Vec::new(), version)],
            ..Self::default()
        }
    }

    pub fn apply(&mut self, op: &Op) -> Outcome {
        let live = self.objects.get(&(op.collection, op.name)).cloned();
        match decide(live.as_ref(), op) {
            Err(outcome) => outcome,
            Ok(next) => self.commit((op.collection, op.name), live, next),
        }
    }

    fn commit(&mut self, key: (usize, usize), old: Option<Object>, new: Option<Object>) -> Outcome {
        let new = match (&old, new) {
            (_, None) => None,
            (None, Some(mut new)) => {
                new.uid = self.uids;
                new.created = self.times;
                new.generation = 1;
                self.uids += 1;
                self.times += 1;
                Some(new)
            }
            (Some(old), Some(new)) => {
                let visible = Object {
                    owner: old.owner.clone(),
                    ..new.clone()
                };
                if visible == *old {
                    self.objects.insert(key, new);
                    return Outcome::Unchanged;
                }
                let mut new = new;
                if new.spec != old.spec || new.deleted != old.deleted {
                    new.generation += 1;
                }
                if new.deleted != old.deleted {
                    new.deleted = Some(self.times);
                    self.times += 1;
                }
                Some(new)
            }
        };
        self.version += 1;
        let new = new.map(|new| Object {
            version: self.version,
            ..new
        });
        let outcome = match (&old, &new) {
            (None, _) => Outcome::Created,
            (_, Some(_)) => Outcome::Updated,
            (_, None) => Outcome::Deleted,
        };
        match new.clone() {
            Some(new) => self.objects.insert(key, new),
            None => self.objects.remove(&key),
        };
        let objects = self.objects.keys().filter(|k| k.0 == key.0).count();
        let (log, forgotten) = &mut self.logs[key.0];
        log.push((self.version, old, new));
        while log.len() > objects.max(self.history) {
            *forgotten = log.remove(0).0;
        }
        outcome
    }
}

/// The object after a write, `None` if it goes.
fn decide(live: Option<&Object>, op: &Op) -> Result<Option<Object>, Outcome> {
    match (op.verb, live, op.who) {
        (Verb::Create | Verb::Put, None, _) => create(op),
        (Verb::Derive, live, who) => derive(live, op, who),
        (Verb::Create, Some(_), _) => Err(Outcome::AlreadyExists),
        (_, None, _) => Err(Outcome::NotFound),
        (Verb::Delete, Some(live), _) => delete(live, op),
        (Verb::Status, Some(live), _) => {
            identity(live, op)?;
            other_operator(live, op)?;
            Ok(Some(Object {
                status: op.content.status,
                ..live.clone()
            }))
        }
        (Verb::Put | Verb::Replace, Some(live), _) => replace(live, op),
    }
}

fn create(op: &Op) -> Result<Option<Object>, Outcome> {
    if op.content.version.is_some() {
        return Err(Outcome::Rule);
    }
    Ok(Some(Object {
        status: None,
        ..content(op)
    }))
}

/// A new object with this content.
fn content(op: &Op) -> Object {
    Object {
        name: op.name,
        collection: op.collection,
        labels: op.content.labels.clone(),
        finalizers: op.content.finalizers.clone(),
        spec: op.content.spec,
        status: op.content.status,
        owner: None,
        uid: 0,
        created: 0,
        deleted: None,
        generation: 0,
        version: 0,
    }
}

fn identity(live: &Object, op: &Op) -> Result<(), Outcome> {
    match op.content.version {
        Some(version) if version != live.version => Err(Outcome::Changed),
        _ => Ok(()),
    }
}

fn other_operator(live: &Object, op: &Op) -> Result<(), Outcome> {
    match (op.who, &live.owner) {
        (Who::Controller(operator, _), Some(owner)) if operator != owner.0 => Err(Outcome::Held),
        _ => Ok(()),
    }
}

fn replace(live: &Object, op: &Op) -> Result<Option<Object>, Outcome> {
    identity(live, op)?;
    if let (Who::User, Some((_, _, yielded))) = (op.who, &live.owner) {
        let label = |name: &&str| live.labels.get(name) != op.content.labels.get(name);
        if op.content.spec != live.spec || yielded.keys().any(label) {
            return Err(Outcome::Derived);
        }
    }
    other_operator(live, op)?;
    if live.deleted.is_some() && op.content.finalizers.is_empty() {
        return Ok(None);
    }
    if live.deleted.is_some() && !op.content.finalizers.is_subset(&live.finalizers) {
        return Err(Outcome::Rule);
    }
    Ok(Some(Object {
        labels: op.content.labels.clone(),
        finalizers: op.content.finalizers.clone(),
        spec: op.content.spec,
        ..live.clone()
    }))
}

fn derive(live: Option<&Object>, op: &Op, who: Who) -> Result<Option<Object>, Outcome> {
    match live {
        Some(live) => identity(live, op)?,
        None if op.content.version.is_some() => return Err(Outcome::NotFound),
        None => {}
    }
    let Who::Controller(operator, controller) = who else {
        return Err(Outcome::Held);
    };
    let live = match live {
        None => content(op),
        Some(live) if live.owner.is_none() => return Err(Outcome::Held),
        Some(live) => {
            other_operator(live, op)?;
            live.clone()
        }
    };
    if live.deleted.is_some() {
        return Err(Outcome::Terminating);
    }
    Ok(Some(Object {
        labels: op.content.labels.clone(),
        finalizers: op.content.finalizers.clone(),
        spec: op.content.spec,
        status: op.content.status,
        owner: Some((operator, controller, op.content.labels.clone())),
        ..live
    }))
}

fn delete(live: &Object, op: &Op) -> Result<Option<Object>, Outcome> {
    identity(live, op)?;
    match (op.who, &live.owner) {
        (Who::User, Some(_)) if live.deleted.is_none() => return Err(Outcome::Derived),
        (Who::Controller(..), None) => return Err(Outcome::Held),
        _ => other_operator(live, op)?,
    }
    if live.finalizers.is_empty() {
        return Ok(None);
    }
    Ok(Some(Object {
        deleted: live.deleted.or(Some(u64::MAX)),
        ..live.clone()
    }))
}

pub fn labels(labels: &Labels) -> Value {
    let entry = |(key, value): (&&str, &i64)| (Key::new(key), value.to_string().into());
    labels.iter().map(entry).collect::<Map>().into()
}

pub fn time(second: u64) -> Value {
    format!("2026-01-01T00:{:02}:{:02}Z", second / 60 % 60, second % 60).into()
}

impl Object {
    /// This object as a reader sees it at a version.
    pub fn at(&self, version: u64) -> Value {
        let mut metadata = vec![
            (Key::new("name"), self.name.to_string().into()),
            (Key::new("uid"), format!("uid-{}", self.uid).into()),
            (Key::new("resourceVersion"), version.to_string().into()),
            (Key::new("generation"), self.generation.into()),
            (Key::new("creationTimestamp"), time(self.created)),
        ];
        if !self.labels.is_empty() {
            metadata.push((Key::new("labels"), labels(&self.labels)));
        }
        if !self.finalizers.is_empty() {
            let finalizers = self.finalizers.iter().map(|f| Value::from(*f));
            metadata.push((Key::new("finalizers"), finalizers.collect()));
        }
        if let Some(deleted) = self.deleted {
            metadata.push((Key::new("deletionTimestamp"), time(deleted)));
            metadata.push((Key::new("deletionGracePeriodSeconds"), 0.into()));
        }
        let metadata = Value::from(Map::from_entries(metadata));
        let object = json!({
            "apiVersion": "shop.view.dcontroller.io/v1alpha1",
            "kind": (format!("View{}", self.collection)),
            "metadata": metadata,
            "spec": (self.spec)
        });
        match self.status {
            None => object,
            Some(status) => {
                let fields = object.as_map().unwrap();
                fields.with(Key::new("status"), status.into()).into()
            }
        }
    }

    pub fn value(&self) -> Value {
        self.at(self.version)
    }
}

/// What a reader wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    All,
    /// Objects with this label.
    Label(&'static str),
    /// All objects but the one with this name.
    NotNamed(usize),
}

impl Wanted {
    pub const ALL: [Self; 3] = [Self::All, Self::Label("x"), Self::NotNamed(1)];
}

pub fn admits(wanted: Wanted, object: &Object) -> bool {
    match wanted {
        Wanted::All => true,
        Wanted::Label(label) => object.labels.contains_key(label),
        Wanted::NotNamed(name) => object.name != name,
    }
}
