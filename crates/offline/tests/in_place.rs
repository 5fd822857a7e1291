//! A Patcher on the kind that its own controller reads does not see its own patch.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use common::operator;
use dataflow::Budget;
use document::{Value, json};
use expr::Env;
use offline::{Event, EventType, Offline};
use operator::Operator;

/// Changes Deployments in place.
fn controller(name: &str, pipeline: Value) -> Value {
    json!({
        "name": name, "sources": [{"apiGroup": "apps", "kind": "Deployment"}],
        "pipeline": pipeline,
        "target": {"apiGroup": "apps", "version": "v1", "kind": "Deployment", "type": "Patcher"},
    })
}

/// One Deployment that a controller changes in place.
struct Story {
    offline: Offline,
    live: Value,
}

impl Story {
    fn new(pipeline: Value) -> Self {
        Self::of(&controller("c", pipeline))
    }

    fn of(controller: &Value) -> Self {
        let (operator, problems) = operator(controller);
        assert_eq!(problems, [], "a Patcher on its own kind is no cycle");
        Self::run(operator.unwrap())
    }

    fn run(operator: Operator) -> Self {
        Self {
            offline: Offline::new(operator, Budget::default()),
            live: Value::NULL,
        }
    }

    /// A user writes the object. Returns whether the controller wrote it.
    fn put(&mut self, object: &Value) -> bool {
        let named =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        let object = document::merge(&named, object);
        self.live = object.clone();
        let kind = EventType::Modified;
        let batch = self
            .offline
            .batch(&[Event { kind, object }], &Env::default())
            .unwrap();
        assert_eq!(batch.errors, []);
        for event in &batch.events {
            self.live = event.object.clone();
        }
        !batch.events.is_empty()
    }

    /// A user changes a field.
    fn set(&mut self, path: &[&str], value: &Value) -> bool {
        let path = fieldset::FieldPath::of(path);
        let live = if value.is_null() {
            path.remove(&self.live)
        } else {
            path.set(&self.live, value)
        };
        self.put(&live)
    }

    fn at(&self, path: &[&str]) -> &Value {
        path.iter().fold(&self.live, |value, name| value.get(name))
    }
}

fn patch(operations: Value) -> Value {
    json!([{"@patch": {"operations": operations}}])
}

#[test]
fn appending_a_container_is_idempotent() {
    let mut story = Story::new(patch(json!([
        {"op": "add", "path": "/containers/-", "value": {"name": "side", "image": "s"}},
        {"op": "add", "path": "/args/-", "value": "-v"},
        {"op": "replace", "path": "/replicas", "value": "${resource.replicas * 2}"},
    ])));
    assert!(story.put(&json!({"replicas": 2, "containers": [{"name": "app"}], "args": ["a"]})));
    let expect = json!([{"name": "app"}, {"name": "side", "image": "s"}]);
    assert_eq!(story.at(&["containers"]), &expect);
    assert_eq!(story.at(&["args"]), &json!(["a", "-v"]));
    assert_eq!(story.at(&["replicas"]), &json!(4));
    let same = story.live.clone();
    assert!(!story.put(&same));
    assert!(story.set(&["replicas"], &json!(5)));
    assert_eq!(story.at(&["replicas"]), &json!(10));
    assert_eq!(story.at(&["containers"]), &expect);
    assert_eq!(story.at(&["args"]), &json!(["a", "-v"]));
}

/// Adds a variable to all containers, then a container and a rule, unless `off` is set.
fn mesh() -> Story {
    Story::new(
        json!([{"@patch": {"where": "!has(resource.off)", "operations": [
            {"op": "add", "path": "/containers[*]/env/-", "value": {"name": "MESH", "value": "on"}},
            {"op": "add", "path": "/containers/-", "value": {"name": "side", "image": "s"}},
            {"op": "add", "path": "/rules/-", "value": {"host": "ours"}},
        ]}}]),
    )
}

#[test]
fn a_user_may_change_an_element_that_was_added() {
    let mesh_env = json!({"name": "MESH", "value": "on"});
    let user_env = json!({"name": "X", "value": "1"});
    let mut story = mesh();
    story.put(&json!({"containers": [{"name": "app"}], "rules": []}));
    // As `kubectl set env --all`: nothing has to be written.
    let changed = json!([
        {"name": "app", "env": [(mesh_env.clone()), (user_env.clone())]},
        {"name": "side", "image": "s", "env": [(user_env.clone())]},
    ]);
    assert!(!story.set(&["containers"], &changed));
    assert_eq!(story.at(&["containers"]), &changed);
    // What is ours is taken back, and what the user set stays.
    assert!(story.set(&["off"], &json!(true)));
    let left = json!([
        {"name": "app", "env": [(user_env.clone())]}, {"name": "side", "env": [(user_env)]},
    ]);
    assert_eq!(story.at(&["containers"]), &left);
}

