//! The conformance suite of CEL, compared with Kubernetes, and the page with the results.

use std::collections::BTreeMap;
use std::fmt::Write;

use document::Value;

use crate::literal;
use crate::oracle::{self, outcome, text};
use crate::ours::{self, Outcome};

/// Tests in which deltic differs from Kubernetes, and why.
const DIFFERENCES: [(&str, &str); 5] = [
    (
        "fields/qualified_identifier_resolution/map_value_repeat_key",
        "a key that occurs twice is an error, as the suite expects; in Kubernetes the last one wins",
    ),
    ("math_ext/ceil/dyn_error", WHOLE),
    ("math_ext/floor/dyn_error", WHOLE),
    ("math_ext/round/dyn_error", WHOLE),
    ("math_ext/trunc/dyn_error", WHOLE),
];

const WHOLE: &str =
    "an int is accepted where a double is expected, because a document cannot contain `2.0`";

/// How the tests of a file went.
#[derive(Default)]
struct Tally {
    all: usize,
    run: usize,
    passed: usize,
}

#[test]
fn the_conformance_suite_passes() {
    let directory = oracle::directory().join("testdata");
    let tests = oracle::run(&["suite", &directory.to_string_lossy()], Vec::new());
    assert!(tests.len() > 2_000, "{} tests", tests.len());
    let mut files: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    let mut followed = Vec::new();
    let mut failed = Vec::new();
    let (mut different, mut dynamic) = (0, 0);
    for test in &tests {
        let tally = files.entry(text(test, "file")).or_default();
        tally.all += 1;
        let rule = text(test, "leftOut");
        if !rule.is_empty() {
            *rules.entry(rule).or_default() += 1;
            dynamic += usize::from(rule == REFUSED && has_result_of_suite(test));
            continue;
        }
        tally.run += 1;
        let expected = outcome(test.get("kubernetes"));
        let (expr, variables) = literal::bound(text(test, "expr"), test.get("variables"));
        let found = ours::outcome(&expr, &variables);
        let name = [text(test, "file"), text(test, "name")].join("/");
        if found == expected {
            tally.passed += 1;
            if expected != outcome(test.get("suite")) {
                followed.push(test);
            }
        } else if DIFFERENCES.iter().any(|(known, _)| *known == name) {
            different += 1;
        } else {
            failed.push(format!(
                "{name}: {expr}\n  expected {expected:?}\n  found {found:?}"
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} tests fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
    assert_eq!(different, DIFFERENCES.len(), "a named difference is none");
    let recorded = recorded();
    files.insert("cases of the libraries of Kubernetes", recorded);
    check_page(&page(&files, &rules, &followed, dynamic));
}

/// The rule for tests that the type checker of Kubernetes refuses.
const REFUSED: &str = "Kubernetes does not compile it";

fn has_result_of_suite(test: &Value) -> bool {
    let (expr, variables) = literal::bound(text(test, "expr"), test.get("variables"));
    ours::outcome(&expr, &variables) == outcome(test.get("suite"))
}

/// The recorded cases, which another test compares with Kubernetes.
fn recorded() -> Tally {
    let cases = cases::read(include_str!("../cases/kubernetes.json"));
    let mut tally = Tally::default();
    for case in &cases {
        let found = ours::outcome(text(case, "name"), case.get("variables"));
        tally.all += 1;
        tally.run += 1;
        tally.passed += usize::from(found == ours::recorded(case));
    }
    tally
}

fn page(
    files: &BTreeMap<&str, Tally>,
    rules: &BTreeMap<&str, usize>,
    followed: &[&Value],
    dynamic: usize,
) -> String {
    let mut page = String::from(HEAD);
    let mut total = Tally::default();
    for (file, tally) in files {
        let _ = writeln!(
            page,
            "| {file} | {} | {} | {} |",
            tally.all, tally.run, tally.passed
        );
        total.all += tally.all;
        total.run += tally.run;
        total.passed += tally.passed;
    }
    let _ = writeln!(
        page,
        "| **all** | {} | {} | {} |",
        total.all, total.run, total.passed
    );
    page.push_str("\nThe other tests do not run:\n\n| rule | tests |\n|---|---|\n");
    for (rule, tests) in rules {
        let _ = writeln!(page, "| {rule} | {tests} |");
    }
    let refused = rules.get(REFUSED).copied().unwrap_or_default();
    let _ = writeln!(
        page,
        "\nOf the {refused} tests that Kubernetes does not compile, most because of their types, deltic has the \
         result of the suite in {dynamic}."
    );
    page.push_str("\nIn these tests deltic differs:\n\n| test | reason |\n|---|---|\n");
    for (test, reason) in DIFFERENCES {
        let _ = writeln!(page, "| {test} | {reason} |");
    }
    page.push_str(FOLLOWED);
    for test in followed {
        let expr = text(test, "expr").replace('|', "\\|");
        let shown = |outcome: Outcome| match outcome {
            Outcome::Value {
                document: Some(document),
                ..
            } => format!("`{document}`"),
            Outcome::Value { kind, .. } => kind,
            Outcome::Error => "an error".to_owned(),
        };
        let (suite, kubernetes) = (outcome(test.get("suite")), outcome(test.get("kubernetes")));
        let (suite, kubernetes) = (shown(suite), shown(kubernetes));
        let _ = writeln!(page, "| `{expr}` | {suite} | {kubernetes} |");
    }
    page
}

const HEAD: &str = "\
<!-- Generated by the tests of `cel-interpreter`: `just cel`. Do not edit. -->

# Conformance of CEL

The [conformance suite of CEL](https://github.com/google/cel-spec/tree/master/tests/simple) as far as an
environment of Kubernetes 1.36 evaluates it. Each result is compared with that of Kubernetes: value and
type, or that it is an error. The functions that deltic adds to those of Kubernetes (`math`, `base64`)
are compared with cel-go. The cases of the libraries are expressions with the results of Kubernetes
(`cel-interpreter/tests/cases/kubernetes.json`). `just cel` runs all of them, and random expressions.

| file | tests | run | passed |
|---|---|---|---|
";

const FOLLOWED: &str = "
In these tests Kubernetes differs from the suite, and deltic follows Kubernetes:

| expression | suite | Kubernetes and deltic |
|---|---|---|
";

fn check_page(page: &str) {
    let path = oracle::root().join("docs/reference/cel-conformance.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page).expect("the page is written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "{} is out of date: run `UPDATE=1 just cel`",
        path.display()
    );
}
