//! Collections with their own strategies in one store with views. Their objects belong to
//! users, and no controller derives them.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::num::NonZeroUsize;
use std::sync::Arc;

use common::{Counting, controller, delete, health, with_field, with_metadata};
use document::{Value, json};
use object::GroupKind;
use store::{
    Admitted, Basis, Caller, Change, Config, Error, Event, Live, Request, Selector, Start, Store,
    Strategy, Version, Views, Write, Written,
};

/// The default strategy: objects of users, stored as they are.
#[derive(Debug)]
struct Plain;

impl Strategy for Plain {}

/// Notes: the author and editors may write, only editors may delete, and the status is an
/// ordinary field.
#[derive(Debug)]
struct Notes;

impl Strategy for Notes {
    fn normalize(&self, _: &GroupKind, object: &Value) -> Result<Value, Error> {
        if object.get("text").as_str().is_none() {
            return Err(Error::Rule {
                path: "text".to_owned(),
                rule: "must be set",
            });
        }
        // Besides its name, a note has only text and status.
        let metadata = object.get("metadata");
        Ok(json!({
            "kind": "Note",
            "metadata": {"name": (metadata.get("name").clone()), "finalizers": (metadata.get("finalizers").clone())},
            "text": (object.get("text").clone()),
            "status": (object.get("status").clone()),
        }))
    }

    fn has_status(&self) -> bool {
        false
    }

    fn create(&self, request: &Request<'_>, new: Value) -> Result<Admitted, Error> {
        let marks = Value::from(request.caller.user.as_str());
        Ok(Admitted { draft: new, marks })
    }

    fn replace(
        &self,
        request: &Request<'_>,
        live: &Live<'_>,
        new: Value,
    ) -> Result<Admitted, Error> {
        let author = live.marks.as_str() == Some(&request.caller.user);
        if !author && !is_editor(request.caller) {
            return Err(forbidden(request, "it is not theirs"));
        }
        Ok(Admitted {
            draft: new,
            marks: live.marks.clone(),
        })
    }

    fn delete(&self, request: &Request<'_>, _: &Live<'_>) -> Result<(), Error> {
        if is_editor(request.caller) {
            return Ok(());
        }
        Err(forbidden(request, "only editors delete"))
    }
}

fn is_editor(caller: &Caller) -> bool {
    caller.groups.iter().any(|group| group == "editors")
}

fn forbidden(request: &Request<'_>, why: &'static str) -> Error {
    Error::Forbidden {
        caller: request.caller.to_string().into(),
        key: request.key.clone(),
        why,
    }
}

fn notes() -> GroupKind {
    GroupKind::new("example.org", "Note")
}

fn plains() -> GroupKind {
    GroupKind::new("example.org", "Plain")
}

fn store() -> Store {
    let config = Config {
        first_version: Version(100),
        ..Config::default()
    };
    Store::with_strategies(Counting::default(), config, |collection| {
        if *collection == notes() {
            Arc::new(Notes)
        } else if *collection == plains() {
            Arc::new(Plain)
        } else {
            Arc::new(Views)
        }
    })
}

fn note(name: &str, text: &str) -> Value {
    json!({"kind": "Note", "metadata": {"name": name}, "text": text})
}

fn plain(name: &str, spec: i64) -> Value {
    json!({"apiVersion": "example.org/v1", "kind": "Plain", "metadata": {"name": name}, "spec": spec})
}

fn alice() -> Caller {
    Caller::user("alice")
}

fn editor() -> Caller {
    Caller::user("eve").with_groups(["editors"])
}

#[allow(clippy::needless_pass_by_value)] // Keeps the tests short.
fn write(store: &Store, caller: &Caller, to_write: Write) -> Result<Written, Error> {
    store.write(caller, &notes(), &to_write)
}

fn refused(store: &Store, caller: &Caller, to_write: Write, expect: &str) {
    let error = write(store, caller, to_write).unwrap_err();
    assert_eq!(error.to_string(), expect);
}

