//! The fields of an Operator, from its definition.

use std::fmt::Write;

use operator::fields::{FieldDoc, of};

use super::DocEntry;
use crate::json_schema;

/// All fields. Those of `targets` are the same as those of `target`, and are not repeated.
pub(super) fn fields() -> Vec<DocEntry> {
    let schema = json_schema::definition();
    let parts = ["spec", "status"];
    let fields = parts.iter().flat_map(|part| {
        let fields = of(&schema, part).into_iter();
        fields.map(move |field| FieldDoc {
            path: format!("{part}.{}", field.path),
            ..field
        })
    });
    let repeated = |field: &FieldDoc| field.path.contains(".targets[]");
    let fields: Vec<FieldDoc> = fields.filter(|field| !repeated(field)).collect();
    let entries = fields.iter().map(|field| DocEntry {
        names: vec![field.path.clone()],
        summary: field.description.clone(),
        text: text(field, &fields),
    });
    entries.collect()
}

/// Whether a field is meant by this name: `maxDeletions`, `options.maxDeletions`, or its whole path,
/// with or without brackets.
pub(super) fn is_named(entry: &DocEntry, name: &str) -> bool {
    let plain = |path: &str| path.replace("[]", "");
    let name = plain(name);
    entry.names.iter().any(|path| {
        let path = plain(path);
        let before = path.strip_suffix(&name);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

fn text(field: &FieldDoc, all: &[FieldDoc]) -> String {
    let described = |field: &FieldDoc| {
        let required = if field.required { ", required" } else { "" };
        format!("{}{required}", field.kind.replace('`', ""))
    };
    let mut text = format!(
        "{} (field of an Operator: {})\n\n{}\n",
        field.path,
        described(field),
        field.description
    );
    let inner = |one: &FieldDoc| {
        let inside = one.path.strip_prefix(&field.path)?;
        let inside = inside.strip_prefix("[]").unwrap_or(inside);
        let name = inside.strip_prefix('.')?;
        (!name.contains('.')).then(|| (name.to_owned(), described(one), one.description.clone()))
    };
    let inner: Vec<(String, String, String)> = all.iter().filter_map(inner).collect();
    if !inner.is_empty() {
        text.push_str("\nFields:\n");
    }
    for (name, what, description) in inner {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {name} ({what}): {description}");
    }
    text
}
