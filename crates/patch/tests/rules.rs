//! Patch documents: which objects a rule applies to, its effect, and its errors.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use document::{Location, Value, json};
use patch::{Effect, Limits, Rules};

/// An object after all rules; null if one removes it.
fn patched(rules: &Value, object: &Value) -> Value {
    let rules = Rules::read(rules, &Location::root()).unwrap();
    let mut current = object.clone();
    for rule in &rules.0 {
        let none = |_: &str, _: &Value| None;
        match rule.apply(&current, &none, &Limits::default()).unwrap() {
            Effect::None => {}
            Effect::Patched(patched) => current = patched,
            Effect::Removed => return Value::NULL,
        }
    }
    current
}

/// The codes and locations of all errors.
fn wrong(rules: &Value) -> Vec<String> {
    let errors = Rules::read(rules, &Location::root()).unwrap_err();
    let described = errors
        .iter()
        .map(|error| format!("{} at {}", error.code(), error.at));
    described.collect()
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 2},
    })
}

fn marks(target: Value) -> bool {
    let rule = json!([{"target": target, "operations": [{"op": "add", "path": "/x", "value": 1}]}]);
    patched(&rule, &deployment()).get("x") == &json!(1)
}

#[test]
fn a_target_selects_objects_by_its_fields() {
    assert!(marks(json!({"kind": "Deployment"})));
    assert!(marks(
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    ));
    assert!(marks(
        json!({"kind": "Deployment", "name": "web", "namespace": "shop"})
    ));
    assert!(!marks(json!({"kind": "StatefulSet"})));
    assert!(!marks(json!({"group": "", "kind": "Deployment"})));
    assert!(!marks(json!({"version": "v2", "kind": "Deployment"})));
    assert!(!marks(json!({"kind": "Deployment", "name": "other"})));
    assert!(!marks(json!({"kind": "Deployment", "namespace": ""})));
    let both = |where_: &str| marks(json!({"kind": "Deployment", "where": where_}));
    assert!(both("resource.spec.replicas > 1"));
    assert!(!both("${resource.spec.replicas > 2}"));
}

