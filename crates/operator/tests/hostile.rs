//! Checking is bounded: Operators that would take forever are checked within seconds.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::fmt::Write;
use std::time::{Duration, Instant};

use document::{Key, Map, Value, json};
use expr::Functions;
use schema::Catalog;

fn operator(pipeline: &Value) -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "op"},
        "spec": {"controllers": [{
            "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
            "pipeline": (pipeline.clone()), "target": {"apiGroup": "", "kind": "ConfigMap"},
        }]},
    })
}

/// Reads and checks an Operator. Returns the number of findings.
fn check(pipeline: &Value) -> usize {
    let start = Instant::now();
    let manifest = operator(pipeline);
    let (read, problems) = operator::read(&manifest, &Functions::builtin());
    let read = read.unwrap_or_else(|| panic!("{problems:?}"));
    let found = operator::typed::check(&[(&read.into(), &manifest)], &Catalog::default());
    let time = start.elapsed();
    assert!(time < Duration::from_secs(20), "it took {time:?}");
    found[0].len()
}

#[test]
fn documents_that_double_with_every_stage() {
    let double = json!({"@project": {"metadata": "$.metadata", "a": "$", "b": "$"}});
    let mut stages = vec![double; 60];
    let both = json!({"@cond": [{"@exists": "$.a"}, {"x": "$.a"}, {"x": "$.b", "y": "$"}]});
    stages.extend(vec![json!({"@project": [{"$.": "$."}, both]}); 20]);
    check(&Value::list(stages));
}

#[test]
fn documents_that_are_nested_with_every_stage() {
    let nest = json!({"@project": {"metadata": "$.metadata", "a": "$"}});
    check(&Value::list(vec![nest; dataflow::pipeline::MAX_STAGES]));
}

#[test]
fn maps_with_many_fields_that_are_set_one_by_one() {
    let mut map = String::from("{\"metadata\":{\"name\":\"a\"}");
    for i in 0..3_000 {
        write!(map, ",\"k{i}\":\"$.spec\",\"$.s{i}.x\":1").unwrap();
    }
    let map: Value = (map + "}").parse().unwrap();
    check(&json!([{"@project": (map.clone())}, {"@project": [{"$.": "$."}, map]}]));
}

#[test]
fn lists_of_many_different_maps() {
    let items: Value = (0..5_000)
        .map(|i: i64| {
            let entries = vec![(Key::new(&format!("k{i}")), i.into())];
            Value::from(Map::from_entries(entries))
        })
        .collect();
    check(&json!([{"@project": {"metadata": {"name": "a", "namespace": "b"}, "data": items}}]));
}

#[test]
fn many_mistakes_give_a_bounded_number_of_findings() {
    let fields: Value = (0..5_000)
        .map(|i| json!({"@concat": [(format!("$.spec.f{i}")), {"@len": true}]}))
        .collect();
    let found = check(&json!([{"@project": {"metadata": {"name": "a"}, "data": fields}}]));
    assert!((100..1_000).contains(&found), "{found}");
    let maps: Value = (0..5_000)
        .map(|i| json!({"@len": i, "@sum": [i]}))
        .collect();
    let found = check(&json!([{"@project": {"metadata": {"name": "a"}, "data": maps}}]));
    assert!((100..1_000).contains(&found), "{found}");
}
