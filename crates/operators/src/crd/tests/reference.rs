//! `docs/reference/operator.md` is generated from the definition; `UPDATE=1` rewrites it.

use std::fmt::Write;

use operator::fields::FieldDoc;

use super::{root, schema};

const HEAD: &str = "\
# The Operator resource

`dcontroller.io/v1alpha1`, cluster-scoped, `kubectl get dop`. This page is made from the
CustomResourceDefinition that `deltic crd` prints; the [expression reference](expressions.md) is
about what stands in pipelines.

";

#[test]
fn the_page_is_generated_from_the_definition() {
    let schema = schema();
    let mut page = HEAD.to_owned();
    for part in ["spec", "status"] {
        let _ = writeln!(page, "## `{part}`\n\n| field | type | |\n|---|---|---|");
        rows(&operator::fields::of(&schema, part), &mut page);
        page.push('\n');
    }
    let page = format!("{}\n", page.trim_end());
    let path = root().join("docs/reference/operator.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "out of date; UPDATE=1 rewrites it");
}

fn rows(fields: &[FieldDoc], page: &mut String) {
    for field in fields {
        let needed = if field.required { ", required" } else { "" };
        let description = field.description.replace('|', "\\|").replace('<', "&lt;");
        let FieldDoc { path, kind, .. } = field;
        let _ = writeln!(page, "| `{path}` | {kind}{needed} | {description} |");
    }
}
