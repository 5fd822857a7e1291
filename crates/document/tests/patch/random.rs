//! Random tests: random patches on random documents.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use document::patch::{Operation, Patch, PatchPath, Token};
use document::{Chunks, Value};
use seeded::Random;
use serde_json::Value as Json;

const DEPTH: usize = 4;
const NAMES: [&str; 7] = ["a", "b", "k", "0", "-", "a/b", "m~n"];
const SCALARS: [&str; 10] = [
    "null", "true", "0", "1", "2.5", "1e30", "\"\"", "\"a\"", "\"1\"", "\"é\"",
];

/// A document: a list or map.
fn any(random: &mut Random) -> Json {
    serde_json::from_str(&text(random, DEPTH)).unwrap()
}

/// A JSON text, a list or map at depth [`DEPTH`].
fn text(random: &mut Random, depth: usize) -> String {
    if depth == 0 || (depth < DEPTH && random.below(3) == 0) {
        return (*random.pick(&SCALARS)).to_owned();
    }
    let size = random.below(5);
    if random.below(2) == 0 {
        let alike = depth > 1 && random.below(2) == 0;
        let items: Vec<_> = (0..size)
            .map(|_| {
                if !alike {
                    return text(random, depth - 1);
                }
                // For filters to find.
                let key = *random.pick(&["\"a\"", "1", "true"]);
                format!("{{\"k\":{key},\"a\":{}}}", text(random, depth - 2))
            })
            .collect();
        return format!("[{}]", items.join(","));
    }
    let entries: Vec<_> = (0..size)
        .map(|_| {
            let name = *random.pick(&NAMES);
            format!("\"{name}\":{}", text(random, depth - 1))
        })
        .collect();
    format!("{{{}}}", entries.join(","))
}

/// A path that mostly leads to existing values, optionally with filters.
fn way(random: &mut Random, document: &Json, filters: bool) -> String {
    let mut text = String::new();
    let mut here = document;
    while random.below(if text.ends_with(']') { 3 } else { 6 }) != 0 {
        let end = random.below(10) == 0;
        here = match here {
            Json::Array(items) if !items.is_empty() && !end => {
                let at = random.below(items.len());
                match random.below(if filters { 6 } else { 1 }) {
                    0 => write!(text, "/{at}").unwrap(),
                    1 => write!(text, "/[{at}]").unwrap(),
                    2 | 3 => text += "/[*]",
                    _ => {
                        let field = *random.pick(&["a", "k", "k", "a.k"]);
                        let value = *random.pick(&["", "a", "a", "1", "true", "2.5"]);
                        write!(text, "/[?(@.{field}=='{value}')]").unwrap();
                    }
                }
                &items[at]
            }
            Json::Object(map) if !map.is_empty() && !end => {
                let at = random.below(map.len());
                let (key, member) = map.iter().nth(at).unwrap();
                write!(text, "/{}", PatchPath::escape_segment(key)).unwrap();
                member
            }
            _ => {
                let last = *random.pick(&["a", "new", "0", "1", "2", "9", "-", "01", ""]);
                write!(text, "/{last}").unwrap();
                break;
            }
        };
    }
    text
}

/// One operation of RFC 6902, as JSON.
fn operation(random: &mut Random, document: &Json, filters: bool) -> Json {
    let op = *random.pick(&["add", "replace", "remove", "test", "copy", "move"]);
    let path = way(random, document, filters);
    match op {
        "copy" | "move" => {
            let filters = filters && random.below(4) == 0;
            let from = way(random, document, filters);
            serde_json::json!({"op": op, "from": from, "path": path})
        }
        "test" if random.below(2) == 0 && !filters => {
            let value = document.pointer(&path).cloned().unwrap_or_default();
            serde_json::json!({"op": op, "path": path, "value": value})
        }
        "remove" => serde_json::json!({"op": op, "path": path}),
        _ => {
            let value: Json = serde_json::from_str(&text(random, 2)).unwrap();
            serde_json::json!({"op": op, "path": path, "value": value})
        }
    }
}

fn ours(json: &Json) -> Value {
    json.to_string().parse().unwrap()
}