#[test]
fn the_value_of_a_user_in_an_added_element_is_replaced_and_comes_back() {
    let mut story = mesh();
    story.put(&json!({"containers": [{"name": "app", "env": []}], "rules": []}));
    let changed = json!([{"name": "app", "env": []}, {"name": "side", "image": "user"}]);
    assert!(story.set(&["containers"], &changed));
    assert_eq!(story.at(&["containers"]).at(1).get("image"), &json!("s"));
    let same = story.live.clone();
    assert!(!story.put(&same));
    assert_eq!(story.at(&["containers"]).as_list().unwrap().len(), 2);
    assert!(story.set(&["off"], &json!(true)));
    assert_eq!(
        story.at(&["containers"]).at(1),
        &json!({"name": "side", "image": "user"})
    );
}

#[test]
fn an_added_element_without_a_key_is_found_by_its_content() {
    let mut story = mesh();
    story.put(&json!({"containers": [{"name": "app"}], "rules": [{"host": "user"}]}));
    assert_eq!(
        story.at(&["rules"]),
        &json!([{"host": "user"}, {"host": "ours"}])
    );
    // The user adds one before it, and removes the own one.
    let moved = json!([{"host": "new"}, {"host": "user"}, {"host": "ours"}]);
    assert!(!story.set(&["rules"], &moved));
    assert_eq!(story.at(&["rules"]), &moved);
    let moved = json!([{"host": "ours"}, {"host": "new"}]);
    story.set(&["rules"], &moved);
    assert_eq!(
        story.at(&["rules"]).as_list().unwrap().len(),
        2,
        "{}",
        story.live
    );
    story.set(&["off"], &json!(true));
    assert_eq!(story.at(&["rules"]), &json!([{"host": "new"}]));
}

#[test]
fn what_passes_through_belongs_to_the_user() {
    let mut story = Story::new(patch(
        json!([{"op": "add", "path": "/metadata/annotations/note", "value": "x"}]),
    ));
    story.put(&json!({"metadata": {"labels": {"team": "a", "tier": "b"}}, "spec": {"n": 1}}));
    assert_eq!(
        story.at(&["metadata", "annotations"]),
        &json!({"note": "x"})
    );
    // A label that a user takes off stays off, and a change is not reverted.
    assert!(!story.set(&["metadata", "labels", "team"], &Value::NULL));
    assert!(!story.set(&["spec", "n"], &json!(2)));
    assert_eq!(story.at(&["metadata", "labels"]), &json!({"tier": "b"}));
    assert_eq!(story.at(&["spec", "n"]), &json!(2));
    // What the patch sets is put back.
    assert!(story.set(&["metadata", "annotations", "note"], &json!("y")));
    assert_eq!(
        story.at(&["metadata", "annotations"]),
        &json!({"note": "x"})
    );
}

#[test]
fn what_a_patch_removes_comes_back_with_the_condition() {
    let remove = json!([{"@patch": {"where": "resource.on", "operations": [
        {"op": "remove", "path": "/containers[?(@.name=='debug')]"},
        {"op": "remove", "path": "/spec/secret"},
        {"op": "remove", "path": "/rules/0"},
    ]}}]);
    let mut story = Story::new(remove);
    let object = json!({"on": true, "spec": {"secret": 1, "rest": 2}, "rules": [{"a": 1}, {"b": 2}],
        "containers": [{"name": "app"}, {"name": "debug", "image": "d"}]});
    assert!(story.put(&object));
    assert_eq!(story.at(&["containers"]), &json!([{"name": "app"}]));
    assert_eq!(story.at(&["spec"]), &json!({"rest": 2}));
    assert_eq!(story.at(&["rules"]), &json!([{"b": 2}]));
    let same = story.live.clone();
    assert!(!story.put(&same));
    assert!(story.set(&["on"], &json!(false)));
    for field in ["containers", "spec", "rules"] {
        assert_eq!(story.at(&[field]), object.get(field));
    }
}

