//! Users and controllers on one object.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use common::{
    controller, delete, derive, live, object, store, user, with_field, with_metadata, write,
};
use document::{Value, json};
use store::{Caller, Change, Error, Holder, Store, Version, Write};

fn yielded() -> Value {
    object(
        &json!({"name": "web", "labels": {"app": "web"}}),
        &json!({"ready": 1}),
    )
}

fn with_yielded() -> Store {
    let store = store();
    write(&store, &controller(), derive(yielded())).unwrap();
    store
}

#[test]
fn what_is_yielded_again_is_no_write() {
    let store = with_yielded();
    let again = write(&store, &controller(), derive(yielded())).unwrap();
    assert_eq!(again.change, Change::Unchanged);
    assert_eq!(store.version(), Version(101));
}

#[test]
fn a_user_may_change_status_finalizers_and_own_labels_and_annotations() {
    let store = with_yielded();
    let mine = json!({
        "name": "web", "labels": {"app": "web", "mine": "1"}, "annotations": {"mine": "1"},
        "finalizers": ["mine"]
    });
    let mine = object(&mine, &json!({"ready": 1}));
    write(&store, &user(), Write::Replace(mine)).unwrap();
    let status = with_field(&yielded(), "status", json!("seen"));
    write(&store, &user(), Write::Status(status)).unwrap();

    // What a controller yields is what users may not change, and not the whole object.
    let object = live(&store, "web").unwrap();
    let document = with_field(&yielded(), "ready", json!(2));
    let object = with_field(&object, "ready", json!(2));
    let derived = Write::Derive { object, document };
    write(&store, &controller(), derived).unwrap();
    let object = live(&store, "web").unwrap();
    assert_eq!(object.get("ready").as_int(), Some(2));
    assert_eq!(object.get("status").as_str(), Some("seen"));
    let unlabelled = with_metadata(&object, "labels", json!({"app": "web"}));
    write(&store, &user(), Write::Replace(unlabelled)).unwrap();
}

#[test]
fn a_derived_object_may_name_the_version_that_it_was_made_from() {
    let store = with_yielded();
    let object = live(&store, "web").unwrap();
    let status = with_field(&object, "status", json!("seen"));
    write(&store, &user(), Write::Status(status)).unwrap();
    let next = with_field(&object, "ready", json!(2));
    let late = write(&store, &controller(), derive(next.clone())).unwrap_err();
    assert!(matches!(late, Error::Changed { .. }), "{late}");
    write(&store, &controller(), delete("web")).unwrap();
    let late = write(&store, &controller(), derive(next)).unwrap_err();
    assert!(matches!(late, Error::NotFound { .. }), "{late}");
}

#[test]
fn all_else_is_refused_and_names_the_controller() {
    let store = with_yielded();
    let check = |refused: Write, what: &str| {
        assert_eq!(
            write(&store, &user(), refused).unwrap_err().to_string(),
            format!(
                "user alice may not {what} web, \
                 which controller health of Operator shop derives"
            )
        );
    };
    let content = with_field(&yielded(), "ready", json!(2));
    check(Write::Replace(content.clone()), "change ready of");
    check(Write::Put(content), "change ready of");
    let label = with_metadata(&yielded(), "labels", json!({"app": "db"}));
    check(Write::Replace(label), r#"change metadata.labels["app"] of"#);
    check(
        Write::Replace(with_metadata(&yielded(), "labels", json!({}))),
        r#"change metadata.labels["app"] of"#,
    );
    let owners = with_metadata(&yielded(), "ownerReferences", json!([{"uid": "1"}]));
    check(Write::Replace(owners), "change metadata.ownerReferences of");
    check(delete("web"), "delete");
    assert_eq!(store.version(), Version(101));
}

#[test]
fn where_a_user_holds_the_key_the_controller_waits() {
    let store = store();
    write(&store, &user(), Write::Create(yielded())).unwrap();
    for refused in [derive(yielded()), delete("web")] {
        assert_eq!(
            write(&store, &controller(), refused),
            Err(Error::Held {
                caller: "controller health of Operator shop".into(),
                key: object::ObjectName::new("", "web"),
                holder: Holder::User,
            })
        );
    }
    write(&store, &user(), delete("web")).unwrap();
    let put = write(&store, &controller(), derive(yielded())).unwrap();
    assert_eq!(put.change, Change::Created);
}

#[test]
fn a_patch_of_a_controller_leaves_the_object_with_its_user() {
    let store = store();
    write(&store, &user(), Write::Create(yielded())).unwrap();
    let patched = with_field(&yielded(), "ready", json!(2));
    write(&store, &controller(), Write::Replace(patched)).unwrap();
    assert!(store.yielded("shop").is_empty());
    write(&store, &user(), delete("web")).unwrap();
}

#[test]
fn another_operator_is_refused_and_a_renamed_controller_takes_over() {
    let store = with_yielded();
    let other = Caller::controller("other", "health");
    for refused in [
        derive(yielded()),
        Write::Replace(yielded()),
        Write::Status(yielded()),
        delete("web"),
    ] {
        assert_eq!(
            write(&store, &other, refused).unwrap_err().to_string(),
            "controller health of Operator other may not write web, \
             which controller health of Operator shop holds"
        );
    }
    let renamed = Caller::controller("shop", "pods");
    let put = write(&store, &renamed, derive(yielded())).unwrap();
    assert_eq!(put.change, Change::Unchanged);
    let yielded: Vec<_> = store.yielded("shop").into_iter().collect();
    assert_eq!(yielded[0].controller, "pods");
    assert!(store.yielded("other").is_empty());
    write(&store, &renamed, delete("web")).unwrap();
    assert_eq!(live(&store, "web"), None);
}

#[test]
fn what_a_controller_no_longer_yields_waits_for_finalizers() {
    let store = with_yielded();
    let held = with_metadata(&yielded(), "finalizers", json!(["mine"]));
    write(&store, &user(), Write::Replace(held)).unwrap();
    let gone = write(&store, &controller(), delete("web")).unwrap();
    assert_eq!(gone.change, Change::Updated);
    let put = write(&store, &controller(), derive(yielded()));
    assert_eq!(put.unwrap_err().to_string(), "web is being deleted");
    let again = write(&store, &user(), delete("web")).unwrap();
    assert_eq!(again.change, Change::Unchanged);
    let released = write(&store, &user(), Write::Replace(yielded())).unwrap();
    assert_eq!(released.change, Change::Deleted);
    let put = write(&store, &controller(), derive(yielded())).unwrap();
    assert_eq!(put.change, Change::Created);
}

#[test]
fn a_yielded_status_is_written_and_counts_for_no_generation() {
    let store = store();
    let with_status = with_field(&yielded(), "status", json!(1));
    write(&store, &controller(), derive(with_status.clone())).unwrap();
    let next = with_field(&with_status, "status", json!(2));
    let written = write(&store, &controller(), derive(next)).unwrap();
    assert_eq!(written.object.get("status").as_int(), Some(2));
    let generation = written.object.get("metadata").get("generation");
    assert_eq!(generation.as_int(), Some(1));
    let written = write(&store, &controller(), derive(yielded())).unwrap();
    assert!(written.object.get("status").is_null());
}
