//! `deltic test`: what the sessions cannot show.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use crate::common::{DOUBLE, Files};

const TEST: &str = "\
operator: operator.yaml
given:
- { kind: Foo, metadata: { name: a }, spec: { 'n': 2 } }
tests:
- name: doubled
  expect:
    contains: [{ kind: Bar, metadata: { name: a }, twice: 4 }]
";

#[test]
fn a_change_of_a_file_runs_the_tests_again() {
    let files = Files::new("test-watch")
        .with("operator.yaml", DOUBLE)
        .with("double.test.yaml", TEST);
    let mut command = files.command();
    command
        .args(["test", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut lines = output.lines().map_while(Result::ok);
        lines.all(|line| sender.send(line).is_ok());
    });
    let until = |wanted: &str| {
        // Far more than it takes; it only keeps a failing test from waiting forever.
        let next = || lines.recv_timeout(Duration::from_mins(1));
        while !next().expect(wanted).contains(wanted) {}
    };
    until("1 passed");
    until("watching 2 files");
    // The size changes as well: some file systems store times in whole seconds.
    let triple = DOUBLE.replace("[$.spec.n, 2]", "[$.spec.n, 333]");
    let files = files.with("operator.yaml", &triple);
    until("1 failed");
    until("watching 2 files");
    let files = files.with("operator.yaml", "kind: Operator\n");
    until("watching 2 files");
    let _files = files.with("operator.yaml", DOUBLE);
    until("1 passed");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    reader.join().unwrap();
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_are_skipped_and_named() {
    use std::os::unix::fs::symlink;

    let files = Files::new("test-links")
        .with("operator.yaml", DOUBLE)
        .with("double.test.yaml", TEST);
    symlink("gone", files.path().join("a.test.yaml")).unwrap();
    symlink(".", files.path().join("around")).unwrap();
    let run = files.deltic(&["test"]).ended(0);
    assert!(run.stdout.contains("1 passed"), "{}", run.stdout);
    run.complained("skipped a link that leads nowhere: a.test.yaml");
    // A command that reads no tests does not miss one.
    let check = || files.deltic(&["check", "-f", "."]).ended(0);
    assert!(!check().stderr.contains("skipped"));
    symlink("gone", files.path().join("b.yaml")).unwrap();
    check().mentioned(&["skipped a link that leads nowhere: ./b.yaml"]);
}

/// The object that a test sees is the one of the cluster: a step that patches it after an undo starts
/// from what the undo has left.
#[test]
fn a_step_changes_the_object_as_it_is() {
    let operator = "
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: scale }
spec:
  controllers:
  - name: up
    sources: [{ apiGroup: apps, kind: Deployment, labelSelector: { matchLabels: { up: 'yes' } } }]
    pipeline:
    - '@project': { metadata: { name: $.metadata.name, namespace: $.metadata.namespace }, spec: { replicas: 5 } }
    target: { apiGroup: apps, kind: Deployment, type: Patcher }
";
    let test = "
operator: operator.yaml
given:
- { apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: shop, labels: { up: 'yes' } }, spec: { replicas: 2 } }
tests:
- name: undone
  steps:
  - patch: [{ kind: Deployment, metadata: { name: web, namespace: shop, labels: { up: 'no' } } }]
    expect:
      objects: { contains: [{ kind: Deployment, metadata: { name: web, namespace: shop }, spec: { replicas: 2 } }] }
  - patch: [{ kind: Deployment, metadata: { name: web, namespace: shop }, spec: { paused: true } }]
    expect:
      objects: { contains: [{ kind: Deployment, metadata: { name: web, namespace: shop }, spec: { replicas: 2, paused: true } }] }
";
    let files = Files::new("test-undone")
        .with("operator.yaml", operator)
        .with("scale.test.yaml", test);
    files.deltic(&["test"]).ended(0);
}

#[test]
fn the_same_file_is_run_once() {
    let files = Files::new("test-once").with("operator.yaml", DOUBLE).with(
        "sub/double.test.yaml",
        &TEST.replace("operator.yaml", "../operator.yaml"),
    );
    let run = files
        .deltic(&["test", "sub", ".", "sub/double.test.yaml"])
        .ended(0);
    assert!(run.stdout.contains("1 passed;"), "{}", run.stdout);
}

