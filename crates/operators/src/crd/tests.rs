mod reference;
mod schema;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use document::{Map, json};
use expr::Functions;

use super::*;

fn schema() -> Value {
    let definition = definition();
    let versions = definition.get("spec").get("versions").as_list().unwrap();
    let versions = versions.to_vec();
    versions[0].get("schema").get("openAPIV3Schema").clone()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifests(path: &Path) -> Vec<Value> {
    let text = std::fs::read(path).unwrap();
    let manifests = manifest::parse_bytes("file", text).unwrap();
    manifests
        .into_iter()
        .map(|manifest| manifest.value)
        .collect()
}

/// An Operator named `op` with this spec, given in YAML.
fn operator(spec: &str) -> Value {
    let text = format!(
        "{{apiVersion: dcontroller.io/v1alpha1, kind: Operator, metadata: {{name: op}}, spec: {spec}}}"
    );
    let manifests = manifest::parse_bytes("operator", text.into_bytes()).unwrap();
    manifests[0].value.clone()
}

/// An Operator with one controller that has these fields in addition to a name and a source.
fn controller(rest: &str) -> Value {
    operator(&format!(
        "{{controllers: [{{name: c, sources: [{{apiGroup: '', kind: Pod}}], {rest}}}]}}"
    ))
}

fn check(operator: &Value, expect: &[&str]) {
    assert_eq!(schema::check(&schema(), operator), expect, "{operator}");
}

#[test]
fn the_examples_are_accepted() {
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    let files: Vec<_> = examples
        .map(|entry| entry.unwrap().path().join("operator.yaml"))
        .filter(|path| path.exists())
        .collect();
    assert!(files.len() >= 3);
    for file in files {
        for operator in manifests(&file) {
            check(&operator, &[]);
        }
    }
}

#[test]
fn the_operators_of_all_cases_are_accepted() {
    let mut count = 0;
    for file in ["pipeline.json", "more.json"] {
        let path = root().join("crates/dataflow/tests/cases").join(file);
        let cases = &manifests(&path)[0];
        for case in &cases.get("cases").as_list().unwrap().to_vec() {
            check(&of_case(case), &[]);
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}

/// The Operator of a case of the specification.
fn of_case(case: &Value) -> Value {
    let kind = |kind: &Value| match kind.as_str() {
        Some(kind) => json!({"kind": kind}),
        None => {
            let map = kind.as_map().unwrap();
            let map = map.without("apiVersion").without("period");
            map.into()
        }
    };
    let kinds = |list: &Value| -> Value {
        let list = list.as_list().map(document::ListRef::to_vec);
        list.unwrap_or_default().iter().map(kind).collect()
    };
    let mut fields = vec![
        ("name", json!("c")),
        ("sources", kinds(case.get("sources"))),
        ("pipeline", case.get("pipeline").clone()),
    ];
    if case.get("targets").is_null() {
        fields.push(("target", kind(case.get("target"))));
    } else {
        fields.push(("targets", kinds(case.get("targets"))));
    }
    let fields = fields
        .into_iter()
        .map(|(key, value)| (document::Key::new(key), value));
    let controller = Value::from(Map::from_entries(fields.collect()));
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "test"}, "spec": {"controllers": [controller]},
    })
}

/// An Operator that sets every field of the spec.
fn everything() -> Value {
    operator(
        r#"{
        deletionPolicy: Delete, maxDeletions: 5, serviceAccount: {namespace: ns, name: bot},
        controllers: [{
          name: c,
          sources: [
            {apiGroup: "", version: v1, kind: Pod, as: P, namespace: ns, type: Watcher,
             labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: Exists}]},
             predicate: {And: [GenerationChanged, {Not: [LabelChanged]}]}},
            {kind: View, type: Periodic, parameters: {period: 1h30m}},
          ],
          pipeline: [{"@project": {metadata: {name: $.metadata.name}}}],
          target: {apiGroup: apps, version: v1, kind: Deployment, type: Updater, existing: Refuse,
            force: false, recreate: OnImmutable, ignore: [$.spec.replicas]},
          options: {debounce: 100ms, concurrency: 4, resync: 10m, retry: {initial: 1s, max: 1.5m},
            maxDeletions: 10%},
        }]}"#,
    )
}

