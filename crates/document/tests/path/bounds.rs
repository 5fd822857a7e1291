//! Limits of paths and searches.

use document::path::{MAX_LENGTH, MAX_MATCHES, MAX_NESTING, MAX_PATTERNS, MAX_STEPS};
use document::{Path, TooManyMatches, Value, json};

use super::{check, check_error, path};

#[test]
fn paths_are_bounded() {
    let fits = format!("${}", ".a".repeat(MAX_NESTING));
    assert!(path(&fits).is_singular());
    check_error(
        &format!("{fits}.a"),
        2 * MAX_NESTING + 1,
        "found more than 100",
    );

    let nest = |n: usize| format!("$[?{}@.a{}]", "(".repeat(n), ")".repeat(n));
    assert!(Path::parse(&nest(MAX_NESTING - 3)).is_ok());
    assert!(Path::parse(&nest(MAX_NESTING - 2)).is_err());
    assert!(Path::parse(&"$[?@".repeat(2000)).is_err());
    assert!(Path::parse(&format!("$[?{}", "!(".repeat(4000))).is_err());
    assert!(Path::parse(&format!("$[?{}", "length(".repeat(1000))).is_err());

    let name = "n".repeat(MAX_LENGTH - 2);
    assert!(Path::parse(&format!("$.{name}")).is_ok());
    check_error(&format!("$.{name}n"), MAX_LENGTH, "expected at most 8192");

    let patterns = |n: usize| format!("$[?{}]", vec!["@=~/a/"; n].join("||"));
    assert!(Path::parse(&patterns(MAX_PATTERNS)).is_ok());
    assert!(Path::parse(&patterns(MAX_PATTERNS + 1)).is_err());
}

#[test]
fn the_deepest_path_is_searched_without_harm() {
    let mut document = json!(1);
    for _ in 0..300 {
        document = Value::list(vec![document]);
    }
    let depth = MAX_NESTING / 2;
    let nested = format!("$[?{}@{}]", "@[?".repeat(depth - 2), "]".repeat(depth - 2));
    assert_eq!(path(&nested).all(&document, &Value::NULL).unwrap().len(), 1);
    let wild = format!("${}", "[*]".repeat(MAX_NESTING));
    assert_eq!(path(&wild).all(&document, &Value::NULL).unwrap().len(), 1);
}

#[test]
fn a_search_that_grows_out_of_bounds_is_given_up() {
    // Every level contains the one below twice: 2^40 places.
    let mut document = json!({"x": 1});
    for _ in 0..40 {
        document = Value::list(vec![document.clone(), document]);
    }
    let all = |text: &str| {
        path(text)
            .all(&document, &Value::NULL)
            .map(|found| found.len())
    };
    assert_eq!(all("$..x"), Err(TooManyMatches));
    assert_eq!(all("$[?@..nope]"), Err(TooManyMatches));
    assert_eq!(path("$..x").first(&document, &Value::NULL), Some(&json!(1)));
    assert_eq!(
        path("$..nope").find_first(&document, &Value::NULL).result,
        Err(TooManyMatches)
    );

    let long = Value::list(vec![Value::NULL; MAX_MATCHES]);
    let found = |document: &Value| path("$[*]").all(document, &Value::NULL).map(|f| f.len());
    assert_eq!(found(&long), Ok(MAX_MATCHES));
    let longer = Value::list(vec![Value::NULL; MAX_MATCHES + 1]);
    assert_eq!(found(&longer), Err(TooManyMatches));
}

/// The same document twice, with nothing in common in memory: 2^40 places to compare.
fn twins() -> Value {
    let doubled = || (0..40).fold(json!("x"), |value, _| json!([(value.clone()), (value)]));
    json!({"a": (doubled()), "b": (doubled()), "list": [1, 2]})
}

#[test]
fn what_a_filter_compares_counts_by_its_size() {
    for filter in ["$.a == $.b", "$.a != $.b", "$.a >= $.b", "$.a in [1, $.b]"] {
        let path = path(&format!("$.list[?{filter}]"));
        let twins = twins();
        let found = path.find_all(&twins, &Value::NULL);
        assert_eq!(found.result, Err(TooManyMatches), "{filter}");
        assert_eq!(found.steps, MAX_STEPS, "{filter}");
    }
    let text = Value::from("t".repeat(1 << 20));
    let document = json!({"text": text, "list": (Value::list(vec![json!("t"); 1000]))});
    for filter in ["length($.text) > 1", "$.text =~ /x/", "match($.text, @)"] {
        let path = path(&format!("$.list[?{filter}]"));
        let found = path.find_all(&document, &Value::NULL);
        assert_eq!(found.result, Err(TooManyMatches), "{filter}");
    }
}

#[test]
fn a_search_returns_its_cost() {
    let document = json!({"list": [{"a": 1}, {"a": 2}, {"a": 3}]});
    let nothing = Value::NULL;
    assert_eq!(path("$.list").find_first(&document, &nothing).steps, 0);
    let second = path("$.list[?@.a == 2]");
    assert_eq!(second.find_first(&document, &nothing).steps, 2);
    assert_eq!(second.find_all(&document, &nothing).steps, 3);
    let set = second.find_and_set(&document, json!(0), &document);
    // Three elements are visited; three elements and an entry are copied.
    assert_eq!(set.steps, 7);
    assert_eq!(set.result.unwrap().get("list").at(1), &json!(0));
}

#[test]
fn patterns_that_are_computed_count() {
    let patterns: Value = (0..2_000).map(|i| Value::from(format!("x{i}"))).collect();
    let found = path("$[?match('x1', @)]").find_all(&patterns, &Value::NULL);
    assert_eq!(found.result, Err(TooManyMatches));
}

#[test]
fn a_deep_document_is_searched_without_the_stack() {
    let mut document = json!({"x": 1});
    for _ in 0..2_000 {
        document = Value::list(vec![document]);
    }
    check("$..x", &document, &json!([1]));
}
