//! Patchers and Appliers on objects of users.

use document::{Value, json};
use object::ObjectKey;
use simulation::faults::Fault;
use simulation::fields::{at, set, unset};

use super::{World, seconds};

const CONTAINERS: [&str; 4] = ["spec", "template", "spec", "containers"];
const MESH: [&str; 2] = ["spec", "mesh"];
const LABELS: [&str; 2] = ["metadata", "labels"];

pub(super) fn deployment() -> ObjectKey {
    ObjectKey::new("apps", "Deployment", "ns", "web")
}

/// Adds a variable to all containers, then a container, on Deployments with the label `mesh`.
fn mesh(kind: &str) -> Value {
    let add =
        |path: &str, value: Value| json!({"op": "add", "path": (path), "value": (value.clone())});
    json!({"controllers": [{
        "name": "mesh",
        "sources": [{"apiGroup": "apps", "kind": "Deployment",
            "labelSelector": {"matchLabels": {"mesh": "on"}}}],
        "pipeline": [{"@patch": {"operations": [
            (add("/spec/template/spec/containers[*]/env/-", json!({"name": "MESH", "value": "on"}))),
            (add("/spec/template/spec/containers/-", json!({"name": "proxy", "image": "proxy:1"}))),
            (add("/spec/tolerations/-", json!({"key": "mesh"}))),
        ]}}],
        "target": {"apiGroup": "apps", "kind": "Deployment", "type": (kind)},
    }]})
}

impl World {
    /// A cluster with a Deployment that an Operator changes in place.
    async fn with_mesh() -> Self {
        let mut world = Self::new();
        let object = json!({"metadata": {"labels": {"mesh": "on"}}, "spec": {"replicas": 2}});
        let object = set(
            &object,
            &CONTAINERS,
            json!([{"name": "app", "image": "app:1"}]),
        );
        world.server.put(&deployment(), "user", &object);
        world.operator("o", mesh("Patcher"));
        world.start();
        seconds(30).await;
        world.expect("o", "True/Ready");
        world.requests("");
        world
    }

    pub(super) fn web(&self) -> Value {
        self.server.get(&deployment()).unwrap_or_default()
    }

    /// A container of the Deployment, by position.
    fn container(&self, position: usize) -> Value {
        at(&self.web(), &CONTAINERS).at(position).clone()
    }

    fn change(&self, path: &[&str], change: impl Fn(&Value) -> Value) {
        self.server.change(&deployment(), "kubectl", |old| {
            set(old, path, change(at(old, path)))
        });
    }

    /// A user changes the containers.
    fn change_containers(&self, change: impl Fn(usize, &Value) -> Value) {
        self.change(&CONTAINERS, |containers| {
            let containers = containers.as_list().into_iter().flatten().enumerate();
            containers.map(|(i, item)| change(i, item)).collect()
        });
    }

    /// A user takes the label off that selects the Deployment.
    async fn leave_mesh(&self) {
        self.server
            .change(&deployment(), "kubectl", |old| unset(old, &LABELS));
        seconds(30).await;
        let annotations = self.web().get("metadata").get("annotations").clone();
        assert!(annotations.is_null(), "{annotations}");
    }
}

