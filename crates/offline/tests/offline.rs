//! Operators on objects in memory: what enters a pipeline, and what is written.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use common::check;
use dataflow::Budget;
use document::{Key, Map, Value, json};
use expr::Env;
use offline::EventType::{Added, Deleted, Modified};
use offline::{Event, Offline};

#[test]
fn versions_are_seen_only_where_a_path_names_them() {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
        "pipeline": [
            {"@select": {"@exists": "$.metadata.resourceVersion"}},
            {"@project": {
                "metadata": {"name": "$.metadata.name"},
                "named": "$.metadata.resourceVersion",
                "copied": "$.metadata",
                "whole": "$.",
                "all": {"@query": "$.*"},
                "hash": {"@eq": [{"@hash": "$."}, {"@hash": {"@literal": {
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
                }}}]},
            }},
        ],
        "target": {"kind": "T"},
    });
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "resourceVersion": "7", "generation": 2},
    });
    let whole = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let expect = json!([{
        "apiVersion": "test.view.dcontroller.io/v1alpha1", "kind": "T", "metadata": {"name": "a"},
        "named": "7", "copied": {"name": "a"}, "whole": whole,
        "all": ["v1", "ConfigMap", {"name": "a"}], "hash": true,
    }]);
    check(&controller, &[object], &expect);
}

#[test]
fn versions_stay_hidden_in_a_join() {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "ConfigMap"}, {"apiGroup": "", "kind": "Secret"}],
        "pipeline": [
            {"@join": {"@eq": ["$.ConfigMap.metadata.name", "$.Secret.metadata.name"]}},
            {"@project": {
                "metadata": {"name": "$.ConfigMap.metadata.name"},
                "named": "$.ConfigMap.metadata.resourceVersion",
                "both": "$.", "one": "$.Secret", "metadatas": "$.Secret.metadata",
            }},
        ],
        "target": {"kind": "T"},
    });
    let object = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "resourceVersion": "7"}});
    let plain = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}});
    let expect = json!([{
        "apiVersion": "test.view.dcontroller.io/v1alpha1", "kind": "T", "metadata": {"name": "a"},
        "named": "7", "one": (plain("Secret")), "metadatas": {"name": "a"},
        "both": {"ConfigMap": (plain("ConfigMap")), "Secret": (plain("Secret"))},
    }]);
    check(
        &controller,
        &[object("ConfigMap"), object("Secret")],
        &expect,
    );
}

#[test]
fn a_secret_is_decoded_inside_and_encoded_outside() {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Secret"}],
        // Excludes the copies, which are Secrets, too.
        "pipeline": [{"@select": {"@not": {"@endswith": ["$.metadata.name", "-copy"]}}}, {"@project": {
            "metadata": {"name": {"@concat": ["$.metadata.name", "-copy"]}, "namespace": "$.metadata.namespace"},
            "data": {
                "copied": "$.data.bytes",
                "made": {"@concat": ["user=", "$.data.user"]},
                "written": "aGVsbG8=",
            },
        }}],
        "target": {"apiGroup": "", "version": "v1", "kind": "Secret"},
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
        "data": {"bytes": "//79", "user": "bWU="},
    });
    let expect = json!([{
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s-copy", "namespace": "n"},
        "data": {"copied": "//79", "made": "dXNlcj1tZQ==", "written": "aGVsbG8="},
    }]);
    check(&controller, &[secret], &expect);
}

#[test]
fn an_object_with_the_record_of_a_former_patcher_is_read_like_any_other() {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Node"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}, "team": "$.spec.team"}}],
        "target": {"kind": "T"},
    });
    let record = json!({
        "operator": "test", "controller": "former", "target": "/Node//n",
        "paths": {"/spec/team": {"sent": "0", "absent": true}},
    });
    let node = |team: &str, recorded: bool| {
        let annotations = if recorded {
            let name = object::marks::set_annotation("test", "former");
            Value::from(Map::from_iter([(
                Key::new(&name),
                record.to_string().into(),
            )]))
        } else {
            json!({})
        };
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "n", "annotations": annotations}, "spec": {"team": team},
        })
    };
    let (operator, problems) = common::operator(&controller);
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let mut offline = Offline::new(operator, Budget::default());
    let steps = [
        (vec![(Added, node("a", false))], Some("a")),
        (
            vec![(Modified, node("b", true)), (Deleted, node("b", true))],
            None,
        ),
        (vec![(Added, node("a", false))], Some("a")),
        (vec![(Modified, node("b", true))], Some("b")),
        (vec![(Modified, node("c", false))], Some("c")),
        (
            vec![(Deleted, node("c", false)), (Added, node("d", false))],
            Some("d"),
        ),
        (
            vec![(Added, node("e", true)), (Deleted, node("e", true))],
            None,
        ),
        (
            vec![(Added, node("f", false)), (Modified, node("g", true))],
            Some("g"),
        ),
    ];
    for (events, team) in steps {
        let events: Vec<Event> = (events.into_iter())
            .map(|(kind, object)| Event { kind, object })
            .collect();
        offline.batch(&events, &Env::default()).unwrap();
        let targets = offline.targets();
        let found = targets.first().map(|target| target.get("team").clone());
        assert_eq!(found, team.map(Value::from), "after {events:?}");
    }
}
