//! Parsing: documents, scalars, keys, tags, anchors, merge keys.
#![allow(clippy::unwrap_used)]

mod common;

use common::load;
use manifest::Diagnostic;

/// The documents as compact JSON, one per line, each followed by its duplicate keys; for
/// an error, its one-line form.
fn check(text: &str, expect: &str) {
    let found = match load(text) {
        Ok(manifests) => manifests
            .iter()
            .flat_map(|manifest| {
                let duplicates = manifest.duplicates().iter().map(Diagnostic::short);
                [manifest.value.to_string()].into_iter().chain(duplicates)
            })
            .collect::<Vec<_>>()
            .join("\n"),
        Err(diagnostic) => diagnostic.short(),
    };
    assert_eq!(found, expect, "for {text:?}");
}

#[test]
fn every_document_of_a_stream_is_read_and_empty_ones_are_skipped() {
    check("a: 1\n---\nb: 2\n", "{\"a\":1}\n{\"b\":2}");
    check(
        "---\n---\n# nothing\n---\nnull\n---\na: 1\n...\n",
        "{\"a\":1}",
    );
    check("", "");
    check("# only a comment\n", "");
    check(
        "a: 1\r\n---\r\nb: |\r\n  x\r\n  y\r\n",
        "{\"a\":1}\n{\"b\":\"x\\ny\\n\"}",
    );
    check("--- text\n--- [1]\n", "\"text\"\n[1]");
}

