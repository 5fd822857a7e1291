//! `deltic patch`: patches objects by rules, or documents on lines of JSON.

mod lines;

use document::{Location, Map, Value};
use expr::NOW;
use manifest::{Diagnostic, Manifest, Severity, Source};
use patch::{CompileError, Effect, Limits, RESOURCE, Rule, Rules};

use crate::cli;
use crate::diff;
use crate::exit::{Outcome, Stop};
use crate::input::{self, Input};
use crate::output::{ObjectList, Output, name};
use crate::time::Time;

pub(crate) fn run(args: &cli::Patch, output: &mut Output) -> Result<Outcome, Stop> {
    let limits = Limits {
        bounds: args.derived.bounds(),
        ..Limits::with_cost(args.cel_cost)
    };
    let now = Value::from(args.time.now.unwrap_or_else(Time::now).to_string());
    if args.jsonl {
        return lines::run(&limits, &now, args.document_bytes, output);
    }
    input::stdin_once(args.filename.iter().chain(&args.objects))?;
    let mut documents = documents(args, output)?;
    let mut patching = Patching {
        variables: variables(&args.variables)?,
        now,
        limits,
        failures: Vec::new(),
    };
    if args.objects.iter().any(|name| name == "-") {
        output.waits_for("the objects to patch", "kubectl get … -o json");
    }
    let objects = args.recursive.files(&[], &args.objects).objects();
    let mut list = ObjectList::new(args.output);
    objects
        .with_max_bytes(args.document_bytes)
        .each(output, |object, _, output| {
            let patched = patching.all(&mut documents, &object.value);
            match patched {
                patched if args.diff => diff::object(&object.value, patched.as_ref(), output)?,
                Some(patched) => list.add(&patched, output)?,
                None => {}
            }
            Ok(())
        })?;
    if !args.diff {
        list.end(output)?;
    }
    output.diagnostics(&patching.failures)?;
    output.diagnostics(&unused(&documents))?;
    Ok(if patching.failures.is_empty() {
        Outcome::Good
    } else {
        Outcome::Failed
    })
}

/// A patch document.
struct PatchDocument {
    manifest: Manifest,
    /// The rules, each with whether an object matched it.
    rules: Vec<(Rule, bool)>,
}

/// The documents that were read; fails if there are errors.
fn good(input: Input) -> Result<Vec<Manifest>, Stop> {
    if input.problems.is_empty() {
        Ok(input.manifests)
    } else {
        Err(Stop::Refused(input.problems))
    }
}

fn documents(args: &cli::Patch, output: &mut Output) -> Result<Vec<PatchDocument>, Stop> {
    let files = args.recursive.files(&args.filename, &[]);
    let manifests = good(input::read(&files, output)?)?;
    if manifests.is_empty() {
        let message = format!("no patch in {}", args.filename.join(", "));
        return Err(Stop::Refused(vec![input::error("no-patch", message)]));
    }
    let mut documents = Vec::new();
    let mut problems = Vec::new();
    for manifest in manifests {
        if is_operations(&manifest.value) {
            problems.push(bare_operations(&manifest));
            continue;
        }
        if let Some(kind) = manifest.value.get("kind").as_str() {
            problems.push(an_object(&manifest, kind));
            continue;
        }
        match Rules::read(&manifest.value, &Location::root()) {
            Ok(rules) => documents.push(PatchDocument {
                manifest,
                rules: rules.0.into_iter().map(|rule| (rule, false)).collect(),
            }),
            Err(errors) => {
                let diagnostics = errors.iter().map(|error| refused(&manifest, error));
                let mut diagnostics: Vec<_> = diagnostics.collect();
                diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start));
                problems.extend(diagnostics);
            }
        }
    }
    if problems.is_empty() {
        Ok(documents)
    } else {
        Err(Stop::Refused(problems))
    }
}

/// Whether a document is a JSON Patch (RFC 6902), and not a list of rules.
fn is_operations(value: &Value) -> bool {
    let first = value.as_list().and_then(|list| list.get(0));
    first.is_some_and(|first| !first.get("op").is_null())
}

fn bare_operations(manifest: &Manifest) -> Diagnostic {
    let help = "wrap the operations in a rule that says which objects they change: \
                `- {target: {kind: Deployment}, operations: […]}`";
    Diagnostic {
        source: Some(manifest.source().clone()),
        span: Some(manifest.span(&Location::root().index(0))),
        help: Some(help.to_owned()),
        ..input::error(
            "bad-field",
            "expected a list of rules, found a list of operations".to_owned(),
        )
    }
}

