//! Several controllers that append to one list of an object in place.

use document::{ListRef, Value, json};
use object::ObjectKey;
use simulation::fields::at;

use super::{World, seconds};

const TOLERATIONS: [&str; 2] = ["spec", "tolerations"];

fn deployment() -> ObjectKey {
    ObjectKey::new("apps", "Deployment", "ns", "web")
}

/// A controller that applies one operation of a JSON Patch to Deployments, in place.
fn patches(name: &str, path: &str, value: &Value) -> Value {
    json!({
        "name": name,
        "sources": [{"apiGroup": "apps", "kind": "Deployment"}],
        "pipeline": [{"@patch": {"operations": [
            {"op": "add", "path": path, "value": (value.clone())},
        ]}}],
        "target": {"apiGroup": "apps", "kind": "Deployment", "type": "Patcher"},
    })
}

fn tolerates(key: &str) -> Value {
    patches(key, "/spec/tolerations/-", &json!({"key": key}))
}

fn spec(controllers: &[Value]) -> Value {
    let controllers: Value = controllers.iter().cloned().collect();
    json!({"deletionPolicy": "Delete", "controllers": (controllers)})
}

/// A cluster with a Deployment that tolerates these.
fn world(keys: &[&str]) -> World {
    let world = World::new();
    let all: Value = keys.iter().map(|key| json!({"key": (*key)})).collect();
    let spec = match keys {
        [] => json!({"replicas": 2}),
        _ => json!({"replicas": 2, "tolerations": (all)}),
    };
    world
        .server
        .put(&deployment(), "user", &json!({"spec": (spec)}));
    world
}

fn keys(world: &World) -> Vec<String> {
    let object = world.server.get(&deployment()).unwrap_or_default();
    let all = at(&object, &TOLERATIONS).as_list().into_iter().flatten();
    let mut keys: Vec<String> = all.map(|item| item.get("key").to_string()).collect();
    keys.sort();
    keys.iter().map(|key| key.replace('"', "")).collect()
}

#[tokio::test(start_paused = true)]
async fn two_operators_append_to_one_list() {
    for (users, all) in [(&["u"][..], ["a", "b", "u"].as_slice()), (&[], &["a", "b"])] {
        for pause in [0, 4] {
            let mut world = world(users);
            world.operator("oa", spec(&[tolerates("a")]));
            world.start();
            seconds(pause).await;
            world.operator("ob", spec(&[tolerates("b")]));
            seconds(60).await;
            assert_eq!(keys(&world), all);
            world.expect("oa", "True/Ready");
            world.expect("ob", "True/Ready");
            world.requests("");
            seconds(60).await;
            assert_eq!(world.requests("PATCH /apis/apps"), 0);
            for name in ["oa", "ob"] {
                world.delete_operator(name);
                seconds(30).await;
            }
            assert_eq!(keys(&world), users);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_controllers_append_to_one_list() {
    let mut world = world(&["u"]);
    world.operator("o", spec(&[tolerates("a"), tolerates("b")]));
    world.start();
    seconds(60).await;
    assert_eq!(keys(&world), ["a", "b", "u"]);
    world.expect("o", "True/Ready");
    world.delete_operator("o");
    seconds(30).await;
    assert_eq!(keys(&world), ["u"]);
}

#[tokio::test(start_paused = true)]
async fn an_element_of_another_operator_gets_no_half_element() {
    let containers = ["spec", "template", "spec", "containers"];
    let mut world = world(&[]);
    world.server.change(&deployment(), "user", |old| {
        simulation::fields::set(old, &containers, json!([{"name": "app", "image": "app:1"}]))
    });
    let side = json!({"name": "side", "image": "s:1"});
    let side = patches("side", "/spec/template/spec/containers/-", &side);
    world.operator("oa", spec(&[side]));
    world.start();
    seconds(10).await;
    let env = json!({"name": "E", "value": "1"});
    let env = patches("env", "/spec/template/spec/containers[*]/env/-", &env);
    world.operator("ob", spec(&[env]));
    seconds(60).await;
    let all = |world: &World| {
        let object = world.server.get(&deployment()).unwrap_or_default();
        at(&object, &containers).clone()
    };
    assert_eq!(all(&world).at(0).get("env").at(0).get("value"), &json!("1"));
    assert_eq!(all(&world).at(1).get("env"), &Value::NULL);
    for name in ["oa", "ob"] {
        world.delete_operator(name);
        seconds(30).await;
    }
    assert_eq!(all(&world).as_list().map_or(0, ListRef::len), 1);
    assert_eq!(all(&world).at(0).get("env"), &Value::NULL);
}
