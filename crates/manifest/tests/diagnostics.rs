//! How diagnostics look.
#![allow(clippy::unwrap_used)]

mod common;

use common::{load, source};
use document::Location;
use manifest::{Diagnostic, Severity, Span};

/// The rendering of what is wrong with a text.
fn check(text: &str, expect: &str) {
    let diagnostic = match load(text) {
        Ok(manifests) => manifests[0].duplicates()[0].clone(),
        Err(diagnostic) => diagnostic,
    };
    let rendered = diagnostic.render(false);
    assert_eq!(rendered.trim_end(), expect.trim(), "\n{rendered}\n");
}

#[test]
fn an_error_shows_its_line_and_help() {
    check(
        "pipeline:\n  - @select: true\n",
        r"
error[syntax]: unexpected character `@`
 --> test.yaml:2:5
  |
2 |   - @select: true
  |     ^
  |
  = help: put quotes around a key or a text that starts with this character",
    );
    check(
        "a:\n\tb: 1\n",
        r"
error[syntax]: tabs disallowed within this context (block indentation)
 --> test.yaml:2:2
  |
2 |     b: 1
  |     ^
  |
  = help: YAML is indented with spaces, not tabs",
    );
    check(
        "a: x: y\n",
        r"
error[syntax]: a `:` is not allowed here
 --> test.yaml:1:5
  |
1 | a: x: y
  |     ^
  |
  = help: check the indentation, and put quotes around text that holds `: `",
    );
    check(
        "a: {image: $.containers[0].image}\n",
        r"
error[syntax]: while parsing a flow mapping, did not find expected ',' or '}'
 --> test.yaml:1:24
  |
1 | a: {image: $.containers[0].image}
  |                        ^
  |
  = help: between { and } or [ and ], put quotes around text that holds one of `,[]{}`",
    );
}

#[test]
fn errors_without_help_are_shown_too() {
    check(
        "a: 1\n\nä: {x: 1, ö: 2, x: 3}\n",
        r"
error[duplicate-key]: duplicate key `x`, first given at line 3, column 5
 --> test.yaml:3:17
  |
3 | ä: {x: 1, ö: 2, x: 3}
  |                 ^",
    );
    check(
        "[1, , 2]",
        r"
error[syntax]: expected an element of the list
 --> test.yaml:1:5
  |
1 | [1, , 2]
  |     ^",
    );
    check(
        "a: [1\r\n",
        r"
error[syntax]: unclosed bracket '['
 --> test.yaml:1:4
  |
1 | a: [1
  |    ^",
    );
    check(
        "a:\n  - b\n c: 1\n",
        r"
error[syntax]: expected a key at the indentation of the map
 --> test.yaml:3:2
  |
3 |  c: 1
  |  ^",
    );
}

fn diagnostic() -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code: "unused".to_owned(),
        message: "nobody reads this".to_owned(),
        source: None,
        span: None,
        help: None,
    }
}

#[test]
fn a_place_found_by_its_location_is_marked() {
    let text = "kind: Operator\nspec:\n  controllers:\n  - name: x\n    pipelin: []\n";
    let manifest = load(text).unwrap().remove(0);
    let place = Location::root().key("spec").key("controllers").index(0);
    let mut warning = diagnostic();
    warning.source = Some(manifest.source().clone());
    warning.span = Some(manifest.key_span(&place.key("pipelin")));
    warning.help = Some("did you mean `pipeline`?".to_owned());
    assert_eq!(
        warning.render(false),
        "warning[unused]: nobody reads this\n --> test.yaml:5:5\n  |\n5 |     pipelin: []\n  |     ^^^^^^^\n  |\n  = help: did you mean `pipeline`?"
    );
    assert_eq!(
        warning.short(),
        "test.yaml:5:5: warning[unused]: nobody reads this"
    );
    // Of a place with many lines the first is marked.
    warning.span = Some(manifest.span(&place));
    warning.help = None;
    assert_eq!(
        warning.render(false),
        "warning[unused]: nobody reads this\n --> test.yaml:4:5\n  |\n4 |   - name: x\n  |     ^^^^^^^"
    );
}

#[test]
fn a_diagnostic_without_a_place_has_a_message() {
    let mut warning = diagnostic();
    assert_eq!(warning.short(), "warning[unused]: nobody reads this");
    assert_eq!(
        warning.render(false).trim(),
        "warning[unused]: nobody reads this"
    );
    warning.source = Some(source("a"));
    assert_eq!(
        warning.short(),
        "test.yaml: warning[unused]: nobody reads this"
    );
    assert!(warning.render(false).contains("--> test.yaml"));
    assert_eq!(warning.to_string(), warning.short());
}

#[test]
fn colours_are_only_used_when_asked_for() {
    assert!(diagnostic().render(true).contains('\u{1b}'));
    assert!(!diagnostic().render(false).contains('\u{1b}'));
}

#[test]
fn a_message_cannot_control_the_terminal() {
    let mut warning = diagnostic();
    warning.message = "a\u{1b}[31mb\nc".to_owned();
    warning.help = Some("x\u{1b}[31m\u{9b}31m".to_owned());
    warning.code = "\u{1b}".to_owned();
    let mut named = (*source("a: \u{1b}[31m\u{9b}\u{202e}x\n")).clone();
    named.name = "\u{1b}.yaml".to_owned();
    warning.source = Some(named.into());
    warning.span = Some(Span {
        start: 3,
        end: 9,
        line: 1,
        column: 4,
    });
    assert!(
        !warning.render(false).contains(['\u{1b}', '\u{9b}']),
        "{}",
        warning.render(false)
    );
    assert!(!warning.short().contains(['\u{1b}', '\n']));
}

#[test]
fn a_span_that_does_not_fit_its_source_is_no_panic() {
    let texts = [
        "",
        "é",
        "a\nb",
        "\u{feff}x\r\n",
        "日本語\n",
        "a\tb\u{200d}\u{0301}\n",
    ];
    for text in texts {
        for start in 0..12 {
            for end in 0..12 {
                let mut warning = diagnostic();
                warning.source = Some(source(text));
                warning.span = Some(Span {
                    start,
                    end,
                    line: 1,
                    column: 1,
                });
                assert!(warning.render(true).contains("nobody reads this"));
            }
        }
    }
}

#[test]
fn a_very_long_line_is_rendered_quickly() {
    for length in [1000, 16_000, 10_000_000] {
        let text = format!("{{a: \"{}\", a: 1}}", "x".repeat(length));
        let started = std::time::Instant::now();
        let rendered = load(&text).unwrap()[0].duplicates()[0].render(false);
        assert!(
            rendered.contains(&format!("test.yaml:1:{}", length + 9)),
            "{rendered}"
        );
        assert!(rendered.len() < 2000);
        assert!(started.elapsed().as_secs() < 10);
    }
}
