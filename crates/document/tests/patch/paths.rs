//! The matches of paths.

use document::patch::{Cause, PatchPath, Token};
use document::{Key, Map, Value, json};

#[track_caller]
fn check_places(document: &str, path: &str, expect: Result<&[&str], Cause>) {
    let places = path
        .parse::<PatchPath>()
        .unwrap()
        .resolve(&document.parse().unwrap())
        .map(|places| places.iter().map(ToString::to_string).collect::<Vec<_>>());
    match (places, expect) {
        (Ok(places), Ok(expect)) => assert_eq!(places, expect, "{path}"),
        (places, expect) => {
            let cause = places.map_err(|failure| failure.cause);
            assert_eq!(cause.err(), expect.err(), "{path}");
        }
    }
}

#[test]
fn paths_are_split_outside_brackets() {
    let document = r#"{"l": [{"n": "a/b"}, {"n": "x]/[y"}], "a/b": 1}"#;
    check_places(document, "/l[?(@.n=='a/b')]/v", Ok(&["/l/0/v"]));
    check_places(document, "/l/[?(@.n=='x]/[y')]/v", Ok(&["/l/1/v"]));
    check_places(document, "/a~1b", Ok(&["/a~1b"]));
    check_places(document, "", Ok(&[""]));
    check_places(document, "/", Ok(&["/"]));
}

#[test]
fn brackets_are_segments_or_follow_a_key_or_each_other() {
    let document = r#"{"l": [[1, 2], [3]]}"#;
    check_places(document, "/l[0]", Ok(&["/l/0"]));
    check_places(document, "/l/[0]", Ok(&["/l/0"]));
    check_places(document, "/l[0][1]", Ok(&["/l/0/1"]));
    check_places(document, "/l[*]/0", Ok(&["/l/0/0", "/l/1/0"]));
    check_places(document, "/l[*][*]", Ok(&["/l/0/0", "/l/0/1", "/l/1/0"]));
    check_places(r#"[{"n": "a"}]"#, "/[?(@.n=='a')]", Ok(&["/0"]));
}

#[test]
fn a_filter_compares_the_string_form_of_a_nested_field() {
    let document = r#"[{"a": {"b": "1"}}, {"a": {"b": 1}}, {"a": {"b": 1.0}}, {"a": {"b": true}},
        {"a": {"b": 1.5}}, {"a": {"b": [1, "x"]}}, {"a": {"b": {"c": null}}}, {"a": {"b": null}},
        {"a": {}}, {"a": 1}, {}, 7, "1", null, ["a"]]"#;
    check_places(document, "/[?(@.a.b=='1')]", Ok(&["/0", "/1", "/2"]));
    check_places(document, "/[?(@.a.b=='true')]", Ok(&["/3"]));
    check_places(document, "/[?(@.a.b=='1.5')]", Ok(&["/4"]));
    check_places(
        document,
        "/[?(@.a.b=='[1,\\\"x\\\"]')]".replace('\\', "").as_str(),
        Ok(&["/5"]),
    );
    check_places(document, "/[?(@.a.b=='{\"c\":null}')]", Ok(&["/6"]));
    check_places(document, "/[?(@.a.b=='null')]", Ok(&[]));
    check_places(document, "/[?(@.a.b=='')]", Ok(&[]));
}

#[test]
fn opaque_bytes_have_no_string_form() {
    let path = PatchPath::parse("/[?(@.a=='//79')]").unwrap();
    let list = json!([{"a": (Value::bytes(b"\xff\xfe\xfd"))}, {"a": "//79"}]);
    let places = path.resolve(&list).unwrap();
    assert_eq!(places.len(), 1);
    assert_eq!(places[0].to_string(), "/1");
}

#[test]
fn filters_have_blanks_and_either_quotes_and_escapes() {
    let document = r#"[{"a": "x"}, {"a": "it's"}, {"a": "\\\n\""}]"#;
    check_places(document, "/[?( @.a == 'x' )]", Ok(&["/0"]));
    check_places(document, "/[?(@.a==\"it's\")]", Ok(&["/1"]));
    check_places(document, r"/[?(@.a=='it\'s')]", Ok(&["/1"]));
    check_places(document, r#"/[?(@.a=='\\\n"')]"#, Ok(&["/2"]));
}

#[test]
fn escaped_values_mean_themselves() {
    for text in [
        "", "a", "a/b", "~", "~1", "[0]", "[*]", "']", "\"')]/x", "\\", "\n\u{1}", "é",
    ] {
        let map: Value = Map::from_entries(vec![(Key::new(text), json!({"v": 1}))]).into();
        let path = format!("/{}/v", PatchPath::escape_segment(text));
        let places = PatchPath::parse(&path).unwrap().resolve(&map).unwrap();
        assert!(matches!(places[0].tokens(), [Token::Key(key), _] if key.as_str() == text));

        let list = json!([{"n": "other"}, {"n": text}]);
        for quote in ['\'', '"'] {
            let value = PatchPath::escape_filter(text);
            let path = format!("/[?(@.n=={quote}{value}{quote})]/v");
            let places = PatchPath::parse(&path).unwrap().resolve(&list).unwrap();
            assert_eq!(places.len(), 1, "{path}");
            assert_eq!(places[0].to_string(), "/1/v", "{path}");
        }
    }
}

#[test]
fn bad_paths_are_refused_with_the_offset() {
    for (path, offset) in [
        ("a", 0),
        ("[0]", 0),
        ("/a]", 2),
        ("/~", 2),
        ("/~4", 2),
        ("/a[", 3),
        ("/a[0", 4),
        ("/a[0]b", 5),
        ("/a[-]", 3),
        ("/a[-1]", 3),
        ("/a[01]", 3),
        ("/a[99999999999999999999999]", 3),
        ("/a[]", 3),
        ("/a['b']", 3),
        ("/a[**]", 4),
        ("/a[?]", 4),
        ("/a[?@.b=='c']", 4),
        ("/a[?(@=='c')]", 6),
        ("/a[?(@.=='c')]", 7),
        ("/a[?(@.b.=='c')]", 9),
        ("/a[?(@.b)]", 8),
        ("/a[?(@.b!='c')]", 8),
        ("/a[?(@.b='c')]", 8),
        ("/a[?(@.b==c)]", 10),
        ("/a[?(@.b=='c)]", 10),
        ("/a[?(@.b=='\\x')]", 11),
        ("/a[?(@.b=='c' && @.d=='e')]", 14),
        ("/a[?(@.b=='c')", 14),
        ("/a[?($.b=='c')]", 5),
    ] {
        let error = PatchPath::parse(path).expect_err(path);
        assert_eq!(error.offset, offset, "{path}: {error}");
    }
}

#[test]
fn an_element_on_the_way_must_exist() {
    let document = r#"{"l": [{}]}"#;
    let beyond = Cause::OutOfBounds { length: 1 };
    check_places(document, "/l/0/a/b", Ok(&["/l/0/a/b"]));
    check_places(document, "/l/1", Ok(&["/l/1"]));
    check_places(document, "/l/1/a", Err(beyond));
    check_places(document, "/l[1]/a", Err(beyond));
    check_places(document, "/l/1[*]", Err(beyond));
    check_places(document, "/l/-/a", Err(beyond));
}
