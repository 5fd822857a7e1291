//! The hashes of keys are seeded at random in every process, but the output is always the same.

use crate::common::Files;

/// Groups under keys that are maps, random numbers, hashes, errors and conflicts.
const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: test }
spec:
  controllers:
  - name: groups
    sources:
    - kind: Foo
    pipeline:
    - "@gather": [$.spec.key, $.spec.n]
    - "@project":
        metadata: { name: { "@concat": [group-, { "@hash": $.spec.key }] }, labels: $.spec.key }
        n: $.spec.n
        random: { "@rnd": [0, 1000000000] }
    target: { kind: Group }
  - name: distinct
    sources:
    - kind: Foo
    pipeline:
    - "@project":
        metadata: { name: { "@substring": [$.metadata.name, 1, 2] } }
        key: { "@int": $.spec.key.a }
        odd: { "@mod": [$.spec.n, 2] }
    - "@distinct"
    target: { kind: Distinct }
"#;

/// Forty objects in ten groups. A key that is not a number fails in the second controller, where
/// several documents have the same name.
fn events() -> String {
    let object = |i: usize| {
        let (key, text) = (i % 10, if i.is_multiple_of(9) { "x" } else { "1" });
        format!(
            r#"{{"type":"ADDED","object":{{"kind":"Foo","metadata":{{"name":"f{i}"}},"spec":{{"key":{{"a":"{text}","k{key}":"{key}"}},"n":{i}}}}}}}"#
        )
    };
    let all: Vec<String> = (0..40).map(object).collect();
    format!("[{}]", all.join(",\n"))
}

#[test]
fn every_process_prints_the_same() {
    let files = Files::new("processes").with("operator.yaml", OPERATOR);
    let replay = || {
        files
            .deltic_on(events(), &["replay", "-f", "operator.yaml", "-o", "jsonl"])
            .stdout
    };
    let first = replay();
    // Numbers and names that are stored in clusters: later versions must give the same.
    let stable = r#""name":"group-0i8rgo"},"n":[18],"random":539927869"#;
    assert!(first.contains(stable), "{first}");
    for code in ["text", "conflict"] {
        assert!(first.contains(&format!("\"code\":\"{code}\"")), "{first}");
    }
    for _ in 0..5 {
        assert_eq!(replay(), first);
    }
}