#[test]
fn a_strategy_decides_who_may_write() {
    let store = store();
    write(&store, &alice(), Write::Create(note("a", "x"))).unwrap();
    write(&store, &alice(), Write::Replace(note("a", "y"))).unwrap();
    let (bob, changed) = (Caller::user("bob"), Write::Replace(note("a", "z")));
    let theirs = "user bob may not write a: it is not theirs";
    refused(&store, &bob, changed.clone(), theirs);
    // A controller is a caller like any other.
    let theirs = "controller health of Operator shop may not write a: it is not theirs";
    refused(&store, &controller(), Write::Put(note("a", "z")), theirs);
    write(&store, &editor(), changed).unwrap();
    let editors = "user alice may not write a: only editors delete";
    refused(&store, &alice(), delete("a"), editors);
    let key = object::ObjectName::new("", "a");
    assert_eq!(store.marks(&notes(), &key), Some("alice".into()));
    let gone = write(&store, &editor(), delete("a")).unwrap();
    assert_eq!(gone.change, Change::Deleted);
    assert_eq!(store.marks(&notes(), &key), None);
}

#[test]
fn a_strategy_validates_and_normalizes() {
    let store = store();
    let without = json!({"kind": "Note", "metadata": {"name": "a"}});
    refused(
        &store,
        &alice(),
        Write::Create(without),
        "text: must be set",
    );
    let more = with_field(&note("a", "x"), "extra", json!(1));
    let made = write(&store, &alice(), Write::Create(more)).unwrap();
    assert!(made.object.get("extra").is_null());
    assert_eq!(store.version(), Version(101));
}

#[test]
fn without_a_separate_status_the_status_is_content() {
    let store = store();
    let noted = with_field(&note("a", "x"), "status", json!(1));
    let made = write(&store, &alice(), Write::Create(noted.clone())).unwrap();
    assert_eq!(made.object.get("status").as_int(), Some(1));
    let next = with_field(&noted, "status", json!(2));
    let changed = write(&store, &alice(), Write::Replace(next.clone())).unwrap();
    assert_eq!(changed.object.get("status").as_int(), Some(2));
    let generation = changed.object.get("metadata").get("generation");
    assert_eq!(generation.as_int(), Some(2));
    let status = "status: is not written by itself";
    refused(&store, &alice(), Write::Status(next), status);
}

#[test]
fn all_collections_share_the_mechanism() {
    let store = store();
    let start = Start::After(store.version());
    let mut watch = store.watch(&notes(), Selector::default(), start).unwrap();
    let held = with_metadata(&note("a", "x"), "finalizers", json!(["f"]));
    write(&store, &alice(), Write::Create(held.clone())).unwrap();
    let stale = with_metadata(&held, "resourceVersion", json!("100"));
    let error = write(&store, &alice(), Write::Replace(stale)).unwrap_err();
    assert_eq!(error.reason(), "Conflict");
    let deleted = write(&store, &editor(), delete("a")).unwrap();
    assert_eq!(deleted.change, Change::Updated);
    let released = write(&store, &alice(), Write::Replace(note("a", "x"))).unwrap();
    assert_eq!(released.change, Change::Deleted);
    let events: Vec<_> = std::iter::from_fn(|| watch.try_next().unwrap()).collect();
    assert!(matches!(
        events[..],
        [Event::Added(_), Event::Modified(_), Event::Deleted(_)]
    ));
}

#[test]
fn the_default_strategy_allows_every_caller_to_write() {
    let store = store();
    let put = |caller: &Caller, object| store.write(caller, &plains(), &Write::Put(object));
    put(&alice(), plain("a", 1)).unwrap();
    put(&controller(), plain("a", 2)).unwrap();
    let all = put(&Caller::user("bob"), plain("a", 3)).unwrap();
    assert_eq!(all.object.get("spec").as_int(), Some(3));
    let status = with_field(&plain("a", 9), "status", json!(1));
    let status = store.write(&alice(), &plains(), &Write::Status(status));
    assert_eq!(status.unwrap().object.get("spec").as_int(), Some(3));
    assert!(store.yielded("shop").is_empty());
    put(&alice(), plain("b", 1)).unwrap();
    let one = NonZeroUsize::new(1);
    let page = store.list_page(&plains(), &Selector::default(), one, None);
    let page = page.unwrap();
    store.write(&alice(), &plains(), &delete("b")).unwrap();
    let token = page.token.as_deref();
    let next = store.list_page(&plains(), &Selector::default(), one, token);
    assert_eq!(next.unwrap().items.len(), 1);
}

#[test]
fn a_strategy_decides_whether_a_collection_needs_a_producer() {
    let store = store();
    assert_eq!(store.require_complete(&plains()), Ok(Basis::USERS));
    assert_eq!(store.require_complete(&notes()), Ok(Basis::USERS));
    let error = store.require_complete(&health()).unwrap_err();
    assert_eq!((error.code(), error.reason()), (503, "ServiceUnavailable"));
}
