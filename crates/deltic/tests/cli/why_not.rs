//! `deltic why not`: questions that start at the wrong end, and conditions on lists and on time.

use crate::common::{Files, Run};

/// Each Namespace with a Team has contacts.
const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: contacts }
spec:
  controllers:
  - name: contacts
    sources:
    - { apiGroup: "", kind: Namespace }
    - { apiGroup: example.com, kind: Team }
    pipeline:
    - "@join": { "@eq": [$.Namespace.metadata.labels.team, $.Team.metadata.name] }
    - "@project":
        metadata: { name: contacts, namespace: $.Namespace.metadata.name }
    target: { apiGroup: "", kind: ConfigMap }
"#;

const OBJECTS: &str = r"
{ apiVersion: v1, kind: Namespace, metadata: { name: lab, labels: { team: nobody } } }
---
{ apiVersion: v1, kind: Namespace, metadata: { name: shop, labels: { team: storefront } } }
---
{ apiVersion: example.com/v1, kind: Team, metadata: { name: storefront } }
";

fn contacts(name: &str, args: &[&str]) -> Run {
    let files = Files::new(&format!("why-not-{name}"))
        .with("operator.yaml", OPERATOR)
        .with("objects.yaml", OBJECTS);
    files.deltic(args)
}

fn asked(name: &str, question: &[&str]) -> Run {
    let args = [question, &["-f", "operator.yaml", "-f", "objects.yaml"]].concat();
    contacts(name, &args)
}

#[test]
fn a_target_is_asked_about_at_its_sources() {
    let reads = "`why not` starts at a source: controller contacts reads Namespace and Team";
    let lab = format!("{reads}; try `deltic why not namespace/lab`");
    asked("lab", &["why", "not", "configmap/lab/contacts"])
        .ended(1)
        .mentioned(&["no controller reads configmap/lab/contacts", &lab]);
    asked("lab-why", &["why", "configmap/lab/contacts"])
        .ended(1)
        .mentioned(&[&lab]);
    // No name is invented.
    let run = asked("nowhere", &["why", "not", "configmap/nowhere/contacts"]).ended(1);
    assert!(run.stderr.contains(reads), "{}", run.stderr);
    assert!(!run.stderr.contains("try"), "{}", run.stderr);
    asked("shop", &["why", "not", "configmap/shop/contacts"])
        .ended(1)
        .mentioned(&["it is derived: `deltic why configmap/shop/contacts` shows what from"]);
    asked("pod", &["why", "not", "pod/lab/web"])
        .ended(1)
        .mentioned(&[
            "no controller reads or derives the kind pod, only configmap, namespace, team",
        ]);
}

#[test]
fn what_may_be_meant_is_suggested() {
    for (name, question, expect) in [
        ("object", "team/storefrnt", "did you mean team/storefront?"),
        (
            "namespaced",
            "cm/shop/contcts",
            "did you mean configmap/shop/contacts?",
        ),
        (
            "namespace",
            "cm/shopp/contacts",
            "did you mean configmap/shop/contacts?",
        ),
        ("kind", "namespac/lab", "did you mean namespace/lab?"),
        (
            "only-kind",
            "namespac/other",
            "did you mean the kind namespace?",
        ),
        (
            "forgotten",
            "shop/contacts",
            "did you mean configmap/shop/contacts?",
        ),
    ] {
        asked(&format!("meant-{name}"), &["why", question])
            .ended(1)
            .mentioned(&[expect]);
        asked(&format!("meant-not-{name}"), &["why", "not", question])
            .ended(1)
            .mentioned(&[expect]);
    }
}

