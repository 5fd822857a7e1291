//! The effect of writes on an object: version, generation, identity, deletion.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use common::{delete, health, live, object, store, user, with_field, with_metadata, write};
use document::{Value, json};
use object::ObjectName;
use store::{Change, Error, Preconditions, Selector, Store, Version, Write};

fn web(fields: &Value) -> Value {
    object(&json!({"name": "web"}), fields)
}

fn created(store: &Store) -> Value {
    let write = Write::Create(web(&json!({"spec": {"ready": 1}})));
    common::write(store, &user(), write).unwrap().object
}

/// Writes, and checks version, generation and change.
fn check(store: &Store, to_write: Write, version: &str, generation: i64, change: Change) {
    let written = write(store, &user(), to_write).unwrap();
    let metadata = written.object.get("metadata");
    assert_eq!(metadata.get("resourceVersion"), &Value::from(version));
    assert_eq!(metadata.get("generation"), &Value::from(generation));
    assert_eq!(written.change, change);
    if change != Change::Deleted {
        assert_eq!(live(store, "web"), Some(written.object));
    }
}

#[test]
fn a_new_object_has_identity_version_generation_and_time() {
    let store = store();
    let object = created(&store);
    assert_eq!(
        object.get("metadata").to_string(),
        r#"{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"name":"web","resourceVersion":"101","uid":"uid-0"}"#
    );
    assert_eq!(store.version(), Version(101));
}

#[test]
fn system_fields_of_a_writer_are_ignored() {
    let store = store();
    let metadata = json!({
        "name": "web", "uid": "mine", "generation": 9, "creationTimestamp": "mine",
        "deletionTimestamp": "mine", "namespace": ""
    });
    let written = write(
        &store,
        &user(),
        Write::Create(object(&metadata, &json!({}))),
    );
    assert_eq!(
        written.unwrap().object.get("metadata").to_string(),
        r#"{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"name":"web","resourceVersion":"101","uid":"uid-0"}"#
    );
}

#[test]
fn generation_counts_content_changes_and_version_counts_all() {
    let store = store();
    let object = created(&store);
    let labelled = with_metadata(&object, "labels", json!({"a": "b"}));
    check(
        &store,
        Write::Replace(labelled.clone()),
        "102",
        1,
        Change::Updated,
    );
    let plain = web(&json!({"spec": {"ready": 2}}));
    check(&store, Write::Replace(plain), "103", 2, Change::Updated);
    let status = web(&json!({"status": {"ok": true}, "spec": "ignored"}));
    check(&store, Write::Status(status), "104", 2, Change::Updated);
    let spec = live(&store, "web").unwrap();
    assert_eq!(spec.get("spec").get("ready").as_int(), Some(2));
}

#[test]
fn an_equal_write_changes_nothing() {
    let store = store();
    let object = created(&store);
    check(&store, Write::Replace(object), "101", 1, Change::Unchanged);
    let empty = json!({"name": "web", "labels": {}, "annotations": null, "finalizers": []});
    let same = common::object(&empty, &json!({"spec": {"ready": 1}}));
    check(&store, Write::Put(same), "101", 1, Change::Unchanged);
    let status = web(&json!({"status": null}));
    check(&store, Write::Status(status), "101", 1, Change::Unchanged);
    assert_eq!(store.version(), Version(101));
}

#[test]
fn status_has_an_endpoint_of_its_own() {
    let store = store();
    let with_status = web(&json!({"status": 1}));
    let made = write(&store, &user(), Write::Create(with_status.clone())).unwrap();
    assert!(made.object.get("status").is_null());
    write(&store, &user(), Write::Status(with_status)).unwrap();
    check(
        &store,
        Write::Replace(web(&json!({"status": 2, "spec": 1}))),
        "103",
        2,
        Change::Updated,
    );
    let object = live(&store, "web").unwrap();
    assert_eq!(object.get("status").as_int(), Some(1));
}

