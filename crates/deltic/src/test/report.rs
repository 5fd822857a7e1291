//! Prints results as text.

use std::fmt::Display;
use std::io;
use std::time::Duration;

use document::{Value, one_line};
use manifest::Manifest;
use operator::{Report as ErrorReport, describe_origin};
use testing::{ExpectedError, Mismatch, TestFailure};

use super::{FileReport, RanTest, Report};
use crate::diff;
use crate::output::{DiffLine, Output, Verdict};

/// Prints all tests by file, and a summary.
pub(super) fn print(report: &Report<'_>, output: &mut Output) -> io::Result<()> {
    for file in &report.files {
        output.say(&format!("{}\n", file.name()))?;
        for test in &file.tests {
            print_test(file, test, output)?;
        }
    }
    let (failed, ran) = (report.failed(), report.ran());
    let mut counts = Vec::new();
    if failed > 0 {
        counts.push(format!("{failed} failed"));
    }
    if ran > failed {
        counts.push(format!("{} passed", ran - failed));
    }
    if report.skipped > 0 {
        counts.push(format!("{} not selected", report.skipped));
    }
    let verdict = if failed == 0 {
        Verdict::Passed
    } else {
        Verdict::Failed
    };
    let counts = counts.join(", ");
    output.verdict(
        verdict,
        "\n",
        &format!("{counts}; {}", time(report.elapsed)),
    )
}

fn print_test(file: &FileReport<'_>, test: &RanTest<'_>, output: &mut Output) -> io::Result<()> {
    let (verdict, word) = if test.passed() {
        (Verdict::Passed, "ok")
    } else {
        (Verdict::Failed, "FAIL")
    };
    let name = one_line(&test.test.name);
    output.say("  ")?;
    output.verdict_word(verdict, word)?;
    output.say(&" ".repeat(6 - word.len()))?;
    output.prose_behind(8, &format!("{name} ({})\n", time(test.elapsed)))?;
    for failure in &test.result.failures {
        let (title, lines) = described(file, test, failure);
        output.prose(&format!("    {title}\n"))?;
        for (line, text) in lines {
            output.indented_diff_line(6, line, &text)?;
        }
    }
    Ok(())
}

/// `0.4 ms`, `1.20 s`
fn time(elapsed: Duration) -> String {
    if elapsed < Duration::from_secs(1) {
        format!("{:.1} ms", elapsed.as_secs_f64() * 1000.0)
    } else {
        format!("{:.2} s", elapsed.as_secs_f64())
    }
}

/// A failure as a title with its place, and the lines of a diff.
pub(super) fn described(
    file: &FileReport<'_>,
    test: &RanTest<'_>,
    failure: &TestFailure,
) -> (String, Vec<(DiffLine, String)>) {
    let step = &test.test.steps[failure.step];
    let place = place(
        &file.file.manifest,
        failure.mismatch.at().unwrap_or(&step.at),
    );
    let (what, lines) = explained(&failure.mismatch);
    let step = match failure.step {
        0 => "given".to_owned(),
        number => format!("step {number} ({})", step.name),
    };
    let title = format!("{place}: {step}: {what}");
    (one_line(&title).into_owned(), lines)
}

/// What to write instead of a name.
fn instead(meant: Option<&impl Display>, otherwise: &str) -> String {
    match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => otherwise.to_owned(),
    }
}

fn place(manifest: &Manifest, at: &document::Location) -> String {
    let span = manifest.span(at);
    format!("{}:{}:{}", manifest.source().name, span.line, span.column)
}

