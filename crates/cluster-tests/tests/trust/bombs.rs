//! Operators that would exhaust the stack, the memory or the time of the process, beside a
//! neighbour that copies.

use std::time::{Duration, Instant};

use cluster_tests::{Cluster, Copies, DELTIC, Installed, await_true, stop_deltic};
use serde_json::{Value, json};

use crate::{config_map, config_maps, controller, derived_name, operator, reaction};

fn nested(levels: usize, inner: &str) -> Value {
    (0..levels).fold(json!(inner), |inner, _| json!({"a": inner}))
}

fn project(s: &Value, t: &Value) -> Value {
    json!({"@project": {"metadata": "$.metadata", "s": s, "t": t}})
}

/// The first stage of all of them: the fields on which they grow.
fn seed() -> Value {
    project(&json!("$.data.k"), &json!("$.data.k"))
}

/// The bombs, by name, with the code of the error that each must have.
fn bombs(namespace: &str) -> Vec<(&'static str, Vec<Value>, &'static str)> {
    let source = config_maps(namespace, "bomb");
    let view = |kind: &str| json!({"kind": kind});
    let one = |stages: Vec<Value>| {
        let stages: Vec<Value> = [seed()].into_iter().chain(stages).collect();
        vec![controller("c", &source, &json!(stages), &view("Bomb"))]
    };
    let deeper = project(&nested(60, "$.s"), &json!("$.t"));
    let double = project(&json!(["$.s", "$.s"]), &json!(["$.t", "$.t"]));
    let doubled = |last: Value| {
        let mut stages = vec![double.clone(); 60];
        stages.push(last);
        one(stages)
    };
    // With a new name, because the first controller writes the object of its own.
    let nest = json!([{"@project": {
        "metadata": derived_name("-x"), "s": nested(40, "$.s")
    }}]);
    let views = vec![
        controller("first", &source, &json!([seed()]), &view("A")),
        controller("there", &view("A"), &nest, &view("B")),
        controller("back", &view("B"), &nest, &view("A")),
    ];
    // Two different documents with one name, which are evaluated again through all stages.
    let mut long = vec![
        project(&json!("$.s"), &json!([1, 2])),
        json!({"@unwind": "$.t"}),
        json!({"@project": {
            "metadata": {"name": "one", "namespace": "$.metadata.namespace"}, "t": "$.t"
        }}),
    ];
    long.resize(999, json!({"@select": true}));
    let equal = json!({"@select": {"@eq": ["$.s", "$.t"]}});
    let hash = project(&json!({"@hash": "$.s"}), &json!("$.t"));
    vec![
        ("stages-nest", one(vec![deeper; 300]), "too-deep"),
        ("views-nest", views, "too-deep"),
        ("compares", doubled(equal), "too-large"),
        ("hashes", doubled(hash), "too-large"),
        ("long", one(long), "conflict"),
    ]
}

#[test]
fn a_neighbour_of_bombs_goes_on_and_the_process_ends_in_time() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("bombs");
    let bombs = bombs(&namespace);
    let all = bombs.iter();
    let all = all.map(|(name, controllers, _)| operator(name, controllers).to_string());
    installed.install(&all.collect::<Vec<_>>().join("\n---\n"));
    let (copies, bystanders) = Copies::install(&installed, "neighbour", &json!({}));
    let object = |k: &str| config_map(&namespace, "bomb", "b", &json!({"k": k})).to_string();
    cluster.apply(&object("x"));
    let process = installed.deltic();
    for (name, _, code) in &bombs {
        let message = installed.await_reason(name, "ReconciliationFailed");
        let expect = format!("{code} at ");
        assert!(message.contains(&expect), "{name}: {message}");
    }
    // Each round sets all of them off again.
    for round in 0..3 {
        cluster.apply(&object(&format!("y{round}")));
        let took = reaction(&installed, &copies, &format!("beside {round}"));
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    installed.await_reason("neighbour", "Ready");
    let memory = process.resident_memory();
    assert!(memory < 1 << 30, "{memory} bytes");
    cluster.apply(&object("z"));
    let start = Instant::now();
    stop_deltic(process);
    assert!(start.elapsed() < Duration::from_secs(20));
    bystanders.assert_untouched();
}

/// Waits until the status of the Operator says that it is too deep to be read. This reads only the
/// condition, because the Operator is also too deep for this test.
fn await_refused(cluster: &Cluster) {
    let place = "jsonpath={.status.conditions[0].reason}: {.status.conditions[0].message}";
    let expect = "Invalid: unreadable at spec: spec is nested deeper than 100 levels";
    await_true("the status says that it is too deep", || {
        let condition = cluster.kubectl(&["get", "operators", "deep", "-o", place]);
        condition.starts_with(expect)
    });
}

#[test]
fn an_operator_that_is_too_deep_keeps_no_other_from_starting() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("deep");
    let with = |literal: Value| {
        let stages = json!([project(&literal, &json!("$.data.k"))]);
        let source = config_maps(&namespace, "deep");
        let target = json!({"kind": "Deep"});
        operator("deep", &[controller("c", &source, &stages, &target)]).to_string()
    };
    // With the permissions that it would need if it could be read.
    installed.install(&with(json!("flat")));
    let (copies, bystanders) = Copies::install(&installed, "neighbour", &json!({}));
    let process = installed.deltic();
    installed.await_reason("deep", "Ready");
    cluster.apply(&with(nested(150, "x")));
    await_refused(cluster);
    reaction(&installed, &copies, "beside");
    stop_deltic(process);

    // The new process must report it again.
    let forget = r#"{"status": {"conditions": null}}"#;
    let patch = ["patch", "operator", "deep", "--subresource=status"];
    cluster.kubectl(&[&patch[..], &["--type=merge", "-p", forget]].concat());
    let process = installed.deltic();
    reaction(&installed, &copies, "after the restart");
    await_refused(cluster);
    installed.await_reason("neighbour", "Ready");
    // It runs once it can be read.
    cluster.apply(&with(json!("flat")));
    installed.await_reason("deep", "Ready");
    stop_deltic(process);
    bystanders.assert_untouched();
    let writes = cluster.audit();
    let mut ours = writes.iter().filter(|write| write.user == DELTIC);
    assert!(ours.all(|write| write.namespace != namespace));
}