#[test]
fn values_of_secrets_are_not_shown() {
    let operator = "
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: copy }
spec:
  controllers:
  - name: copy
    sources: [{ apiGroup: \"\", kind: Secret }]
    pipeline:
    - \"@project\":
        metadata: { name: copy, namespace: $.metadata.namespace }
        data: $.data
    target: { apiGroup: \"\", kind: Secret }
";
    let test = "
operator: operator.yaml
given:
- { apiVersion: v1, kind: Secret, metadata: { name: a, namespace: b }, data: { password: aHVudGVyMg== } }
tests:
- name: it differs
  expect:
    contains: [{ apiVersion: v1, kind: Secret, metadata: { name: copy, namespace: b }, data: { password: b3RoZXI= } }]
    targets: []
";
    let files = Files::new("test-secret")
        .with("operator.yaml", operator)
        .with("a.test.yaml", test);
    for format in ["text", "junit"] {
        let run = files.deltic(&["test", "-o", format]).ended(1);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(all.contains("***"), "{all}");
        for value in ["aHVudGVyMg", "hunter2", "b3RoZXI", "other"] {
            assert!(!all.contains(value), "{all}");
        }
    }
}

#[test]
fn a_thousand_tests_run_in_one_process() {
    let test = |number: usize| {
        format!(
            "- name: number {number}\n  given:\n  - {{ kind: Foo, metadata: {{ name: b }}, spec: {{ 'n': {number} }} }}\n  \
             expect:\n    contains: [{{ kind: Bar, metadata: {{ name: b }}, twice: {} }}]\n",
            number * 2
        )
    };
    let tests: String = (1..=1000).map(test).collect();
    let files = Files::new("test-thousand")
        .with("operator.yaml", DOUBLE)
        .with(
            "many.test.yaml",
            &format!("operator: operator.yaml\ntests:\n{tests}"),
        );
    let run = files.deltic(&["test"]).ended(0);
    assert!(run.stdout.contains("1000 passed;"), "{}", run.stdout);
}

/// A name whose kind is misspelled would be absent for ever, and test nothing.
#[test]
fn an_absent_object_has_a_kind_that_is_written() {
    let absent = |name: &str| {
        let test = TEST.replace(
            "contains: [{ kind: Bar, metadata: { name: a }, twice: 4 }]",
            &format!("absent: [{name}]"),
        );
        let files = Files::new("test-absent")
            .with("operator.yaml", DOUBLE)
            .with("double.test.yaml", &test);
        files.deltic(&["test"])
    };
    absent("bar/b").ended(0);
    absent("bars/b").ended(0);
    let run = absent("barr/b").ended(1);
    let expect = "barr/b is absent in any case: the controllers write only bar";
    assert!(run.stdout.contains(expect), "{run:?}");
}

/// A name without the namespace of its object would be absent for ever, too.
#[test]
fn an_absent_object_has_the_namespace_of_its_kind() {
    let operator = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: contacts }
spec:
  controllers:
  - name: contacts
    sources: [{ apiGroup: "", kind: Namespace }]
    pipeline:
    - "@project": { metadata: { name: contacts, namespace: $.metadata.name } }
    target: { apiGroup: "", kind: ConfigMap }
  - name: rooms
    sources: [{ apiGroup: "", kind: Namespace }]
    pipeline:
    - "@project": { metadata: { name: room, namespace: $.metadata.name } }
    target: { kind: Room }
"#;
    let absent = |name: &str| {
        let test = format!(
            "operator: operator.yaml\ngiven:\n- {{ apiVersion: v1, kind: Namespace, metadata: {{ name: shop }} }}\n\
             tests:\n- name: gone\n  steps:\n  - expect: {{}}\n  - delete: [namespace/shop]\n    \
             expect: {{ absent: [{name}] }}\n"
        );
        let files = Files::new("test-absent-namespace")
            .with("operator.yaml", operator)
            .with("contacts.test.yaml", &test);
        files.deltic(&["test"])
    };
    for name in [
        "configmap/shop/contacts",
        "room/shop/room",
        "configmap/lab/contacts",
        "room/other",
    ] {
        absent(name).ended(0);
    }
    for (name, expect) in [
        (
            "configmap/contacts",
            "did you mean configmap/shop/contacts?",
        ),
        ("room/room", "did you mean room/shop/room?"),
        ("configmap/contact", "write kind/namespace/name"),
    ] {
        let run = absent(name).ended(1);
        let what =
            format!("{name} is absent in any case: it is named without a namespace; {expect}");
        assert!(run.stdout.contains(&what), "{run:?}");
    }
}

#[test]
fn a_step_applies_patches_and_deletes_in_this_order() {
    let test = "\
operator: operator.yaml
tests:
- name: in one step
  steps:
  - delete: [foo/gone]
    patch:
    - { kind: Foo, metadata: { name: a }, spec: { 'n': 3 } }
    apply:
    - { kind: Foo, metadata: { name: a }, spec: { 'n': 1 } }
    - { kind: Foo, metadata: { name: gone }, spec: { 'n': 1 } }
    expect:
      contains: [{ kind: Bar, metadata: { name: a }, twice: 6 }]
      absent: [bar/gone]
      events: [ADDED bar/a]
";
    Files::new("test-order")
        .with("operator.yaml", DOUBLE)
        .with("order.test.yaml", test)
        .deltic(&["test"])
        .ended(0);
}