fn explained(mismatch: &Mismatch) -> (String, Vec<(DiffLine, String)>) {
    match mismatch {
        Mismatch::Targets {
            recorded,
            differences,
            ..
        } => {
            let what = if *recorded {
                "the targets differ"
            } else {
                "the targets are not recorded yet; --update writes them"
            };
            let lines = differences.iter().flat_map(|difference| {
                compared(difference.expected.as_ref(), difference.found.as_ref())
            });
            (what.to_owned(), lines.collect())
        }
        Mismatch::Part {
            expected,
            found,
            names,
            ..
        } => {
            let name = crate::output::name(expected);
            match found {
                Some(found) => {
                    let lines = compared(Some(expected), Some(found));
                    (format!("{name} differs"), lines)
                }
                None => (
                    format!("{name} is not derived; derived: {}", listed(names)),
                    Vec::new(),
                ),
            }
        }
        Mismatch::Object {
            expected, found, ..
        } => {
            let what = format!("{} differs", crate::output::name(expected));
            (what, compared(Some(expected), Some(found)))
        }
        Mismatch::Missing {
            expected, names, ..
        } => {
            let name = crate::output::name(expected);
            let what = format!("{name} is not there; there are: {}", listed(names));
            (what, Vec::new())
        }
        Mismatch::Present { object, .. } => {
            let what = format!("{} should not be there", crate::output::name(object));
            (what, compared(None, Some(object)))
        }
        Mismatch::Errors {
            at,
            expected,
            found,
        } => {
            let what = match (at, expected) {
                (None, _) => "there are errors, and the step expects none",
                (Some(_), None) => "the errors are not recorded yet; --update writes them",
                (Some(_), Some(_)) => "the errors differ",
            };
            let expected = lines(expected.iter().flatten().map(expected_text));
            let found = lines(found.iter().map(error_text));
            let lines = diff::texts(("expected errors", &expected), ("found errors", &found));
            (what.to_owned(), lines)
        }
        Mismatch::Events {
            expected, found, ..
        } => {
            let what = match expected {
                Some(_) => "the events differ",
                None => "the events are not recorded yet; --update writes them",
            };
            let expected = lines(expected.iter().flatten().cloned());
            let found = lines(found.iter().cloned());
            let lines = diff::texts(("expected events", &expected), ("found events", &found));
            (what.to_owned(), lines)
        }
        Mismatch::Unknown {
            name,
            nearest,
            without_namespace: true,
            ..
        } => {
            let instead = instead(nearest.as_ref(), "write its namespace");
            let what = format!("there is no {name}: it is named without a namespace; {instead}");
            (what, Vec::new())
        }
        Mismatch::Unknown { name, nearest, .. } => {
            let nearest = nearest
                .as_ref()
                .map(|name| format!(", did you mean {name}?"));
            (
                format!("there is no {name}{}", nearest.unwrap_or_default()),
                Vec::new(),
            )
        }
        Mismatch::NeverDerived { name, kinds, .. } => {
            let kinds = kinds.join(", ");
            (
                format!("{name} is absent in any case: the controllers write only {kinds}"),
                Vec::new(),
            )
        }
        Mismatch::NoNamespace { name, meant, .. } => {
            let instead = instead(meant.as_ref(), "write kind/namespace/name");
            let what =
                format!("{name} is absent in any case: it is named without a namespace; {instead}");
            (what, Vec::new())
        }
        Mismatch::NeverThere { name, nearest, .. } => {
            let nearest = nearest
                .as_ref()
                .map(|name| format!("; did you mean {name}?"));
            let what = format!(
                "{name} is absent in any case: neither the test nor a controller writes it{}",
                nearest.unwrap_or_default()
            );
            (what, Vec::new())
        }
        Mismatch::Stopped { code, message } => (format!("error[{code}]: {message}"), Vec::new()),
    }
}

/// The diff from what is expected to what was found.
fn compared(expected: Option<&Value>, found: Option<&Value>) -> Vec<(DiffLine, String)> {
    let title = |what: &str, object: Option<&Value>| match object {
        Some(object) => format!("{what} {}", crate::output::name(object)),
        None => format!("{what} nothing"),
    };
    let before = title("expected", expected);
    let after = title("found", found);
    diff::titled((&before, expected), (&after, found))
}

/// The names of the objects that there are instead of a missing one.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    match names.len() {
        0 => "nothing".to_owned(),
        count if count > SHOWN => {
            format!("{}, … ({count} objects)", names[..SHOWN].join(", "))
        }
        _ => names.join(", "),
    }
}

fn lines(items: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = items.map(|item| format!("{item}\n")).collect();
    lines.concat()
}

fn expected_text(error: &ExpectedError) -> String {
    let object = error.object.as_ref().map(ToString::to_string);
    let parts = [
        ("code", &error.code),
        ("controller", &error.controller),
        ("stage", &error.stage),
        ("object", &object),
        ("message", &error.message),
    ];
    let given = parts
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name} {value}")));
    let given: Vec<String> = given.collect();
    if given.is_empty() {
        "any error".to_owned()
    } else {
        given.join(", ")
    }
}

fn error_text(report: &ErrorReport) -> String {
    let origin = describe_origin(&report.origin);
    let text = format!(
        "code {}, controller {}, stage {}, origin {origin}: {}",
        report.code, report.controller, report.stage, report.message
    );
    one_line(&text).into_owned()
}