#[test]
fn no_name_that_is_derived_from_a_secret_is_suggested() {
    let operator = OPERATOR
        .replace(
            "{ apiGroup: example.com, kind: Team }",
            "{ apiGroup: \"\", kind: Secret, as: Team }",
        )
        .replace(
            "name: contacts, namespace: $",
            "name: $.Team.data.name, namespace: $",
        );
    let objects = OBJECTS.replace(
        "{ apiVersion: example.com/v1, kind: Team, metadata: { name: storefront } }",
        "{ apiVersion: v1, kind: Secret, metadata: { name: storefront }, data: { name: hunter2 } }",
    );
    let files = Files::new("why-not-meant-secret")
        .with("operator.yaml", &operator)
        .with("objects.yaml", &objects);
    for question in ["configmap/shop/hunter", "shop/hunter2"] {
        let run = files.deltic(&["why", question, "-f", "operator.yaml", "-f", "objects.yaml"]);
        let run = run.ended(1);
        assert!(!run.stderr.contains("did you mean"), "{}", run.stderr);
    }
}

/// What is said about a Deployment `shop/manual` that a source does not admit.
fn exclusion(name: &str, source: &str, metadata: &str) -> String {
    let operator = format!(
        r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {{ name: budgets }}
spec:
  controllers:
  - name: pdb
    sources: [{{ kind: Deployment, {source} }}]
    pipeline: [{{ "@project": {{ metadata: $.metadata }} }}]
    target: {{ kind: Budget }}
"#
    );
    let object = format!(
        "{{ apiVersion: apps/v1, kind: Deployment, metadata: {{ name: manual, namespace: shop{metadata} }} }}"
    );
    let files = Files::new(&format!("why-not-excluded-{name}"))
        .with("operator.yaml", &operator)
        .with("object.yaml", &object);
    let files_of = ["-f", "operator.yaml", "-f", "object.yaml"];
    let question = ["why", "not", "deploy/shop/manual"];
    let run = files.deltic(&[&question[..], &files_of].concat()).ended(1);
    let help = run.stderr.lines().find(|line| line.contains("help:"));
    let help = help.unwrap_or_default().trim().to_owned();
    // A trace of the object has the same reason.
    let trace = files.deltic(&[&["trace", "deploy/shop/manual"][..], &files_of].concat());
    assert!(trace.ended(1).stderr.contains(&help), "{help}");
    help
}

#[test]
fn what_a_source_does_not_admit_is_said() {
    let source = "controller pdb, source Deployment:";
    for (name, of_source, metadata, expect) in [
        (
            "missing",
            "apiGroup: apps, labelSelector: { pdb: auto }",
            "",
            "label pdb is missing, the source wants pdb=auto",
        ),
        (
            "other",
            "apiGroup: apps, labelSelector: { matchExpressions: [{ key: pdb, operator: In, values: [a, b] }] }",
            ", labels: { pdb: c }",
            "label pdb is \"c\", the source wants pdb in (a,b)",
        ),
        (
            "namespace",
            "apiGroup: apps, namespace: finops, labelSelector: { pdb: auto }",
            ", labels: { pdb: auto }",
            "namespace is shop, the source reads finops",
        ),
        (
            "both",
            "apiGroup: apps, namespace: finops, labelSelector: { pdb: auto }",
            "",
            "namespace is shop, the source reads finops; label pdb is missing, the source wants pdb=auto",
        ),
        (
            "group",
            "apiGroup: extensions",
            "",
            "it is of group apps, the source reads group extensions",
        ),
        (
            "one-shot",
            "apiGroup: apps, type: OneShot",
            "",
            "a OneShot source reads no objects",
        ),
    ] {
        let found = exclusion(name, of_source, metadata);
        assert_eq!(found, format!("= help: {source} {expect}"), "{name}");
    }
}

#[test]
fn files_are_given_with_an_option() {
    for (name, args) in [
        ("two", &["why", "operator.yaml", "objects.yaml"][..]),
        (
            "three",
            &["why", "operator.yaml", "objects.yaml", "namespace/lab"],
        ),
        ("one", &["why", "operator.yaml"]),
        ("trace", &["trace", "operator.yaml", "objects.yaml"]),
        ("half", &["trace", "-f", "operator.yaml", "objects.yaml"]),
    ] {
        contacts(&format!("files-{name}"), args)
            .ended(2)
            .mentioned(&["give files with -f"]);
    }
}

