//! Documents that are read one by one are the same as those of the whole text.
//!
//! The limit on documents is also the size above which a file is split, so that short texts are
//! split here.
#![allow(clippy::unwrap_used)]

use std::io::{self, Read};
use std::sync::Arc;

use document::Location;
use manifest::{Documents, MAX_SIZE, Manifest, Source, expand_lists, parse};

fn whole(text: &str) -> Vec<Manifest> {
    let source = Source {
        name: "file".into(),
        text: text.into(),
    };
    expand_lists(parse(Arc::new(source)).unwrap())
}

fn split(text: &str, limit: usize) -> Result<Vec<Manifest>, String> {
    Documents::new("file", text.as_bytes(), limit)
        .map(|manifest| manifest.map_err(|error| error.short()))
        .collect()
}

/// The document and the line and column of its name.
fn shown(manifest: &Manifest) -> String {
    let span = manifest.span(&Location::root().key("metadata").key("name"));
    format!("{}:{} {}", span.line, span.column, manifest.value)
}

/// Checks that a split text has the same documents at the same places.
fn same(text: &str, limit: usize) {
    assert!(text.len() > limit, "{} bytes", text.len());
    let expect: Vec<_> = whole(text).iter().map(shown).collect();
    let found = split(text, limit).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expect);
}

fn fails(text: &str, limit: usize, expect: &str) {
    assert_eq!(split(text, limit).unwrap_err(), expect);
}

fn pod(name: &str) -> String {
    format!(
        r#"{{"kind": "Pod", "metadata": {{"name": "{name}", "note": "a \"}}]é"}}, "n": [1, {{}}]}}"#
    )
}

#[test]
fn json_documents_follow_each_other() {
    let text = [pod("a"), pod("b"), pod("c")];
    same(&text.join("\n"), 90);
    same(&text.join("\n---\n"), 90);
    same(&text.join(" # comment\n\n  "), 90);
    same(&format!("# comment\n{}", text.join("\n")), 90);
    // What is written like JSON may be YAML.
    same(
        "{kind: Pod, metadata: {name: it's}}\n{kind: 'a \"', metadata: {name: b}}\n",
        45,
    );
}

#[test]
fn a_list_in_json_is_read_item_by_item() {
    let items = [pod("a"), pod("b"), pod("c")].join(",\n  ");
    for text in [
        format!(r#"{{"apiVersion": "v1", "items": [{items}], "kind": "List", "metadata": {{}}}}"#),
        format!(r#"{{"kind": "List", "items": [ {items} ]}}"#),
        format!(
            "{{\n \"kind\": \"List\",\n \"items\": [\n  {items}\n ]\n}}\n{}",
            pod("d")
        ),
    ] {
        same(&text, 90);
    }
    let typed = r#"{"kind": "PodList", "apiVersion": "v1", "items": [
        {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}, {"metadata": {"name": "c"}}]}"#;
    same(typed, 60);
}

#[test]
fn a_list_in_yaml_is_read_item_by_item() {
    let item = |name: &str, indent: &str| {
        let item = format!(
            "- kind: Pod\n  metadata:\n    name: {name}\n# a comment\n  text: |\n    - a\n\n    b\n"
        );
        let lines: Vec<String> = item
            .lines()
            .map(|line| format!("{indent}{line}\n"))
            .collect();
        lines.concat()
    };
    for indent in ["", "  "] {
        let items: String = ["a", "b", "c"]
            .iter()
            .map(|name| item(name, indent))
            .collect();
        same(
            &format!("apiVersion: v1\nitems:\n{items}kind: List\nmetadata: {{}}\n"),
            100,
        );
        same(&format!("kind: List\nitems:\n{items}"), 100);
        same(
            &format!("kind: List\nitems:\n{items}---\nkind: Pod\nmetadata: {{name: d}}\n"),
            100,
        );
    }
}

#[test]
fn yaml_documents_are_split_at_their_markers() {
    let text = "%YAML 1.2\n---\nkind: A\nmetadata: {name: a}\n--- # next\nkind: B\nmetadata: {name: b}\n...\n---\n\
                kind: C\nmetadata:\n  name: |\n    --- no\n    marker\n";
    same(text, 50);
    same(&format!("\u{feff}{}", &text[14..]), 50);
}

