use seeded::Random;
use serde::de::DeserializeSeed;

use super::*;
use crate::json;

fn packed(json: &str) -> Value {
    let mut tape = Tape::new();
    let mut json = serde_json::Deserializer::from_str(json);
    let seed = tape.value(None, Whole);
    seed.deserialize(&mut json).unwrap();
    tape.into_packed()
}

fn check(json: &str) {
    let read: Value = json.parse().unwrap();
    assert_eq!(packed(json), read, "{json}");
    assert_eq!(packed(json).to_string(), read.to_string(), "{json}");
}

#[test]
fn a_document_in_one_block_is_the_same_document() {
    check(r#"{"b": [1, 2, {"d": [], "c": {}}], "a": 3}"#);
    check(r#"[[[]], "a text that is longer than a value", {"k": 1.5, "j": null}]"#);
    check("{}");
    check("[]");
    check("17");
    check(r#"{"b": [1, "another text that is long"], "a": {"x": [0]}, "b": 2}"#);
    let large = format!("[{}0]", "[1, 2, 3], ".repeat(10_000));
    check(&large);
    let long = format!(r#"{{"{}": [1]}}"#, "k".repeat(1000));
    check(&long);
}

/// Everything but members that begin with `-`, which are hidden, or with `_`. Texts are
/// read in capitals.
#[derive(Clone, Copy)]
struct Plain;

impl DocumentPart for Plain {
    fn member(self, name: &str) -> Member<Self> {
        match name.as_bytes().first() {
            Some(b'-') => Member::Hidden,
            Some(b'_') => Member::Skipped,
            _ => Member::Read(Key::new(name), self),
        }
    }

    fn element(self) -> Option<Self> {
        Some(self)
    }

    fn text(self, text: &str) -> Option<Value> {
        Some(text.to_uppercase().into())
    }
}

#[test]
fn a_map_with_only_hidden_members_is_left_out() {
    let text = r#"{"a": {"-x": 1, "-y": 2}, "b": {"-x": 1, "_y": 2}, "c": {}, "_d": 1, "e": [{"-x": 1}, {"f": "t"}]}"#;
    let mut json = serde_json::Deserializer::from_str(text);
    let value = PartSeed::new(Plain).deserialize(&mut json).unwrap();
    assert_eq!(value, json!({"b": {}, "c": {}, "e": [{"f": "T"}]}));
    let whole: Value = text.parse().unwrap();
    assert_eq!(part_of(&whole, Plain), Some(value));
    assert_eq!(part_of(&json!({"-x": 1}), Plain), None);
    assert!(part_of(&whole, Whole).unwrap().same(&whole));
}

#[test]
fn of_equal_keys_the_last_one_counts_also_if_it_is_left_out() {
    for text in [
        r#"{"a": {"x": [1]}, "b": 1, "a": {"-x": 1}}"#,
        r#"{"a": {"-x": 1}, "a": {"-x": 2}, "b": 1}"#,
        r#"[{"-x": 1}, {"a": {"-x": 1}, "b": {"-x": 1}, "a": {"x": "t"}}, {"-x": 1}]"#,
    ] {
        let whole: Value = text.parse().unwrap();
        for read in [Tape::into_value, Tape::into_packed] {
            let mut tape = Tape::new();
            let mut json = serde_json::Deserializer::from_str(text);
            tape.value(None, Plain).deserialize(&mut json).unwrap();
            assert_eq!(Some(read(tape)), part_of(&whole, Plain), "{text}");
        }
    }
}

/// A random JSON text. The keys of its maps are in any order, and some occur several times.
fn any_json(random: &mut Random, depth: usize) -> String {
    let kind = random.below(if depth == 0 { 2 } else { 4 });
    let len = random.below(6);
    let below = |random: &mut Random| any_json(random, depth.saturating_sub(1));
    match kind {
        0 => random.below(100).to_string(),
        1 => format!("{:?}", "text ".repeat(len)),
        2 => {
            let elements: Vec<String> = (0..len).map(|_| below(random)).collect();
            format!("[{}]", elements.join(", "))
        }
        _ => {
            let member = |random: &mut Random| {
                let key = *random.pick(&["a", "b", "c", "d", "-e", "-f", "_g"]);
                format!("{key:?}: {}", below(random))
            };
            let members: Vec<String> = (0..len).map(|_| member(random)).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

#[test]
fn any_document_is_read_as_another_reader_reads_it() {
    seeded::check(2_000, |random| {
        let text = any_json(random, 4);
        let other: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(packed(&text).to_string(), other.to_string(), "{text}");
        check(&text);
        let whole: Value = text.parse().unwrap();
        for read in [Tape::into_value, Tape::into_packed] {
            let mut tape = Tape::new();
            let mut json = serde_json::Deserializer::from_str(&text);
            tape.value(None, Plain).deserialize(&mut json).unwrap();
            let part = part_of(&whole, Plain).unwrap_or_default();
            assert_eq!(read(tape), part, "{text}");
        }
    });
}

#[test]
fn a_value_beside_the_tape_is_as_deep_as_where_it_stands() {
    let beside = |levels: usize| {
        let mut tape = Tape::new();
        tape.begin::<serde_json::Error>().unwrap();
        let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let mut json = serde_json::Deserializer::from_str(&text);
        tape.beside().deserialize(&mut json)
    };
    assert!(beside(crate::MAX_DEPTH - 1).is_ok());
    assert!(beside(crate::MAX_DEPTH).is_err());
}
