//! The reference page of pipelines.

use std::fmt::Write;

use super::{STAGES, StageDoc, StageExample};

/// `docs/reference/pipeline.md`.
pub fn pipeline_page() -> String {
    let mut page = String::from(PREFACE);
    for doc in STAGES {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {}\n\n{}\n", heading(doc), doc.summary);
        let _ = write!(page, "\n```yaml\n{}\n```\n", doc.signature.trim());
        if !doc.rules.is_empty() {
            page.push('\n');
        }
        for rule in doc.rules {
            let _ = writeln!(page, "- {rule}");
        }
        doc.examples
            .iter()
            .for_each(|example| add_example(&mut page, example));
        if !doc.errors.is_empty() {
            let links = doc
                .errors
                .iter()
                .map(|code| format!("[`{code}`](errors.md#{code})"));
            let _ = writeln!(page, "\nErrors: {}", links.collect::<Vec<_>>().join(", "));
        }
    }
    page
}

const PREFACE: &str = "\
# Reference: pipelines

<!-- Generated from the table in `dataflow` by `UPDATE=1 cargo test -p dataflow`. Do not edit. -->

A pipeline turns the objects of its sources into the objects of its target. It is a list of stages;
each is a map with one key, and works on the documents that the stage before it yields. An empty
pipeline copies its source. The values in stages are [expressions](expressions.md) and
[paths](paths.md).

Every document has an origin: the source objects (and positions in lists) that it is derived from.
Documents are processed in the order of their origins, by namespace and name, so that the result does
not depend on the order in which objects arrive. A stage that fails on a document leaves its last
output for this origin in place; other documents are not affected.

The output of the last stage needs a `metadata.name`; `metadata.namespace` may be missing. `apiVersion`
and `kind` are those of the target. All examples run as tests.
";

fn heading(doc: &StageDoc) -> String {
    let names = [&[doc.name], doc.aliases].concat();
    let names = names.iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

fn add_example(page: &mut String, example: &StageExample) {
    let _ = write!(page, "\n{}:\n", example.title);
    for (what, text) in [
        ("pipeline", example.pipeline),
        ("input", example.input),
        ("output", example.output),
    ] {
        let _ = write!(page, "\n```yaml\n# {what}\n{}\n```\n", text.trim());
    }
}
