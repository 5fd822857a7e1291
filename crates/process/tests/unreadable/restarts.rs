//! Unreadable objects after a restart, when no earlier version of them is known.

use document::{Value, json};
use engine::status::Ready;
use operator::Operator;

use crate::server::{BROKEN, DEEP, Server};
use crate::{World, copied, copies, operator, read, servers, spec};

#[tokio::test(start_paused = true)]
async fn after_a_restart_its_derived_objects_stay_and_the_others_are_swept() {
    for server in servers() {
        for name in ["a", "b", "c"] {
            server.put("things", name, &spec("old"));
        }
        let first = World::start(&server, vec![copies("o", "$.spec")]);
        first.is_well().await;
        first.stop().await;

        server.put("things", "a", &spec(DEEP));
        server.delete("things", "b");
        server.put("things", "c", &spec("new"));
        let second = World::start(&server, vec![copies("o", "$.spec")]);
        second.cannot_read("a").await;
        assert_eq!(server.names("copies"), ["a", "c"]);
        assert_eq!(copied(&server, "a"), json!("old"));
        assert_eq!(copied(&server, "c"), json!("new"));

        server.put("things", "a", &spec("new"));
        second.is_well().await;
        assert_eq!(copied(&server, "a"), json!("new"));
        second.stop().await;
    }
}

