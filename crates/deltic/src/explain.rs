//! `deltic explain`: prints the plan of an Operator.

use document::Value;

use crate::cli::CheckFormat;
use crate::cli::graph::Explain;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::{Output, pretty};

pub(crate) fn run(args: &Explain, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("explain")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    output.diagnostics(&operators.diagnostics)?;
    if args.output == CheckFormat::Json {
        let plans = operators.created.iter().map(operator::explain::to_json);
        output.text(&format!("{}\n", pretty(&Value::list(plans))))?;
        return Ok(Outcome::Good);
    }
    for (i, operator) in operators.created.iter().enumerate() {
        if i > 0 {
            output.text("\n")?;
        }
        let text = operator::explain::explain(operator);
        output.text(&match Output::width() {
            Some(width) => fit(&text, width),
            None => text,
        })?;
    }
    Ok(Outcome::Good)
}

/// Breaks lines that are too wide, after spaces and commas. A line goes on two columns further to
/// the right than it begins.
fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        let mut column = indent;
        fitted.push_str(&line[..indent]);
        for part in content.split_inclusive([' ', ',']) {
            let wide = part.trim_end_matches(' ').chars().count();
            if column > indent + MORE && column + wide > width {
                let kept = fitted.trim_end_matches(' ').len();
                fitted.truncate(kept);
                fitted.push('\n');
                fitted.push_str(&" ".repeat(indent + MORE));
                column = indent + MORE;
            }
            // A line does not begin with the space after a comma.
            if part != " " || column > indent + MORE {
                fitted.push_str(part);
                column += part.chars().count();
            }
        }
        fitted.push('\n');
    }
    fitted
}

/// How much further to the right a line goes on.
const MORE: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_broken() {
        let text = "a\n  keeps aaa, bbb, ccc,ddd\n\n  eeeeeeeeeeeeeeee f\n";
        let expect = "a\n  keeps aaa,\n    bbb,\n    ccc,ddd\n\n  eeeeeeeeeeeeeeee\n    f\n";
        assert_eq!(fit(text, 12), expect);
        assert_eq!(fit(text, 100), text);
        // Nothing is lost, whatever the width.
        let words = |text: &str| text.replace(|c: char| c.is_whitespace(), "");
        for width in 0..40 {
            assert_eq!(words(&fit(text, width)), words(text));
        }
    }
}
