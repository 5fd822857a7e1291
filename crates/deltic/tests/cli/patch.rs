//! `deltic patch`.

use crate::common::{Files, command, deltic_on, run};

const OBJECTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: 2
  template:
    spec:
      containers:
      - { name: app, image: web:1 }
      - { name: log, image: log:1 }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
";

const PATCHES: &str = "\
- target: { group: apps, version: v1, kind: Deployment, where: resource.spec.replicas > 1 }
  operations:
  - op: replace
    path: /spec/template/spec/containers[?(@.name=='app')]/image
    value: web:${resource.spec.replicas}
";

fn files(name: &str, patches: &str, objects: &str) -> Files {
    Files::new(&format!("patch-{name}"))
        .with("patches.yaml", patches)
        .with("objects.yaml", objects)
}

const PATCH: [&str; 4] = ["patch", "-f", "patches.yaml", "objects.yaml"];

#[test]
fn patched_objects_are_printed_with_the_others() {
    let expect = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 2
  template:
    spec:
      containers:
      - image: web:2
        name: app
      - image: log:1
        name: log
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
";
    let files = files("print", PATCHES, OBJECTS);
    files.deltic(&PATCH).ended(0).printed(expect).complained("");
    files
        .deltic_on(OBJECTS, &["patch", "-f", "patches.yaml"])
        .ended(0)
        .printed(expect);
    files
        .deltic_on(PATCHES, &["patch", "-f", "-", "objects.yaml"])
        .ended(0)
        .printed(expect);
}

#[test]
fn json_is_one_list() {
    let run = files("json", PATCHES, OBJECTS)
        .deltic(&["patch", "-f", "patches.yaml", "objects.yaml", "-o", "json"])
        .ended(0);
    let list: document::Value = run.stdout.parse().unwrap();
    assert_eq!(list.get("kind").as_str(), Some("List"));
    assert_eq!(list.get("items").as_list().unwrap().len(), 2);
    // The output can be read again.
    let again = files("json-again", PATCHES, &run.stdout)
        .deltic(&["patch", "-f", "patches.yaml", "objects.yaml", "-o", "json"])
        .ended(0);
    assert_eq!(again.stdout, run.stdout);
}

#[test]
fn a_diff_shows_what_changes() {
    let expect = "\
--- deployment/shop/web
+++ deployment/shop/web
@@ -8,7 +8,7 @@
   template:
     spec:
       containers:
-      - image: web:1
+      - image: web:2
         name: app
       - image: log:1
         name: log
";
    let files = files("diff", PATCHES, OBJECTS);
    let args = ["patch", "-f", "patches.yaml", "objects.yaml", "--diff"];
    files.deltic(&args).ended(0).printed(expect);
    let colored = |args: &[&str], no_color: bool| {
        let mut command = files.command();
        command.args(["patch", "-f", "patches.yaml", "objects.yaml", "--diff"]);
        command.args(args);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        run(&mut command, b"").ended(0).stdout
    };
    let always = colored(&["--color", "always"], false);
    assert!(always.contains("\x1b[31m-      - image: web:1\x1b[0m\n"));
    assert!(always.contains("\x1b[32m+      - image: web:2\x1b[0m\n"));
    assert!(always.contains("\x1b[36m@@ -8,7 +8,7 @@\x1b[0m\n"));
    assert!(always.contains("\n   template:\n"));
    assert!(!colored(&["--color", "auto"], true).contains('\x1b'));
    assert!(!colored(&[], false).contains('\x1b'));
}

#[test]
fn a_removed_object_is_gone() {
    let patches = "removes:\n- target: { group: '', kind: Service, name: web }\n";
    let files = files("remove", patches, OBJECTS);
    let run = files.deltic(&PATCH).ended(0).complained("");
    assert!(!run.stdout.contains("Service"), "{}", run.stdout);
    files
        .deltic(&["patch", "-f", "patches.yaml", "objects.yaml", "--diff"])
        .printed(
            "\
--- service/shop/web
+++ /dev/null
@@ -1,5 +0,0 @@
-apiVersion: v1
-kind: Service
-metadata:
-  name: web
-  namespace: shop
",
        );
}

