use document::{Value, json};
use object::ObjectKey;
use operator::Operator;
use target::claim::{Claim, hidden_origin, short_origin};

use super::*;

/// An Operator whose controller reads Pods and Nodes, the latter under another name.
fn operator() -> Operator {
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [
                {"apiGroup": "", "kind": "Pod"}, {"apiGroup": "", "kind": "Node", "as": "On"},
            ],
            "pipeline": [
                {"@join": {"@eq": ["$.Pod.spec.node", "$.On.metadata.name"]}},
                {"@project": {"metadata": {"name": "$.Pod.metadata.name"}}},
            ],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        }]},
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

fn pod(name: &str) -> Value {
    json!({"source": "Pod", "name": name})
}

fn element(name: &str, index: i64) -> Value {
    json!([(pod(name)), {"index": index}])
}

fn origins(controller: &Controller, all: &[Value]) -> Origins {
    let mut origins = Origins::default();
    for origin in all {
        origins.insert(&Claimed::new(origin, Some(controller)));
    }
    origins
}

#[test]
fn a_misplaced_output_concerns_what_its_own_origin_has_left() {
    let operator = operator();
    let controller = &operator.controllers[0];
    let long = json!([{"source": "Pod", "name": ("x".repeat(5000))}]);
    let all = [json!([(pod("a"))]), element("b", 2), long.clone()];
    let kind = GroupKind::new("", "ConfigMap");
    let errors = InError {
        misplaced: BTreeMap::from([(kind, origins(controller, &all))]),
        ..InError::default()
    };
    let concerns = |kind: &str, origin: &Value| {
        let claimed = Claimed::new(origin, Some(controller));
        errors.concerns(&GroupKind::new("", kind), &claimed, true)
    };
    for origin in [
        json!([(pod("a"))]),
        element("a", 0),
        element("b", 2),
        json!([(pod("b"))]),
        short_origin(&long),
        hidden_origin(),
    ] {
        assert!(concerns("ConfigMap", &origin), "{origin}");
        assert!(!concerns("Secret", &origin), "{origin}");
    }
    for origin in [
        element("b", 1),
        json!([(pod("c"))]),
        json!([{"key": "a"}]),
        json!({"hash": "y"}),
        Value::NULL,
    ] {
        assert!(!concerns("ConfigMap", &origin), "{origin}");
    }
}

#[test]
fn a_source_is_known_by_its_kind() {
    let operator = operator();
    let controller = &operator.controllers[0];
    let on = |source: &str| json!([{"source": source, "name": "a"}]);
    let errors = origins(controller, &[on("On")]);
    let mut objects = Objects::default();
    objects.insert_all(&Claimed::new(&on("On"), Some(controller)));
    for (source, same) in [("On", true), ("Node", true), ("Pod", false)] {
        let origin = on(source);
        let claimed = Claimed::new(&origin, Some(controller));
        assert_eq!(errors.covers(&claimed), same, "{source}");
        assert_eq!(objects.has_one_of(&claimed), same, "{source}");
        // The controller of a claim may be gone.
        let claimed = Claimed::new(&origin, None);
        assert!(errors.covers(&claimed) && objects.has_one_of(&claimed));
    }
}

#[test]
fn an_object_in_error_concerns_all_that_contains_it() {
    let operator = operator();
    let controller = &operator.controllers[0];
    let mut errors = InError::default();
    let pair = |pod: &str, node: &str| json!([{"source": "Pod", "name": pod}, {"source": "On", "name": node}]);
    let failing = pair("a", "n");
    let failing = Claimed::new(&failing, Some(controller));
    errors.objects.insert_all(&failing);
    errors.hiding.insert(&failing);
    let kind = GroupKind::new("", "ConfigMap");
    for (origin, concerned, covered) in [
        (pair("a", "n"), true, true),
        (pair("a", "m"), true, false),
        (pair("b", "n"), true, false),
        (pair("b", "m"), false, false),
    ] {
        let claimed = Claimed::new(&origin, Some(controller));
        assert_eq!(
            errors.concerns(&kind, &claimed, false),
            concerned,
            "{origin}"
        );
        assert_eq!(errors.covers(&kind, &claimed), covered, "{origin}");
    }
    for origin in [json!([{"key": "k"}]), json!({"hash": "x"}), hidden_origin()] {
        let claimed = Claimed::new(&origin, Some(controller));
        assert!(errors.concerns(&kind, &claimed, true), "{origin}");
        assert!(!errors.concerns(&kind, &claimed, false), "{origin}");
    }
}

/// Everybody who may annotate an object can write a claim: the work must not grow with the square of
/// its length.
#[test]
fn a_long_origin_is_looked_up_at_once() {
    let operator = operator();
    let controller = &operator.controllers[0];
    let errors = origins(controller, &[element("b", 2)]);
    let parts = std::iter::repeat_n(json!({"source": "Pod", "name": "b"}), 100_000);
    let long: Value = parts.collect();
    let start = std::time::Instant::now();
    assert!(!errors.covers(&Claimed::new(&long, Some(controller))));
    assert!(start.elapsed().as_secs() < 10);
    let key = ObjectKey::new("", "ConfigMap", "ns", "x");
    let claim = json!({
        "operator": "o", "controller": "c", "origin": (long.clone()),
        "target": (key.to_string()), "created": true,
    });
    let annotations = json!({"dcontroller.io/owner": (claim.to_string())});
    let object = json!({"metadata": {"annotations": annotations}});
    let read = Claim::read(&object, &key).map(|claim| claim.origin);
    assert_eq!(read, Some(short_origin(&long)));
}
