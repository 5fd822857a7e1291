//! The bounds of an evaluation: values are measured while they are built, reading a whole value
//! costs steps by its size, and every evaluation can be interrupted.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use document::{Bounds, Location, Value, json};
use expr::{Env, Error, Expr, Functions, Interrupt, Items, Scope};

const BYTES: u32 = 3000;

fn compile(spec: &Value) -> Expr {
    let at = Location::root().key("expression");
    expr::compile(spec, &at, &Functions::builtin(), Items::None).unwrap()
}

fn small() -> Env {
    let mut env = Env::default();
    env.limits.bounds = Bounds {
        bytes: BYTES,
        ..Bounds::default()
    };
    env
}

fn eval(spec: &Value, document: &Value, env: &Env) -> Result<Value, Box<Error>> {
    compile(spec).eval(&Scope::new(env, document))
}

fn fails(spec: &Value, document: &Value, code: &str) {
    let error = eval(spec, document, &small()).expect_err(&spec.to_string());
    assert_eq!(error.code(), code, "{spec}");
    assert_ne!(error.at, Location::root(), "{spec}: {error:?}");
}

/// Each level wraps the previous one in a list that contains it twice: 2^levels strings.
fn doubled(levels: usize) -> Value {
    (0..levels).fold(
        json!(["x"]),
        |list, _| json!({"@map": [["$$", "$$"], list]}),
    )
}

fn document() -> Value {
    let texts: Value = (0..100).map(|i| Value::from(format!("text {i}"))).collect();
    let map: document::Map = (0..100)
        .map(|i| (document::Key::new(&format!("key-{i}")), Value::from(i)))
        .collect();
    let maps: Value = (0..100).map(|_| json!({"a": 1})).collect();
    json!({"texts": texts, "map": map, "maps": maps, "long": (Value::from("t".repeat(2000)))})
}

#[test]
fn a_value_that_grows_too_large_is_an_error() {
    let copies = |item: Value| Value::list(vec![item; 60]);
    for spec in [
        json!({"@hash": (doubled(30))}),
        json!({"@string": (doubled(30))}),
        json!({"@eq": [(doubled(30)), (doubled(30))]}),
        json!({"@in": ["x", (doubled(30))]}),
        json!({"@merge": {"@map": [{"a": "$$", "b": "$$"}, (doubled(20))]}}),
        json!({"@len": {"@map": [{"$.": "$.map", "more": "$$"}, "$.texts"]}}),
        json!({"@len": {"@map": ["$.map", "$.texts"]}}),
        json!({"@len": {"@map": [{"@merge": ["$.map", {"a": "$$"}]}, "$.texts"]}}),
        json!({"@len": {"@map": [{"@setField": ["$.n", "$$"]}, "$.texts"]}}),
        json!({"@len": {"@map": [{"@cel": "[object, object]"}, "$.texts"]}}),
        json!({"@len": [(copies(json!("$.texts"))), 1]}),
        json!({"@len": {"@definedOr": [(copies(json!("$.texts")))]}}),
        json!({"list": (copies(json!("$.texts")))}),
        json!({"@setField": ["$.maps[*].a", "$.texts"]}),
        json!({"a": {"$.": "$.", "$.maps[*].a": "$.long"}}),
        json!({"@cel": "[texts, texts, texts, texts, texts, texts, texts]"}),
        json!({"@concat": ["$.long", "$.long", "$.long"]}),
        json!({"@replace": ["$.long", "t", "ttt"]}),
        json!({"@split": ["$.long", ""]}),
        json!({"@join": ["$.texts", "$.long"]}),
        json!({"@enumerate": "$.texts"}),
        json!({"@range": 2_000}),
        json!({"@query": "$..*"}),
        json!({"@switch": [[true, (copies(json!("$.texts")))]]}),
    ] {
        fails(&spec, &document(), "too-large");
    }
}

#[test]
fn a_list_is_measured_while_it_is_built() {
    let spec = json!({"@map": [{"$.": "$.map", "more": "$$"}, "$.texts"]});
    let mut env = small();
    // Enough for the list and fewer than ten of its items.
    env.limits.steps = 150;
    let error = eval(&spec, &document(), &env).unwrap_err();
    assert_eq!(error.code(), "too-large");
}

#[test]
fn derived_values_are_nested_no_deeper_than_documents() {
    let nested = |levels: usize, inner: Value| (0..levels).fold(inner, |v, _| json!({"a": v}));
    let document = nested(60, json!(1));
    let path = format!("${}", ".a".repeat(60));
    for spec in [
        nested(41, json!("$")),
        (0..41).fold(json!("$"), |v, _| json!([v])),
        json!({"b": {(&*path): "$"}}),
        json!({"@setField": [path, "$"]}),
        json!({"@map": [(nested(41, json!("$$"))), ["$"]]}),
        json!({"@cel": (format!("{}object{}", "[".repeat(41), "]".repeat(41)))}),
    ] {
        fails(&spec, &document, "too-deep");
    }
    let fits = eval(&nested(40, json!("$")), &document, &small());
    assert_eq!(fits.unwrap().measure().depth, 100);
}

#[test]
fn a_value_within_the_bounds_is_built() {
    let value = eval(&doubled(8), &document(), &small()).unwrap();
    assert!(value.measure().bytes > 1000);
    let default = Env::default();
    assert!(eval(&doubled(17), &document(), &default).is_ok());
    let error = eval(&doubled(30), &document(), &default).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the document has more than 8388608 bytes, written out"
    );
}

