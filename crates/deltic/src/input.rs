//! Reads the manifests that `-f` names: Operators and other objects, with all their problems.

mod reading;
mod words;

use document::{Location, Value};
use expr::Functions;
use manifest::{Diagnostic, Manifest, Severity};
use operator::spec::Draft;
use operator::{Operator, Places, Problem};

use schema::Catalog;

use crate::allow;
use crate::exit::Stop;
use crate::output::Output;
pub(crate) use reading::{Files, complain_of_links};
pub(crate) use words::Booleans;

/// The documents that were read, and their problems.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// The documents, lists expanded.
    pub(crate) manifests: Vec<Manifest>,
    /// The errors of files and documents that could not be read.
    pub(crate) problems: Vec<Diagnostic>,
}

/// Reads files, directories and `-` as a whole. An error in one of them does not stop the reading
/// of the others.
pub(crate) fn read(files: &Files, output: &mut Output) -> Result<Input, Stop> {
    let mut manifests = Vec::new();
    let problems = files.all(output, |manifest| manifests.push(manifest))?;
    Ok(Input {
        manifests,
        problems,
    })
}

/// Fails if stdin is named more than once.
pub(crate) fn stdin_once<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), Stop> {
    if names.filter(|name| *name == "-").count() > 1 {
        return Err(Stop::usage(
            "stdin (-) can be read only once: give a file for all but one",
        ));
    }
    Ok(())
}

impl Input {
    /// Separates the Operators from the other documents, and checks them.
    pub(crate) fn operators(self) -> Operators {
        let mut found = Operators {
            diagnostics: self.problems,
            ..Operators::default()
        };
        for manifest in self.manifests {
            if is_operator(&manifest.value) {
                found.add(manifest);
            } else {
                found.others.push(manifest);
            }
        }
        found
    }
}

/// Operators, their problems, and the other documents.
#[derive(Debug, Default)]
pub(crate) struct Operators {
    /// The documents that are meant to be Operators.
    pub(crate) manifests: Vec<Manifest>,
    /// The Operators among them that are valid.
    pub(crate) created: Vec<Operator>,
    /// What could be read of each, with the position of its manifest.
    drafts: Vec<(Draft, usize)>,
    /// Errors and warnings, by file and position.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The other documents.
    pub(crate) others: Vec<Manifest>,
}

impl Operators {
    pub(crate) fn add(&mut self, manifest: Manifest) {
        let (draft, problems) = Draft::read(&manifest.value, &Functions::builtin());
        let mut diagnostics: Vec<_> = problems
            .into_iter()
            .filter_map(|problem| unless_allowed(&manifest, problem))
            .collect();
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start));
        self.diagnostics.extend(diagnostics);
        if let Some(draft) = draft {
            if draft.is_valid() {
                let mut operator = draft.operator.clone();
                operator.set_places(&places(&manifest));
                self.created.push(operator);
            }
            self.drafts.push((draft, self.manifests.len()));
        }
        self.manifests.push(manifest);
    }

    /// Adds warnings about words that kubectl reads as booleans.
    pub(crate) fn check_words(&mut self) {
        for manifest in self.manifests.iter().chain(&self.others) {
            for warning in words::warnings(manifest) {
                // The places of an alias are those of its anchor.
                if !self.diagnostics.contains(&warning) {
                    self.diagnostics.push(warning);
                }
            }
        }
        self.sort();
    }

    /// Adds the findings of the typed checks. Custom kinds are those of the definitions among the
    /// other documents, and of the catalog.
    pub(crate) fn check_types(&mut self, mut catalog: Catalog) {
        for other in &self.others {
            catalog.add(&other.value);
        }
        let drafts = self.drafts.iter();
        let manifests = drafts.clone().map(|(_, from)| &self.manifests[*from]);
        let manifests: Vec<&Manifest> = manifests.collect();
        let pairs: Vec<(&Draft, &Value)> = drafts
            .map(|(draft, from)| (draft, &self.manifests[*from].value))
            .collect();
        let found = operator::typed::check(&pairs, &catalog);
        for (manifest, problems) in manifests.iter().zip(found) {
            for problem in problems {
                let Some(found) = unless_allowed(manifest, problem) else {
                    continue;
                };
                // One mistake gives one message.
                let worse = |other: &Diagnostic| {
                    found.severity == Severity::Error && other.severity == Severity::Warning
                };
                let known = self.diagnostics.iter().any(|other| {
                    other.span == found.span && other.source == found.source && !worse(other)
                });
                if !known {
                    self.diagnostics.push(found);
                }
            }
        }
        self.sort();
    }

    /// Adds warnings about comments and annotations that allow what does not exist, and errors about
    /// documents that are Operators in all but their kind.
    pub(crate) fn check_codes(&mut self) {
        let codes = self.manifests.iter().flat_map(allow::unknown_codes);
        self.diagnostics.extend(codes);
        if !self.manifests.is_empty() {
            let misnamed = self.others.iter().filter_map(misnamed);
            self.diagnostics.extend(misnamed);
        }
        self.sort();
    }

    /// Sorts the diagnostics by file and position.
    fn sort(&mut self) {
        let mut files: Vec<String> = Vec::new();
        for source in self.diagnostics.iter().filter_map(|d| d.source.as_ref()) {
            if !files.contains(&source.name) {
                files.push(source.name.clone());
            }
        }
        let place = |diagnostic: &Diagnostic| {
            let source = diagnostic.source.as_ref();
            let file = source.map(|source| files.iter().position(|file| file == &source.name));
            (file, diagnostic.span.map(|span| span.start))
        };
        self.diagnostics.sort_by_key(place);
    }

    /// Fails if there is an error or no Operator.
    pub(crate) fn good(mut self, files: &[String]) -> Result<Self, Stop> {
        let none = self.none(files);
        self.diagnostics.extend(none);
        let (errors, warnings) = std::mem::take(&mut self.diagnostics)
            .into_iter()
            .partition::<Vec<_>, _>(|diagnostic| diagnostic.severity == Severity::Error);
        if !errors.is_empty() {
            return Err(Stop::Refused(errors));
        }
        self.diagnostics = warnings;
        Ok(self)
    }

    /// The error that there is no Operator; `None` if nothing could be read at all.
    pub(crate) fn none(&self, files: &[String]) -> Option<Diagnostic> {
        let unread = self
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error);
        if unread || !self.manifests.is_empty() {
            return None;
        }
        let message = format!("no Operator in {}", files.join(", "));
        Some(
            self.others
                .iter()
                .find_map(misnamed)
                .unwrap_or_else(|| Diagnostic {
                    help: Some("an Operator has apiVersion dcontroller.io/v1alpha1".to_owned()),
                    ..error("no-operator", message)
                }),
        )
    }

    /// The only Operator, and the other documents.
    pub(crate) fn one(self, files: &[String]) -> Result<(Operator, Vec<Manifest>), Stop> {
        let mut good = self.good(files)?;
        if let [_, second, ..] = good.manifests.as_slice() {
            let count = good.manifests.len();
            let message = format!("expected one Operator, found {count}");
            return Err(Stop::Refused(vec![Diagnostic {
                source: Some(second.source().clone()),
                span: Some(second.span(&Location::root().key("metadata").key("name"))),
                help: Some(
                    "run the command once for each Operator; controllers that feed each other belong into one Operator".to_owned(),
                ),
                ..error("several-operators", message)
            }]));
        }
        match good.created.pop() {
            Some(operator) => Ok((operator, good.others)),
            None => Err(Stop::usage("no Operator")),
        }
    }
}

