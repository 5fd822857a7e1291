//! What `deltic trace` and `deltic why` say about soft joins, and about branches with names.

use crate::common::{Files, Run};

/// Pods with their Nodes, if there are such, in a named stream; and its running Pods.
const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: places }
spec:
  controllers:
  - name: places
    sources:
    - { apiGroup: "", kind: Pod }
    - { apiGroup: "", kind: Node }
    pipeline:
    - - "@inputs": [Pod, Node]
      - "@join": { on: { "@eq": [$.Pod.spec.nodeName, $.Node.metadata.name] }, soft: [Node] }
      - "@project": { metadata: $.Pod.metadata, zone: $.Node.metadata.labels.zone }
      - "@output": placed
    - - "@inputs": [placed]
      - "@select": { "@exists": $.metadata.labels.app }
      - "@output": Place
    target: { kind: Place }
"#;

const OBJECTS: &str = "
{ apiVersion: v1, kind: Node, metadata: { name: node-1, labels: { zone: east } } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: a, namespace: shop, labels: { app: web } }, spec: { nodeName: node-1 } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: b, namespace: shop, labels: { app: web } }, spec: { nodeName: node-2 } }
";

fn places(name: &str, command: &[&str]) -> Run {
    let files = Files::new(&format!("soft-{name}"))
        .with("operator.yaml", OPERATOR)
        .with("objects.yaml", OBJECTS);
    let args = [command, &["-f", "operator.yaml", "-f", "objects.yaml"]].concat();
    files.deltic(&args).ended(0)
}

#[test]
fn a_soft_join_without_a_partner_names_the_nearest_key() {
    let alone = "no partner among 1 Node: the key is \"node-2\", nobody has it (nearest: \"node-1\") in {\"@eq\":";
    for (name, command) in [
        ("why", &["why", "place/b"][..]),
        ("why-not", &["why", "not", "pod/b"]),
        ("trace", &["trace", "pod/b"]),
    ] {
        let run = places(name, command);
        assert!(run.stdout.contains(alone), "{command:?}: {}", run.stdout);
    }
    for (name, command) in [
        ("why-joined", &["why", "place/a"][..]),
        ("trace-joined", &["trace", "pod/a"]),
    ] {
        let run = places(name, command);
        assert!(!run.stdout.contains("no partner"), "{}", run.stdout);
    }
    let json = places("json", &["why", "not", "pod/b", "-o", "json"]).stdout;
    assert!(json.contains("\"alone\": [\n"), "{json}");
}

#[test]
fn streams_have_their_names() {
    let counts = places("counts", &["trace"]);
    counts.printed(
        "\
controller places
  branch 0 → placed
  Pod                                    2
  Node                                   1
  @join pipeline[0][1]                   2
  @project pipeline[0][2]                2
  branch 1 → Place
  placed                                 2
  @select pipeline[1][1]                 2
  target Place                           2
",
    );
    let trace = places("followed", &["trace", "pod/a"]).stdout;
    for line in ["branch 0 → placed\n", "branch 1 → Place\n"] {
        assert!(trace.contains(line), "{trace}");
    }
    let graph = Files::new("soft-graph").with("operator.yaml", OPERATOR);
    let graph = graph.deltic(&["graph", "operator.yaml"]).ended(0).stdout;
    assert!(graph.contains("placed: @select"), "{graph}");
    assert!(!graph.contains("stream 0"), "{graph}");
}

#[test]
fn kinds_may_be_named_as_for_kubectl() {
    for (name, object) in [("po", "po/a"), ("pods", "pods/shop/a"), ("Pod", "Pod/a")] {
        let run = places(name, &["trace", object]);
        assert!(
            run.stdout.starts_with("pod/shop/a in controller"),
            "{}",
            run.stdout
        );
    }
    for (name, object) in [("places", "places/b"), ("place", "PLACE/b")] {
        let run = places(name, &["why", object]);
        assert!(run.stdout.starts_with("place/shop/b"), "{}", run.stdout);
    }
}
