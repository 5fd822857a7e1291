//! Prints results as `JUnit` XML, which CI systems read.

use std::fmt::Write;
use std::io;

use super::report::described;
use super::{FileReport, RanTest, Report};
use crate::output::Output;
use crate::xml::escaped;

pub(super) fn print(report: &Report<'_>, output: &mut Output) -> io::Result<()> {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (ran, failed) = (report.ran(), report.failed());
    let seconds = report.elapsed.as_secs_f64();
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        "<testsuites tests=\"{ran}\" failures=\"{failed}\" time=\"{seconds:.6}\">"
    );
    for file in &report.files {
        suite(file, &mut xml);
    }
    xml.push_str("</testsuites>\n");
    output.text(&xml)
}

fn suite(file: &FileReport<'_>, xml: &mut String) {
    let name = escaped(file.name());
    let (tests, failed) = (file.tests.len(), file.failed());
    let seconds = file.elapsed().as_secs_f64();
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" time=\"{seconds:.6}\">"
    );
    for test in &file.tests {
        case(file, test, &name, xml);
    }
    xml.push_str("  </testsuite>\n");
}

fn case(file: &FileReport<'_>, test: &RanTest<'_>, class: &str, xml: &mut String) {
    let name = escaped(&test.test.name);
    let seconds = test.elapsed.as_secs_f64();
    let _ = write!(
        xml,
        "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{seconds:.6}\""
    );
    if test.passed() {
        xml.push_str("/>\n");
        return;
    }
    xml.push_str(">\n");
    for failure in &test.result.failures {
        let (title, lines) = described(file, test, failure);
        let lines = lines.iter().map(|(_, line)| line.trim_end_matches('\n'));
        let text = lines.collect::<Vec<_>>().join("\n");
        let _ = writeln!(
            xml,
            "      <failure message=\"{}\">{}</failure>",
            escaped(&title),
            escaped(&text)
        );
    }
    xml.push_str("    </testcase>\n");
}
