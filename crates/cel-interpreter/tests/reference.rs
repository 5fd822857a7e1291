//! Runs the examples of all functions, and checks that the reference page is up to date.

use cel_interpreter::{Example, Limits, Program, reference, reference_page};

#[test]
fn every_example_holds() {
    let mut count = 0;
    for function in reference().flat_map(|(_, functions)| functions) {
        assert!(
            !function.examples.is_empty() && !function.summary.is_empty(),
            "{}",
            function.name
        );
        for Example(expression, expect) in function.examples {
            let program =
                Program::compile(expression).unwrap_or_else(|e| panic!("{expression}: {e}"));
            let found = match program.eval(&|_| None, &Limits::default()) {
                Ok(value) => value.to_string(),
                Err(error) => format!("error: {}", error.code()),
            };
            assert_eq!(found, *expect, "{expression}");
            // The example shows the function.
            assert!(expression.contains(function.name), "{expression}");
            count += 1;
        }
    }
    assert!(count > 150, "only {count} examples");
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cel.md");
    let page = reference_page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == page,
        "docs/reference/cel.md is out of date: run `UPDATE=1 cargo test -p cel-interpreter`"
    );
}
