use document::{Path, json};

use super::*;
use crate::fields::Versions;

fn fields(paths: &[&str]) -> Fields {
    let mut fields = Fields::default();
    for path in paths {
        fields.add_path(Path::parse(path).unwrap().segments(), &Fields::all());
    }
    fields
}

/// The stored part of an object, both from memory and from JSON.
fn check(keep: &Keep, object: &Value, expect: &Value) {
    assert_eq!(keep.of(object).document(), expect, "{object}");
    let read = keep.read(object.to_string().as_bytes()).unwrap();
    assert_eq!(read, keep.of(object), "{object}, read");
}

/// An object with all fields that no pipeline sees.
fn marked() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": "a", "uid": "u", "resourceVersion": "7", "generation": 2,
        "creationTimestamp": "2024-01-02T03:04:05Z", "managedFields": [{"manager": "m"}],
        "labels": {"dcontroller.io/operator": "o"},
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "dcontroller.io/owner": "{}",
            "dcontroller.io/set.1234": "{}",
            "x": "y"
        }
    }, "spec": {"n": 1}})
}

const BOTH: Versions = Versions {
    resource_version: true,
    generation: true,
};

#[test]
fn bookkeeping_never_enters_a_pipeline() {
    let all = |intake| Keep::new(&Fields::all(), intake);
    let native = Intake::default();
    let metadata = |metadata: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"n": 1}});
    check(
        &all(native),
        &marked(),
        &metadata(
            json!({"name": "a", "uid": "u", "creationTimestamp": "2024-01-02T03:04:05Z", "annotations": {"x": "y"}}),
        ),
    );
    let named = Intake {
        versions: BOTH,
        ..native
    };
    let seen = all(named).of(&marked());
    let seen = seen.document().get("metadata");
    assert_eq!(seen.get("resourceVersion"), &json!("7"));
    assert_eq!(seen.get("generation"), &json!(2));
    let one = Intake {
        versions: Versions {
            generation: true,
            ..Versions::default()
        },
        ..native
    };
    let seen = all(one).of(&marked());
    let seen = seen.document().get("metadata");
    assert_eq!(seen.get("resourceVersion"), &Value::NULL);
    assert_eq!(seen.get("generation"), &json!(2));
    let view = Intake {
        view: true,
        versions: BOTH,
        ..native
    };
    check(
        &all(view),
        &marked(),
        &metadata(json!({"name": "a", "annotations": {"x": "y"}})),
    );
}

#[test]
fn what_is_hidden_is_hidden_where_single_fields_are_kept() {
    let paths = [
        "$.metadata.labels",
        "$.metadata.resourceVersion",
        "$.metadata.annotations.x",
        "$.spec.m",
    ];
    let keep = Keep::new(&fields(&paths), Intake::default());
    check(
        &keep,
        &marked(),
        &json!({"metadata": {"annotations": {"x": "y"}}, "spec": {}}),
    );
    // A map that contains only marks is left out.
    let labels = Keep::new(&fields(&["$.metadata.labels.a"]), Intake::default());
    for (found, kept) in [
        (json!({}), json!({"labels": {}})),
        (json!({"b": "1"}), json!({"labels": {}})),
        (json!({"dcontroller.io/operator": "o"}), json!({})),
        (
            json!({"dcontroller.io/operator": "o", "b": "1"}),
            json!({"labels": {}}),
        ),
        (
            json!({"dcontroller.io/operator": "o", "a": "1"}),
            json!({"labels": {"a": "1"}}),
        ),
        (json!("text"), json!({"labels": "text"})),
    ] {
        check(
            &labels,
            &json!({"metadata": {"labels": found}}),
            &json!({"metadata": kept}),
        );
    }
}

#[test]
fn the_data_of_a_secret_is_decoded() {
    let secret = json!({"metadata": {"name": "s"}, "data": {
        "text": "aGVsbG8=", "bytes": "//79", "bad": "%", "twice": "YUdWc2JHOD0=", "map": {"k": "aGVsbG8="}
    }, "stringData": {"text": "aGVsbG8="}});
    let intake = Intake {
        secret: true,
        ..Intake::default()
    };
    let data = json!({
        "text": "hello", "bytes": (Value::bytes(&[0xff, 0xfe, 0xfd])), "bad": "%",
        "twice": "aGVsbG8=", "map": {"k": "aGVsbG8="}
    });
    let whole = Keep::new(&Fields::all(), intake);
    check(
        &whole,
        &secret,
        &json!({"metadata": {"name": "s"}, "data": data, "stringData": {"text": "aGVsbG8="}}),
    );
    let one = Keep::new(&fields(&["$.data.twice"]), intake);
    check(&one, &secret, &json!({"data": {"twice": "aGVsbG8="}}));
    check(
        &whole,
        &json!({"data": ["aGVsbG8="]}),
        &json!({"data": ["aGVsbG8="]}),
    );
}

