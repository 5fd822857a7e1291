//! `deltic schema`: accepts every valid Operator, and rejects common mistakes.

use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use document::{Value, json};
use expr::Functions;
use manifest::InputFile;

use crate::common::{DOUBLE, deltic};

/// A compiled schema.
struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn new(of: &str) -> Self {
        let printed = deltic(&["schema", of]).ended(0).complained("").stdout;
        let schema = serde_json::from_str(&printed).unwrap();
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("schema.json", schema).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        let value = serde_json::from_str(&value.to_string()).unwrap();
        let checked = self.schemas.validate(&value, self.index);
        checked.map_err(|error| error.to_string())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents of all YAML files below a directory.
fn documents(directory: &Path) -> Vec<(String, Value)> {
    let found = manifest::files(directory.to_str().unwrap(), true).unwrap();
    let documents = found.files.into_iter().flat_map(|file| {
        let documents = file.documents(manifest::MAX_SIZE).unwrap();
        let name = file.name.clone();
        documents
            .map_while(Result::ok)
            .map(move |manifest| (name.clone(), manifest.value))
    });
    documents.collect()
}

fn is_valid(operator: &Value) -> bool {
    operator::read(operator, &Functions::builtin()).0.is_some()
}

/// An Operator with this pipeline.
fn with_pipeline(sources: &[&str], targets: &[&str], pipeline: &Value) -> Value {
    let kinds = |names: &[&str]| Value::list(names.iter().map(|name| json!({"kind": (*name)})));
    json!({
        "apiVersion": "dcontroller.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "test"},
        "spec": {"controllers": [{
            "name": "test",
            "sources": (kinds(sources)),
            "pipeline": (pipeline.clone()),
            "targets": (kinds(targets)),
        }]},
    })
}

#[test]
fn every_operator_of_the_project_is_accepted() {
    let schema = Schema::new("operator");
    let mut count = 0;
    for directory in [
        "examples",
        "crates/simulation",
        "crates/operator/tests",
        "crates/deltic",
    ] {
        for (name, document) in documents(&root().join(directory)) {
            if operator::spec::is_operator(&document) && is_valid(&document) {
                count += 1;
                schema
                    .check(&document)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
    assert!(count > 40, "{count}");
}

#[test]
fn every_expression_that_compiles_is_accepted() {
    let schema = Schema::new("operator");
    let file = std::fs::read_to_string(root().join("crates/expr/tests/cases/expr.json")).unwrap();
    let cases = cases::read(&file);
    let mut expressions: Vec<Value> = cases.iter().map(|case| case.get("expr").clone()).collect();
    for function in Functions::builtin().functions() {
        expressions.extend(
            function
                .examples
                .iter()
                .map(|example| example.0.parse().unwrap()),
        );
    }
    let mut count = 0;
    for expr in expressions {
        let pipeline = json!([{"@project": {"metadata": {"name": "a"}, "value": (expr.clone())}}]);
        let operator = with_pipeline(&["A"], &["B"], &pipeline);
        if is_valid(&operator) {
            count += 1;
            schema
                .check(&operator)
                .unwrap_or_else(|error| panic!("{expr}: {error}"));
        }
    }
    assert!(count > 400, "{count}");
}

#[test]
fn every_pipeline_that_can_be_created_is_accepted() {
    let schema = Schema::new("operator");
    let mut count = 0;
    let mut check = |sources: &[&str], targets: &[&str], pipeline: &Value| {
        let operator = with_pipeline(sources, targets, pipeline);
        if is_valid(&operator) {
            count += 1;
            schema
                .check(&operator)
                .unwrap_or_else(|error| panic!("{pipeline}: {error}"));
        }
    };
    for file in ["pipeline", "more", "patch", "time"] {
        let path = format!("crates/dataflow/tests/cases/{file}.json");
        let file = std::fs::read_to_string(root().join(path)).unwrap();
        for case in cases::read(&file) {
            let names = |list: &Value, default: &'static str| -> Vec<String> {
                let names = list
                    .as_list()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str);
                let names: Vec<String> = names.map(str::to_owned).collect();
                if names.is_empty() {
                    vec![default.to_owned()]
                } else {
                    names
                }
            };
            let sources = names(case.get("sources"), "A");
            let targets = names(case.get("targets"), "B");
            let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            check(&sources, &targets, case.get("pipeline"));
        }
    }
    for stage in dataflow::reference::STAGES {
        for example in stage.examples {
            let pipeline = manifest::parse_bytes("pipeline.yaml", example.pipeline.into()).unwrap();
            check(example.sources, example.targets, &pipeline[0].value);
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn mistakes_are_rejected() {
    let schema = Schema::new("operator");
    let read = |text: &str| {
        manifest::parse_bytes("operator.yaml", text.into()).unwrap()[0]
            .value
            .clone()
    };
    schema.check(&read(DOUBLE)).unwrap();
    for (right, wrong) in [
        ("v1alpha1", "v1"),
        ("kind: Operator", "kind: Operators"),
        ("name: test }", "name: Test_1 }"),
        ("controllers:", "controlers:"),
        ("- name: double\n", "- title: double\n"),
        ("sources:", "source:"),
        ("- kind: Foo", "- { kind: Foo, apigroup: apps }"),
        ("- kind: Foo", "- { kind: Foo, type: Watch }"),
        (
            "- kind: Foo",
            "- { kind: Foo, type: Periodic, parameters: { period: 5 minutes } }",
        ),
        ("@select", "@selct"),
        (
            "\"@select\": { \"@gt\": [$.spec.n, 0] }",
            "\"@unwind\": spec.n",
        ),
        (
            "\"@select\": { \"@gt\": [$.spec.n, 0] }",
            "\"@gather\": [$.spec.n]",
        ),
        (
            "\"@select\": { \"@gt\": [$.spec.n, 0] }",
            "\"@groupBy\": [$.a, $.b, { unique: true }]",
        ),
        (
            "\"@select\": { \"@gt\": [$.spec.n, 0] }",
            "\"@project\": []",
        ),
        ("@gt", "@greater"),
        ("[$.spec.n, 0]", "[$.spec.n, 0, 1]"),
        ("{ \"@gt\": [$.spec.n, 0] }", "{ \"@cond\": $.spec.n }"),
        ("{ \"@gt\": [$.spec.n, 0] }", "{ \"@cel\": [1] }"),
        ("{ \"@gt\": [$.spec.n, 0] }", "{ \"@switch\": [[true]] }"),
        (
            "target: { kind: Bar }",
            "target: { kind: Bar, type: Patch }",
        ),
        ("target: { kind: Bar }", "target: { name: Bar }"),
        ("target: { kind: Bar }", "targets: []"),
        ("    target: { kind: Bar }", ""),
    ] {
        let text = DOUBLE.replacen(right, wrong, 1);
        assert_ne!(text, DOUBLE, "{right}");
        let operator = read(&text);
        assert!(!is_valid(&operator), "{wrong} is a mistake");
        assert!(schema.check(&operator).is_err(), "{wrong} is accepted");
    }
}

#[test]
fn every_test_file_of_the_project_is_accepted() {
    let schema = Schema::new("test");
    let mut count = 0;
    for directory in [
        "examples",
        "crates/deltic/tests/sessions",
        "crates/deltic/src/init",
    ] {
        let directory = root().join(directory);
        let found = manifest::test_files(directory.to_str().unwrap()).unwrap();
        for file in found.files.iter().filter_map(InputFile::path) {
            let bad = file
                .components()
                .any(|part| part.as_os_str() == "test_bad_files");
            for document in
                manifest::parse_bytes("test.yaml", std::fs::read(file).unwrap()).unwrap_or_default()
            {
                count += 1;
                let checked = schema.check(&document.value);
                if !bad {
                    checked.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                } else if file.ends_with("fields.test.yaml") {
                    checked.unwrap_err();
                }
            }
        }
    }
    assert!(count > 5, "{count}");
}

#[test]
fn the_schemas_beside_the_reference_are_current() {
    for of in ["operator", "test"] {
        let path = root().join(format!("docs/reference/{of}.schema.json"));
        let printed = deltic(&["schema", of]).ended(0).stdout;
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &printed).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, printed, "UPDATE=1 writes {}", path.display());
    }
}
