//! `deltic eval`: evaluates one expression on objects, or many on lines of JSON.

mod lines;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::Arc;

use document::{Location, Value, json};
use expr::{CompileError, Functions, Items, Scope};
use manifest::{Diagnostic, Manifest, Source};

use crate::cli::{self, Format};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::{Output, name};
use crate::run::Settings;

pub(crate) fn run(args: &cli::Eval, output: &mut Output) -> Result<Outcome, Stop> {
    let key = args.seed.unwrap_or_else(random);
    let settings = Settings::new(args.time.now, key, args.limits);
    match &args.expr {
        Some(text) => objects(text, args, &settings, output),
        None => lines::run(&settings, args.limits.document_bytes, output),
    }
}

/// A random number from the system.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Evaluates one expression on every object.
fn objects(
    text: &str,
    args: &cli::Eval,
    settings: &Settings,
    output: &mut Output,
) -> Result<Outcome, Stop> {
    let spec = parse(text)?;
    let expr = expr::compile(
        &spec.value,
        &Location::root(),
        &Functions::builtin(),
        Items::None,
    )
    .map_err(|errors| refused(&spec, &errors))?;
    let mut outcome = Outcome::Good;
    let mut number = 0;
    let mut evaluate = |subject: &Value, file: &str, several: bool, output: &mut Output| {
        let env = settings.env_of(number);
        number += 1;
        let whose = several.then(|| described(subject, number, file));
        match expr.eval(&Scope::new(&env, subject)) {
            Ok(value) => print(&value, whose.as_deref(), args.output, output)?,
            Err(error) => {
                if let (Some(whose), Format::Json) = (&whose, args.output) {
                    output.value(&failed(whose, &error), Format::Json)?;
                }
                output.diagnostic(&spec.failure(&error, whose.as_deref()))?;
                outcome = Outcome::Failed;
            }
        }
        Ok(())
    };
    let files = args.recursive.files(&args.filename, &args.files);
    if files.names.is_empty() {
        evaluate(&Value::NULL, "", false, output)?;
    } else {
        if files.names.iter().any(|name| name == "-") {
            output.waits_for("objects", "kubectl get … -o json");
        }
        files.with_max_bytes(args.limits.document_bytes).each(
            output,
            |manifest, several, output| {
                let file = manifest.source().name.as_str();
                evaluate(&manifest.value, file, several, output)
            },
        )?;
    }
    Ok(outcome)
}

/// `kind/namespace/name`, or the number and file of an object without these.
fn described(subject: &Value, number: usize, file: &str) -> String {
    let name = name(subject);
    if !name.is_empty() {
        name
    } else if file == manifest::STDIN {
        format!("document {number}")
    } else {
        format!("document {number}, in {file}")
    }
}

/// Prints a value, with the name of its object.
fn print(
    value: &Value,
    whose: Option<&str>,
    format: Format,
    output: &mut Output,
) -> io::Result<()> {
    match (whose, format) {
        (None, _) => output.value(value, format),
        (Some(whose), Format::Yaml) => {
            output.comment(whose)?;
            output.value(value, format)
        }
        (Some(whose), Format::Json) => {
            output.value(&json!({"object": whose, "value": (value.clone())}), format)
        }
    }
}

/// A failure as part of the output.
fn failed(whose: &str, error: &expr::Error) -> Value {
    json!({"object": whose, "error": (error.to_string()), "code": (error.code())})
}

/// The parsed text of an expression.
struct ParsedExpression {
    value: Value,
    source: Arc<Source>,
    /// The positions of its parts; `None` if it is a bare text.
    manifest: Option<Manifest>,
}

/// Reads YAML or JSON. A bare path or `@now` needs no quotes, even where YAML would require them.
fn parse(text: &str) -> Result<ParsedExpression, Stop> {
    let source = Arc::new(Source {
        name: "<expression>".to_owned(),
        text: text.to_owned(),
    });
    let bare = text.trim();
    if bare.is_empty() {
        return Err(Stop::usage("expected an expression, found nothing"));
    }
    if bare == "@now" || document::Path::parse(bare).is_ok() {
        return Ok(ParsedExpression {
            value: bare.into(),
            source,
            manifest: None,
        });
    }
    let mut manifests =
        manifest::parse(source.clone()).map_err(|problem| Stop::Refused(vec![problem]))?;
    let duplicates = manifests.iter().flat_map(Manifest::duplicates).cloned();
    let duplicates: Vec<_> = duplicates.collect();
    if !duplicates.is_empty() {
        return Err(Stop::Refused(duplicates));
    }
    if manifests.len() > 1 {
        return Err(Stop::usage("expected one expression, found several"));
    }
    let manifest = manifests.pop();
    Ok(ParsedExpression {
        // The parser skips a document that is `null`.
        value: manifest
            .as_ref()
            .map_or(Value::NULL, |manifest| manifest.value.clone()),
        source,
        manifest,
    })
}

impl ParsedExpression {
    fn diagnostic(&self, code: &str, message: String, at: &Location) -> Diagnostic {
        let at_key = input::is_about_key(code);
        let span = match &self.manifest {
            Some(manifest) => input::span(manifest, at, at_key),
            None => manifest::Span {
                start: 0,
                end: self.source.text.len(),
                line: 1,
                column: 1,
            },
        };
        Diagnostic {
            source: Some(self.source.clone()),
            span: Some(span),
            ..input::error(code, message)
        }
    }

    fn failure(&self, error: &expr::Error, whose: Option<&str>) -> Diagnostic {
        let message = match whose {
            Some(whose) => format!("{error}, for {whose}"),
            None => error.to_string(),
        };
        self.diagnostic(error.code(), message, &error.at)
    }
}

fn refused(spec: &ParsedExpression, errors: &[CompileError]) -> Stop {
    let diagnostics = errors.iter().map(|error| {
        let refused = spec.diagnostic(error.code(), error.to_string(), &error.at);
        let inside = spec.manifest.as_ref().zip(error.inside());
        let inside =
            inside.map(|(manifest, offset)| manifest.span_inside(&error.at, &(offset..offset)));
        Diagnostic {
            help: error.help(),
            span: inside.or(refused.span),
            ..refused
        }
    });
    Stop::Refused(diagnostics.collect())
}
