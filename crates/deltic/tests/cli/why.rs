//! `deltic trace` and `deltic why`

use std::fmt::Write as _;

use document::Value;

use crate::common::{Files, Run};

/// Pods are joined with their Nodes, selected, and gathered by zone into a view; a second controller
/// derives a `ConfigMap` for each zone.
const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: zones }
spec:
  controllers:
  - name: gather
    sources:
    - { apiGroup: "", kind: Pod }
    - { apiGroup: "", kind: Node }
    pipeline:
    - "@join": { "@eq": [$.Pod.spec.nodeName, $.Node.metadata.name] }
    - "@select": { "@and": [ { "@exists": $.Pod.metadata.labels.app }, { "@eq": [$.Node.spec.unschedulable, null] } ] }
    - "@project":
        metadata: { name: $.Node.metadata.labels.zone }
        pods: $.Pod.metadata.name
    - "@gather": [$.metadata.name, $.pods]
    target: { kind: Zone }
  - name: publish
    sources:
    - kind: Zone
    pipeline:
    - "@project":
        metadata: { name: $.metadata.name, namespace: default }
        data: { pods: { "@join": [$.pods, ","] } }
    target: { apiGroup: "", kind: ConfigMap }
"#;

const OBJECTS: &str = r"
{ apiVersion: v1, kind: Node, metadata: { name: node-1, labels: { zone: east } } }
---
{ apiVersion: v1, kind: Node, metadata: { name: node-2, labels: { zone: east } }, spec: { unschedulable: true } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: a, namespace: shop, labels: { app: web } }, spec: { nodeName: node-1 } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: b, namespace: shop, labels: { app: web } }, spec: { nodeName: node-1 } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: lost, namespace: shop, labels: { app: web } }, spec: { nodeName: node-3 } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: stuck, namespace: shop, labels: { app: web } }, spec: { nodeName: node-2 } }
";

fn zones(command: &[&str]) -> Run {
    let files = Files::new(&format!("why-{}", command.concat().replace('/', "-")))
        .with("operator.yaml", OPERATOR)
        .with("objects.yaml", OBJECTS);
    let args = [command, &["-f", "operator.yaml", "-f", "objects.yaml"]].concat();
    files.deltic(&args)
}

#[test]
fn trace_counts_the_documents_after_each_stage() {
    zones(&["trace"]).ended(0).complained("").printed(
        "\
controller gather
  Pod                                    4
  Node                                   2
  @join pipeline[0]                      3
  @select pipeline[1]                    2
  @project pipeline[2]                   2
  @gather pipeline[3]                    1
  target Zone                            1
controller publish
  Zone                                   1
  @project pipeline[0]                   1
  target ConfigMap                       1
",
    );
}