/// Adds a variable, as `kubectl set env` does.
fn with_variable(container: &Value) -> Value {
    let env = container.get("env").as_list().into_iter().flatten();
    let env = env.cloned().chain([json!({"name": "X", "value": "1"})]);
    set(container, &["env"], env.collect())
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_list().into_iter().flatten();
    items.filter_map(|item| item.get("name").as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_container_that_was_added_may_be_changed_by_users() {
    let mut world = World::with_mesh().await;
    world.change_containers(|_, container| with_variable(container));
    seconds(120).await;
    assert_eq!(world.requests("PATCH /apis/apps"), 0);
    world.expect("o", "True/Ready");
    assert_eq!(names(world.container(0).get("env")), ["MESH", "X"]);
    assert_eq!(names(world.container(1).get("env")), ["X"]);
    // After a restart, too.
    world.stop().await;
    world.start();
    seconds(120).await;
    assert_eq!(world.requests("PATCH /apis/apps"), 0);
    // What is ours is taken back, and what the user set stays.
    world.leave_mesh().await;
    assert_eq!(names(world.container(0).get("env")), ["X"]);
    assert_eq!(world.container(1).get("name"), &json!("proxy"));
    assert_eq!(names(world.container(1).get("env")), ["X"]);
    assert_eq!(world.container(1).get("image"), &Value::NULL);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_image_of_an_added_container_is_restored_once() {
    let mut world = World::with_mesh().await;
    world.change_containers(|_, container| set(container, &["image"], json!("user:2")));
    seconds(120).await;
    let writes = world.requests("PATCH /apis/apps");
    assert!((1..=2).contains(&writes), "{writes}");
    world.expect("o", "True/Ready");
    assert_eq!(world.container(0).get("image"), &json!("user:2"));
    assert_eq!(world.container(1).get("image"), &json!("proxy:1"));
    assert_eq!(world.container(2), Value::NULL);
    world.leave_mesh().await;
    assert_eq!(world.container(1).get("image"), &json!("user:2"));
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_added_element_without_a_key_is_found_after_an_insertion() {
    let mut world = World::with_mesh().await;
    let tolerations = ["spec", "tolerations"];
    let list = json!([{"key": "user"}, {"key": "mesh"}]);
    world.change(&tolerations, |_| list.clone());
    seconds(120).await;
    assert_eq!(at(&world.web(), &tolerations), &list);
    let writes = world.requests("PATCH /apis/apps");
    assert!(
        writes <= 1,
        "{writes} writes for a new position in the record"
    );
    world.leave_mesh().await;
    assert_eq!(at(&world.web(), &tolerations), &json!([{"key": "user"}]));
    world.stop().await;
}

/// Sets fields of the Deployment `web` from the widget of that name, by a target of this type.
fn sets(kind: &str) -> Value {
    let mut target = json!({"apiGroup": "apps", "kind": "Deployment", "type": (kind)});
    if kind == "Applier" {
        target = set(&target, &["force"], json!(true));
    }
    json!({"controllers": [{
        "name": "sets",
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
            "spec": {"replicas": "$.spec.n", "mesh": {"on": {"since": 1}}},
            "status": {"mesh": "$.spec.n", "user": "ours"},
        }}],
        "target": (target),
    }]})
}

impl World {
    /// A cluster with a Deployment, and an Operator that sets fields of it.
    async fn with_sets(kind: &str) -> (Self, Value) {
        let mut world = Self::new();
        let object = json!({"spec": {"replicas": 2}, "status": {"user": "theirs"}});
        let object = set(
            &object,
            &CONTAINERS,
            json!([{"name": "app", "image": "app:1"}]),
        );
        world.server.put(&deployment(), "user", &object);
        let before = world.state();
        world.operator("o", sets(kind));
        world.widget("web", 5);
        world.start();
        seconds(30).await;
        (world, before)
    }

    /// The Deployment, without its metadata.
    fn state(&self) -> Value {
        unset(&self.web(), &["metadata"])
    }

    /// Edits the type of the target, and checks that the values are still set.
    async fn becomes(&self, kind: &str) {
        self.operator("o", sets(kind));
        seconds(60).await;
        self.expect("o", "True/Ready");
        assert_eq!(at(&self.web(), &["spec", "replicas"]), &json!(5), "{kind}");
        assert_eq!(at(&self.web(), &MESH), &json!({"on": {"since": 1}}));
        self.requests("");
        seconds(60).await;
        assert_eq!(self.requests("PATCH /apis/apps"), 0, "{kind}");
    }

    /// The widget goes: the Deployment must be as it was before.
    async fn end_with(mut self, before: &Value) {
        self.server.delete(&super::widget("web"));
        seconds(60).await;
        assert_eq!(&self.state(), before);
        let metadata = self.web().get("metadata").clone();
        assert!(metadata.get("annotations").is_null(), "{metadata}");
        self.expect("o", "True/Ready");
        self.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_patcher_that_becomes_an_applier_and_back_restores_the_first_values() {
    let (world, before) = World::with_sets("Patcher").await;
    for kind in ["Patcher", "Applier", "Patcher"] {
        world.becomes(kind).await;
    }
    world.end_with(&before).await;
}

#[tokio::test(start_paused = true)]
async fn a_patcher_that_becomes_an_applier_leaves_nothing_behind() {
    let (world, before) = World::with_sets("Patcher").await;
    world.becomes("Applier").await;
    world.end_with(&before).await;
}

#[tokio::test(start_paused = true)]
async fn an_applier_that_becomes_a_patcher_leaves_nothing_behind() {
    let (mut world, _) = World::with_sets("Applier").await;
    world.becomes("Patcher").await;
    world.server.delete(&super::widget("web"));
    seconds(60).await;
    assert_eq!(at(&world.web(), &MESH), &Value::NULL);
    assert_eq!(at(&world.web(), &["status", "mesh"]), &Value::NULL);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_applier_takes_its_status_back() {
    let (mut world, _) = World::with_sets("Applier").await;
    world.expect("o", "True/Ready");
    assert_eq!(at(&world.web(), &["status", "mesh"]), &json!(5));
    world.server.delete(&super::widget("web"));
    seconds(60).await;
    assert_eq!(at(&world.web(), &["status", "mesh"]), &Value::NULL);
    assert_eq!(at(&world.web(), &MESH), &Value::NULL);
    world.stop().await;
}

/// Passes whole Deployments through, and pauses them.
fn pauses() -> Value {
    json!({"controllers": [{
        "name": "pauses",
        "sources": [{"apiGroup": "apps", "kind": "Deployment",
            "labelSelector": {"matchLabels": {"mesh": "on"}}}],
        "pipeline": [{"@project": [{"$.": "$."}, {"spec": {"paused": true}}]}],
        "target": {"apiGroup": "apps", "kind": "Deployment", "type": "Patcher"},
    }]})
}

/// A controller of the cluster answers every change of the spec in the status. A Patcher that wrote
/// back the status that passes through would change it for ever.
#[tokio::test(start_paused = true)]
async fn a_status_that_passes_through_is_not_written() {
    let mut world = World::new();
    let object = json!({
        "metadata": {"labels": {"mesh": "on"}},
        "spec": {"replicas": 2}, "status": {"observedGeneration": 1},
    });
    world.server.put(&deployment(), "user", &object);
    world.operator("o", pauses());
    world.start();
    let observed = ["status", "observedGeneration"];
    for _ in 0..60 {
        seconds(1).await;
        let generation = at(&world.web(), &["metadata", "generation"]).clone();
        if *at(&world.web(), &observed) != generation {
            world.change(&observed, |_| generation.clone());
        }
    }
    let writes = world.requests("PATCH /apis/apps");
    assert!((1..=2).contains(&writes), "{writes}");
    world.expect("o", "True/Ready");
    let web = world.web();
    assert_eq!(at(&web, &["spec", "paused"]), &json!(true));
    assert_eq!(at(&web, &["metadata", "generation"]), &json!(2));
    // Only what was changed is taken back.
    world.leave_mesh().await;
    let web = world.web();
    assert_eq!(at(&web, &["spec", "paused"]), &Value::NULL);
    assert_eq!(at(&web, &["spec", "replicas"]), &json!(2));
    assert_eq!(web.get("status"), &json!({"observedGeneration": 2}));
    world.stop().await;
}

/// Two controllers of these types set the replicas of the Deployment `web`: the first to those of
/// the widget, the second to those of the item, with a field of its own.
fn both_set(first: &str, second: &str) -> Value {
    let controller = |name: &str, source: &str, kind: &str, spec: Value| {
        json!({
            "name": (name),
            "sources": [{"apiGroup": "example.com", "kind": (source)}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "spec": (spec),
            }}],
            "target": {"apiGroup": "apps", "kind": "Deployment", "type": (kind), "force": (kind == "Applier")},
        })
    };
    let mesh = json!({"replicas": "$.spec.n", "mesh": {"on": "$.spec.n"}});
    json!({"controllers": [
        (controller("first", "Widget", first, json!({"replicas": "$.spec.n"}))),
        (controller("second", "Item", second, mesh)),
    ]})
}

/// After a restart, the later one has received its sources first. The field is not its own.
#[tokio::test(start_paused = true)]
async fn a_field_stays_with_the_first_while_its_sources_are_not_listed() {
    for [first, second] in [
        ["Patcher", "Patcher"],
        ["Patcher", "Applier"],
        ["Applier", "Patcher"],
        ["Applier", "Applier"],
    ] {
        let replicas = |world: &World| at(&world.web(), &["spec", "replicas"]).clone();
        let mut world = World::new();
        let object = json!({"spec": {"replicas": 2}});
        world.server.put(&deployment(), "user", &object);
        world.operator("o", both_set(first, second));
        world.widget("web", 5);
        let item = ObjectKey::new("example.com", "Item", "ns", "web");
        world.put(&item, "spec", json!({"n": 7}));
        world.start();
        seconds(60).await;
        let before = world.state();
        assert_eq!(at(&before, &["spec", "replicas"]), &json!(5), "{first}");
        assert_eq!(at(&before, &MESH), &json!({"on": 7}));

        world.stop().await;
        world.put(&item, "spec", json!({"n": 8}));
        world.always("/widgets", Fault::Answer(503));
        world.requests("");
        world.start();
        seconds(60).await;
        assert_eq!(world.state(), before, "{first}, {second}");
        assert_eq!(world.requests("PATCH /apis/apps"), 0);
        world.always("/widgets", Fault::None);
        seconds(120).await;
        assert_eq!(replicas(&world), json!(5), "{first}, {second}");
        assert_eq!(at(&world.web(), &MESH), &json!({"on": 8}));

        world.server.delete(&super::widget("web"));
        seconds(60).await;
        assert_eq!(replicas(&world), json!(8), "{first}, {second}");
        world.stop().await;
    }
}

/// An Updater of Deployments, and a Patcher of the same ones. Both set the same label: it is in the
/// record of the Patcher only if that does not know what the Updater wants.
fn layers() -> Value {
    let controller = |name: &str, source: &str, kind: &str, spec: Value| {
        json!({
            "name": (name),
            "sources": [{"apiGroup": "example.com", "kind": (source)}],
            "pipeline": [{"@project": {
                "metadata": {
                    "name": "$.metadata.name", "namespace": "$.metadata.namespace",
                    "labels": {"app": "web"},
                },
                "spec": (spec),
            }}],
            "target": {"apiGroup": "apps", "kind": "Deployment", "type": (kind)},
        })
    };
    let base = json!({"replicas": "$.spec.n", "mesh": {"base": true}});
    let patch = json!({"replicas": "$.spec.n", "mesh": {"on": "$.spec.n"}});
    json!({"controllers": [
        (controller("base", "Widget", "Updater", base)),
        (controller("patch", "Item", "Patcher", patch)),
    ]})
}

/// The record of a patch depends on what it is a patch of.
#[tokio::test(start_paused = true)]
async fn a_restart_writes_nothing_whichever_source_is_listed_first() {
    for last in ["/widgets", "/items"] {
        let mut world = World::new();
        world.operator("o", layers());
        world.widget("web", 5);
        let item = ObjectKey::new("example.com", "Item", "ns", "web");
        world.put(&item, "spec", json!({"n": 7}));
        world.start();
        seconds(60).await;
        world.expect("o", "True/Ready");
        let before = world.web();
        assert_eq!(at(&before, &MESH), &json!({"base": true, "on": 7}));

        world.stop().await;
        world.always(last, Fault::Answer(503));
        world.start();
        seconds(60).await;
        world.always(last, Fault::None);
        seconds(120).await;
        world.expect("o", "True/Ready");
        assert_eq!(world.web(), before, "{last}");
        world.stop().await;
    }
}

/// Two Operators force other fields on one object. There is one label, of which each could want its
/// own value.
#[tokio::test(start_paused = true)]
async fn appliers_of_two_operators_that_force_their_values_share_an_object() {
    let sets = |field: &str| {
        json!({"controllers": [{
            "name": "sets",
            "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "spec": {field: "$.spec.n"},
            }}],
            "target": {"apiGroup": "apps", "kind": "Deployment", "type": "Applier", "force": true},
        }]})
    };
    let mut world = World::new();
    let object = json!({"spec": {"replicas": 2}});
    world.server.put(&deployment(), "user", &object);
    world.operator("one", sets("minReadySeconds"));
    world.operator("two", sets("progressDeadlineSeconds"));
    world.widget("web", 5);
    world.start();
    seconds(60).await;
    world.expect("one", "True/Ready");
    world.expect("two", "True/Ready");
    world.requests("");
    seconds(600).await;
    assert_eq!(world.requests("PATCH /apis/apps"), 0);
    let (min, deadline) = (
        ["spec", "minReadySeconds"],
        ["spec", "progressDeadlineSeconds"],
    );
    for field in [&min, &deadline] {
        assert_eq!(at(&world.web(), field), &json!(5));
    }
    // Both give up their own, also after a restart.
    world.stop().await;
    world.server.delete(&super::widget("web"));
    world.start();
    seconds(60).await;
    for field in [&min, &deadline] {
        assert_eq!(at(&world.web(), field), &Value::NULL);
    }
    assert_eq!(at(&world.web(), &["spec", "replicas"]), &json!(2));
    world.stop().await;
}
