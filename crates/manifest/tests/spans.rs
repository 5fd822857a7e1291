//! Spans: from a location to the text, its line and its column.
#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write;

use common::load;
use document::{Location, LocationStep};
use manifest::{Manifest, Span, expand_lists};

/// `a.b[0]` as a location; keys without dots and brackets.
fn at(path: &str) -> Location {
    path.split(['.', '[']).filter(|part| !part.is_empty()).fold(
        Location::root(),
        |location, part| match part.strip_suffix(']') {
            Some(index) => location.index(index.parse().unwrap()),
            None => location.key(part),
        },
    )
}

fn shown(manifest: &Manifest, span: Span) -> String {
    let text = &manifest.source().text[span.start..span.end];
    format!("{}:{} {text}", span.line, span.column)
}

/// The span of a location in a document: `line:column text`.
fn check(text: &str, document: usize, path: &str, expect: &str) {
    let manifests = load(text).unwrap();
    let manifest = &manifests[document];
    assert_eq!(
        shown(manifest, manifest.span(&at(path))),
        expect,
        "{path} in {text:?}"
    );
}

fn check_key(text: &str, path: &str, expect: &str) {
    let manifests = load(text).unwrap();
    let manifest = &manifests[0];
    assert_eq!(
        shown(manifest, manifest.key_span(&at(path))),
        expect,
        "{path} in {text:?}"
    );
}

#[test]
fn block_values_have_their_places() {
    let text =
        "# c\nkind: Pod # x\nspec:\n  list:\n    - a\n    -  b: 1\n       c: \"two\"\n\n# end\n";
    check(text, 0, "kind", "2:7 Pod");
    check(text, 0, "spec.list[0]", "5:7 a");
    check(text, 0, "spec.list[1].c", "7:11 \"two\"");
    check(text, 0, "spec.list[1]", "6:8 b: 1\n       c: \"two\"");
    check(
        text,
        0,
        "spec.list",
        "5:5 - a\n    -  b: 1\n       c: \"two\"",
    );
    check(
        text,
        0,
        "spec",
        "4:3 list:\n    - a\n    -  b: 1\n       c: \"two\"",
    );
    check_key(text, "spec.list", "4:3 list");
    check_key(text, "spec.list[1].c", "7:8 c");
}

#[test]
fn lists_that_are_not_indented_start_at_their_dash() {
    let text = "a:\n- 1\n- 2\nb: &x\n# - no\n- - 3\n- x: 4\n";
    check(text, 0, "a", "2:1 - 1\n- 2");
    check(text, 0, "a[1]", "3:3 2");
    check(text, 0, "b", "6:1 - - 3\n- x: 4");
    check(text, 0, "b[0]", "6:3 - 3");
    check("? a\n: - 1\n? b\n:\n- 2\n", 0, "a", "2:3 - 1");
    check("? a\n: - 1\n? b\n:\n- 2\n", 0, "b", "5:1 - 2");
}

#[test]
fn flow_values_have_their_places() {
    let text = "a: {b: [1, 'two', {c: 3}],\n  d: [x: 1]} # c\n";
    check(text, 0, "a", "1:4 {b: [1, 'two', {c: 3}],\n  d: [x: 1]}");
    check(text, 0, "a.b", "1:8 [1, 'two', {c: 3}]");
    check(text, 0, "a.b[1]", "1:12 'two'");
    check(text, 0, "a.b[2].c", "1:23 3");
    check(text, 0, "a.d[0]", "2:7 x: 1");
    check_key(text, "a.d", "2:3 d");
    check_key(text, "a.d[0].x", "2:7 x");
}

#[test]
fn columns_count_characters_and_offsets_bytes() {
    let text = "é: {ü: \"ß\", 日本: 語}\n";
    check(text, 0, "é.ü", "1:8 \"ß\"");
    check(text, 0, "é.日本", "1:17 語");
    check_key(text, "é.日本", "1:13 日本");
    let manifest = &load(text).unwrap()[0];
    assert_eq!(manifest.span(&at("é.日本")).start, 23);
}

#[test]
fn lines_count_from_the_start_of_the_file() {
    let text = "a: 1\n---\nb: 2\n---\n{c: 3}\n{d: 4,\n e: 5} {f: 6}\n";
    check(text, 1, "b", "3:4 2");
    check(text, 2, "c", "5:5 3");
    check(text, 3, "e", "7:5 5");
    check(text, 4, "f", "7:12 6");
    check(text, 4, "", "7:8 {f: 6}");
}

#[test]
fn windows_line_ends_do_not_count() {
    let text = "a: 1\r\nb:\r\n  - x\r\n  - |\r\n    t\r\n    u\r\nc: 2\r\n";
    check(text, 0, "b[0]", "3:5 x");
    check(text, 0, "b[1]", "5:5 t\r\n    u");
    check(text, 0, "c", "7:4 2");
}