/// Whether a document is meant to be an Operator, even if its apiVersion is missing or misspelled.
pub(crate) fn is_operator(value: &Value) -> bool {
    let slip = match value.get("apiVersion").as_str() {
        Some(version) => {
            let group = object::group_of(version);
            expr::nearest(group, [object::GROUP]).is_some()
        }
        None => true,
    };
    // A document of another group with controllers is probably ours, too.
    let slip = slip || value.get("spec").get("controllers").as_list().is_some();
    operator::spec::is_operator(value) || (value.get("kind").as_str() == Some("Operator") && slip)
}

/// The error about a document that is an Operator in all but its kind.
fn misnamed(manifest: &Manifest) -> Option<Diagnostic> {
    let value = &manifest.value;
    let version = value.get("apiVersion").as_str();
    let ours = version.is_some_and(|version| object::group_of(version) == object::GROUP)
        || value.get("spec").get("controllers").as_list().is_some();
    if !ours {
        return None;
    }
    let problem = operator::spec::wrong_kind(value)?;
    problem
        .help
        .is_some()
        .then(|| diagnostic(manifest, problem))
}

/// The places of a manifest's parts in its file.
fn places(manifest: &Manifest) -> Places {
    let manifest = manifest.clone();
    Places::new(move |at| {
        let span = manifest.span(at);
        let file = &manifest.source().name;
        format!("{file}:{}:{}", span.line, span.column)
    })
}

/// A problem of a manifest with its position in the file, unless a comment there allows it.
fn unless_allowed(manifest: &Manifest, problem: Problem) -> Option<Diagnostic> {
    let at = problem.at.clone();
    let diagnostic = diagnostic(manifest, problem);
    (!allow::is_allowed(&diagnostic, manifest, &at)).then_some(diagnostic)
}

/// A problem of a manifest with its position in the file.
fn diagnostic(manifest: &Manifest, problem: Problem) -> Diagnostic {
    let span = match &problem.inside {
        Some(part) => manifest.span_inside(&problem.at, part),
        None => {
            let at_key = problem.at_key || is_about_key(problem.code);
            span(manifest, &problem.at, at_key)
        }
    };
    Diagnostic {
        severity: match problem.severity {
            operator::Severity::Error => Severity::Error,
            operator::Severity::Warning => Severity::Warning,
        },
        code: problem.code.to_owned(),
        message: problem.message,
        source: Some(manifest.source().clone()),
        span: Some(span),
        help: problem.help,
    }
}

/// An error without a position.
pub(crate) fn error(code: &str, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: code.to_owned(),
        message,
        source: None,
        span: None,
        help: None,
    }
}

/// The position of a value, or of its key.
pub(crate) fn span(manifest: &Manifest, at: &Location, at_key: bool) -> manifest::Span {
    if at_key {
        manifest.key_span(at)
    } else {
        manifest.span(at)
    }
}

/// Whether an error is about the key at its location (an operator, stage or setter), not about the
/// argument.
pub(crate) fn is_about_key(code: &str) -> bool {
    matches!(
        code,
        "unknown-operator"
            | "bad-arity"
            | "root-setter"
            | "bad-setter"
            | "unknown-stage"
            | "join-not-first"
    )
}