#[test]
fn objects_without_a_group_are_of_the_core_group() {
    let rule = json!({"removes": [{"target": {"group": "", "kind": "Pod"}}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod"});
    assert_eq!(patched(&rule, &pod), Value::NULL);
    let other = json!({"apiVersion": "x.io/v1", "kind": "Pod"});
    assert_eq!(patched(&rule, &other), other);
}

#[test]
fn rules_follow_each_other() {
    let rule = |where_: &str, value: i64| {
        json!({
            "target": {"kind": "Deployment", "where": where_},
            "operations": [{"op": "replace", "path": "/spec/replicas", "value": value}],
        })
    };
    let rules = json!([
        (rule("resource.spec.replicas == 2", 5)),
        (rule("resource.spec.replicas == 5", 7))
    ]);
    let found = patched(&rules, &deployment());
    assert_eq!(found.get("spec").get("replicas"), &json!(7));
}

#[test]
fn patches_come_before_removes() {
    let document = json!({
        "patches": [{
            "target": {"kind": "Deployment"},
            "operations": [{"op": "add", "path": "/metadata/labels/go", "value": "yes"}],
        }],
        "removes": [{"target": {"kind": "Deployment", "where": "has(resource.metadata.labels)"}}],
    });
    assert_eq!(patched(&document, &deployment()), Value::NULL);
    let list = json!([{"removes": (document.get("removes").clone())}]);
    assert_eq!(patched(&list, &deployment()), deployment());
}

#[test]
fn one_rule_alone_is_a_document() {
    let rule = json!({
        "target": {"kind": "Deployment"},
        "forEach": [1, 2], "var": "n", "strict": true,
        "operations": [{"op": "add", "path": "/spec/list/-", "value": "${n}"}],
    });
    let found = patched(&rule, &deployment());
    assert_eq!(found.get("spec").get("list"), &json!([1, 2]));
    assert_eq!(patched(&json!([]), &deployment()), deployment());
}

#[test]
fn all_errors_are_reported() {
    assert_eq!(wrong(&json!(5)), ["bad-field at "]);
    assert_eq!(
        wrong(&json!([{}])),
        ["bad-field at [0]", "bad-field at [0]"],
    );
    let operations = json!([{"op": "remove", "path": "/a"}]);
    let with =
        |target: Value| wrong(&json!([{"target": target, "operations": (operations.clone())}]));
    assert_eq!(with(json!({})), ["bad-field at [0].target"]);
    assert_eq!(with(json!("x")), ["bad-field at [0].target"]);
    assert_eq!(
        with(json!({"kind": "Pod", "nmae": "x", "group": 1, "name": "${x}", "where": "1 +"})),
        [
            "unknown-field at [0].target.nmae",
            "bad-field at [0].target.group",
            "bad-template at [0].target.name",
            "bad-cel at [0].target.where",
        ]
    );
    let rest = json!({
        "target": {"kind": "Pod"}, "where": "true", "strict": 1, "var": "x",
        "operations": [
            {"op": "add", "path": "/a", "valeu": 1},
            {"op": "add", "path": "a", "value": {"x": ["${", "${y}"]}},
            {"op": "remove", "path": "/a[", "value": 1},
        ],
    });
    assert_eq!(
        wrong(
            &json!({"patches": [rest], "removes": [{"target": {"kind": "Pod"}, "operations": []}]})
        ),
        [
            "unknown-field at patches[0].where",
            "bad-field at patches[0].var",
            "bad-field at patches[0].strict",
            "unknown-field at patches[0].operations[0].valeu",
            "patch-missing-field at patches[0].operations[0]",
            "patch-path at patches[0].operations[1].path",
            "bad-cel at patches[0].operations[1].value.x[0]",
            "patch-path at patches[0].operations[2].path",
            "unknown-field at removes[0].operations",
        ]
    );
}

#[test]
fn a_typing_error_gets_a_suggestion() {
    let rules = json!([{"target": {"kind": "Pod"}, "foreach": [], "operations": []}]);
    let errors = Rules::read(&rules, &Location::root()).unwrap_err();
    assert_eq!(errors[0].help().unwrap(), "did you mean forEach?");
    assert!(errors[0].at_key());
}

fn message(rule: &Value) -> String {
    let rules = Rules::read(rule, &Location::root()).unwrap();
    let none = |_: &str, _: &Value| None;
    let secret = json!({
        "kind": "Secret", "metadata": {"name": "s"},
        "data": {"password": "aHVudGVyMg==", "list": ["a"]},
    });
    let error = rules.0[0]
        .apply(&secret, &none, &Limits::default())
        .unwrap_err();
    error.to_string()
}

fn failing(operation: Value) -> String {
    message(&json!({"target": {"kind": "Secret"}, "operations": [operation]}))
}

#[test]
fn messages_name_the_expression_and_never_a_value() {
    let messages = [
        failing(json!({"op": "add", "path": "/x", "value": "${int(resource.data.password)}"})),
        failing(json!({"op": "remove", "path": "/data/${resource.data.password}"})),
        failing(json!({"op": "remove", "path": "${resource.data.password}"})),
        failing(json!({"op": "test", "path": "/data/password", "value": "x"})),
        failing(json!({"op": "copy", "from": "/data/${resource.data.password}", "path": "/x"})),
        failing(json!({"op": "add", "path": "/l/${resource.data.list}", "value": 1})),
        message(&json!({
            "target": {"kind": "Secret", "where": "resource.data.password"}, "operations": [],
        })),
        message(&json!({
            "target": {"kind": "Secret"}, "forEach": "resource.data.password", "operations": [],
        })),
    ];
    for message in &messages {
        assert!(!message.contains("aHVudGVyMg"), "{message}");
    }
    assert_eq!(
        messages[1],
        "remove at `/data/${resource.data.password}`: there is nothing at this place, expected a value"
    );
    assert_eq!(
        messages[6],
        "CEL `resource.data.password`: expected a boolean, found a string"
    );
}

#[test]
fn messages_name_the_pointer() {
    assert_eq!(
        failing(json!({"op": "remove", "path": "/data/list[*]/x"})),
        "remove at `/data/list[*]/x`: found a string, expected a map or a list (at `/data/list/0`)"
    );
}

#[test]
fn removing_nothing_says_how_to_skip() {
    for (path, condition) in [
        ("/data/x", "has(resource.data.x)"),
        (
            "/data/map/example.com~1x",
            "resource.?data.?map[?'example.com/x'].hasValue()",
        ),
    ] {
        assert_eq!(
            failing(json!({"op": "remove", "path": path})),
            format!(
                "remove at `{path}`: there is nothing at this place, expected a value; `where: {condition}` skips objects without it"
            )
        );
    }
}
