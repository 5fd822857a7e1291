//! Shared by the tests: a store with a counting environment, and objects for it.
#![allow(dead_code, unreachable_pub)] // Each test uses only a part.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::sync::atomic::{AtomicU64, Ordering};

use document::{Key, Map, Value};
use object::{GroupKind, ObjectName};
use store::{Caller, Config, Env, Error, Preconditions, Store, Version, Write, Written};

/// Times and uids that count up.
#[derive(Default)]
pub struct Counting {
    times: AtomicU64,
    uids: AtomicU64,
}

impl Env for Counting {
    fn now(&self) -> String {
        let second = self.times.fetch_add(1, Ordering::Relaxed);
        format!("2026-01-01T00:{:02}:{:02}Z", second / 60 % 60, second % 60)
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.uids.fetch_add(1, Ordering::Relaxed))
    }
}

pub fn store() -> Store {
    with_history(1024)
}

pub fn with_history(history: usize) -> Store {
    Store::new(
        Counting::default(),
        Config {
            first_version: Version(100),
            history,
            ..Config::default()
        },
    )
}

pub fn health() -> GroupKind {
    GroupKind::new("shop.view.dcontroller.io", "Health")
}

pub fn user() -> Caller {
    Caller::user("alice")
}

pub fn controller() -> Caller {
    Caller::controller("shop", "health")
}

/// An object of [`health`] with these metadata and fields.
pub fn object(metadata: &Value, fields: &Value) -> Value {
    let mut entries: Vec<(Key, Value)> = fields.as_map().unwrap().entries().to_vec();
    entries.extend([
        (
            Key::new("apiVersion"),
            "shop.view.dcontroller.io/v1alpha1".into(),
        ),
        (Key::new("kind"), "Health".into()),
        (Key::new("metadata"), metadata.clone()),
    ]);
    Map::from_entries(entries).into()
}

#[allow(clippy::needless_pass_by_value)] // Keeps the tests short.
pub fn write(store: &Store, caller: &Caller, write: Write) -> Result<Written, Error> {
    store.write(caller, &health(), &write)
}

pub fn delete(name: &str) -> Write {
    Write::Delete(ObjectName::new("", name), Preconditions::default())
}

pub fn live(store: &Store, name: &str) -> Option<Value> {
    store.get(&health(), &ObjectName::new("", name))
}

/// `object` with another value at `metadata.<field>`.
pub fn with_metadata(object: &Value, field: &str, value: Value) -> Value {
    let metadata = object.get("metadata").as_map().unwrap();
    let metadata = metadata.with(Key::new(field), value);
    with_field(object, "metadata", metadata.into())
}

/// `object` with another value at `field`.
pub fn with_field(object: &Value, field: &str, value: Value) -> Value {
    let fields = object.as_map().unwrap();
    fields.with(Key::new(field), value).into()
}

/// An object of which a controller yields all.
pub fn derive(object: Value) -> Write {
    let document = object.clone();
    Write::Derive { object, document }
}