fn theirs(value: &Value) -> Json {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn read(operations: &Json) -> Patch {
    Patch::read(&ours(operations)).unwrap()
}

/// Whether `add` would create parents here, which the other implementation refuses.
fn makes_parents(operation: &Json, document: &Json) -> bool {
    if operation["op"] != "add" {
        return false;
    }
    let path = operation["path"].as_str().unwrap();
    path.rsplit_once('/')
        .is_some_and(|(parent, _)| document.pointer(parent).is_none())
}

#[test]
fn plain_patches_give_what_the_other_implementation_gives() {
    let applied = AtomicUsize::new(0);
    seeded::check(20_000, |random| {
        let mut document: Json = any(random);
        // One after the other, so that operations are about existing values.
        for _ in 0..4 {
            let operation = operation(random, &document, false);
            if makes_parents(&operation, &document) {
                continue;
            }
            let patch = serde_json::json!([operation]);
            let result = read(&patch).apply(&ours(&document));
            let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
            let mut expect = document.clone();
            match json_patch::patch(&mut expect, &patch) {
                Ok(()) => {
                    assert_eq!(result, Ok(ours(&expect)), "{document} {operation}");
                    applied.fetch_add(1, Ordering::Relaxed);
                    document = expect;
                }
                Err(error) => assert!(result.is_err(), "{document} {operation}: {error}"),
            }
        }
    });
    // Most operations must succeed.
    assert!(seeded::alone() || applied.into_inner() > 20_000);
}

/// A patch of several operations, each about the result of those before it that succeed.
fn patch(random: &mut Random, document: &Json) -> Vec<Json> {
    let mut document = document.clone();
    let mut operations = Vec::new();
    for _ in 0..=random.below(6) {
        let operation = operation(random, &document, false);
        if makes_parents(&operation, &document) {
            continue;
        }
        let step: json_patch::PatchOperation = serde_json::from_value(operation.clone()).unwrap();
        let performed = json_patch::patch(&mut document, &[step]).is_ok();
        // Some operations that fail are kept.
        if performed || random.chance(10) {
            operations.push(operation);
        }
        if !performed && random.chance(30) {
            break;
        }
    }
    operations
}

#[test]
fn whole_patches_give_what_json_patch_gives_on_whole_documents() {
    let (applied, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    seeded::check(10_000, |random| {
        let document = any(random);
        let operations = Json::from(patch(random, &document));
        let patch: json_patch::Patch = serde_json::from_value(operations.clone()).unwrap();
        // `json_patch::patch` panics where it cannot undo a move that it has performed.
        let mut expect = document.clone();
        let expect = json_patch::patch_unsafe(&mut expect, &patch).map(|()| ours(&expect));
        // With separate lists and maps, in one block, and in chunks.
        for before in [
            ours(&document),
            ours(&document).packed(),
            chunked(&ours(&document)),
        ] {
            let result = read(&operations).apply(&before);
            match (&expect, result) {
                (Ok(expect), Ok(result)) => assert_eq!(result, *expect, "{document} {operations}"),
                (Err(expect), Err(error)) => {
                    assert_eq!(error.operation, expect.operation, "{document} {operations}");
                }
                (expect, result) => panic!("{document} {operations}: {expect:?} {result:?}"),
            }
            assert_eq!(theirs(&before), document);
        }
        let count = if expect.is_ok() { &applied } else { &failed };
        count.fetch_add(1, Ordering::Relaxed);
    });
    let (applied, failed) = (applied.into_inner(), failed.into_inner());
    let enough = applied > 5_000 && failed > 500;
    assert!(seeded::alone() || enough, "{applied}, {failed}");
}

/// The same document. A list is split into chunks of two.
fn chunked(document: &Value) -> Value {
    let Some(list) = document.as_list() else {
        return document.clone();
    };
    let items = list.to_vec();
    let chunks = items.chunks(2);
    Value::chunked(Chunks::new(
        chunks.map(|chunk| Chunks::chunk(chunk.iter().cloned())),
    ))
}

/// Applies one operation to concrete places by the other implementation: parents first,
/// then the operation at each place, from the last to the first.
fn by_hand(operation: &Operation, document: &Value) -> Option<Json> {
    let places = operation.path().resolve(document).ok()?;
    let mut result = theirs(document);
    for place in places.iter().rev() {
        if let Operation::Add { .. } = operation {
            make_parents(&mut result, place.tokens());
        }
        let mut step = serde_json::json!({"op": operation.name(), "path": place.to_string()});
        if let Some(value) = operation.value() {
            step["value"] = theirs(value);
        }
        let step: json_patch::PatchOperation = serde_json::from_value(step).unwrap();
        json_patch::patch(&mut result, &[step]).ok()?;
    }
    Some(result)
}

fn make_parents(document: &mut Json, tokens: &[Token]) {
    let mut here = document;
    for pair in tokens.windows(2) {
        here = match (&pair[0], here) {
            (Token::Key(key), Json::Object(map)) => {
                map.entry(key.as_str()).or_insert_with(|| match pair[1] {
                    Token::End => serde_json::json!([]),
                    Token::Key(_) | Token::Index(_) => serde_json::json!({}),
                })
            }
            (Token::Index(index), Json::Array(items)) => &mut items[*index],
            _ => return,
        };
    }
}

#[test]
fn a_patch_does_at_every_match_what_is_done_by_hand() {
    let several = AtomicUsize::new(0);
    seeded::check(20_000, |random| {
        let document: Json = any(random);
        let json = operation(random, &document, true);
        let document = ours(&document);
        let operation = Operation::read(&ours(&json)).unwrap();
        if matches!(operation, Operation::Copy { .. } | Operation::Move { .. }) {
            return;
        }
        let result = Patch::new(vec![operation.clone()]).apply(&document);
        match by_hand(&operation, &document) {
            Some(expect) => assert_eq!(result, Ok(ours(&expect)), "{document} {json}"),
            None => assert!(result.is_err(), "{document} {json}: {result:?}"),
        }
        if operation
            .path()
            .resolve(&document)
            .is_ok_and(|places| places.len() > 1)
        {
            several.fetch_add(1, Ordering::Relaxed);
        }
    });
    let several = several.into_inner();
    assert!(seeded::alone() || several > 500, "{several}");
}

#[test]
fn removing_what_was_added_gives_the_document_back() {
    let added = AtomicUsize::new(0);
    seeded::check(20_000, |random| {
        let document: Json = any(random);
        let path = way(random, &document, true);
        let document = ours(&document);
        let places = PatchPath::parse(&path).unwrap().resolve(&document);
        let Ok([place]) = places.as_deref() else {
            return;
        };
        let text = place.to_string();
        let plain = theirs(&document);
        let parent = text
            .rsplit_once('/')
            .map(|(parent, _)| plain.pointer(parent));
        let replaces =
            plain.pointer(&text).is_some() && !matches!(parent, Some(Some(Json::Array(_))));
        if replaces || text.ends_with("/-") || !matches!(parent, Some(Some(_))) {
            return;
        }
        let add = serde_json::json!([{"op": "add", "path": path, "value": "added"}]);
        let Ok(more) = read(&add).apply(&document) else {
            return;
        };
        let remove = serde_json::json!([
            {"op": "test", "path": text, "value": "added"},
            {"op": "remove", "path": text}
        ]);
        assert_eq!(read(&remove).apply(&more), Ok(document), "{add}");
        added.fetch_add(1, Ordering::Relaxed);
    });
    assert!(seeded::alone() || added.into_inner() > 1_000);
}

#[test]
fn a_failed_patch_changes_nothing() {
    let failed = AtomicUsize::new(0);
    seeded::check(10_000, |random| {
        let json: Json = any(random);
        let operations: Vec<_> = (0..=random.below(5))
            .map(|_| operation(random, &json, true))
            .collect();
        let document = ours(&json);
        let patch = read(&Json::from(operations)).strict(random.below(2) == 0);
        let one = patch.apply(&document);
        assert_eq!(theirs(&document), json);
        assert_eq!(patch.apply(&document), one, "the same again");
        if let Err(error) = one {
            assert!(error.operation < patch.operations().len());
            assert!(error.code().starts_with("patch-"));
            failed.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(seeded::alone() || failed.into_inner() > 1_000);
}