#[test]
fn items_may_be_part_of_another_kind() {
    let text = format!(
        r#"{{"kind": "Box", "metadata": {{"name": "a"}}, "items": [{}]}}"#,
        pod("b")
    );
    same(&format!("{text}\n{text}"), 200);
    // After the items it is too late.
    let late = format!(
        r#"{{"items": [{}, {}], "kind": "Box"}}"#,
        pod("a"),
        pod("b")
    );
    fails(
        &late,
        100,
        "file:1:181: error[bad-list]: the document has `items`, but is of kind Box: expected a kind that ends in List",
    );
}

#[test]
fn a_document_over_the_limit_is_named() {
    let large = format!("{}\n{}", pod("a"), pod(&"b".repeat(100)));
    fails(
        &large,
        100,
        "file:2:1: error[too-large]: the document has more than 100 bytes",
    );
    let item = format!(
        r#"{{"kind": "List", "items": [{}, {}]}}"#,
        pod("a"),
        pod(&"b".repeat(100))
    );
    fails(
        &item,
        100,
        "file:1:105: error[too-large]: the document has more than 100 bytes",
    );
    let yaml = format!("a: 1\n---\nb: {}\n", "x".repeat(100));
    fails(
        &yaml,
        50,
        "file:3:1: error[too-large]: the document has more than 50 bytes",
    );
    let line = "x".repeat(1000);
    fails(
        &line,
        50,
        "file:1:1: error[too-large]: the document has more than 50 bytes",
    );
}

#[test]
fn an_error_in_a_part_has_its_place_in_the_file() {
    let text = format!("{}\n{}\nkind: [\n", pod("a"), pod("b"));
    let error = split(&text, 90).unwrap_err();
    assert!(
        error.starts_with("file:4:1: error[syntax]")
            || error.starts_with("file:3:7: error[syntax]"),
        "{error}"
    );
    let list = format!(
        "kind: List\nitems:\n- a: 1\n- b: [1\n- c: {}\n",
        "x".repeat(60)
    );
    let error = split(&list, 40).unwrap_err();
    assert!(
        error.starts_with("file:4:") || error.starts_with("file:5:"),
        "{error}"
    );
    let ends = format!(r#"{{"kind": "List", "items": [{}, {}"#, pod("a"), pod("b"));
    fails(
        &ends,
        90,
        "file:1:180: error[syntax]: the file ends inside a List",
    );
}

/// A reader that returns one byte at a time, and then fails.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (first, rest) = self
            .0
            .split_first()
            .ok_or_else(|| io::Error::other("gone"))?;
        buffer[0] = *first;
        self.0 = rest;
        Ok(1)
    }
}

#[test]
fn a_reader_that_fails_ends_the_documents() {
    let text = format!("{}\n{}\n", pod("a"), pod("b"));
    let mut documents = Documents::new("file", Slow(text.as_bytes()), 90);
    assert!(documents.next().unwrap().is_ok());
    assert!(documents.next().unwrap().is_ok());
    let error = documents.next().unwrap().unwrap_err().short();
    assert_eq!(error, "error[read]: cannot read file: gone");
    assert!(documents.next().is_none());
}

#[test]
fn a_file_is_not_kept_in_memory() {
    /// A List with as many items as there are.
    struct Endless {
        item: Vec<u8>,
        left: usize,
        at: usize,
    }
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.at == self.item.len() {
                if self.left == 0 {
                    return Ok(0);
                }
                self.left -= 1;
                self.at = 0;
            }
            let count = buffer.len().min(self.item.len() - self.at);
            buffer[..count].copy_from_slice(&self.item[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }
    }
    let items = format!("{},\n", pod(&"x".repeat(2000))).repeat(20);
    let endless = Endless {
        item: items.into_bytes(),
        left: 500,
        at: 0,
    };
    let list = r#"{"kind": "List", "items": ["#.as_bytes().chain(endless).chain(&b"]}"[..]);
    let documents = Documents::new("file", list, MAX_SIZE);
    let mut count = 0;
    for document in documents {
        assert!(document.is_ok());
        count += 1;
    }
    assert_eq!(count, 10_020);
}