#[test]
fn an_old_version_or_another_uid_is_refused() {
    let store = store();
    let object = created(&store);
    let newer = with_field(&object, "spec", json!(2));
    write(&store, &user(), Write::Replace(newer)).unwrap();
    let stale = with_field(&object, "spec", json!(3));
    for refused in [Write::Replace(stale.clone()), Write::Status(stale)] {
        assert_eq!(
            write(&store, &user(), refused).unwrap_err().to_string(),
            "web has been changed: resourceVersion is 102, the write expects 101"
        );
    }
    let other = with_metadata(&web(&json!({"spec": 3})), "uid", json!("uid-9"));
    assert_eq!(
        write(&store, &user(), Write::Replace(other))
            .unwrap_err()
            .to_string(),
        "web has been changed: uid is uid-0, the write expects uid-9"
    );
    let key = ObjectName::new("", "web");
    for preconditions in [
        Preconditions {
            uid: Some("uid-9".to_owned()),
            version: None,
        },
        Preconditions {
            uid: None,
            version: Some("101".to_owned()),
        },
    ] {
        let refused = write(&store, &user(), Write::Delete(key.clone(), preconditions));
        assert!(matches!(refused, Err(Error::Changed { .. })));
    }
    let right = Preconditions {
        uid: Some("uid-0".to_owned()),
        version: Some("102".to_owned()),
    };
    assert!(write(&store, &user(), Write::Delete(key, right)).is_ok());
}

#[test]
fn creating_an_existing_and_changing_a_missing_object_fail() {
    let store = store();
    let missing = web(&json!({}));
    for refused in [
        Write::Replace(missing.clone()),
        Write::Status(missing.clone()),
        delete("web"),
    ] {
        assert_eq!(
            write(&store, &user(), refused).unwrap_err().to_string(),
            "Health.shop.view.dcontroller.io web not found"
        );
    }
    created(&store);
    assert_eq!(
        write(&store, &user(), Write::Create(missing))
            .unwrap_err()
            .to_string(),
        "Health.shop.view.dcontroller.io web already exists"
    );
    let versioned = with_metadata(&web(&json!({})), "resourceVersion", json!("1"));
    let new = with_metadata(&versioned, "name", json!("db"));
    assert!(matches!(
        write(&store, &user(), Write::Create(new)),
        Err(Error::Rule { .. })
    ));
    assert_eq!(store.version(), Version(101));
}

#[test]
fn a_recreated_object_has_a_new_identity() {
    let store = store();
    let first = created(&store);
    check(&store, delete("web"), "102", 1, Change::Deleted);
    let second = created(&store);
    assert_ne!(
        first.get("metadata").get("uid"),
        second.get("metadata").get("uid")
    );
    assert_eq!(
        second.get("metadata").get("resourceVersion").as_str(),
        Some("103")
    );
}

#[test]
fn deletion_waits_for_finalizers() {
    let store = store();
    let two = object(
        &json!({"name": "web", "finalizers": ["a", "b"]}),
        &json!({"spec": 1}),
    );
    write(&store, &user(), Write::Create(two.clone())).unwrap();
    check(&store, delete("web"), "102", 2, Change::Updated);
    let metadata = live(&store, "web").unwrap().get("metadata").clone();
    assert_eq!(
        metadata.get("deletionTimestamp").as_str(),
        Some("2026-01-01T00:00:01Z")
    );
    check(&store, delete("web"), "102", 2, Change::Unchanged);

    let more = with_metadata(&two, "finalizers", json!(["a", "c"]));
    assert_eq!(
        write(&store, &user(), Write::Replace(more))
            .unwrap_err()
            .to_string(),
        "metadata.finalizers: no finalizer can be added to an object that is being deleted"
    );
    let fewer = with_metadata(&two, "finalizers", json!(["b"]));
    check(&store, Write::Replace(fewer), "103", 2, Change::Updated);
    let status = web(&json!({"status": 1}));
    check(&store, Write::Status(status), "104", 2, Change::Updated);
    let none = with_metadata(&two, "finalizers", json!([]));
    check(&store, Write::Replace(none), "105", 2, Change::Deleted);
    assert_eq!(live(&store, "web"), None);
}