#[test]
fn reading_a_whole_value_costs_steps() {
    let large: Value = (0..20_000).map(Value::from).collect();
    let twin: Value = (0..20_000).map(Value::from).collect();
    let document = json!({"a": (large), "b": (twin), "text": (Value::from("t".repeat(100_000)))});
    let mut env = Env::default();
    env.limits.steps = 300;
    for spec in [
        json!({"@eq": ["$.a", "$.b"]}),
        json!({"@ne": ["$.a", "$.b"]}),
        json!({"@hash": "$.a"}),
        json!({"@concat": ["$.a"]}),
        json!({"@in": [1, "$.a"]}),
        json!({"@upper": "$.text"}),
        json!({"@len": "$.text"}),
        json!({"@regexp": ["x", "$.text"]}),
        json!({"@merge": [{"a": "$.a"}, {"b": "$.a"}]}),
        json!({"@exists": "$.a[?(@ == 5000)]"}),
        json!({"@exists": {"@query": "$.a[?(@ == 5000)]"}}),
        json!({"@setField": ["$.a[?(@ == 5000)]", 1]}),
        json!({"@cel": "a == b"}),
    ] {
        let error = eval(&spec, &document, &env).expect_err(&spec.to_string());
        assert_eq!(error.code(), "limit", "{spec}");
    }
    for spec in [
        json!({"@exists": "$.a"}),
        json!({"@isnil": "$.a"}),
        json!({"@len": "$.a"}),
        json!({"@eq": ["$.a", 1]}),
        json!({"copy": "$.a"}),
    ] {
        assert!(eval(&spec, &document, &env).is_ok(), "{spec}");
    }
}

#[test]
fn arguments_cost_steps() {
    let many = Value::list(vec![json!("$.a"); 500]);
    let mut env = Env::default();
    env.limits.steps = 300;
    for spec in [
        json!({"@or": (many.clone())}),
        json!({"@list": (many.clone())}),
        json!({"@len": {"@definedOr": (many)}}),
    ] {
        let error = eval(&spec, &json!({}), &env).expect_err(&spec.to_string());
        assert_eq!(error.code(), "limit", "{spec}");
    }
}

/// Raised at the second check.
fn raised_at_second_check() -> (Interrupt, Arc<AtomicUsize>) {
    let checks = Arc::new(AtomicUsize::new(0));
    let counter = checks.clone();
    let raised = move || counter.fetch_add(1, Ordering::Relaxed) >= 1;
    (Interrupt::when(raised), checks)
}

#[test]
fn an_evaluation_is_interrupted() {
    let large: Value = (0..20_000).map(Value::from).collect();
    let twin: Value = (0..20_000).map(Value::from).collect();
    let document = json!({"a": (large), "b": (twin)});
    let range = json!({"@range": 5_000});
    for body in [
        json!({"@eq": ["$.a", "$.b"]}),
        json!({"@hash": "$.a"}),
        json!("$.a[?(@ == 'none')]"),
        json!({"@cel": "a == b"}),
        json!({"@len": {"@map": [1, (range.clone())]}}),
    ] {
        let spec = json!({"@map": [body, (range.clone())]});
        let mut env = Env::default();
        let (interrupt, checks) = raised_at_second_check();
        env.interrupt = interrupt;
        let error = eval(&spec, &document, &env).expect_err(&spec.to_string());
        assert_eq!(error.code(), "interrupted", "{spec}");
        assert!(env.is_interrupted());
        // From then on all evaluations fail, and the interrupt is not checked again.
        let error = eval(&json!({"@hash": 1}), &document, &env).unwrap_err();
        assert_eq!(error.code(), "interrupted");
        assert_eq!(checks.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn nested_filters_are_analysed_once() {
    let path = (0..30).fold("$.x".to_owned(), |path, _| format!("$..[?({path})]"));
    let expr = compile(&json!({"@exists": path}));
    assert_eq!(expr.reads().len(), 31);
}

#[test]
fn the_number_of_regular_expressions_is_limited() {
    let many = |pattern: &dyn Fn(usize) -> Value, count: usize| {
        let all: Value = (0..count).map(pattern).collect();
        let spec = json!({"@and": all});
        let at = Location::root();
        expr::compile(&spec, &at, &Functions::builtin(), Items::None).map_err(|errors| {
            let codes: Vec<_> = errors.iter().map(expr::CompileError::code).collect();
            (codes, errors[0].at.to_string())
        })
    };
    let written = |i: usize| json!({"@regexp": [(format!("x{i}")), "$.a"]});
    let in_path = |i: usize| json!({"@exists": (format!("$.a[?@ =~ /x{i}/]"))});
    let in_function = |i: usize| json!({"@exists": (format!("$.a[?match(@, 'x{i}')]"))});
    for (pattern, place) in [
        (&written as &dyn Fn(usize) -> Value, "@and[256].@regexp[0]"),
        (&in_path, "@and[256].@exists"),
        (&in_function, "@and[256].@exists"),
    ] {
        assert!(many(pattern, 256).is_ok());
        let (codes, at) = many(pattern, 300).unwrap_err();
        assert_eq!((codes, at.as_str()), (vec!["too-many-patterns"], place));
    }
}