/// What `why not` says about a Job that a condition does not let through.
fn reason(name: &str, condition: &str) -> String {
    let operator = format!(
        r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {{ name: jobs }}
spec:
  controllers:
  - name: jobs
    sources: [{{ apiGroup: batch, kind: Job }}]
    pipeline:
    - "@select": {condition}
    - "@project": {{ metadata: $.metadata }}
    target: {{ kind: Done }}
"#
    );
    let job = "{ apiVersion: batch/v1, kind: Job, metadata: { name: a, namespace: shop }, status: { \
               until: '2026-05-01T00:00:00Z', over: false, \
               conditions: [{ type: Complete, status: 'True' }, { type: Failed, status: 'True' }] } }";
    let files = Files::new(&format!("why-not-{name}"))
        .with("operator.yaml", &operator)
        .with("job.yaml", job);
    let args = [
        "why",
        "not",
        "job/a",
        "-f",
        "operator.yaml",
        "-f",
        "job.yaml",
    ];
    let run = files.deltic(&[&args[..], &["--now", "2026-04-01T00:00:00Z"]].concat());
    let run = run.ended(0);
    assert!(!run.stdout.contains("is an error"), "{}", run.stdout);
    run.stdout
}

#[test]
fn a_condition_on_a_list_names_the_item_that_decides() {
    let failed = r#"{ "@and": [{ "@eq": [$$.type, Failed] }, { "@eq": [$$.status, "True"] }] }"#;
    let list = "$.status.conditions is [{";
    for (name, condition) in [
        (
            "none",
            format!(r#"{{ "@none": [{failed}, $.status.conditions] }}"#),
        ),
        (
            "not-any",
            format!(r#"{{ "@not": {{ "@any": [{failed}, $.status.conditions] }} }}"#),
        ),
        (
            "all",
            r#"{ "@all": [{ "@eq": [$$.type, Complete] }, $.status.conditions] }"#.to_owned(),
        ),
    ] {
        let reason = reason(name, &condition);
        let item = reason.split_once("$$ is ").map(|(_, item)| item);
        let decides = item.is_some_and(|item| item.contains(r#""type":"Failed"}"#));
        assert!(decides, "{name}: {reason}");
        assert!(reason.contains(list), "{name}: {reason}");
    }
    let nothing = r#"{ "@any": [{ "@eq": [$$.type, Suspended] }, $.status.conditions] }"#;
    let reason = reason("any", nothing);
    assert!(
        reason.contains(list) && !reason.contains("$$ is"),
        "{reason}"
    );
    let count = r#"{ "@gt": [{ "@len": { "@filter": [{ "@eq": [$$.type, Failed] }, $.status.conditions] } }, 1] }"#;
    let reason = self::reason("filter", count);
    assert!(reason.contains("]}} is 1"), "{reason}");
}

#[test]
fn a_condition_on_the_time_names_it() {
    let reason = reason("now", r#"{ "@gte": ["@now", $.status.until] }"#);
    let expect = "@now is \"2026-04-01T00:00:00Z\", $.status.until is \"2026-05-01T00:00:00Z\"";
    assert!(reason.contains(expect), "{reason}");
}

#[test]
fn a_condition_that_is_a_path_is_said_once() {
    let stdout = reason("path", r#"{ "@and": [true, $.status.over] }"#);
    assert_eq!(
        stdout.matches("$.status.over is false").count(),
        1,
        "{stdout}"
    );
}

#[test]
fn a_false_conjunct_of_cel_is_named_with_the_values_that_it_reads() {
    let stdout = reason(
        "cel",
        r#"{ "@cel": "has(status.until) && (status.over || size(status.conditions) > 2) && status.gone == 1" }"#,
    );
    let expect = "(status.over || size(status.conditions) > 2) is false: status.conditions is [{";
    assert!(stdout.contains(expect), "{stdout}");
    assert!(stdout.contains("status.over is false"), "{stdout}");
    assert!(!stdout.contains("status.until"), "{stdout}");
    let stdout = reason("cel-not", r#"{ "@not": { "@cel": "!has(status.gone)" } }"#);
    let expect = "!has(status.gone) is true: status.gone is missing";
    assert!(stdout.contains(expect), "{stdout}");
}
