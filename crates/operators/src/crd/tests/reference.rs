//! `docs/reference/operator.md` is generated from the definition; `UPDATE=1` rewrites it.

use std::fmt::Write;

use super::{Value, root, schema};

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
        rows(schema.get("properties").get(part), "", &mut page);
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

fn rows(schema: &Value, at: &str, page: &mut String) {
    let required = schema.get("required");
    let fields = schema.get("properties").as_map().unwrap();
    for (key, field) in fields {
        let at = format!("{at}{key}");
        let needed = required
            .as_list()
            .is_some_and(|list| list.iter().any(|name| name.as_str() == Some(key.as_str())));
        let needed = if needed { ", required" } else { "" };
        let description = field.get("description").as_str().unwrap_or_default();
        let description = description.replace('|', "\\|").replace('<', "&lt;");
        let _ = writeln!(page, "| `{at}` | {}{needed} | {description} |", kind(field));
        if field.get("properties").as_map().is_some() {
            rows(field, &format!("{at}."), page);
        } else if field.get("items").get("properties").as_map().is_some() {
            rows(field.get("items"), &format!("{at}[]."), page);
        }
    }
}

fn kind(field: &Value) -> String {
    if let Some(words) = field.get("enum").as_list() {
        let words = words.iter().filter_map(Value::as_str);
        return words
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    match field.get("type").as_str() {
        Some("array") => {
            let item = field.get("items").get("type").as_str();
            format!("list of {}s", item.unwrap_or("value"))
        }
        Some(kind) => kind.to_owned(),
        None if !field.get("anyOf").is_null() => "integer or string".to_owned(),
        None => "any".to_owned(),
    }
}
