//! Operators that write another kind than before.

use document::json;
use object::ObjectKey;
use simulation::api::refusal::Refusal;
use simulation::faults::Fault;
use simulation::fields::set;

use crate::world::{World, config_map, copies_to, rest};

#[tokio::test(start_paused = true)]
async fn objects_of_a_former_kind_are_removed() {
    let mut world = World::running(&copies_to("", "ConfigMap")).await;
    assert_eq!(world.kinds("a"), ["/ConfigMap"]);
    world.apply("a", &copies_to("", "Secret"));
    rest().await;
    world.is_ready("a");
    assert_eq!(world.names("", "ConfigMap"), [""; 0]);
    assert_eq!(world.names("", "Secret"), ["o0", "o1", "o2"]);
    assert_eq!(world.kinds("a"), ["/Secret"]);
    // And if deltic does not run when the Operator is edited.
    world.stop().await;
    world.apply("a", &copies_to("example.com", "Thing"));
    world.start();
    rest().await;
    assert_eq!(world.names("", "Secret"), [""; 0]);
    assert_eq!(world.names("example.com", "Thing"), ["o0", "o1", "o2"]);
    assert_eq!(world.kinds("a"), ["example.com/Thing"]);
}

#[tokio::test(start_paused = true)]
async fn a_former_kind_is_remembered_until_it_can_be_listed() {
    let mut world = World::running(&copies_to("", "ConfigMap")).await;
    let lists = |fault| {
        world
            .server
            .with(|state| state.faults.always("GET /api/v1/configmaps", fault));
    };
    lists(Fault::Forbidden);
    world.apply("a", &copies_to("", "Secret"));
    rest().await;
    assert_eq!(world.names("", "Secret"), ["o0", "o1", "o2"]);
    assert_eq!(world.names("", "ConfigMap"), ["o0", "o1", "o2"]);
    assert_eq!(world.kinds("a"), ["/ConfigMap", "/Secret"]);
    assert_eq!(world.ready("a"), "False/NotReady");
    let status = world.status("a").to_string();
    assert!(status.contains("former target"), "{status}");
    // It is not forgotten after a restart, either.
    world.stop().await;
    world.start();
    rest().await;
    assert_eq!(world.kinds("a"), ["/ConfigMap", "/Secret"]);
    world
        .server
        .with(|state| state.faults.always("GET /api/v1/configmaps", Fault::None));
    rest().await;
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), [""; 0]);
    assert_eq!(world.kinds("a"), ["/Secret"]);
    world.is_ready("a");
}

#[tokio::test(start_paused = true)]
async fn a_former_kind_that_is_not_served_for_a_while_is_remembered() {
    let world = World::running(&copies_to("example.com", "Thing")).await;
    let refuse = |refused: bool| {
        world.server.with(|state| {
            state.refused.clear();
            if refused {
                state.refused.insert("Thing", Refusal::no_resource());
            }
            state.cut_watches();
        });
    };
    refuse(true);
    world.apply("a", &copies_to("", "Secret"));
    rest().await;
    assert_eq!(world.names("", "Secret"), ["o0", "o1", "o2"]);
    assert_eq!(world.kinds("a"), ["/Secret", "example.com/Thing"]);
    // It may never be served again.
    world.is_ready("a");
    refuse(false);
    rest().await;
    assert_eq!(world.names("example.com", "Thing"), [""; 0]);
    assert_eq!(world.kinds("a"), ["/Secret"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_to_a_kind_that_is_not_recorded() {
    let mut world = World::new(&["o0"]);
    let status = "/operators/a/status";
    world
        .server
        .with(|state| state.faults.always(status, Fault::Answer(500)));
    world.apply("a", &copies_to("", "ConfigMap"));
    world.start();
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), [""; 0]);
    world
        .server
        .with(|state| state.faults.always(status, Fault::None));
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), ["o0"]);
    assert_eq!(world.kinds("a"), ["/ConfigMap"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_patched_in_a_former_kind_is_undone() {
    let patches = set(
        &copies_to("", "ConfigMap"),
        &["controllers"],
        json!([{
            "name": "c",
            "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "data": {"k": "v"}
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap", "type": "Patcher"}
        }]),
    );
    let mut world = World::new(&["o0"]);
    let theirs = json!({"data": {"theirs": "x"}});
    world.server.put(&config_map("o0"), "someone", &theirs);
    world.apply("a", &patches);
    world.start();
    rest().await;
    let data = |world: &World, key: &ObjectKey| world.server.get(key).unwrap().get("data").clone();
    let patched = json!({"theirs": "x", "k": "v"});
    assert_eq!(data(&world, &config_map("o0")), patched);
    world.stop().await;
    world.apply("a", &copies_to("", "Secret"));
    world.start();
    rest().await;
    assert_eq!(data(&world, &config_map("o0")), json!({"theirs": "x"}));
    assert_eq!(world.kinds("a"), ["/Secret"]);
}

/// Such as the kind `Binding` of Kubernetes, which can only be created.
#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_read_is_not_missing() {
    let target = copies_to("example.com", "Thing");
    let copies = copies_to("", "ConfigMap");
    let controller = copies.get("controllers").at(0);
    let things = json!([{"apiGroup": "example.com", "kind": "Thing"}]);
    let source = json!({"controllers": [(set(controller, &["sources"], things))]});
    // A part of the answer of discovery. The server adds a quotation mark before and after it.
    let readable = r#"things","namespaced":true,"singularName":"","verbs":["create","delete","get","list","patch","update","watch"#;
    let create_only = r#""things","namespaced":true,"singularName":"","verbs":["create""#;
    for (spec, reader) in [(source, "source"), (target, "target")] {
        let mut world = World::new(&["o0"]);
        world
            .server
            .with(|state| state.sent_as = vec![(readable, create_only.to_owned())]);
        world.apply("a", &spec);
        world.start();
        rest().await;
        assert_eq!(world.ready("a"), "False/NotReady");
        let expect = format!(
            "controller c: {reader} Thing: the cluster serves Thing, but it can be neither listed \
             nor watched"
        );
        assert_eq!(world.message("a"), expect);
        world.stop().await;
    }
}