#[test]
fn block_scalars_end_where_their_text_ends() {
    let text = "a: |\n  one\n  two\n\n\nb: >-\n  x\n  y\n# c\n";
    check(text, 0, "a", "2:3 one\n  two");
    check(text, 0, "b", "7:3 x\n  y");
}

#[test]
fn values_that_are_left_out_are_empty_places_after_their_colon() {
    check("a:\nb: 1\n", 0, "a", "1:3 ");
    check("-\n- 1\n", 0, "[0]", "1:2 ");
    check("{a: , b}", 0, "b", "1:8 ");
}

#[test]
fn a_missing_place_gives_its_nearest_ancestor() {
    let text = "spec:\n  a: [1]\n";
    check(text, 0, "spec.a[7].x", "2:6 [1]");
    check(text, 0, "spec.b.c", "2:3 a: [1]");
    check(text, 0, "spec.a[0].c", "2:7 1");
    check(text, 0, "x", "1:1 spec:\n  a: [1]");
    check_key(text, "spec.b", "2:3 a: [1]");
    check_key(text, "spec.b.c", "2:3 a: [1]");
    check_key(text, "spec.a[0]", "2:7 1");
    check_key(text, "", "1:1 spec:\n  a: [1]");
}

#[test]
fn parts_of_aliases_and_merges_have_the_spans_of_their_anchor() {
    let text = "base: &b\n  x: {y: 1}\na: *b\nc:\n  <<: *b\n  z: 2\n";
    check(text, 0, "a", "3:4 *b");
    check(text, 0, "a.x.y", "2:10 1");
    check(text, 0, "c.x", "2:6 {y: 1}");
    check_key(text, "c.x", "2:3 x");
    check_key(text, "c.z", "6:3 z");
}

#[test]
fn a_byte_order_mark_is_no_column() {
    check("\u{feff}a: 1\nb: 2\n", 0, "a", "1:4 1");
    check("\u{feff}a: 1\nb: 2\n", 0, "b", "2:4 2");
}

#[test]
fn lists_of_objects_are_expanded_with_their_places() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  a: 1\n- kind: PodList\n  apiVersion: v1\n  items: [{b: 2}, {kind: X, c: 3}]\n---\nkind: AllowList\nspec: {}\n---\nkind: List\nitems: []\n---\nkind: List\nitems: {}\n";
    let manifests = expand_lists(load(text).unwrap());
    let values: Vec<_> = manifests.iter().map(|m| m.value.to_string()).collect();
    assert_eq!(
        values,
        [
            r#"{"a":1,"kind":"Pod"}"#,
            r#"{"apiVersion":"v1","b":2,"kind":"Pod"}"#,
            r#"{"c":3,"kind":"X"}"#,
            r#"{"kind":"AllowList","spec":{}}"#,
            r#"{"items":{},"kind":"List"}"#,
        ]
    );
    let place = |i: usize, path: &str| shown(&manifests[i], manifests[i].span(&at(path)));
    assert_eq!(place(0, "a"), "5:6 1");
    assert_eq!(place(1, "b"), "8:15 2");
    assert_eq!(place(1, "kind"), "8:11 {b: 2}");
    assert_eq!(place(2, ""), "8:19 {kind: X, c: 3}");
}

/// Every scalar of a document, with its place, is found again in the text.
#[test]
fn all_places_of_a_larger_file_are_right() {
    let mut text = String::new();
    for i in 0..50 {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{{\"i\": [{i},\n \"é\"]}}\n---\nk{i}:\n- a: {i}é\n  b: [x{i}, {{y: z{i}}}]\n---\n"
        );
    }
    let mut seen = 0;
    for manifest in load(&text).unwrap() {
        let mut open = vec![(Location::root(), manifest.value.clone())];
        while let Some((location, value)) = open.pop() {
            let span = manifest.span(&location);
            let before = &text[..span.start];
            assert_eq!(span.line, before.matches('\n').count() + 1);
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            assert_eq!(
                span.column,
                text[line_start..span.start].chars().count() + 1
            );
            if let Some(map) = value.as_map() {
                for (key, value) in map {
                    let child = location.key(key.as_str());
                    let key_span = manifest.key_span(&child);
                    assert_eq!(
                        text[key_span.start..key_span.end].trim_matches('"'),
                        key.as_str()
                    );
                    open.push((child, value.clone()));
                }
            } else if let Some(items) = value.as_list() {
                open.extend(
                    items
                        .iter()
                        .enumerate()
                        .map(|(i, v)| (location.index(i), v.clone())),
                );
            } else {
                let written = value.to_string();
                assert_eq!(
                    text[span.start..span.end].trim_matches('"'),
                    written.trim_matches('"'),
                    "{location}"
                );
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 50 * 5);
    assert!(matches!(at("a[1]").steps()[1], LocationStep::Index(1)));
}
