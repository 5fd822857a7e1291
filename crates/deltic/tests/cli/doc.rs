//! `deltic doc`, and the reference of errors.

use std::collections::BTreeSet;
use std::path::Path;

use document::{Value, json};

use crate::common::{Files, deltic, deltic_on};

#[test]
fn every_kind_of_name_is_found() {
    for (name, parts) in [
        ("@gather", &["(stage)", "n1", "Errors: bad-argument"][..]),
        ("gather", &["@gather (stage)"]),
        ("@mux", &["@gather (stage)"]),
        ("soft", &["soft join (stage)"]),
        ("@inputs", &["branches"]),
        ("@concat", &["{\"@concat\":"]),
        ("path", &["$.name", "filter"]),
        ("cel.quantity", &["quantity(<string>)"]),
        ("bad-arity", &["What to do"]),
        ("@now", &["the current time in UTC", "deadline"]),
        ("now", &["(the time)"]),
        (
            "Periodic",
            &["(type of a source)", "parameters: {period: 1h}"],
        ),
        ("Lister", &["Watcher (type of a source)"]),
        ("OneShot", &["OneShot (type of a source)"]),
        ("Updater", &["Updater (type of a target)"]),
        ("quantity", &["cel.quantity (CEL)"]),
        ("Setter", &["Updater (type of a target)"]),
        ("Patcher", &["Patcher (type of a target)"]),
        ("Applier", &["Applier (type of a target)"]),
        (
            "target",
            &[
                "spec.controllers[].target (field of an Operator: object)",
                "- kind (string, required): The Kind.",
            ],
        ),
        (
            "maxDeletions",
            &[
                "spec.controllers[].options.maxDeletions (field",
                "spec.maxDeletions (field",
            ],
        ),
        (
            "controllers.options.debounce",
            &["How long changes of an object are collected"],
        ),
        ("lastErrors", &["status.controllers[].lastErrors"]),
        // An error has the same name as a field.
        (
            "type",
            &["What to do", "spec.controllers[].target.type (field"],
        ),
    ] {
        let text = deltic(&["doc", name]).ended(0).stdout;
        for part in parts {
            assert!(text.contains(part), "no {part:?} in:\n{text}");
        }
    }
}

#[test]
fn the_nearest_name_is_suggested() {
    for (name, nearest) in [
        ("@gahter", "@gather"),
        ("gahter", "@gather"),
        ("bad-arty", "bad-arity"),
        ("cel.quantiy", "cel.quantity"),
        ("maxDeletion", "maxDeletions"),
    ] {
        let help = format!("did you mean {nearest}?");
        deltic(&["doc", name])
            .ended(2)
            .printed("")
            .mentioned(&[&help]);
    }
    deltic(&["doc", "zzzzzzzzzz"])
        .ended(2)
        .mentioned(&["deltic doc --list"]);
}

#[test]
fn the_list_has_a_line_for_every_name() {
    let list = deltic(&["doc", "--list"]).ended(0).stdout;
    for name in ["@select", "@eq", "path", "cel.isIP", "bad-path"] {
        let found = list
            .lines()
            .any(|line| line.starts_with(&format!("{name} ")));
        assert!(found, "{name}");
    }
    let overview = deltic(&["doc"]).ended(0).stdout;
    for part in [
        "@join, soft join, ",
        "@concat",
        "Patcher",
        "deltic doc --list",
    ] {
        assert!(overview.contains(part), "{overview}");
    }
    assert!(overview.lines().count() < 10, "{overview}");
}

#[test]
fn the_page_of_errors_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/errors.md");
    let page = deltic(&["doc", "--page", "errors"]).ended(0).stdout;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/reference/errors.md is out of date: run `UPDATE=1 cargo test -p deltic --test cli doc`"
    );
}

/// The codes of the table with their examples.
fn examples() -> Vec<Vec<String>> {
    let text = deltic(&["doc", "--page", "examples"]).ended(0).stdout;
    text.lines()
        .map(|line| {
            let line: Value = line.parse().unwrap();
            let parts = line.as_list().unwrap();
            parts
                .iter()
                .map(|part| part.as_str().unwrap().to_owned())
                .collect()
        })
        .collect()
}

fn operator(controllers: &Value) -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": (controllers.clone())},
    })
}

fn with_pipeline(sources: &[&str], pipeline: &str) -> Value {
    let sources: Value = sources
        .iter()
        .map(|kind| json!({"kind": (*kind)}))
        .collect();
    let pipeline: Value = pipeline.parse().unwrap();
    operator(
        &json!([{"name": "c", "sources": sources, "pipeline": pipeline, "target": {"kind": "Out"}}]),
    )
}