#[test]
fn an_element_that_a_patch_removes_comes_back_to_where_it_was() {
    let named = |names: &[&str]| {
        let items = names.iter().map(|name| json!({"name": (*name)}));
        items.collect::<Value>()
    };
    let remove = |path: &str| json!({"op": "remove", "path": path});
    let check = |operations: Value, left: &[&str]| {
        let patch = json!([{"@patch": {"where": "resource.on", "operations": operations}}]);
        let mut story = Story::new(patch);
        let all = named(&["a", "b", "c", "d", "e"]);
        assert!(story.put(&json!({"on": true, "containers": (all.clone())})));
        assert_eq!(story.at(&["containers"]), &named(left));
        for _ in 0..3 {
            let same = story.live.clone();
            assert!(!story.put(&same), "{}", story.live);
        }
        assert!(story.set(&["on"], &json!(false)));
        assert_eq!(story.at(&["containers"]), &all);
    };
    check(
        json!([(remove("/containers[?(@.name=='a')]"))]),
        &["b", "c", "d", "e"],
    );
    check(json!([(remove("/containers/0"))]), &["b", "c", "d", "e"]);
    check(json!([(remove("/containers/2"))]), &["a", "b", "d", "e"]);
    let three = ["/containers/3", "/containers/1", "/containers/0"].map(remove);
    check(Value::from(three.to_vec()), &["c", "e"]);
}

#[test]
fn elements_that_are_removed_one_after_the_other_come_back_in_order() {
    let remove = json!([{"@patch": {"forEach": "${resource.gone}", "var": "gone", "operations": [
        {"op": "remove", "path": "/containers[?(@.name=='${gone}')]"},
    ]}}]);
    let all = json!([{"name": "p"}, {"name": "x"}, {"name": "y"}, {"name": "u"}]);
    for gone in [["x", "y"], ["y", "x"]] {
        let mut story = Story::new(remove.clone());
        story.put(&json!({"gone": [], "containers": (all.clone())}));
        story.set(&["gone"], &json!([(gone[0])]));
        story.set(&["gone"], &json!([(gone[0]), (gone[1])]));
        assert_eq!(
            story.at(&["containers"]),
            &json!([{"name": "p"}, {"name": "u"}])
        );
        story.set(&["gone"], &json!([(gone[1])]));
        assert_eq!(story.at(&["containers"]).at(1), &json!({"name": (gone[0])}));
        story.set(&["gone"], &json!([]));
        assert_eq!(story.at(&["containers"]), &all);
    }
}

#[test]
fn an_element_that_a_user_adds_is_removed_at_once() {
    let remove = json!([{"op": "remove", "path": "/containers[?(@.name=='debug')]"}]);
    let mut story = Story::new(patch(remove));
    assert!(!story.put(&json!({"containers": [{"name": "app"}]})));
    assert!(story.set(
        &["containers"],
        &json!([{"name": "app"}, {"name": "debug"}])
    ));
    assert_eq!(story.at(&["containers"]), &json!([{"name": "app"}]));
}

#[test]
fn a_projection_removes_nothing_and_writes_only_what_differs() {
    let project = json!([{"@project": {
        "metadata": {"name": "$.metadata.name", "labels": "$.metadata.labels"},
        "status": "$.status", "spec": {"n": {"@add": ["$.spec.n", 1]}},
    }}]);
    let mut story = Story::new(project);
    let object = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"n": 1, "m": 1},
        "status": {"observedGeneration": 1}});
    assert!(story.put(&object));
    assert_eq!(story.at(&["spec"]), &json!({"n": 2, "m": 1}));
    assert!(!story.set(&["status", "observedGeneration"], &json!(2)));
    assert!(!story.set(&["metadata", "labels", "a"], &Value::NULL));
    assert_eq!(story.at(&["status"]), &json!({"observedGeneration": 2}));
    assert!(story.set(&["spec", "n"], &json!(7)));
    assert_eq!(story.at(&["spec"]), &json!({"n": 8, "m": 1}));
}

