//! Runs the examples of all functions, and checks that the reference page is up to date.
#![allow(clippy::unwrap_used)]

use document::{Location, Value};
use expr::{Env, Example, Functions, Items, Scope};

/// Checks that an example has the result that it shows.
fn check(Example(spec, subject, expect): &Example, functions: &Functions) {
    let env = Env::new(Value::from("2026-01-02T03:04:05Z"), 7);
    let (spec, subject): (Value, Value) = (spec.parse().unwrap(), subject.parse().unwrap());
    let compiled = expr::compile(&spec, &Location::root(), functions, Items::None).unwrap();
    let found = match compiled.eval(&Scope::new(&env, &subject)) {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {}", error.code()),
    };
    assert_eq!(found, *expect, "{spec} on {subject}");
}

#[test]
fn every_example_of_a_path_holds() {
    let functions = Functions::builtin();
    for doc in &expr::PATHS {
        assert!(!doc.examples.is_empty(), "{} has no example", doc.syntax);
        doc.examples
            .iter()
            .for_each(|example| check(example, &functions));
    }
}

#[test]
fn every_example_of_a_function_holds() {
    let functions = Functions::builtin();
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
        for example in function.examples {
            check(example, &functions);
            count += 1;
        }
    }
    assert!(count > 100, "only {count} examples");
}

#[test]
fn the_reference_pages_are_up_to_date() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    let pages = [
        ("expressions.md", expr::reference_page()),
        ("paths.md", expr::paths_page()),
    ];
    for (name, page) in pages {
        let path = std::path::Path::new(directory).join(name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == page,
            "docs/reference/{name} is out of date: run `UPDATE=1 cargo test -p expr`"
        );
    }
}
