//! Small Operators that would exhaust memory, stack or time are stopped with an error that names
//! the object.

use document::{Value, json};

use crate::common::{Files, deltic, deltic_on};

fn operator(pipeline: &Value) -> String {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
        "pipeline": (pipeline.clone()),
        "target": {"apiGroup": "", "kind": "Secret"},
    });
    operator_of(&json!([controller]))
}

fn operator_of(controllers: &Value) -> String {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "o"},
        "spec": {"controllers": (controllers.clone())},
    })
    .to_string()
}

fn object() -> String {
    let metadata = json!({"name": "x", "namespace": "d"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "s": "x", "t": "x"})
        .to_string()
}

/// Checks that `render` and `replay` fail with this code.
fn fails(name: &str, operator: &str, code: &str) {
    let files = Files::new(&format!("bounds-{name}"))
        .with("operator.json", operator)
        .with("object.json", &object())
        .with(
            "event.json",
            &format!(r#"{{"type":"ADDED","object":{}}}"#, object()),
        );
    let check = files.deltic(&["check", "-f", "operator.json"]);
    assert_eq!(check.code, 0, "{}", check.stderr);
    let error = format!("error[{code}]");
    files
        .deltic(&["render", "-f", "operator.json", "-f", "object.json"])
        .ended(1)
        .mentioned(&[&error, "ConfigMap/d/x"]);
    let events = ["replay", "-f", "operator.json", "event.json"];
    files.deltic(&events).ended(1).mentioned(&[&error]);
}

fn project(value: &Value) -> Value {
    json!({"@project": {"metadata": "$.metadata", "s": (value.clone()), "t": "$.t"}})
}

fn nested(levels: usize, inner: &str) -> Value {
    (0..levels).fold(Value::from(inner), |inner, _| json!({"a": inner}))
}

#[test]
fn stages_that_nest() {
    let stages = vec![project(&nested(60, "$.s")); 300];
    fails("nest", &operator(&stages.into()), "too-deep");
}

#[test]
fn views_that_nest_each_other() {
    let view = |kind: &str| json!({"kind": kind});
    let controller = |name: &str, source: Value, target: Value| {
        json!({
            "name": name,
            "sources": [source],
            "pipeline": [{"@project": {"metadata": "$.metadata", "s": (nested(40, "$.s"))}}],
            "target": target,
        })
    };
    let controllers = json!([
        (controller(
            "first",
            json!({"apiGroup": "", "kind": "ConfigMap"}),
            view("A")
        )),
        (controller("there", view("A"), view("B"))),
        (controller("back", view("B"), view("A")))
    ]);
    let operator = operator_of(&controllers);
    let files = Files::new("bounds-views")
        .with("operator.json", &operator)
        .with("object.json", &object());
    files
        .deltic(&["render", "-f", "operator.json", "-f", "object.json"])
        .ended(1)
        .mentioned(&["error[too-deep]"]);
}

#[test]
fn stages_that_double() {
    let double = json!({"@project": {
        "metadata": "$.metadata", "s": ["$.s", "$.s"], "t": ["$.t", "$.t"]
    }});
    for (name, last) in [
        ("eq", json!({"@select": {"@eq": ["$.s", "$.t"]}})),
        ("hash", project(&json!({"@hash": "$.s"}))),
        ("print", json!({"@select": true})),
    ] {
        let mut stages = vec![double.clone(); 60];
        stages.push(last);
        fails(name, &operator(&stages.into()), "too-large");
    }
}

#[test]
fn one_expression_that_doubles() {
    let doubled = (0..40).fold(
        json!(["$.s"]),
        |list, _| json!({"@map": [["$$", "$$"], list]}),
    );
    let stage = project(&json!({"@hash": (doubled.clone())}));
    fails("one", &operator(&json!([stage])), "too-large");
    let expression = json!({"@eq": [(doubled.clone()), (doubled)]}).to_string();
    deltic(&["eval", &expression])
        .ended(1)
        .mentioned(&["error[too-large]"]);
}

#[test]
fn patches_that_double() {
    let double = json!({"op": "add", "path": "/s", "value": "${[resource.s, resource.s]}"});
    let patch = json!({"@patch": {"operations": (Value::list(vec![double; 60]))}});
    fails("patch", &operator(&json!([patch])), "too-large");
}

#[test]
fn the_bound_is_an_argument() {
    let list = r#"{"@range": 1000}"#;
    deltic(&["eval", list]).ended(0);
    deltic(&["eval", list, "--max-derived-bytes", "1000"])
        .ended(1)
        .mentioned(&["error[too-large]: the document has more than 1000 bytes"]);
    deltic(&["eval", list, "--max-derived-bytes", "0"]).ended(2);
    let patch = r#"{"doc":{},"patch":[{"op":"add","path":"/a","value":"aaaaaaaaaaaaaaaaaaaa"}]}"#;
    let args = ["patch", "--jsonl", "--max-derived-bytes", "20"];
    let run = deltic_on(patch, &args);
    assert!(
        run.stdout.contains(r#""code":"too-large""#),
        "{}",
        run.stdout
    );
}

#[test]
fn regular_expressions_of_all_controllers_are_counted() {
    let controller = |name: usize| {
        let patterns: Value = (0..100)
            .map(|i| json!({"@regexp": [(format!("x{name}-{i}")), "$.s"]}))
            .collect();
        json!({
            "name": (format!("c{name}")),
            "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
            "pipeline": [{"@select": {"@or": patterns}}],
            "target": {"kind": (format!("V{name}"))},
        })
    };
    let of = |count: usize| operator_of(&(0..count).map(controller).collect());
    deltic_on(of(2), &["check", "-f", "-"]).ended(0);
    deltic_on(of(4), &["check", "-f", "-"])
        .ended(2)
        .mentioned(&["error[too-many-patterns]: more than 256 regular expressions"]);
}

#[test]
fn plans_are_made_in_bounded_time() {
    let filters = (0..30).fold("$.x".to_owned(), |path, _| format!("$..[?({path})]"));
    let levels = (0..60).map(|i| json!({"@exists": (format!("${}.a.b", "[0]".repeat(i)))}));
    let levels: Value = levels.collect();
    let pair = [
        json!({"@project": {"metadata": "$.metadata", "c": "$[0]"}}),
        json!({"@project": {"metadata": "$.metadata", "p": "$.c.p", "q": "$.c.q"}}),
    ];
    let mut doubled: Vec<Value> = pair.iter().cycle().take(120).cloned().collect();
    doubled.push(json!({"@project": {"metadata": "$.metadata", "x": "$.c.z"}}));
    for pipeline in [
        json!([{"@select": {"@exists": filters}}]),
        json!([{"@select": {"@and": levels}}, {"@project": {"metadata": "$.metadata"}}]),
        doubled.into(),
    ] {
        let operator = operator(&pipeline);
        deltic_on(&operator, &["check", "-f", "-"]).ended(0);
        deltic_on(&operator, &["explain", "-f", "-"]).ended(0);
    }
}