#[test]
fn plain_scalars_have_the_types_of_the_core_schema() {
    check(
        "[~, null, true, False, yes, no, on, off, 12, 0x1f, 0o17, 0644, 1e3, 1.5, 2001-01-01]",
        r#"[null,null,true,false,"yes","no","on","off",12,31,15,420,1000,1.5,"2001-01-01"]"#,
    );
    check("a:\nb: ~\n", r#"{"a":null,"b":null}"#);
    check(
        "[9223372036854775807, 9223372036854775808]",
        "[9223372036854775807,9223372036854776000]",
    );
}

#[test]
fn quoted_scalars_are_strings() {
    check(
        r#"["1", 'true', "null", '', "~"]"#,
        r#"["1","true","null","","~"]"#,
    );
    check("a: |\n  1\nb: >-\n  true\n", r#"{"a":"1\n","b":"true"}"#);
}

#[test]
fn what_json_has_no_number_for_is_an_error() {
    let expect = "test.yaml:1:4: error[no-json-number]: infinity and NaN are not JSON numbers";
    for text in ["a: .inf", "a: -.INF", "a: .nan"] {
        check(text, expect);
    }
    check(
        "a: 1e999",
        "test.yaml:1:4: error[no-json-number]: out of the range of JSON numbers",
    );
}

#[test]
fn tags_of_json_types_are_honoured() {
    check(
        "[!!str 1, !!int \"12\", !!bool 'true', !!float 1.5, !!null ~, !!null '', ! 1, !!str]",
        r#"["1",12,true,1.5,null,null,"1",""]"#,
    );
    check("[!!map {a: 1}, !!seq [1]]", r#"[{"a":1},[1]]"#);
    check("!!binary aGk=", r#""aGk=""#);
    check("!<tag:yaml.org,2002:int> 3", "3");
    check("!!str a: !!int 1", r#"{"a":1}"#);
}

#[test]
fn other_tags_are_errors_that_name_the_tag() {
    check(
        "a: !Ref x",
        "test.yaml:1:4: error[unsupported-tag]: the tag `!Ref` has no meaning here",
    );
    check(
        "a: !!timestamp 2001-01-01",
        "test.yaml:1:4: error[unsupported-tag]: the tag `!!timestamp` has no meaning here",
    );
    check(
        "a: !!set {x, y}",
        "test.yaml:1:4: error[unsupported-tag]: the tag `!!set` has no meaning here",
    );
    check(
        "a: !x!y z",
        "test.yaml:1:4: error[syntax]: the handle wasn't declared",
    );
}

#[test]
fn a_tag_that_does_not_fit_is_an_error() {
    for (text, tag, expected) in [
        ("!!int x", "!!int", "an integer"),
        ("!!int 1.5", "!!int", "an integer"),
        ("!!bool yes", "!!bool", "true or false"),
        ("!!float x", "!!float", "a number"),
        ("!!null x", "!!null", "null"),
        ("!!map x", "!!map", "a map"),
        ("!!seq {}", "!!seq", "a list"),
        ("!!map []", "!!map", "a map"),
        ("!!str []", "!!str", "a scalar"),
    ] {
        check(
            text,
            &format!("test.yaml:1:1: error[tag-mismatch]: the tag `{tag}` expects {expected}"),
        );
    }
}

#[test]
fn scalar_keys_become_their_text() {
    check(
        "1: a\ntrue: b\n~: c\n1.50: d\n\"x\": e\n",
        r#"{"1":"a","1.50":"d","true":"b","x":"e","~":"c"}"#,
    );
    check("? a\n: 1\n? b\n", r#"{"a":1,"b":null}"#);
    check("&k a: 1\nb: *k\n", r#"{"a":1,"b":"a"}"#);
    check("a: &k x\n*k : 1\n", r#"{"a":"x","x":1}"#);
}

#[test]
fn keys_that_are_no_scalars_are_errors() {
    check(
        "a: 1\n? [1, 2]\n: 3\n",
        "test.yaml:2:3: error[complex-key]: a key must be a scalar, not a list or a map",
    );
    check(
        "{{a: 1}: 2}",
        "test.yaml:1:2: error[complex-key]: a key must be a scalar, not a list or a map",
    );
    check(
        "a: &k [1]\n*k : 1\n",
        "test.yaml:2:1: error[complex-key]: a key must be a scalar, not a list or a map",
    );
    check(
        "{a: 1, : 2}",
        "test.yaml:1:8: error[missing-key]: expected a key before `:`",
    );
}

#[test]
fn the_last_of_duplicate_keys_wins_and_both_places_are_reported() {
    check(
        "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
        "{\"a\":1,\"b\":{\"c\":3,\"d\":2}}\n\
         test.yaml:5:3: error[duplicate-key]: duplicate key `c`, first given at line 3, column 3",
    );
    check(
        r#"{"a": 1, "b": 2, "a": 3}"#,
        "{\"a\":3,\"b\":2}\n\
         test.yaml:1:18: error[duplicate-key]: duplicate key `a`, first given at line 1, column 2",
    );
    check(
        "1: a\n\"1\": b\n",
        "{\"1\":\"b\"}\n\
         test.yaml:2:1: error[duplicate-key]: duplicate key `1`, first given at line 1, column 1",
    );
}

#[test]
fn duplicate_keys_are_reported_in_text_order() {
    check(
        "b: {x: 1, x: 2}\na: 1\nb: 2\na: 2\nb: 3\n",
        "{\"a\":2,\"b\":3}\n\
         test.yaml:1:11: error[duplicate-key]: duplicate key `x`, first given at line 1, column 5\n\
         test.yaml:3:1: error[duplicate-key]: duplicate key `b`, first given at line 1, column 1\n\
         test.yaml:4:1: error[duplicate-key]: duplicate key `a`, first given at line 2, column 1\n\
         test.yaml:5:1: error[duplicate-key]: duplicate key `b`, first given at line 1, column 1",
    );
}

#[test]
fn duplicate_keys_belong_to_their_document() {
    check(
        "a: 1\n---\nb: 1\nb: 2\n---\nc: 1\n",
        "{\"a\":1}\n{\"b\":2}\n\
         test.yaml:4:1: error[duplicate-key]: duplicate key `b`, first given at line 3, column 1\n\
         {\"c\":1}",
    );
}

#[test]
fn a_duplicate_key_wins_over_an_entry_of_a_merge_key() {
    check(
        "<<: {a: 0, b: 0}\na: 1\na: 2\n",
        "{\"a\":2,\"b\":0}\n\
         test.yaml:3:1: error[duplicate-key]: duplicate key `a`, first given at line 2, column 1",
    );
}

#[test]
fn at_most_a_hundred_duplicate_keys_are_reported() {
    let manifests = load(&"a: 1\n".repeat(1000)).unwrap();
    assert_eq!(manifests[0].duplicates().len(), 100);
}

#[test]
fn merge_keys_add_missing_entries() {
    check(
        "base: &b {x: 1, y: 2}\na:\n  <<: *b\n  y: 3\n",
        r#"{"a":{"x":1,"y":3},"base":{"x":1,"y":2}}"#,
    );
    check(
        "- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b, {z: 3}]\n  q: 4\n",
        r#"[{"x":1},{"x":2,"y":2},{"q":4,"x":1,"y":2,"z":3}]"#,
    );
    check("{<<: {a: 1}, a: 2}", r#"{"a":2}"#);
    check("{\"<<\": {a: 1}}", r#"{"<<":{"a":1}}"#);
    check("{!!merge <<: {a: 1}}", r#"{"a":1}"#);
    check(
        "<<: 1",
        "test.yaml:1:5: error[merge-key]: `<<` expects a map or a list of maps, not an integer",
    );
    check(
        "<<: [{a: 1}, [2]]",
        "test.yaml:1:14: error[merge-key]: `<<` expects a map or a list of maps, not a list",
    );
    check(
        "<<: {a: 1}\n<<: {b: 1}\n",
        "test.yaml:2:1: error[duplicate-key]: duplicate key `<<`, first given at line 1, column 1",
    );
}

#[test]
fn aliases_have_the_values_of_their_anchors() {
    check(
        "a: &x\n- 1\n- &y {k: v}\nb: *x\nc: *y\n",
        r#"{"a":[1,{"k":"v"}],"b":[1,{"k":"v"}],"c":{"k":"v"}}"#,
    );
    check("- &a 1\n- &a 2\n- *a\n", "[1,2,2]");
    check(
        "a: *x\nb: &x 1\n",
        "test.yaml:1:4: error[unknown-anchor]: the alias names no anchor before it",
    );
    check(
        "a: &x 1\n---\na: *x\n",
        "test.yaml:3:4: error[unknown-anchor]: the alias names no anchor before it",
    );
    check(
        "a: &x [1, *x]\n",
        "test.yaml:1:11: error[recursive-alias]: the alias is inside its anchor",
    );
}

#[test]
fn single_pairs_in_flow_lists_are_maps() {
    check(
        r#"["$.a", "@map": ["$$.b", "$.c"]]"#,
        r#"["$.a",{"@map":["$$.b","$.c"]}]"#,
    );
    check("[a: 1, b: 2]", r#"[{"a":1},{"b":2}]"#);
    check("[a: 1, ? b : 2, c]", r#"[{"a":1},{"b":2},"c"]"#);
}

#[test]
fn json_is_read_also_with_tabs() {
    check(
        "{\n\t\"a\": [\n\t\t1,\n\t\t{\"b\":\t\"\\u00e9\\ud83d\\ude00\\/\\n\"}\n\t],\n\t\"c\":null\n}\n",
        "{\"a\":[1,{\"b\":\"é😀/\\n\"}],\"c\":null}",
    );
    check("\t{\"a\"\n:1}", r#"{"a":1}"#);
    check(
        "{\"a\":1,\"b\":-0.0,\"c\":[],\"d\":{}}",
        r#"{"a":1,"b":0,"c":[],"d":{}}"#,
    );
    let key = "k".repeat(5000);
    check(&format!("{{\"{key}\":1}}"), &format!("{{\"{key}\":1}}"));
}

#[test]
fn objects_without_separators_are_documents_of_their_own() {
    check(
        "{a: 1}\n{b: 2}\n{c: 3}\n",
        "{\"a\":1}\n{\"b\":2}\n{\"c\":3}",
    );
    check("{\"a\":1}{\"b\":2} [3]", "{\"a\":1}\n{\"b\":2}\n[3]");
    check(
        "# one\n{\n  a: 1 # x\n}\n# two\n{\n  b: 2\n}\n---\nc: 3\n",
        "{\"a\":1}\n{\"b\":2}\n{\"c\":3}",
    );
    check(
        "{a: 1}\nb: 2\n",
        "test.yaml:2:1: error[syntax]: expected the end of the document, or `---` and the next one",
    );
    check(
        "{a: 1}\n{b: }}\n",
        "test.yaml:2:6: error[syntax]: misplaced bracket",
    );
    check(
        "a: 1\n{b: 2}\n",
        "test.yaml:2:1: error[syntax]: expected `:` after a key",
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    check("\u{feff}a: 1\n", r#"{"a":1}"#);
    let bytes = b"\xef\xbb\xbfa: [1\n".to_vec();
    let error = manifest::parse_bytes("x.yaml", bytes).unwrap_err();
    assert_eq!(
        error.short(),
        "x.yaml:1:4: error[syntax]: unclosed bracket '['"
    );
    check(
        "\u{feff}a: [1\n",
        "test.yaml:1:4: error[syntax]: unclosed bracket '['",
    );
}

#[test]
fn bytes_that_are_no_text_are_an_error_with_their_place() {
    let error = manifest::parse_bytes("x.yaml", b"a: 1\nb: \xc3\xa9\xff!\n".to_vec()).unwrap_err();
    assert_eq!(
        error.short(),
        "x.yaml:2:5: error[invalid-utf8]: byte 10 is not UTF-8"
    );
    let utf16 = b"\xff\xfea\0:\0".to_vec();
    let error = manifest::parse_bytes("x.yaml", utf16).unwrap_err();
    assert_eq!(
        error.short(),
        "x.yaml:1:1: error[invalid-utf8]: byte 0 is not UTF-8"
    );
    assert_eq!(
        error.help.as_deref(),
        Some("the file looks like UTF-16; save it as UTF-8")
    );
}
