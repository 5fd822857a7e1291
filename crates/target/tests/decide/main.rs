//! The decisions about target objects, sentence by sentence: what is wanted, known and
//! remembered goes in, the next step comes out.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod identity;
mod ownership;
mod patches;
mod reshaped;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;

use document::{Key, Map, Value, json};
use object::marks::OWNER;
use object::{GroupKind, KindRef, ObjectKey, OperatorId};
use operator::spec::{Target, TargetType};
use target::claim::Claim;
use target::decide::{Action, Case, Decision, Learned, Verb, Write, decide};
use target::desired::Wanted;
use target::live::{Live, Observed, Record};
use target::peers::Peers;
use target::{Author, Desired, Owner, TargetKind};

/// One object, with all that can be known about it.
struct Subject {
    key: ObjectKey,
    kind: TargetKind,
    wanted: Wanted,
    live: Live,
    fresh: bool,
    record: Record,
    held: BTreeSet<String>,
    learned: Learned,
    peers: Peers,
}

impl Subject {
    fn new(group: &str, kind: &str) -> Self {
        let name = GroupKind::new(group, kind);
        let plural = format!("{}s", kind.to_lowercase());
        Self {
            key: ObjectKey::new(group, kind, "ns", "a"),
            kind: TargetKind {
                status: true,
                ..TargetKind::new(name, "v1", &plural)
            },
            wanted: Wanted::default(),
            live: Live::Unseen,
            fresh: false,
            record: Record::default(),
            held: BTreeSet::new(),
            learned: Learned::default(),
            peers: Peers::default(),
        }
    }

    fn deployment() -> Self {
        Self::new("apps", "Deployment")
    }

    fn wants(mut self, desired: Desired) -> Self {
        self.wanted.want(desired);
        self
    }

    fn live(mut self, object: &Value) -> Self {
        self.live = Live::Present(Observed::new(&served(object), "op"));
        self
    }

    fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    fn decide(&self) -> Decision {
        decide(&Case {
            key: &self.key,
            kind: &self.kind,
            operator: &operator(),
            wanted: &self.wanted,
            live: &self.live,
            fresh: self.fresh,
            record: &self.record,
            held: &self.held,
            learned: &self.learned,
            peers: &self.peers,
        })
    }

    /// The write that is decided. A patch names the version that it was computed from, so that the
    /// server refuses it if the object has changed since.
    fn write(&self) -> Write {
        let write = match self.decide().action {
            Action::Write(write) => *write,
            other => panic!("expected a write, found {other:?}"),
        };
        if let (Verb::Merge, Live::Present(observed)) = (write.verb, &self.live) {
            let version = write.body.get("metadata").get("resourceVersion");
            assert_eq!(version.as_str(), Some(observed.version()), "{}", write.body);
        }
        write
    }

    /// Takes the next step, on a server that stores what it is sent, with `change` made
    /// to it.
    fn step(mut self, change: impl Fn(&Value) -> Value) -> Self {
        let write = self.write();
        let object = match (write.verb, &self.live) {
            (Verb::Merge, Live::Present(observed)) => merged(&observed.object, &write.body),
            _ => write.body.clone(),
        };
        let object = served(&change(&object));
        self.record
            .note(&write.manager, write.status, write.goal, object.clone());
        self.live = Live::Present(Observed::new(&object, "op"));
        self.fresh = true;
        self
    }

    /// A new process that finds the same object.
    fn restarted(mut self) -> Self {
        self.record = Record::default();
        self.fresh = false;
        self
    }

    /// Someone changes the object.
    fn changed(mut self, change: impl Fn(&Value) -> Value) -> Self {
        let Live::Present(observed) = &self.live else {
            panic!("nothing is there");
        };
        let object = change(&observed.object);
        let object = set(&object, &["metadata", "resourceVersion"], json!("2"));
        self.live = Live::Present(Observed::new(&object, "op"));
        self.fresh = false;
        self
    }
}

/// What is decided, in short, with the codes of the problems.
fn check(subject: &Subject, expect: &str) {
    let decision = subject.decide();
    let mut text = match decision.action {
        Action::Nothing => "nothing".to_owned(),
        Action::Read => "read".to_owned(),
        Action::Write(write) => {
            let status = if write.status { " status" } else { "" };
            let drift = if write.drift.is_empty() { "" } else { " drift" };
            format!("{:?}{status}{drift}", write.verb).to_lowercase()
        }
        Action::Delete { uid, version } => format!("delete {uid} {version}"),
        Action::Wait(wait) => format!("wait {wait:?}").to_lowercase(),
    };
    for problem in &decision.problems {
        text = format!("{text} [{}]", problem.code());
    }
    assert_eq!(text, expect, "{:?}", decision.problems);
}

/// An object as a server gives it.
fn served(object: &Value) -> Value {
    let object = set(object, &["metadata", "uid"], json!("u"));
    let object = set(&object, &["metadata", "resourceVersion"], json!("1"));
    set(&object, &["metadata", "name"], json!("a"))
}

fn merged(target: &Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_map() else {
        return patch.clone();
    };
    let mut result = target.as_map().cloned().unwrap_or_else(empty);
    for (key, value) in patch {
        let old = result.get(key).cloned().unwrap_or_default();
        result = if value.is_null() {
            result.without(key.as_str())
        } else {
            result.with(key.clone(), merged(&old, value))
        };
    }
    result.into()
}

fn empty() -> Map {
    Map::from_sorted(Vec::new())
}

fn set(object: &Value, path: &[&str], value: Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value;
    };
    let map = object.as_map().cloned().unwrap_or_else(empty);
    let inner = map.get_str(first).cloned().unwrap_or_default();
    map.with(Key::new(first), set(&inner, rest, value)).into()
}

fn target(kind: TargetType) -> Target {
    let resource = KindRef {
        group: "apps".to_owned(),
        version: None,
        kind: "Deployment".to_owned(),
    };
    Target::new(resource, kind)
}

fn desired(controller: &str, rank: usize, target: Target, document: &Value) -> Desired {
    Desired {
        author: Arc::new(Author::new(&operator(), controller, rank, target)),
        document: document.clone(),
        origin: json!([{"name": "s"}]),
        owners: Arc::new([Owner {
            uid: "o".to_owned(),
            namespace: "ns".to_owned(),
        }]),
    }
}

fn updates(document: &Value) -> Desired {
    desired("u", 0, target(TargetType::Updater), document)
}

fn patches(document: &Value) -> Desired {
    desired("p", 1, target(TargetType::Patcher), document)
}

fn applies(document: &Value) -> Desired {
    desired("a", 2, target(TargetType::Applier), document)
}

fn operator() -> OperatorId {
    OperatorId::new("op", "u1")
}

fn claimed(operator: &str, created: bool) -> Value {
    claimed_by(&OperatorId::new(operator, "u1"), created)
}

fn claimed_by(operator: &OperatorId, created: bool) -> Value {
    let claim = Claim::new(operator, "u", &json!([{"name": "s"}]), created);
    let key = ObjectKey::new("apps", "Deployment", "ns", "a");
    let text = Value::from(claim.print(&key));
    set(
        &json!({"spec": {}}),
        &["metadata", "annotations", OWNER],
        text,
    )
}

fn same(object: &Value) -> Value {
    object.clone()
}
