//! `deltic plan`, on objects in files. The tests on a cluster are in `cluster-tests`.

use crate::common::{Files, Run};

const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: copies }
spec:
  controllers:
  - name: copy
    sources:
    - { apiGroup: "", kind: Secret }
    pipeline:
    - "@project":
        metadata: { name: $.metadata.name, namespace: $.metadata.namespace }
        data: { password: $.data.password, size: { "@string": { "@len": $.data } } }
    target: { apiGroup: "", kind: ConfigMap }
"#;

const OBJECTS: &str = r#"
{ apiVersion: v1, kind: Secret, metadata: { name: a, namespace: shop }, data: { password: aHVudGVyMg== } }
---
{ apiVersion: v1, kind: Secret, metadata: { name: b, namespace: shop }, data: { password: c3dvcmRmaXNo } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: b, namespace: shop }, data: { size: "7" } }
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: gone
  namespace: shop
  annotations:
    dcontroller.io/owner: '{"operator":"copies","controller":"copy","origin":[],"target":"/ConfigMap/shop/gone","created":true,"uid":"1"}'
data: { size: "1" }
"#;

fn plan(name: &str, flags: &[&str]) -> Run {
    let files = Files::new(&format!("plan-{name}"))
        .with("operator.yaml", OPERATOR)
        .with("objects.yaml", OBJECTS);
    let args = ["plan", "-f", "operator.yaml", "-f", "objects.yaml"];
    files.deltic(&[&args, flags].concat())
}

#[test]
fn a_plan_shows_deletions_first_and_no_value_of_a_secret() {
    let run = plan("diff", &[]);
    assert_eq!(run.code, 1, "{run:?}");
    let expect = r#"delete configmap/shop/gone
@@ -1,9 +0,0 @@
-apiVersion: v1
-data:
-  size: "***"
-kind: ConfigMap
-metadata:
-  annotations:
-    dcontroller.io/owner: '{"operator":"copies","controller":"copy","origin":[],"target":"/ConfigMap/shop/gone","created":true,"uid":"1"}'
-  name: gone
-  namespace: shop
overwrite configmap/shop/b (it exists, and is not ours)
@@ -1,5 +1,6 @@
 apiVersion: v1
 data:
+  password: "***"
   size: "***"
 kind: ConfigMap
 metadata:
create configmap/shop/a
@@ -0,0 +1,8 @@
+apiVersion: v1
+data:
+  password: "***"
+  size: "***"
+kind: ConfigMap
+metadata:
+  name: a
+  namespace: shop
plan: 1 to delete, 1 to overwrite, 1 to create
"#;
    assert_eq!(run.stdout, expect);
}

#[test]
fn a_plan_can_be_read_by_programs() {
    let run = plan("name", &["-o", "name"]);
    assert_eq!(
        run.stdout,
        "delete configmap/shop/gone\noverwrite configmap/shop/b (it exists, and is not ours)\ncreate configmap/shop/a\n\
         plan: 1 to delete, 1 to overwrite, 1 to create\n"
    );
    let run = plan("json", &["-o", "json"]);
    assert_eq!(run.code, 1);
    let plan: document::Value = run.stdout.parse().unwrap();
    let first = plan
        .get("changes")
        .as_list()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert_eq!(first.get("action").as_str(), Some("delete"));
    assert_eq!(first.get("name").as_str(), Some("gone"));
    assert_eq!(plan.get("summary").get("create").as_int(), Some(1));
    assert!(!run.stdout.contains("aHVudGVyMg"), "{}", run.stdout);
}

#[test]
fn an_error_is_not_nothing_to_do() {
    let refusing = OPERATOR.replace("kind: ConfigMap }", "kind: ConfigMap, existing: Refuse }");
    let objects = OBJECTS.replace("name: a,", "name: b,");
    let files = Files::new("plan-errors")
        .with("operator.yaml", &refusing)
        .with(
            "objects.yaml",
            objects.split("---\napiVersion").next().unwrap(),
        );
    let run = files.deltic(&["plan", "-f", "operator.yaml", "-f", "objects.yaml"]);
    assert_eq!(run.code, 2, "{run:?}");
    let expect = "plan: nothing to do; 1 error: its object stays as it is\n";
    assert_eq!(run.stdout, expect);
    assert!(
        run.stderr.contains("it is left alone (conflict)"),
        "{run:?}"
    );
}