/// The error about an object where patches are expected.
fn an_object(manifest: &Manifest, kind: &str) -> Diagnostic {
    let mut help = "a rule says which objects it changes, and how: \
                    `- {target: {kind: Deployment}, operations: […]}`"
        .to_owned();
    if kind == "Operator" {
        help += "; `deltic render` runs an Operator";
    }
    Diagnostic {
        source: Some(manifest.source().clone()),
        span: Some(manifest.span(&Location::root().key("kind"))),
        help: Some(help),
        ..input::error(
            "bad-field",
            format!("expected rules, found an object of the kind {kind}"),
        )
    }
}

fn refused(manifest: &Manifest, error: &CompileError) -> Diagnostic {
    Diagnostic {
        source: Some(manifest.source().clone()),
        span: Some(match error.inside() {
            Some(offset) => manifest.span_inside(&error.at, &(offset..offset)),
            None => input::span(manifest, &error.at, error.at_key()),
        }),
        help: error.help(),
        ..input::error(error.code(), error.to_string())
    }
}

/// The values of `--var`, by name.
fn variables(arguments: &[String]) -> Result<Map, Stop> {
    let mut entries = Vec::new();
    for argument in arguments {
        let Some((name, text)) = argument
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
        else {
            return Err(Stop::usage(&format!(
                "expected --var NAME=VALUE, found {argument:?}"
            )));
        };
        if name == RESOURCE {
            return Err(Stop::usage(
                "--var cannot set resource: it is the object itself",
            ));
        }
        if name == NOW {
            return Err(Stop::usage("--var cannot set now: use --now"));
        }
        let source = Source {
            name: format!("<variable {name}>"),
            text: text.to_owned(),
        };
        let manifests =
            manifest::parse(source.into()).map_err(|problem| Stop::Refused(vec![problem]))?;
        let value = match manifests.as_slice() {
            // The parser skips a document that is `null`.
            [] => Value::NULL,
            [manifest] => manifest.value.clone(),
            _ => {
                return Err(Stop::usage(&format!(
                    "expected one value for {name}, found several"
                )));
            }
        };
        entries.push((name.into(), value));
    }
    Ok(Map::from_entries(entries))
}

/// The value of a variable: the time, one of the given variables, or a top-level key of the object.
fn variable(given: &Map, now: &Value, name: &str, resource: &Value) -> Option<Value> {
    match name {
        RESOURCE => return None,
        NOW => return Some(now.clone()),
        _ => {}
    }
    let member = || resource.as_map()?.get_str(name);
    given.get_str(name).or_else(member).cloned()
}

struct Patching {
    variables: Map,
    /// The value of `now`.
    now: Value,
    limits: Limits,
    failures: Vec<Diagnostic>,
}

impl Patching {
    /// Applies all rules to an object. Returns `None` if one removes it, and the unchanged object
    /// if one fails.
    fn all(&mut self, documents: &mut [PatchDocument], object: &Value) -> Option<Value> {
        let variables =
            |name: &str, resource: &Value| variable(&self.variables, &self.now, name, resource);
        let mut current = object.clone();
        for document in documents {
            for (rule, used) in &mut document.rules {
                match rule.apply(&current, &variables, &self.limits) {
                    Ok(Effect::None) => {}
                    Ok(Effect::Patched(patched)) => {
                        *used = true;
                        current = patched;
                    }
                    Ok(Effect::Removed) => {
                        *used = true;
                        return None;
                    }
                    Err(error) => {
                        *used = true;
                        let failure = failure(&document.manifest, &error, object);
                        self.failures.push(failure);
                        return Some(object.clone());
                    }
                }
            }
        }
        Some(current)
    }
}

fn failure(manifest: &Manifest, error: &patch::Error, object: &Value) -> Diagnostic {
    let whose = name(object);
    Diagnostic {
        source: Some(manifest.source().clone()),
        span: Some(manifest.span(&error.at)),
        ..input::error(error.code(), format!("{error}, for {whose}"))
    }
}

/// Warnings about rules that matched no object.
fn unused(documents: &[PatchDocument]) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for PatchDocument { manifest, rules } in documents {
        for (rule, _) in rules.iter().filter(|(_, used)| !used) {
            warnings.push(Diagnostic {
                severity: Severity::Warning,
                source: Some(manifest.source().clone()),
                span: Some(manifest.span(&rule.at.key("target"))),
                ..input::error("no-match", "no object matches this target".to_owned())
            });
        }
    }
    warnings
}