#[test]
fn every_field_is_accepted_here_and_when_it_is_read() {
    check(&everything(), &[]);
    let (operator, problems) = operator::read(&everything(), &Functions::builtin());
    assert!(operator.is_some(), "{problems:?}");
    let with_targets = controller(
        "targets: [{kind: A, columns: [{name: X, path: $.x, type: date}]}, {kind: B}],
         options: {maxDeletions: 3}",
    );
    check(&with_targets, &[]);
}

/// The fields that the schema defines at a path below the spec.
fn known(place: &[&str]) -> BTreeSet<String> {
    let mut schema = schema().get("properties").get("spec").clone();
    for step in place {
        schema = match *step {
            "[]" => schema.get("items").clone(),
            step => schema.get("properties").get(step).clone(),
        };
    }
    let fields = schema.get("properties").as_map().unwrap();
    fields
        .iter()
        .map(|(key, _)| key.as_str().to_owned())
        .collect()
}

/// The fields that the reader knows at a place, taken from its message about an unknown one.
fn read(spec: &str) -> BTreeSet<String> {
    let (_, problems) = operator::read(&operator(spec), &Functions::builtin());
    let helps = problems
        .iter()
        .filter_map(|problem| problem.help.as_deref());
    let fields = helps.filter_map(|help| help.strip_prefix("the fields here are "));
    let fields: Vec<_> = fields.collect();
    let [fields] = fields.as_slice() else {
        panic!("{problems:?}");
    };
    fields.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_definition_and_the_reader_know_the_same_fields() {
    let odd = "zzzzzzzzzzzz: 1";
    let source = "{kind: Pod}";
    let c = |sources: &str, rest: &str| {
        format!("{{controllers: [{{name: c, sources: [{sources}], {rest}}}]}}")
    };
    let target = "target: {kind: A}";
    for (place, spec) in [
        (
            &[][..],
            format!("{{controllers: [{{name: c, sources: [{source}], {target}}}], {odd}}}"),
        ),
        (
            &["serviceAccount"],
            format!("{{serviceAccount: {{{odd}}}, controllers: []}}"),
        ),
        (
            &["controllers", "[]"],
            c(source, &format!("{target}, {odd}")),
        ),
        (
            &["controllers", "[]", "sources", "[]"],
            c(&format!("{{kind: P, {odd}}}"), target),
        ),
        (
            &["controllers", "[]", "target"],
            c(source, &format!("target: {{kind: A, {odd}}}")),
        ),
        (
            &["controllers", "[]", "targets", "[]"],
            c(source, &format!("targets: [{{kind: A, {odd}}}]")),
        ),
        (
            &["controllers", "[]", "target", "columns", "[]"],
            c(
                source,
                &format!("target: {{kind: A, columns: [{{name: B, path: $.b, {odd}}}]}}"),
            ),
        ),
        (
            &["controllers", "[]", "options"],
            c(source, &format!("{target}, options: {{{odd}}}")),
        ),
        (
            &["controllers", "[]", "options", "retry"],
            c(source, &format!("{target}, options: {{retry: {{{odd}}}}}")),
        ),
        (
            &["controllers", "[]", "sources", "[]", "parameters"],
            c(&format!("{{kind: P, parameters: {{{odd}}}}}"), target),
        ),
    ] {
        assert_eq!(known(place), read(&spec), "{place:?}");
    }
}

#[test]
fn invalid_operators_are_refused() {
    let c = ".spec.controllers[0]";
    let at = |rest: &str| format!("{c}{rest}");
    for (rest, expect) in [
        (
            "target: {kind: A}, targets: [{kind: B}]",
            at(": a controller has a target or a list of targets, not both"),
        ),
        (
            "pipeline: []",
            at(": a controller needs a target, or a list of targets"),
        ),
        (
            "targets: [{kind: B}, {kind: B}]",
            at(".targets[1]: duplicate"),
        ),
        ("target: {kind: A, type: Upater}", at(".target.type: enum")),
        ("target: {kind: A, typo: 1}", at(".target.typo: unknown")),
        (
            "target: {kind: A}, options: {debounce: 5}",
            at(".options.debounce: an integer"),
        ),
        (
            "target: {kind: A}, options: {debounce: 5x}",
            at(".options.debounce: pattern"),
        ),
        (
            "target: {kind: A}, options: {concurrency: 0}",
            at(".options.concurrency: minimum"),
        ),
        (
            "target: {kind: A}, options: {maxDeletions: 101%}",
            at(".options.maxDeletions: pattern"),
        ),
        (
            "target: {kind: A}, options: {retry: {initial: 5m, max: 1s}}",
            at(".options.retry: initial must not be longer than max"),
        ),
    ] {
        check(&controller(rest), &[&expect]);
    }
    let twice = "{name: c, sources: [{kind: A}], target: {kind: B}}";
    let twice = operator(&format!("{{controllers: [{twice}, {twice}]}}"));
    check(&twice, &[".spec.controllers[1]: duplicate"]);
    check(
        &operator("{controllers: []}"),
        &[".spec.controllers: length"],
    );
    let one = "{name: c, sources: [{kind: A}], target: {kind: B}}";
    let many = operator(&format!("{{controllers: [{one}], maxDeletions: many}}"));
    check(&many, &[".spec.maxDeletions: pattern"]);
}

#[test]
fn names_are_dns_labels() {
    let named = |name: &str| {
        let name = json!({"name": name});
        let operator = controller("target: {kind: A}");
        let map = operator.as_map().unwrap();
        Value::from(map.with(document::Key::new("metadata"), name))
    };
    let long = "a".repeat(63);
    check(&named(&long), &[]);
    let message = ": the name of an Operator must be a DNS label: lower-case letters, digits and -, at most 63 characters";
    check(&named(&format!("{long}a")), &[message]);
    check(&named("a.b"), &[message]);
}

#[test]
fn views_of_others_are_not_written() {
    let message = ": views are written only by the Operator whose name their group starts with";
    for (group, expect) in [
        ("op.view.dcontroller.io", &[][..]),
        ("other.view.dcontroller.io", &[message]),
        ("example.com", &[]),
    ] {
        check(
            &controller(&format!("target: {{kind: A, apiGroup: {group}}}")),
            expect,
        );
        check(
            &controller(&format!("targets: [{{kind: A, apiGroup: {group}}}]")),
            expect,
        );
    }
}

#[test]
fn a_status_is_accepted() {
    let condition = "{type: Ready, status: 'True', reason: Ready, message: '', lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1}";
    let status = format!(
        "{{observedGeneration: 1, conditions: [{condition}], controllers: [{{name: c, conditions: [{condition}], lastErrors: [x], counts: {{sources: 1, objects: 2, targets: 3, errors: 4}}}}]}}"
    );
    let manifests = manifest::parse_bytes("status", status.into_bytes()).unwrap();
    let operator = controller("target: {kind: A}");
    let map = operator.as_map().unwrap();
    let status = manifests[0].value.clone();
    check(&map.with(document::Key::new("status"), status).into(), &[]);
}

/// The API server's rules for schemas, which checking values against them does not cover.
#[test]
fn the_schema_is_structural() {
    fn walk(schema: &Value, at: &str) {
        let typed = schema.get("type").as_str().is_some()
            || !schema.get("x-kubernetes-preserve-unknown-fields").is_null()
            || !schema.get("x-kubernetes-int-or-string").is_null();
        assert!(typed, "{at} has no type");
        if schema.get("type").as_str() == Some("array") {
            assert!(!schema.get("items").is_null(), "{at} has no items");
            walk(schema.get("items"), &format!("{at}[]"));
        }
        for key in schema
            .get("x-kubernetes-list-map-keys")
            .as_list()
            .into_iter()
            .flat_map(document::ListRef::to_vec)
        {
            let required = schema
                .get("items")
                .get("required")
                .as_list()
                .unwrap()
                .to_vec();
            assert!(required.contains(&key), "{at}: {key} is not required");
        }
        for (key, member) in schema
            .get("properties")
            .as_map()
            .into_iter()
            .flat_map(|map| map.iter())
        {
            let at = format!("{at}.{key}");
            let told = !member.get("description").is_null();
            assert!(
                told || at.matches('.').count() < 2,
                "{at} has no description"
            );
            walk(member, &at);
        }
    }
    walk(&schema(), "");
}