#[test]
fn names_and_values_do_not_control_the_terminal() {
    let operator = OPERATOR.replace("kind: Secret", "kind: Node");
    let object = r#"
apiVersion: v1
kind: Node
metadata: { name: "a\e[2J\u202eb", namespace: "s\u200bhop" }
data: { password: "x" }
---
apiVersion: v1
kind: Node
metadata: { name: fine, namespace: shop }
data: { password: "x\e]0;title\a\u202ey\u200e" }
"#;
    let broken = r#"
apiVersion: v1
kind: Node
metadata: { name: "c\u202ed", namespace: shop }
data: 7
"#;
    let files = Files::new("plan-terminal")
        .with("operator.yaml", &operator)
        .with("objects.yaml", &format!("{object}---{broken}"));
    let run = files.deltic(&["plan", "-f", "operator.yaml", "-f", "objects.yaml"]);
    let printed = format!("{}{}", run.stdout, run.stderr);
    assert!(
        printed.contains(r"Node/s\u{200b}hop/a\u{1b}[2J\u{202e}b: expected a metadata.name"),
        "{printed}"
    );
    assert!(printed.contains("title"), "{printed}");
    let harmful = |c: char| c != '\n' && document::is_harmful(c);
    assert!(!printed.contains(harmful), "{printed:?}");
}

#[test]
fn all_errors_are_counted_and_some_are_shown() {
    let operator = OPERATOR.replace("kind: Secret", "kind: Node");
    let node = |number: usize| {
        format!("{{apiVersion: v1, kind: Node, metadata: {{name: n{number}}}, data: 7}}")
    };
    let objects: Vec<String> = (0..25).map(node).collect();
    let files = Files::new("plan-many-errors")
        .with("operator.yaml", &operator)
        .with("objects.yaml", &objects.join("\n---\n"));
    let args = ["plan", "-f", "operator.yaml", "-f", "objects.yaml"];
    let run = files.deltic(&args);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stdout.contains("; 25 errors:"), "{run:?}");
    let named = "error: Operator copies, controller copy, Node/n0: ";
    assert!(run.stderr.contains(named), "{run:?}");
    assert_eq!(run.stderr.matches("error: Operator").count(), 20, "{run:?}");
    assert!(run.stderr.ends_with("error: … and 5 more\n"), "{run:?}");
    let run = files.deltic(&[&args[..], &["-o", "json"]].concat());
    let plan: document::Value = run.stdout.parse().unwrap();
    assert_eq!(plan.get("errorCount").as_int(), Some(25));
    let first = plan
        .get("errors")
        .as_list()
        .and_then(|errors| errors.get(0));
    let origin = document::json!([{"source": "Node", "name": "n0"}]);
    assert_eq!(first.unwrap().get("origin"), &origin);
}

#[test]
fn nothing_to_do_is_said_and_bad_usage_is_refused() {
    let files = Files::new("plan-nothing")
        .with("operator.yaml", OPERATOR)
        .with(
            "objects.yaml",
            "{apiVersion: v1, kind: Node, metadata: {name: n}}",
        );
    let args = ["plan", "-f", "operator.yaml", "-f", "objects.yaml"];
    let run = files.deltic(&args);
    assert_eq!(run.stdout, "nothing to do: everything is as derived\n");
    assert_eq!(run.code, 0);
    let run = files.deltic(&[&args[..], &["--delete"]].concat());
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("--delete and --dry-run need a cluster"),
        "{run:?}"
    );
    let run = files.deltic(&["plan"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no file is given"), "{run:?}");
    let run = files.deltic(&["plan", "-f", "operator.yaml", "--kubeconfig", "missing"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no-cluster"), "{run:?}");
}

#[test]
fn a_plan_shows_nothing_that_is_computed_from_a_secret() {
    let operator = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: copies }
spec:
  controllers:
  - name: secrets
    sources:
    - { apiGroup: "", kind: Secret, labelSelector: { matchLabels: { copied: "yes" } } }
    pipeline:
    - "@project":
        metadata:
          name: { "@concat": [$.metadata.name, "-copy"] }
          namespace: shop
          annotations: { loud: { "@upper": $.data.password } }
        data: { password: $.data.password }
    target: { apiGroup: "", kind: Secret }
  - name: names
    sources:
    - { apiGroup: "", kind: Secret, labelSelector: { matchLabels: { copied: "yes" } } }
    pipeline:
    - "@project":
        metadata: { name: { "@lower": $.data.password }, namespace: shop, annotations: { a: b } }
    target: { apiGroup: "", kind: ConfigMap }
"#;
    let objects = r#"
apiVersion: v1
kind: Secret
metadata: { name: a, namespace: shop, labels: { copied: "yes" } }
data: { password: SHVudGVyMg== }
"#;
    for format in ["diff", "name", "json"] {
        let files = Files::new(&format!("plan-computed-{format}"))
            .with("operator.yaml", operator)
            .with("objects.yaml", objects);
        let args = ["plan", "-f", "operator.yaml", "-f", "objects.yaml", "-o"];
        let run = files.deltic(&[&args[..], &[format]].concat());
        assert_eq!(run.code, 1, "{run:?}");
        let printed = format!("{}{}", run.stdout, run.stderr).to_lowercase();
        for secret in ["hunter2", "shvudgvymg"] {
            assert!(!printed.contains(secret), "{format}: {printed}");
        }
        if format != "json" {
            let names = ["create configmap/shop/***\n", "create secret/shop/a-copy\n"];
            assert!(
                names.iter().all(|name| run.stdout.contains(name)),
                "{run:?}"
            );
        }
    }
}
