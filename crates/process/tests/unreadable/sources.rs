//! Updates that cannot be read while their source is watched.

use document::json;
use engine::status::Ready;

use crate::server::{DEEP, LARGE};
use crate::{World, copied, copies, operator, read, servers, spec};

#[tokio::test(start_paused = true)]
async fn an_update_that_cannot_be_read_keeps_the_last_state() {
    for server in servers() {
        for unreadable in [DEEP, LARGE] {
            server.put("things", "a", &spec("old"));
            server.put("things", "b", &spec("old"));
            let world = World::start(&server, vec![copies("o", "$.spec")]);
            world.is_well().await;

            server.put("things", "a", &spec(unreadable));
            server.put("things", "b", &spec("new"));
            let error = world.cannot_read("a").await;
            assert_eq!(error.stage, "sources[0]");
            let why = match unreadable {
                DEEP => "spec is nested deeper than 100 levels",
                _ => "it is larger than 8 MiB",
            };
            let message = format!("{why}; objects derived from it stay as they were");
            assert_eq!(error.message, message);
            assert_eq!(copied(&server, "a"), json!("old"));
            assert_eq!(copied(&server, "b"), json!("new"));
            assert_eq!(*world.reported.0.lock().unwrap(), ["unreadable"]);
            let errors =
                "deltic_errors_total{operator=\"o\",controller=\"c\",code=\"unreadable\"} 1";
            let metrics = world.context.metrics.encode();
            assert!(metrics.contains(errors), "{metrics}");

            server.put("things", "a", &spec("newer"));
            world.is_well().await;
            assert_eq!(copied(&server, "a"), json!("newer"));
            world.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_name_is_found_behind_the_unreadable_part() {
    for server in servers() {
        // Keys are sorted: `data` is sent before `metadata`.
        let data = |value: &str| json!({"data": {"value": value}});
        server.put("things", "a", &data("old"));
        let world = World::start(&server, vec![copies("o", "$.data")]);
        world.is_well().await;
        server.put("things", "a", &data(DEEP));
        world.cannot_read("a").await;
        assert_eq!(copied(&server, "a"), json!("old"));
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_field_that_no_pipeline_reads_may_be_anything() {
    for server in servers() {
        let fields = json!({"value": "$.spec.value"});
        let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
        let project = json!({"@project": {"metadata": (metadata), "spec": (fields)}});
        let world = World::start(&server, vec![operator("o", json!([(project)]))]);
        let object = json!({"deep": DEEP, "large": LARGE, "spec": {"value": "x", "deep": DEEP}});
        server.put("things", "a", &object);
        world.is_well().await;
        assert_eq!(copied(&server, "a"), json!("x"));
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_field_that_fails_one_operator_does_not_affect_another() {
    for server in servers() {
        let object =
            |value: &str, data: &str| json!({"spec": {"value": value}, "data": {"value": data}});
        server.put("things", "a", &object("x", "y"));
        let rename = |name: &str| {
            json!({
                "name": {"@concat": ["$.metadata.name", name]}, "namespace": "$.metadata.namespace",
            })
        };
        let pipeline = |name: &str, field: &str| json!([{"@project": {"metadata": (rename(name)), "spec": field}}]);
        let operators = vec![
            operator("o", pipeline("-data", "$.data")),
            operator("p", pipeline("-spec", "$.spec")),
        ];
        let world = World::start(&server, operators);
        world.is_well().await;
        server.put("things", "a", &object("xx", DEEP));
        world.cannot_read("a").await;
        let other = world.of(1).await;
        assert_eq!(other.ready, Ready::True, "{other:?}");
        assert_eq!(copied(&server, "a-spec"), json!("xx"));
        assert_eq!(copied(&server, "a-data"), json!("y"));
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_hundred_levels_applies_to_fields_that_are_read() {
    for server in servers() {
        let world = World::start(&server, vec![copies("o", "$.spec.value")]);
        let levels = |levels: usize| {
            let list = (0..levels).fold(json!(1), |value, _| json!([(value)]));
            spec(list)
        };
        // The object and its spec are two levels.
        server.put("things", "a", &levels(97));
        world.is_well().await;
        server.put("things", "a", &levels(99));
        world.cannot_read("a").await;
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_leaves_the_source_is_removed_readable_or_not() {
    for server in servers() {
        let object = |label: &str, value: &str| {
            let labels = json!({"metadata": {"labels": {"role": label}}});
            let object = spec(value);
            object
                .as_map()
                .unwrap()
                .with("metadata".into(), labels.get("metadata").clone())
                .into()
        };
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
            "spec": {"controllers": [{
                "name": "c",
                // This server ignores such a selector and sends all objects; deltic filters them.
                "sources": [{"apiGroup": "example.com", "version": "v1", "kind": "Thing", "namespace": "n",
                    "labelSelector": {"matchExpressions": [{"key": "role", "operator": "In", "values": ["in"]}]}}],
                "pipeline": [{"@project": {
                    "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                    "spec": "$.spec"}}],
                "target": {"apiGroup": "example.com", "version": "v1", "kind": "Copy"},
            }]},
        });
        let world = World::start(&server, vec![read(&spec)]);
        server.put("things", "a", &object("in", "old"));
        world.is_well().await;
        server.put("things", "a", &object("in", DEEP));
        world.cannot_read("a").await;
        server.put("things", "a", &object("out", DEEP));
        world.is_well().await;
        assert_eq!(server.names("copies"), [""; 0]);
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_predicate_compares_with_the_last_version_that_could_be_read() {
    let spec_of = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{"apiGroup": "example.com", "version": "v1", "kind": "Thing",
                "predicate": "GenerationChanged"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "spec": "$.status"}}],
            "target": {"apiGroup": "example.com", "version": "v1", "kind": "Copy"},
        }]},
    });
    for server in servers() {
        // The generation counts changes of the spec.
        let put = |version: i64, value: &str| {
            let object = json!({"spec": {"version": version}, "status": {"value": value}});
            server.put("things", "a", &object);
        };
        put(1, "old");
        let world = World::start(&server, vec![read(&spec_of)]);
        world.is_well().await;
        put(2, DEEP);
        world.cannot_read("a").await;
        put(2, "new");
        world.is_well().await;
        assert_eq!(copied(&server, "a"), json!("new"));
        put(2, DEEP);
        world.cannot_read("a").await;
        // A readable update that the predicate drops.
        put(2, "newer");
        world.is_well().await;
        assert_eq!(copied(&server, "a"), json!("new"));
        world.stop().await;
    }
}