/// Two things yield the same object, and the one that was written goes.
#[tokio::test(start_paused = true)]
async fn an_object_belongs_to_the_thing_that_still_yields_it() {
    let value = json!({"@project": {
        "metadata": {"name": "$.spec.value", "namespace": "$.metadata.namespace"}, "spec": "$.spec"}});
    let yields = || operator("o", json!([(value.clone())]));
    for server in servers() {
        server.put("things", "a", &spec("x"));
        server.put("things", "b", &spec("x"));
        let first = World::start(&server, vec![yields()]);
        first.is_well().await;
        server.take_writes();
        server.delete("things", "a");
        first.is_well().await;
        // The claim names the other thing.
        assert_eq!(server.take_writes(), ["PUT copies/x"]);
        first.stop().await;

        let second = World::start(&server, vec![yields()]);
        second.is_well().await;
        assert_eq!(server.take_writes(), [""; 0]);
        second.stop().await;

        server.put("things", "b", &spec(DEEP));
        let third = World::start(&server, vec![yields()]);
        third.cannot_read("b").await;
        assert_eq!(server.names("copies"), ["x"]);
        assert_eq!(server.take_writes(), [""; 0]);
        third.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_with_another_name_is_the_same() {
    let renamed = read(&json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{"apiGroup": "example.com", "version": "v1", "kind": "Thing", "as": "Other"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "spec": "$.spec"}}],
            "target": {"apiGroup": "example.com", "version": "v1", "kind": "Copy"},
        }]},
    }));
    let server = Server::default();
    server.put("things", "a", &spec("old"));
    server.put("things", "b", &spec("old"));
    let first = World::start(&server, vec![copies("o", "$.spec")]);
    first.is_well().await;
    first.stop().await;
    server.put("things", "a", &spec(DEEP));
    server.delete("things", "b");
    let second = World::start(&server, vec![renamed]);
    assert_eq!(second.of(0).await.ready, Ready::Failing);
    assert_eq!(server.names("copies"), ["a"]);
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_unreadable_object_counts() {
    for server in servers() {
        server.put("things", "a", &spec("old"));
        server.put("things", "b", &spec("old"));
        let first = World::start(&server, vec![copies("o", "$.spec")]);
        first.is_well().await;
        server.put("things", "a", &spec(DEEP));
        first.cannot_read("a").await;
        server.delete("things", "a");
        first.is_well().await;
        assert_eq!(server.names("copies"), ["b"]);
        first.stop().await;

        // The same if no readable version was ever received.
        server.put("things", "b", &spec(DEEP));
        let second = World::start(&server, vec![copies("o", "$.spec")]);
        second.cannot_read("b").await;
        assert_eq!(server.names("copies"), ["b"]);
        server.delete("things", "b");
        second.is_well().await;
        assert_eq!(server.names("copies"), [""; 0]);
        second.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn objects_kept_for_one_object_go_even_if_another_is_unreadable() {
    for server in servers() {
        for name in ["a", "b"] {
            server.put("things", name, &spec("x"));
        }
        let first = World::start(&server, vec![copies("o", "$.spec")]);
        first.is_well().await;
        first.stop().await;
        server.put("things", "a", &spec(DEEP));
        let second = World::start(&server, vec![copies("o", "$.spec")]);
        second.cannot_read("a").await;
        server.delete("things", "a");
        server.put("things", "b", &spec(DEEP));
        second.cannot_read("b").await;
        assert_eq!(server.names("copies"), ["b"]);
        second.stop().await;
    }
}

/// An Operator that gathers all things of a namespace into one list.
fn gathered() -> Operator {
    let project =
        json!({"@project": {"metadata": {"name": "all", "namespace": "n"}, "spec": "$.spec"}});
    operator(
        "o",
        json!([{"@gather": ["$.metadata.namespace", "$.spec.value"]}, (project)]),
    )
}

#[tokio::test(start_paused = true)]
async fn behind_a_group_no_list_shrinks_and_nothing_is_removed() {
    for server in servers() {
        server.put("things", "a", &spec("x"));
        server.put("things", "b", &spec("y"));
        let first = World::start(&server, vec![gathered()]);
        first.is_well().await;
        assert_eq!(copied(&server, "all"), json!(["x", "y"]));
        server.put("things", "a", &spec(DEEP));
        server.put("things", "c", &spec("z"));
        first.cannot_read("a").await;
        assert_eq!(copied(&server, "all"), json!(["x", "y", "z"]));
        first.stop().await;

        server.take_writes();
        let second = World::start(&server, vec![gathered()]);
        second.cannot_read("a").await;
        assert_eq!(copied(&server, "all"), json!(["x", "y", "z"]));
        assert_eq!(server.take_writes(), [""; 0]);
        server.put("things", "a", &spec("xx"));
        second.is_well().await;
        assert_eq!(copied(&server, "all"), json!(["xx", "y", "z"]));
        second.stop().await;
    }
}

/// An Operator that gathers things into one list, before or behind a view.
fn chained(controller: &str, first: bool) -> Operator {
    let gather = json!({"@gather": ["$.metadata.namespace", "$.spec.value"]});
    let all =
        json!({"@project": {"metadata": {"name": "all", "namespace": "n"}, "spec": "$.spec"}});
    let each = json!({"@project": {
        "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}, "spec": "$.spec"}});
    let list = json!([(gather), (all)]);
    let copy = json!([(each)]);
    let (before, behind) = if first { (list, copy) } else { (copy, list) };
    read(&json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [
            {
                "name": "view",
                "sources": [{"apiGroup": "example.com", "version": "v1", "kind": "Thing"}],
                "pipeline": (before), "target": {"kind": "V"},
            },
            {
                "name": controller, "sources": [{"kind": "V"}], "pipeline": (behind),
                "target": {"apiGroup": "example.com", "version": "v1", "kind": "Copy"},
            },
        ]},
    }))
}

#[tokio::test(start_paused = true)]
async fn the_same_through_views_and_under_another_name() {
    for first in [true, false] {
        let server = Server::default();
        server.put("things", "a", &spec("x"));
        server.put("things", "b", &spec("y"));
        let world = World::start(&server, vec![chained("c", first)]);
        world.is_well().await;
        assert_eq!(copied(&server, "all"), json!(["x", "y"]));
        world.stop().await;
        server.put("things", "a", &spec(DEEP));
        for controller in ["c", "d"] {
            let world = World::start(&server, vec![chained(controller, first)]);
            world.cannot_read("a").await;
            assert_eq!(copied(&server, "all"), json!(["x", "y"]), "{controller}");
            world.stop().await;
        }
        server.put("things", "a", &spec("xx"));
        let world = World::start(&server, vec![chained("d", first)]);
        world.is_well().await;
        assert_eq!(copied(&server, "all"), json!(["xx", "y"]));
        world.stop().await;
    }
}

/// Two Operators that gather things into one list, through a view of the first.
fn divided(first: bool) -> Vec<Operator> {
    let gather = json!({"@gather": ["$.metadata.namespace", "$.spec.value"]});
    let all =
        json!({"@project": {"metadata": {"name": "all", "namespace": "n"}, "spec": "$.spec"}});
    let each = json!({"@project": {
        "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}, "spec": "$.spec"}});
    let (list, copy) = (json!([(gather), (all)]), json!([(each)]));
    let (before, behind) = if first { (list, copy) } else { (copy, list) };
    let operator = |name: &str, controller: Value| {
        read(&json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
            "spec": {"controllers": [(controller)]},
        }))
    };
    let producer = json!({
        "name": "c",
        "sources": [{"apiGroup": "example.com", "version": "v1", "kind": "Thing"}],
        "pipeline": (before), "target": {"kind": "V"},
    });
    let reader = json!({
        "name": "c", "sources": [{"apiGroup": "p.view.dcontroller.io", "kind": "V"}],
        "pipeline": (behind),
        "target": {"apiGroup": "example.com", "version": "v1", "kind": "Copy"},
    });
    vec![operator("p", producer), operator("r", reader)]
}

#[tokio::test(start_paused = true)]
async fn the_same_through_a_view_of_another_operator() {
    for first in [true, false] {
        let server = Server::default();
        server.put("things", "a", &spec("x"));
        server.put("things", "b", &spec("y"));
        let world = World::start(&server, divided(first));
        world.is_well().await;
        assert_eq!(copied(&server, "all"), json!(["x", "y"]));
        world.stop().await;
        server.put("things", "a", &spec(DEEP));
        let world = World::start(&server, divided(first));
        world.cannot_read("a").await;
        assert_eq!(copied(&server, "all"), json!(["x", "y"]), "{first}");
        server.put("things", "b", &spec("yy"));
        world.cannot_read("a").await;
        assert_eq!(copied(&server, "all"), json!(["x", "y"]), "{first}");
        server.take_writes();
        server.put("things", "a", &spec("xx"));
        world.is_well().await;
        assert_eq!(copied(&server, "all"), json!(["xx", "yy"]));
        assert_eq!(
            server.take_writes(),
            ["PUT copies/all"],
            "no state in between"
        );
        // A later error holds, and so concerns no reader.
        server.put("things", "a", &spec(DEEP));
        server.put("things", "b", &spec("z"));
        world.cannot_read("a").await;
        assert_eq!(copied(&server, "all"), json!(["xx", "z"]));
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_soft_partner_that_cannot_be_read_is_not_missing() {
    let spec_of = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [
                {"apiGroup": "example.com", "version": "v1", "kind": "Thing", "as": "Main",
                    "labelSelector": {"matchLabels": {"role": "main"}}},
                {"apiGroup": "example.com", "version": "v1", "kind": "Thing", "as": "Side",
                    "labelSelector": {"matchLabels": {"role": "side"}}},
            ],
            "pipeline": [
                {"@join": {"on": {"@eq": ["$.Main.spec.value", "$.Side.spec.key"]}, "soft": ["Side"]}},
                {"@project": {
                    "metadata": {"name": "$.Main.metadata.name", "namespace": "$.Main.metadata.namespace"},
                    "spec": {"value": {"@definedOr": ["$.Side.spec.value", "none"]}}}},
            ],
            "target": {"apiGroup": "example.com", "version": "v1", "kind": "Copy"},
        }]},
    });
    let object = |role: &str, value: &str| {
        let labels = json!({"labels": {"role": role}});
        json!({"metadata": (labels), "spec": {"key": "k", "value": value}})
    };
    for server in servers() {
        server.put("things", "m", &object("main", "k"));
        server.put("things", "s", &object("side", "v"));
        let first = World::start(&server, vec![read(&spec_of)]);
        first.is_well().await;
        assert_eq!(copied(&server, "m"), json!("v"));
        first.stop().await;
        server.put("things", "s", &object("side", DEEP));
        let second = World::start(&server, vec![read(&spec_of)]);
        let status = second.of(0).await;
        assert_eq!(status.errors.len(), 1, "{status:?}");
        assert_eq!(status.errors[0].code, "unreadable");
        assert_eq!(copied(&server, "m"), json!("v"));
        server.delete("things", "s");
        second.is_well().await;
        assert_eq!(copied(&server, "m"), json!("none"));
        second.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_with_an_object_that_has_no_name_is_not_complete() {
    for server in servers() {
        server.put("things", "a", &spec("x"));
        server.put("things", "b", &spec("x"));
        let first = World::start(&server, vec![copies("o", "$.spec")]);
        first.is_well().await;
        first.stop().await;
        server.put("things", "a", &spec(BROKEN));
        server.delete("things", "b");
        let second = World::start(&server, vec![copies("o", "$.spec")]);
        let status = second.of(0).await;
        assert!(matches!(status.ready, Ready::False(_)), "{status:?}");
        assert_eq!(server.names("copies"), ["a", "b"]);
        server.put("things", "a", &spec("y"));
        second.is_well().await;
        assert_eq!(server.names("copies"), ["a"]);
        assert_eq!(copied(&server, "a"), json!("y"));
        second.stop().await;
    }
}
