//! The Operators that take part in a rehearsal: those that share views with the planned ones.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use object::VIEW_SUFFIX;
use object::metadata::name;

/// Of these Operators, those that the planned ones read views from or that read theirs, directly
/// or through others.
pub(crate) fn related<'a>(
    planned: &BTreeSet<String>,
    all: impl Iterator<Item = &'a Value>,
) -> BTreeSet<String> {
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for operator in all {
        let reader = name(operator);
        for read in views_read(operator) {
            let mut connect = |a: &str, b: &str| {
                edges.entry(a.to_owned()).or_default().insert(b.to_owned());
            };
            connect(reader, &read);
            connect(&read, reader);
        }
    }
    let mut found = planned.clone();
    let mut open: Vec<String> = planned.iter().cloned().collect();
    while let Some(next) = open.pop() {
        for neighbour in edges.get(&next).into_iter().flatten() {
            if found.insert(neighbour.clone()) {
                open.push(neighbour.clone());
            }
        }
    }
    found
}

/// The Operators whose views an Operator reads. This is read from the raw object, because a part
/// of the spec may be invalid.
fn views_read(operator: &Value) -> BTreeSet<String> {
    let list = |value: &Value| -> Vec<Value> {
        let items = value.as_list().into_iter().flatten();
        items.cloned().collect()
    };
    let controllers = list(operator.get("spec").get("controllers"));
    let sources = controllers.iter().flat_map(|one| list(one.get("sources")));
    let groups = sources.filter_map(|source| {
        let group = source.get("apiGroup").as_str()?;
        group.strip_suffix(VIEW_SUFFIX).map(str::to_owned)
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn operator(name: &str, reads: &[&str]) -> Value {
        let sources: Value = reads
            .iter()
            .map(|read| json!({"apiGroup": (format!("{read}{VIEW_SUFFIX}")), "kind": "V"}))
            .collect();
        json!({"metadata": {"name": name}, "spec": {"controllers": [{"sources": sources}]}})
    }

    #[test]
    fn operators_are_related_through_views_in_both_directions() {
        let all = [
            operator("a", &[]),
            operator("b", &["a"]),
            operator("c", &["b"]),
            operator("d", &["e"]),
            operator("e", &[]),
        ];
        let check = |planned: &str, expect: &[&str]| {
            let planned = BTreeSet::from([planned.to_owned()]);
            let found = related(&planned, all.iter());
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            assert_eq!(found, expect, "{planned:?}");
        };
        check("a", &["a", "b", "c"]);
        check("c", &["a", "b", "c"]);
        check("d", &["d", "e"]);
        check("new", &["new"]);
    }
}