#[test]
fn the_uid_stands_beside_the_document() {
    let intake = Intake {
        uid: true,
        ..Intake::default()
    };
    let keep = Keep::new(&fields(&["$.spec"]), intake);
    check(&keep, &marked(), &json!({"spec": {"n": 1}}));
    assert_eq!(keep.of(&marked()).uid(), &json!("u"));
    let without = Keep::new(&fields(&["$.spec"]), Intake::default());
    assert_eq!(without.of(&marked()).uid(), &Value::NULL);
    let view = Keep::new(
        &Fields::all(),
        Intake {
            view: true,
            ..intake
        },
    );
    assert_eq!(
        view.of(&marked()).uid(),
        &Value::NULL,
        "of a view it never enters"
    );
    assert_eq!(
        view.read(marked().to_string().as_bytes()).unwrap(),
        view.of(&marked())
    );
}

#[test]
fn what_several_need_is_read_once() {
    let secret = Intake {
        secret: true,
        ..Intake::default()
    };
    let keeps = [
        Keep::new(&fields(&["$.data.a", "$.metadata.labels"]), secret),
        Keep::new(
            &fields(&["$.data.b", "$.metadata.generation"]),
            Intake {
                versions: BOTH,
                ..secret
            },
        ),
        Keep::new(
            &fields(&["$.metadata.name"]),
            Intake {
                uid: true,
                ..secret
            },
        ),
        Keep::new(&Fields::all(), secret),
        Keep::fields(&fields(&["$.metadata.managedFields"])),
    ];
    let object = document::merge(
        &marked(),
        &json!({"data": {"a": "aGVsbG8=", "b": "YUdWc2JHOD0=", "c": ""}}),
    );
    for (i, one) in keeps.iter().enumerate() {
        for other in &keeps[i..] {
            let union = Keep::union([one, other]);
            for shared in [
                union.of(&object),
                union.read(object.to_string().as_bytes()).unwrap(),
            ] {
                assert_eq!(one.of(shared.document()), one.of(&object));
                assert_eq!(other.of(shared.document()), other.of(&object));
            }
        }
    }
    let small = Keep::union(&keeps[..3]).of(&object);
    assert_eq!(
        small.document().get("data"),
        &json!({"a": "aGVsbG8=", "b": "YUdWc2JHOD0="})
    );
    assert_eq!(
        small.document().get("metadata").get("managedFields"),
        &Value::NULL
    );
}

#[test]
fn objects_of_any_form_are_read() {
    let all = Keep::new(&Fields::all(), Intake::default());
    for object in [
        json!([1, {"a": 2}]),
        json!("text"),
        json!({"metadata": "text"}),
        json!({"metadata": [{"name": "a"}], "x": 1}),
        json!({"metadata": null}),
        json!({"metadata": {"name": {"name": ["x"]}, "labels": [1]}}),
        json!({"metadata": 1.5}),
    ] {
        check(&all, &object, &object);
        let part = Keep::new(
            &fields(&["$.metadata.name", "$.metadata.labels.x"]),
            Intake::default(),
        );
        let read = part.read(object.to_string().as_bytes()).unwrap();
        assert_eq!(read, part.of(&object), "{object}");
        let none = Keep::new(&fields(&["$.spec"]), Intake::default());
        let read = none.read(object.to_string().as_bytes()).unwrap();
        assert_eq!(read, none.of(&object), "{object}");
    }
}

#[test]
fn the_header_is_read_beside_the_document() {
    let keep = Keep::new(
        &fields(&["$.metadata.labels.a", "$.kind"]),
        Intake::default(),
    );
    let object = json!({"metadata": {
        "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 3,
        "labels": {"a": "1", "dcontroller.io/operator": "o"}, "annotations": {"x": "y"}
    }});
    let wanted = HeaderFields::ALL;
    let reader = ObjectReader::new(keep.clone(), wanted).with_types("v1", "Pod");
    let (header, kept) = reader.read(&object.to_string()).unwrap();
    assert_eq!(header, Header::of(&object));
    assert_eq!(
        kept.document(),
        &json!({"kind": "Pod", "metadata": {"labels": {"a": "1"}}})
    );
    let reader = ObjectReader::new(keep, HeaderFields::default()).with_types("v1", "Pod");
    let typed = document::merge(&object, &json!({"apiVersion": "x/v1", "kind": "Other"}));
    let (header, kept) = reader.read(&typed.to_string()).unwrap();
    assert_eq!(header.object_name(), object::ObjectName::of(&object));
    assert_eq!(
        (&header.labels, &header.annotations, &header.uid),
        (&Value::NULL, &Value::NULL, &Value::NULL)
    );
    assert_eq!(kept.document().get("kind"), &json!("Other"));
}
