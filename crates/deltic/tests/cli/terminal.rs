//! Names and values from outside do not control the terminal, whatever command prints them.

use crate::common::Files;

const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: copy }
spec:
  controllers:
  - name: "copy\e[2J\u202e"
    sources:
    - { apiGroup: "", kind: ConfigMap }
    - { apiGroup: "", kind: Node }
    pipeline:
    - "@join": { "@eq": [$.ConfigMap.data.node, $.Node.metadata.name] }
    - "@select": { "@ne": [$.ConfigMap.data.skip, "x\e]0;t\a\u202ey"] }
    - "@project": { metadata: $.ConfigMap.metadata, data: $.ConfigMap.data }
    target: { kind: Copy }
"#;

const OBJECTS: &str = r#"
{ apiVersion: v1, kind: Node, metadata: { name: "n\u202e1" } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: "a\e[2J\u202eb", namespace: "s\u200bhop" }, data: { node: "n\u202e1", text: "\e[31m\u2066z\nline" } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: lost, namespace: shop }, data: { node: "n\u202e2" } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: skipped, namespace: shop }, data: { node: "n\u202e1", skip: "x\e]0;t\a\u202ey" } }
"#;

const TEST: &str = r#"
operator: operator.yaml
given: [objects.yaml]
tests:
- name: "a name\e[2J\u202e"
  expect:
    contains:
    - { kind: Copy, metadata: { name: "a\e[2J\u202eb", namespace: "s\u200bhop" }, data: { text: "\u202eother" } }
    - { kind: Copy, metadata: { name: "c\u202e", namespace: shop } }
    events: []
    objects: { absent: ["configmap/s\u200bhop/a\e[2J\u202eb", "node/n\u202e9"] }
"#;

#[test]
fn nothing_from_outside_controls_the_terminal() {
    let files = Files::new("terminal")
        .with("operator.yaml", OPERATOR)
        .with("objects.yaml", OBJECTS)
        .with("copy.test.yaml", TEST);
    let given = ["-f", "operator.yaml", "-f", "objects.yaml"];
    let strange = "configmap/a\u{1b}[2J\u{202e}b";
    for command in [
        &["why", "copy/a\u{1b}[2J\u{202e}b"][..],
        &["why", "copy/none\u{202e}"],
        &["why", strange],
        &["why", "not", "configmap/lost"],
        &["why", "not", "configmap/skipped"],
        &["why", "copy/a\u{1b}[2J\u{202e}b", "-o", "mermaid"],
        &["trace"],
        &["trace", strange],
        &["trace", "configmap/lost"],
        &["plan"],
        &["test"],
        &["graph"],
        &["explain"],
    ] {
        let args = match command[0] {
            "test" => command.to_vec(),
            "graph" | "explain" => [command, &given[..2]].concat(),
            _ => [command, &given].concat(),
        };
        for columns in ["80", "200"] {
            let mut run = files.command();
            run.args(&args).env("COLUMNS", columns);
            let run = crate::common::run(&mut run, b"");
            let printed = format!("{}{}", run.stdout, run.stderr);
            let harmful = |c: char| c != '\n' && document::is_harmful(c);
            assert!(!printed.contains(harmful), "{args:?}: {printed:?}");
            assert!(printed.len() > 20, "{args:?}: {printed:?}");
        }
    }
}