/// Everything that the example of a code prints.
fn output(example: &[String]) -> Option<String> {
    let parts: Vec<&str> = example[1..].iter().map(String::as_str).collect();
    let run = match parts.as_slice() {
        ["file", text] => deltic_on(text, &["check", "-"]),
        ["operator", fields] => {
            let fields: Value = fields.parse().unwrap();
            let mut manifest = operator(&json!([])).as_map().unwrap().clone();
            for (key, value) in fields.as_map().unwrap() {
                manifest = manifest.with(key.clone(), value.clone());
            }
            deltic_on(Value::from(manifest).to_string(), &["check", "-"])
        }
        ["check", pipeline, sources @ ..] => deltic_on(
            with_pipeline(sources, pipeline).to_string(),
            &["check", "-"],
        ),
        ["eval", expr, object] => deltic_on(object, &["eval", expr, "-"]),
        ["render", pipeline, object] => {
            let files = Files::new("doc-render")
                .with(
                    "operator.json",
                    &with_pipeline(&["A"], pipeline).to_string(),
                )
                .with("object.json", object);
            files.deltic(&["render", "operator.json", "object.json"])
        }
        ["patch", operations, document] => {
            let line = format!("{{\"doc\": {document}, \"patch\": {operations}}}");
            deltic_on(line, &["patch", "--jsonl"])
        }
        ["usage", arguments @ ..] => deltic(arguments),
        ["stream", input, arguments @ ..] => {
            let named = r#"[{"@project": {"metadata": {"name": "$.metadata.name"}}}]"#;
            let operator = with_pipeline(&["A"], named).to_string();
            let files = Files::new("doc-stream")
                .with("operator.yaml", &operator)
                .with("other.yaml", &operator.replace("\"o\"", "\"p\""))
                .with("empty.yaml", "");
            files.deltic_on(input, arguments)
        }
        ["objects", pipeline, objects, arguments @ ..] => {
            let operator = with_pipeline(&["A"], pipeline).to_string();
            let files = Files::new("doc-objects")
                .with("operator.json", &operator)
                .with("objects.json", objects);
            let render = ["render", "operator.json", "objects.json"];
            files.deltic(&[&render, arguments].concat())
        }
        ["manifests", text, arguments @ ..] => {
            let files = Files::new("doc-manifests").with("example.yaml", text);
            files.deltic(&[&["render", "example.yaml"], arguments].concat())
        }
        ["script", commands] => Files::new("doc-script").shell("", commands),
        ["none"] => return None,
        other => panic!("{other:?}"),
    };
    Some(run.stdout + &run.stderr)
}

#[test]
fn every_example_of_a_code_produces_it() {
    let examples = examples();
    let mut run = 0;
    let mut wrong = Vec::new();
    for example in &examples {
        let code = &example[0];
        let Some(output) = output(example) else {
            continue;
        };
        run += 1;
        let shown = [format!("[{code}]"), format!("\"code\":\"{code}\"")];
        if !shown.iter().any(|shown| output.contains(shown)) {
            wrong.push(format!("{code}: {:?} gives\n{output}", &example[1..]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run > 155, "only {run} examples");
}

#[test]
fn no_code_is_documented_twice() {
    let examples = examples();
    let codes: BTreeSet<&String> = examples.iter().map(|example| &example[0]).collect();
    assert_eq!(codes.len(), examples.len());
}

/// Codes that have a meaning of their own only inside a library: the command shows another one.
const INNER: [&str; 10] = [
    "cel-syntax",
    "cel-arguments",
    "cel-pattern",
    "cel-too-deep",
    "cel-too-long",
    "cel-unknown-function",
    "cel-unsupported",
    "path-too-many-matches",
    "patch-too-deep",
    "patch-too-large",
];

/// The texts in quotes in a part of a source file.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// Every function `code` in the sources returns codes that are documented.
#[test]
fn no_code_is_missing() {
    let examples = examples();
    let known: BTreeSet<&str> = examples.iter().map(|example| example[0].as_str()).collect();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut missing = BTreeSet::new();
    let mut seen = 0;
    for name in [
        "cel-interpreter/src/error.rs",
        "dataflow/src/circuit/budget.rs",
        "dataflow/src/failure.rs",
        "dataflow/src/pipeline/error.rs",
        "deltic/src/stream.rs",
        "deltic/src/watch.rs",
        "document/src/patch/error.rs",
        "document/src/path/error.rs",
        "expr/src/error.rs",
        "manifest/src/read.rs",
        "offline/src/batch.rs",
        "patch/src/error.rs",
        "target/src/problem.rs",
    ] {
        let text = std::fs::read_to_string(crates.join(name)).unwrap();
        let bodies: Vec<&str> = text.split("fn code(").skip(1).collect();
        assert!(!bodies.is_empty(), "{name}");
        for body in bodies {
            let (body, _) = body.split_once("\n    }\n").unwrap();
            for code in quoted(body).filter(|code| !INNER.contains(code)) {
                seen += 1;
                if !known.contains(code) {
                    missing.insert(format!("{code} of {name}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    assert!(seen > 80, "{seen}");
}
