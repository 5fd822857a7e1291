//! Comparisons with `"@now"` set a deadline: the first whole second with another outcome.

use document::{Location, Value, json};
use expr::{Env, Expr, Functions, Items, Scope, Time};

fn compiled(spec: &Value) -> Expr {
    let at = Location::root();
    expr::compile(spec, &at, &Functions::builtin(), Items::None).expect("it compiles")
}

/// The outcome at a Unix time, and the deadline.
fn at(expr: &Expr, seconds: i64, document: &Value) -> (Option<Value>, Option<i64>) {
    let now = Time::of_unix(seconds).expect("in range").to_string();
    let env = Env::new(now.into(), 0);
    let value = expr.eval(&Scope::new(&env, document)).ok();
    (value, env.take_deadline())
}

#[test]
fn a_deadline_is_the_first_second_with_another_outcome() {
    let times = [
        "1970-01-01T00:00:05Z",
        "1970-01-01T00:00:05.000000001Z",
        "1970-01-01T00:00:05.5Z",
        "1970-01-01T02:00:06+02:00",
    ];
    for time in times {
        for relation in ["@lt", "@lte", "@gt", "@gte"] {
            for sides in [json!(["@now", "$.t"]), json!(["$.t", "@now"])] {
                let spec = Value::from(document::Map::from_entries(vec![(relation.into(), sides)]));
                let expr = compiled(&spec);
                let document = json!({"t": time});
                for now in 0..12 {
                    let (outcome, deadline) = at(&expr, now, &document);
                    let differs = |later: &i64| at(&expr, *later, &document).0 != outcome;
                    let expected = (now..20).find(differs);
                    assert_eq!(deadline, expected, "{spec} with {time} at {now}");
                }
            }
        }
    }
}

#[track_caller]
fn check(spec: &Value, document: &Value, deadline: Option<i64>) {
    assert_eq!(at(&compiled(spec), 0, document).1, deadline, "{spec}");
}

#[test]
fn only_comparisons_that_are_reached_set_deadlines() {
    let (three, nine) = ("1970-01-01T00:00:03Z", "1970-01-01T00:00:09Z");
    let before = |time: &str| json!({"@lt": ["@now", time]});
    let none = json!({});
    check(&json!([(before(nine)), (before(three))]), &none, Some(3));
    check(
        &json!({"@or": [(before(nine)), (before(three))]}),
        &none,
        Some(9),
    );
    check(
        &json!({"@cond": [false, (before(three)), (before(nine))]}),
        &none,
        Some(9),
    );
    // Up to the first error, in the order of keys.
    let failing = json!({"a": (before(nine)), "b": {"@add": ["$.x", 1]}, "c": (before(three))});
    check(&failing, &none, Some(9));
    check(
        &json!({"@any": [{"@gt": ["@now", "$$"]}, "$.l"]}),
        &json!({"l": [three, nine]}),
        Some(4),
    );
}

#[test]
fn other_uses_of_the_time_set_no_deadline() {
    let document = json!({"t": "1970-01-01T00:00:03Z", "date": "1970-01-01", "pair": ["@now", "1970-01-01T00:00:03Z"]});
    for spec in [
        json!("@now"),
        json!({"@lt": ["@now", "@now"]}),
        json!({"@lt": ["@now", {"@timeAdd": ["@now", "5s"]}]}),
        json!({"@lt": ["@now", {"@cond": [true, "$.t", "@now"]}]}),
        json!({"@lt": ["@now", {"@cel": "string(now)"}]}),
        json!({"@lt": ["@now", "$.date"]}),
        json!({"@lt": ["@now", "$.missing"]}),
        json!({"@lt": "$.pair"}),
        json!({"@lt": [{"@literal": "@now"}, "$.t"]}),
        json!({"@lt": [{"@unix": "@now"}, 3]}),
        json!({"@eq": ["@now", "$.t"]}),
        json!({"@cel": "now < timestamp(t)"}),
    ] {
        check(&spec, &document, None);
    }
}

#[test]
fn now_in_cel_is_a_timestamp_and_wins_over_a_key() {
    let document = json!({"now": 7, "l": [1, 2]});
    for (text, expect) in [
        ("now", json!("1970-01-01T00:00:05Z")),
        ("now + duration('1h')", json!("1970-01-01T01:00:05Z")),
        ("now.getSeconds()", json!(5)),
        ("object.now", json!(7)),
        // A variable of a comprehension hides it.
        ("l.map(now, now + 1)", json!([2, 3])),
    ] {
        let expr = compiled(&json!({"@cel": text}));
        assert_eq!(at(&expr, 5, &document).0, Some(expect), "{text}");
        assert_eq!(
            expr.volatile().now,
            !text.contains("l.map") && text != "object.now"
        );
    }
}

#[test]
fn it_is_known_whether_the_time_shows_between_deadlines() {
    for (spec, computes, shows_now) in [
        (json!("$.a"), false, false),
        (json!("@now"), false, true),
        (json!({"@concat": ["at ", "@now"]}), false, true),
        (json!({"@cel": "now"}), true, true),
        (json!({"@lt": ["@now", "$.a"]}), false, true),
        (json!({"@lt": ["@now", "1970-01-01"]}), false, true),
        (
            json!({"@lt": ["@now", "1970-01-01T00:00:00Z"]}),
            false,
            false,
        ),
        (
            json!({"@not": {"@lt": [{"@timeAdd": ["$.a", "1h"]}, "@now"]}}),
            false,
            false,
        ),
        (
            json!({"@gt": [{"@timeSub": ["@now", "$.a"]}, 5]}),
            true,
            true,
        ),
    ] {
        let expr = compiled(&spec);
        assert_eq!(!expr.computes_with_now().is_empty(), computes, "{spec}");
        assert_eq!(expr.shows_now(), shows_now, "{spec}");
    }
}
