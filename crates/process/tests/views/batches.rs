//! What a batch of an Operator with several controllers shows to those that read its views.

use std::sync::{Arc, Mutex};

use object::GroupKind;
use store::{Event, Selector, Start};

use super::*;

/// Pods yield objects of `One`, which yield objects of `Two`. `Sum` joins both, and another
/// controller patches it.
fn diamond() -> Value {
    let view = |kind: &str| json!([{"kind": (kind)}]);
    let controller = |name: &str, sources: Value, pipeline: Value, target: Value| json!({"name": (name), "sources": (sources), "pipeline": (pipeline), "target": (target)});
    let project = |fields: Value| {
        let named = merge_patch(&json!({"metadata": (name())}), &fields);
        json!([{"@project": (named)}])
    };
    let same_name = json!({"@eq": ["$.One.metadata.name", "$.Two.metadata.name"]});
    let sum = json!([
        {"@join": (same_name)},
        {"@project": {
            "metadata": {"name": "$.One.metadata.name", "namespace": "$.One.metadata.namespace"},
            "one": "$.One.n", "two": "$.Two.n",
        }},
    ]);
    // The reader comes before what it reads: the order is that of the views.
    json!({"controllers": [
        (controller("sum", json!([{"kind": "One"}, {"kind": "Two"}]), sum, json!({"kind": "Sum"}))),
        (controller("mark", view("Two"), project(json!({"mark": "$.n"})),
            json!({"kind": "Sum", "type": "Patcher"}))),
        (controller("two", view("One"), project(json!({"n": "$.n"})), json!({"kind": "Two"}))),
        (controller("one", json!([{"apiGroup": "", "version": "v1", "kind": "Pod"}]),
            project(json!({"n": "$.spec.n"})), json!({"kind": "One"}))),
        (controller("maps", json!([{"kind": "Sum"}]),
            project(json!({"data": {"one": "$.one", "two": "$.two", "mark": "$.mark"}})),
            json!({"apiGroup": "", "version": "v1", "kind": "ConfigMap"}))),
    ]})
}

/// Copies `Sum` to a view of another Operator.
fn copy() -> Value {
    operator(
        "copy",
        json!([{"apiGroup": "producer.view.dcontroller.io", "kind": "Sum"}]),
        json!({"metadata": (name()), "one": "$.one", "two": "$.two", "mark": "$.mark"}),
        json!({"kind": "Copy"}),
    )
}

/// Records the contents of a view after each change: the name, and `one`, `two` and `mark`.
fn record(world: &World, operator: &str, kind: &str) -> Arc<Mutex<Vec<String>>> {
    let view = GroupKind::new(&format!("{operator}.view.dcontroller.io"), kind);
    let store = world.views.store();
    let start = Start::After(store.version());
    let mut watch = store.watch(&view, Selector::default(), start).unwrap();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = seen.clone();
    tokio::spawn(async move {
        while let Ok(event) = watch.next().await {
            let (Event::Added(object) | Event::Modified(object)) = event else {
                continue;
            };
            let name = object.get("metadata").get("name").clone();
            let values = ["one", "two", "mark"].map(|field| object.get(field).clone());
            record
                .lock()
                .unwrap()
                .push(format!("{name} {}", Value::list(values)));
        }
    });
    seen
}

#[tokio::test(start_paused = true)]
async fn readers_of_a_view_see_no_state_between_controllers() {
    let mut world = World::new();
    world.operator("producer", &diamond());
    world.operator("reader", &copy());
    world.start();
    rest().await;
    let (sums, copies) = (
        record(&world, "producer", "Sum"),
        record(&world, "reader", "Copy"),
    );
    let mut expected = Vec::new();
    for n in ["1", "2", "3"] {
        world.pod("a", n);
        rest().await;
        expected.push(format!("\"a\" [\"{n}\",\"{n}\",\"{n}\"]"));
        let map = world.server.get("configmaps", "a");
        assert_eq!(
            map.get("data"),
            &json!({"one": (n), "two": (n), "mark": (n)})
        );
    }
    assert_eq!(*sums.lock().unwrap(), expected);
    assert_eq!(*copies.lock().unwrap(), expected);
    // Each state of the target was written once, too.
    assert_eq!(world.server.writes("/configmaps"), 3);
    world.server.delete("pods", "a");
    rest().await;
    assert_eq!(world.server.names("configmaps"), [""; 0]);
}

/// A user's change of an object that a controller yields does not get lost in the batch.
#[tokio::test(start_paused = true)]
async fn a_change_of_a_user_passes_through_the_controllers() {
    let mut world = World::new();
    world.operator("producer", &diamond());
    world.start();
    world.pod("a", "1");
    rest().await;
    let view = GroupKind::new("producer.view.dcontroller.io", "One");
    let own = json!({
        "apiVersion": "producer.view.dcontroller.io/v1alpha1", "kind": "One",
        "metadata": {"name": "user", "namespace": "n"}, "n": "7"
    });
    let store = world.views.store();
    let alice = store::Caller::user("alice");
    store
        .write(&alice, &view, &store::Write::Create(own))
        .unwrap();
    rest().await;
    let map = world.server.get("configmaps", "user");
    assert_eq!(
        map.get("data"),
        &json!({"one": "7", "two": "7", "mark": "7"})
    );
    let key = object::ObjectName::new("n", "user");
    let delete = store::Write::Delete(key, store::Preconditions::default());
    store.write(&alice, &view, &delete).unwrap();
    rest().await;
    assert_eq!(world.server.names("configmaps"), ["a"]);
}