#[test]
fn trace_shows_what_each_stage_makes_of_an_object() {
    let run = zones(&["trace", "pod/a"]).ended(0);
    let expect = "\
@project pipeline[2]: 1 → 1
@@ -1,13 +1,3 @@
";
    assert!(run.stdout.contains(expect), "{}", run.stdout);
    assert!(run.stdout.contains("+pods: a\n"), "{}", run.stdout);
    assert!(
        run.stdout.ends_with("derived: zone/east\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn the_way_back_leads_through_views_to_the_sources() {
    zones(&["why", "configmap/default/east"])
        .ended(0)
        .complained("")
        .printed(
            "\
configmap/default/east   target of controller publish
└ @project pipeline[0]
  zone/east   view of controller gather
  └ @gather pipeline[3]   key \"east\", 2 members
    ├ @project pipeline[2]
    │ @select pipeline[1]
    │ @join pipeline[0]
    │ ├ pod/shop/a
    │ └ node/node-1
    └ @project pipeline[2]
      @select pipeline[1]
      @join pipeline[0]
      ├ pod/shop/b
      └ node/node-1
",
        );
}

#[test]
fn members_of_large_groups_are_counted() {
    let run = zones(&["why", "zone/east", "--members", "1"]).ended(0);
    assert!(run.stdout.contains("… and 1 more"), "{}", run.stdout);
}

#[test]
fn the_way_back_has_other_formats() {
    let run = zones(&["why", "zone/east", "-o", "json"]).ended(0);
    let trees: Value = run.stdout.parse().unwrap();
    let tree = trees.as_list().and_then(|trees| trees.get(0)).unwrap();
    assert_eq!(tree.get("object").as_str(), Some("zone/east"));
    let gather = tree.get("from").as_list().unwrap().get(0).unwrap();
    assert_eq!(gather.get("stage").as_str(), Some("@gather pipeline[3]"));
    assert_eq!(
        gather.get("document").get("pods"),
        &document::json!(["a", "b"])
    );
    let run = zones(&["why", "zone/east", "-o", "mermaid"]).ended(0);
    assert!(run.stdout.starts_with("flowchart TD\n"), "{}", run.stdout);
    assert_eq!(
        run.stdout.matches("node/node-1").count(),
        1,
        "an object is drawn once"
    );
}

#[test]
fn an_object_without_a_partner_names_the_nearest_key() {
    let run = zones(&["why", "not", "pod/shop/lost"]).ended(0);
    let expect = "Pod/shop/lost: no partner among 2 Node: the key is \"node-3\", nobody has it";
    assert!(run.stdout.contains(expect), "{}", run.stdout);
    assert!(run.stdout.contains("(nearest: \"node-"), "{}", run.stdout);
}

#[test]
fn a_condition_that_is_false_names_its_part_and_values() {
    let run = zones(&["why", "not", "pod/stuck.shop"]).ended(0);
    let expect = "{\"@eq\":[\"$.Node.spec.unschedulable\",null]} is false: \
                  $.Node.spec.unschedulable is true";
    assert!(run.stdout.contains(expect), "{}", run.stdout);
    let run = zones(&["why", "not", "pod/stuck", "-o", "json"]).ended(0);
    let all: Value = run.stdout.parse().unwrap();
    let first = all.as_list().and_then(|all| all.get(0)).unwrap();
    assert_eq!(first.get("object").as_str(), Some("pod/shop/stuck"));
}

#[test]
fn wrong_questions_are_answered_with_help() {
    zones(&["why", "pod/nobody"])
        .ended(1)
        .mentioned(&["no controller derives or reads pod/nobody"]);
    zones(&["why", "zone"])
        .ended(2)
        .mentioned(&["such as pod/web"]);
    zones(&["why", "if", "zone/east"])
        .ended(2)
        .mentioned(&["deltic why not KIND/NAME"]);
    zones(&["why", "not", "zone/east", "-o", "mermaid"])
        .ended(2)
        .mentioned(&["use text or json"]);
    // A source object that is asked for without `not`.
    zones(&["why", "pod/lost"])
        .ended(0)
        .mentioned(&["is not derived by a controller, but read"]);
}

#[test]
fn values_of_secrets_are_masked() {
    let operator = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: copy }
spec:
  controllers:
  - name: copy
    sources:
    - { apiGroup: "", kind: Secret }
    pipeline:
    - "@select": { "@ne": [$.data.password, other] }
    - "@select": { "@cel": "data.blocked != 'yes' || has(data.absent)" }
    - "@project":
        metadata: { name: $.metadata.name, namespace: $.metadata.namespace }
        data: { url: { "@concat": ["db://root:", $.data.password] } }
    target: { apiGroup: "", kind: ConfigMap }
"#;
    let secret = "{ apiVersion: v1, kind: Secret, metadata: { name: db, namespace: shop }, \
                  data: { password: aHVudGVyMg==, blocked: bm8= } }\n---\n\
                  { apiVersion: v1, kind: Secret, metadata: { name: blocked, namespace: shop }, \
                  data: { password: aHVudGVyMg==, blocked: eWVz } }";
    let files = Files::new("why-secret")
        .with("operator.yaml", operator)
        .with("objects.yaml", secret);
    for command in [
        vec!["why", "configmap/db", "-o", "json"],
        vec!["why", "not", "secret/db"],
        vec!["why", "not", "secret/blocked"],
        vec!["trace", "secret/db"],
        vec!["trace"],
    ] {
        let args = [
            command.as_slice(),
            &["-f", "operator.yaml", "-f", "objects.yaml"],
        ]
        .concat();
        let run = files.deltic(&args);
        for text in ["hunter2", "aHVudGVyMg=="] {
            assert!(!run.stdout.contains(text), "{command:?}: {}", run.stdout);
            assert!(!run.stderr.contains(text), "{command:?}: {}", run.stderr);
        }
        if command.contains(&"secret/blocked") {
            let expect = "is false: data.absent is \"***\", data.blocked is \"***\"";
            assert!(run.stdout.contains(expect), "{}", run.stdout);
        }
    }
}

/// Two views that are derived from each other, and a chain of views that are joined with themselves,
/// whose ways back are endless, or almost.
#[test]
fn each_view_is_shown_once() {
    let mut operator = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: views }
spec:
  controllers:
  - name: start
    sources: [{ apiGroup: "", kind: ConfigMap }]
    pipeline: [{ "@project": { metadata: $.metadata } }]
    target: { kind: V0 }
  - name: there
    sources: [{ kind: V0 }]
    pipeline: [{ "@project": { metadata: $.metadata } }]
    target: { kind: There }
  - name: back
    sources: [{ kind: There }]
    pipeline: [{ "@project": { metadata: $.metadata } }]
    target: { kind: V0 }
"#
    .to_owned();
    for number in 1..40 {
        let before = number - 1;
        let _ = write!(
            operator,
            r#"
  - name: v{number}
    sources: [{{ kind: V{before}, as: left }}, {{ kind: V{before}, as: right }}]
    pipeline:
    - "@join": {{ "@eq": [$.left.metadata.name, $.right.metadata.name] }}
    - "@project": {{ metadata: $.left.metadata }}
    target: {{ kind: V{number} }}"#
        );
    }
    let object = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: a, namespace: shop } }";
    let files = Files::new("why-once")
        .with("operator.yaml", &operator)
        .with("objects.yaml", object);
    let ask = |what| files.deltic(&["why", "-f", "operator.yaml", "-f", "objects.yaml", what]);
    let run = ask("v39/a");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.lines().count() < 400, "{}", run.stdout);
    assert!(run.stdout.contains("v38/shop/a   see above"), "{run:?}");
    let run = ask("there/a");
    assert!(run.stdout.lines().count() < 20, "{}", run.stdout);
}