#[test]
fn while_a_stage_fails_the_patch_stays_and_nothing_else_is_written() {
    let double = json!([{"op": "replace", "path": "/n", "value": "${resource.n * 2}"}]);
    let mut story = Story::new(patch(double));
    story.put(&json!({"n": 2, "m": 1}));
    assert_eq!(story.at(&["n"]), &json!(4));
    let named = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let bad = document::merge(&named, &json!({"n": "x", "m": 2}));
    let kind = EventType::Modified;
    let event = Event { kind, object: bad };
    let batch = story.offline.batch(&[event], &Env::default()).unwrap();
    assert_eq!(batch.errors.len(), 1);
    // The patch of the last good state is put back; what passed through is not.
    assert_eq!(batch.events[0].object.get("n"), &json!(4));
    assert_eq!(batch.events[0].object.get("m"), &json!(2));
    assert!(story.put(&json!({"n": 3, "m": 3})));
    assert_eq!(story.at(&["n"]), &json!(6));
    assert_eq!(story.at(&["m"]), &json!(3));
}

#[test]
fn a_label_that_the_patch_sets_does_not_select_the_object() {
    let mut story = Story::of(&json!({
        "name": "c",
        "sources": [{"apiGroup": "apps", "kind": "Deployment",
            "labelSelector": {"matchLabels": {"raw": "yes"}}}],
        "pipeline": (patch(json!([{"op": "replace", "path": "/metadata/labels/raw", "value": "no"}]))),
        "target": {"apiGroup": "apps", "version": "v1", "kind": "Deployment", "type": "Patcher"},
    }));
    assert!(story.put(&json!({"metadata": {"labels": {"raw": "yes"}}})));
    assert_eq!(story.at(&["metadata", "labels"]), &json!({"raw": "no"}));
    let same = story.live.clone();
    assert!(!story.put(&same));
}

#[test]
fn the_patch_of_an_object_that_another_controller_yields_is_not_seen_either() {
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "test"},
        "spec": {"controllers": [
            {"name": "whole", "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
             "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}, "n": "$.n",
                "containers": [{"name": "app"}]}}],
             "target": {"apiGroup": "apps", "version": "v1", "kind": "Deployment"}},
            {"name": "patch", "sources": [{"apiGroup": "apps", "kind": "Deployment"}],
             "pipeline": (patch(json!([
                {"op": "add", "path": "/containers/-", "value": {"name": "side", "image": "s"}},
                {"op": "replace", "path": "/n", "value": "${resource.n + 1}"}]))),
             "target": {"apiGroup": "apps", "version": "v1", "kind": "Deployment", "type": "Patcher"}},
        ]},
    });
    let (operator, problems) = operator::read(&manifest, &expr::Functions::builtin());
    assert_eq!(problems, []);
    let mut offline = Offline::new(operator.unwrap(), Budget::default());
    for n in [1, 5] {
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "n": (n)});
        let kind = EventType::Modified;
        let batch = offline
            .batch(&[Event { kind, object }], &Env::default())
            .unwrap();
        assert_eq!(batch.errors, []);
        let targets = offline.targets();
        assert_eq!(targets[0].get("n"), &json!(n + 1));
        let expect = json!([{"name": "app"}, {"name": "side", "image": "s"}]);
        assert_eq!(targets[0].get("containers"), &expect);
    }
}

/// A batch with one object. Returns the codes of the errors, and the events.
fn batch(offline: &mut Offline, object: &Value) -> (Vec<&'static str>, Vec<Event>) {
    let kind = EventType::Modified;
    let event = Event {
        kind,
        object: object.clone(),
    };
    let batch = offline.batch(&[event], &Env::default()).unwrap();
    let codes = batch.errors.iter().map(|error| error.code).collect();
    (codes, batch.events)
}

#[test]
fn a_value_that_cannot_be_restored_is_not_changed_in_place() {
    let append = json!([{"op": "replace", "path": "/text", "value": "${resource.text + '!'}"}]);
    let Story { mut offline, .. } = Story::new(patch(append));
    let object = |text: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "text": text});
    let (codes, events) = batch(&mut offline, &object("short"));
    assert_eq!(codes, [""; 0]);
    assert_eq!(events[0].object.get("text"), &json!("short!"));
    // The error comes instead of the first write, and nothing grows.
    for _ in 0..2 {
        let (codes, events) = batch(&mut offline, &object(&"x".repeat(1_100)));
        assert!(codes.contains(&"not-kept"), "{codes:?}");
        assert_eq!(events, []);
    }
    // A value that the pipeline does not read may be replaced.
    let project = json!([{"@project": {
        "metadata": {"name": "$.metadata.name"}, "text": "fixed",
    }}]);
    let mut story = Story::new(project);
    assert!(story.put(&object(&"x".repeat(1_100))));
    assert_eq!(story.at(&["text"]), &json!("fixed"));
    let same = story.live.clone();
    assert!(!story.put(&same));
}