#[test]
fn lists_are_ordered_and_selected_and_have_a_version() {
    let store = store();
    for (namespace, name) in [("b", "1"), ("", "2"), ("a", "2"), ("a", "1"), ("aa", "1")] {
        let new = object(&json!({"namespace": namespace, "name": name}), &json!({}));
        write(&store, &user(), Write::Create(new)).unwrap();
    }
    let check = |namespace: Option<&str>, name: Option<&str>, expect: &[&str]| {
        let selector = Selector {
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            ..Selector::default()
        };
        let list = store.list(&health(), &selector);
        let found: Vec<String> = list
            .items
            .iter()
            .map(|item| {
                let text = |field| item.get("metadata").get(field).as_str().unwrap_or("-");
                format!("{}/{}", text("namespace"), text("name"))
            })
            .collect();
        assert_eq!(found, expect);
        assert_eq!(list.version, Version(105));
    };
    check(None, None, &["-/2", "a/1", "a/2", "aa/1", "b/1"]);
    check(Some("a"), None, &["a/1", "a/2"]);
    check(Some(""), None, &["-/2"]);
    check(None, Some("1"), &["a/1", "aa/1", "b/1"]);
    check(Some("a"), Some("2"), &["a/2"]);
    check(Some("c"), None, &[]);
}

/// The names on a page of two objects, and its token.
fn page(store: &Store, token: Option<&str>) -> Result<(Vec<String>, Option<String>), Error> {
    let limit = std::num::NonZeroUsize::new(2);
    let page = store.list_page(&health(), &Selector::default(), limit, token)?;
    let names = page.items.iter().map(|item| {
        let name = item.get("metadata").get("name").as_str();
        format!("{}={}", name.unwrap(), item.get("spec"))
    });
    Ok((names.collect(), page.token))
}

#[test]
fn all_pages_show_one_version() {
    let store = store();
    let put = |name: &str, spec: i64| {
        let put = Write::Put(object(&json!({"name": name}), &json!({"spec": spec})));
        write(&store, &user(), put).unwrap();
    };
    for name in ["a", "b", "d", "e"] {
        put(name, 1);
    }
    let (names, token) = page(&store, None).unwrap();
    assert_eq!(names, ["a=1", "b=1"]);
    put("c", 1);
    put("d", 2);
    write(&store, &user(), delete("e")).unwrap();
    let (names, end) = page(&store, token.as_deref()).unwrap();
    assert_eq!(names, ["d=1", "e=1"]);
    assert_eq!(end, None);
    let (names, _) = page(&store, None).unwrap();
    assert_eq!(names, ["a=1", "b=1"]);
    let all = store.list(&health(), &Selector::default());
    assert_eq!((all.items.len(), all.token), (4, None));
}

#[test]
fn a_list_whose_version_has_expired_continues_with_a_fresh_token() {
    let store = common::with_history(1);
    let put = |name: &str, spec: i64| {
        let put = Write::Put(object(&json!({"name": name}), &json!({"spec": spec})));
        write(&store, &user(), put).unwrap();
    };
    for name in ["a", "b", "c"] {
        put(name, 1);
    }
    let (_, token) = page(&store, None).unwrap();
    for spec in 2..6 {
        put("c", spec);
    }
    let expired = page(&store, token.as_deref()).unwrap_err();
    assert_eq!(expired.code(), 410);
    let Error::Expired { from, fresh } = expired else {
        panic!("{expired}");
    };
    assert_eq!(from, Version(103));
    let (names, end) = page(&store, fresh.as_deref()).unwrap();
    assert_eq!((names, end), (vec!["c=5".to_owned()], None));
    assert_eq!(page(&store, Some("?")), Err(Error::Token));
}