#[test]
fn values_of_secrets_are_not_shown_in_a_diff() {
    let patches = "\
- target: { kind: Secret }
  operations:
  - { op: replace, path: /data/password, value: \"${base64.encode(b'sesame')}\" }
  - { op: add, path: /metadata/annotations/was, value: '${string(base64.decode(resource.data.user))}' }
";
    let secret = "\
apiVersion: v1
kind: Secret
metadata: { name: s }
data: { password: aHVudGVyMg==, user: YWxpY2U= }
";
    files("secret", patches, secret)
        .deltic(&["patch", "-f", "patches.yaml", "objects.yaml", "--diff"])
        .ended(0)
        .printed(
            "\
--- secret/s
+++ secret/s
@@ -1,7 +1,9 @@
 apiVersion: v1
 data:
-  password: \"***\"
+  password: \"*** (changed)\"
   user: \"***\"
 kind: Secret
 metadata:
+  annotations:
+    was: \"***\"
   name: s
",
        );
}

#[test]
fn all_errors_of_patches_are_reported_with_their_positions() {
    let patches = "\
- target: { kind: Pod, nmae: x }
  operations:
  - { op: ad, path: /a, value: 1 }
  - op: add
    path: /b[?(@.c>'1')]
    value: [\"${x +}\"]
";
    files("wrong", patches, OBJECTS)
        .deltic(&PATCH)
        .ended(2)
        .printed("")
        .mentioned(&[
            "error[unknown-field]: unknown field nmae",
            "patches.yaml:1:24",
            "did you mean name?",
            "error[patch-unknown-operation]",
            "patches.yaml:3:11",
            "error[patch-path]",
            "patches.yaml:5:11",
            "error[bad-cel]: CEL `x +",
            "patches.yaml:6:19",
        ]);
}

#[test]
fn an_error_leaves_the_object_unchanged() {
    let patches = "\
- target: { kind: Deployment }
  operations: [{ op: add, path: /spec/first, value: 1 }]
- target: { kind: Deployment }
  operations:
  - { op: add, path: /spec/second, value: 2 }
  - { op: add, path: /spec/third, value: '${resource.spec.nope}' }
- target: { kind: Service }
  operations: [{ op: add, path: /spec/first, value: 1 }]
";
    let run = files("failing", patches, OBJECTS)
        .deltic(&PATCH)
        .ended(1)
        .mentioned(&[
            "error[cel-no-such-key]: CEL `resource.spec.nope`: no such key `nope`, for deployment/shop/web",
            "patches.yaml:6:42",
        ]);
    let (deployment, service) = run.stdout.split_once("---").unwrap();
    assert!(!deployment.contains("first") && !deployment.contains("second"));
    assert!(service.contains("first: 1"));
}

#[test]
fn a_rule_without_an_object_causes_a_warning() {
    let patches = "\
- target: { kind: Deployment, name: other }
  operations: []
- target: { kind: Deployment, where: resource.spec.replicas > 5 }
  operations: []
- target: { kind: Deployment }
  operations: []
";
    let run = files("unused", patches, OBJECTS)
        .deltic(&PATCH)
        .ended(0)
        .mentioned(&[
            "warning[no-match]: no object matches this target",
            "patches.yaml:1:11",
            "patches.yaml:3:11",
        ]);
    assert!(!run.stderr.contains("patches.yaml:5"), "{}", run.stderr);
}

#[test]
fn variables_come_from_the_command_line() {
    let patches = "\
- target: { kind: Service }
  forEach: ${ports}
  var: port
  operations:
  - { op: add, path: /spec/ports/-, value: { name: '${prefix}-${port}', port: '${port}' } }
";
    let files = files("variables", patches, OBJECTS);
    let run = files
        .deltic(&[
            "patch",
            "-f",
            "patches.yaml",
            "objects.yaml",
            "--var",
            "ports=[80, 443]",
            "--var",
            "prefix=web",
        ])
        .ended(0);
    assert!(run.stdout.contains("  - name: web-443\n    port: 443\n"));
    files.deltic(&PATCH).ended(1).mentioned(&["cel-undeclared"]);
    for bad in ["x", "=1", "resource=1", "x=[1"] {
        files
            .deltic(&["patch", "-f", "patches.yaml", "objects.yaml", "--var", bad])
            .ended(2)
            .printed("");
    }
}

#[test]
fn files_that_cannot_be_read_stop_everything() {
    let files = files("unreadable", PATCHES, "a: 1\na: 2\n");
    files.deltic(&PATCH).ended(2).mentioned(&["duplicate-key"]);
    files
        .deltic(&["patch", "-f", "nope.yaml", "objects.yaml"])
        .ended(2)
        .mentioned(&["nope.yaml"]);
    files
        .deltic_on("", &["patch", "-f", "-", "patches.yaml"])
        .ended(2)
        .mentioned(&["no-patch"]);
}

#[test]
fn lines_are_answered_in_order() {
    let lines = r#"{"doc":{"a":1},"patch":[{"op":"add","path":"/b","value":"${a + vars.x + x}"}],"vars":{"x":2}}

{"doc":1
{"patch":[]}
{"doc":{},"patch":{}}
{"doc":{},"patch":[],"vars":1}
{"doc":null,"patch":[]}
{"doc":{"l":[1]},"patch":[{"op":"remove","path":"/l/1"}]}
"#;
    let run = deltic_on(lines, &["patch", "--jsonl"])
        .ended(0)
        .complained("");
    let answers: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(answers.len(), 7);
    assert_eq!(answers[0], r#"{"value":{"a":1,"b":5}}"#);
    assert!(answers[1].ends_with(r#""code":"bad-json"}"#));
    assert!(answers[2].ends_with(r#""code":"bad-line"}"#));
    assert!(answers[3].ends_with(r#""code":"bad-field"}"#));
    assert!(answers[4].ends_with(r#""code":"bad-line"}"#));
    assert_eq!(answers[5], r#"{"value":null}"#);
    assert_eq!(
        answers[6],
        r#"{"error":"remove at `/l/1`: the list has 1 elements, expected a position inside it, at patch[0].path","code":"patch-out-of-bounds"}"#
    );
    let long = run_with_limit(lines);
    assert_eq!(long.matches("too-large").count(), 2, "{long}");
}

fn run_with_limit(lines: &str) -> String {
    let mut command = command();
    command.args(["patch", "--jsonl", "--max-document-bytes", "40"]);
    run(&mut command, lines.as_bytes()).ended(0).stdout
}

#[test]
fn a_json_patch_is_wrapped_in_a_rule() {
    let files =
        Files::new("patch-operations").with("patch.json", r#"[{"op": "remove", "path": "/a"}]"#);
    files
        .deltic(&["patch", "-f", "patch.json"])
        .ended(2)
        .printed("")
        .mentioned(&[
            "error[bad-field]: expected a list of rules, found a list of operations",
            "patch.json:1:2",
            "operations: […]}",
        ]);
}
