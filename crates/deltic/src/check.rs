//! `deltic check`: reports all errors and warnings of Operators.

use document::{Map, Value, json};
use manifest::{Diagnostic, Severity};
use schema::Catalog;

use crate::cli::{self, CheckFormat, Format};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

pub(crate) fn run(args: &cli::Check, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("check")?;
    let mut operators = input::read(&files, output)?.operators();
    operators.check_types(catalog(args, output)?);
    operators.check_words();
    operators.check_codes();
    let none = operators.none(&files.names);
    operators.diagnostics.extend(none);
    let diagnostics = &operators.diagnostics;
    let count = |severity| {
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    match args.output {
        CheckFormat::Text => {
            output.diagnostics(diagnostics)?;
            output.text(&summary(errors, warnings))?;
        }
        CheckFormat::Json => {
            let list = diagnostics.iter().map(to_json).collect();
            output.value(&list, Format::Json)?;
        }
    }
    let too_strict = args.strict && errors == 0 && warnings > 0;
    if too_strict {
        output.flush()?;
        output.complain("refused: with --strict, warnings are errors");
    }
    Ok(if errors > 0 || too_strict {
        Outcome::Refused
    } else {
        Outcome::Good
    })
}

/// The kinds whose schemas are known without those of the files.
#[cfg(feature = "cluster")]
fn catalog(args: &cli::Check, output: &mut Output) -> Result<Catalog, Stop> {
    if args.cluster {
        return crate::cluster::definitions::catalog(&args.connection, output);
    }
    Ok(Catalog::default())
}

/// The kinds whose schemas are known without those of the files.
#[cfg(not(feature = "cluster"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "reading them from a cluster may fail"
)]
fn catalog(_: &cli::Check, _: &mut Output) -> Result<Catalog, Stop> {
    Ok(Catalog::default())
}

/// `2 errors, 1 warning`
fn summary(errors: usize, warnings: usize) -> String {
    let counted = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let parts: Vec<_> = [counted(errors, "error"), counted(warnings, "warning")]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        "no errors, no warnings\n".to_owned()
    } else {
        parts.join(", ") + "\n"
    }
}

fn to_json(diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut fields = vec![
        ("severity", json!(severity)),
        ("code", json!(diagnostic.code.as_str())),
        ("message", json!(diagnostic.message.as_str())),
    ];
    if let Some(source) = &diagnostic.source {
        fields.push(("file", json!(source.name.as_str())));
    }
    if let Some(span) = diagnostic.span {
        fields.push(("line", number(span.line)));
        fields.push(("column", number(span.column)));
    }
    if let Some(help) = &diagnostic.help {
        fields.push(("help", json!(help.as_str())));
    }
    let entries = fields
        .into_iter()
        .map(|(key, value)| (document::Key::new(key), value))
        .collect();
    Map::from_entries(entries).into()
}

fn number(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
