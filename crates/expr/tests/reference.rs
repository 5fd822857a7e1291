//! Runs the examples of all functions, and checks that the reference page is up to date.

use document::{Location, Value};
use expr::{Env, Example, Functions, Items, Scope};

#[test]
fn every_example_of_a_function_holds() {
    let functions = Functions::builtin();
    let env = Env::new(Value::from("2026-01-02T03:04:05Z"), 7);
    let mut count = 0;
    for function in functions.functions() {
        assert!(
            !function.examples.is_empty(),
            "{} has no example",
            function.name
        );
        assert!(
            !function.summary.is_empty() && !function.signature.is_empty(),
            "{}",
            function.name
        );
        for Example(spec, subject, expect) in function.examples {
            let (spec, subject): (Value, Value) = (spec.parse().unwrap(), subject.parse().unwrap());
            let compiled =
                expr::compile(&spec, &Location::root(), &functions, Items::None).unwrap();
            let found = match compiled.eval(&Scope::new(&env, &subject)) {
                Ok(value) => value.to_string(),
                Err(error) => format!("error: {}", error.code()),
            };
            assert_eq!(found, *expect, "{spec} on {subject}");
            count += 1;
        }
    }
    assert!(count > 100, "only {count} examples");
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/expressions.md"
    );
    let page = expr::reference_page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == page,
        "docs/reference/expressions.md is out of date: run `UPDATE=1 cargo test -p expr`"
    );
}
