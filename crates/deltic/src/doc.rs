//! `deltic doc`: prints the reference in the terminal.

mod codes;
mod errors;
mod fields;
mod topics;

use std::fmt::Write;

use dataflow::reference::{STAGES, StageDoc};
use expr::{Example, Functions, PATHS, PathDoc};

use crate::cli::{self, Page};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;
use codes::CodeDoc;
use topics::Topic;

pub(crate) fn run(args: &cli::Doc, output: &mut Output) -> Result<Outcome, Stop> {
    if let Some(page) = args.page {
        output.text(&match page {
            Page::Errors => codes::errors_page(),
            Page::Examples => examples(),
        })?;
        return Ok(Outcome::Good);
    }
    let (entries, fields) = (entries(), fields::fields());
    if args.list {
        for entry in entries.iter().chain(&fields) {
            let name = entry.names.first().map_or("", String::as_str);
            let name = format!("{name:<24} ");
            output.say(&name)?;
            output.prose_behind(name.chars().count(), &format!("{}\n", entry.summary))?;
        }
        return Ok(Outcome::Good);
    }
    let Some(name) = args.name.as_deref() else {
        output.prose(&overview(fields.len()))?;
        return Ok(Outcome::Good);
    };
    let mut texts = find(name.trim(), &entries, &fields);
    let part = PATHS.iter().find(|doc| doc.syntax == name.trim());
    let part = part.map(path);
    if texts.is_empty() {
        texts.extend(part.as_deref());
    }
    if texts.is_empty() {
        return Err(Stop::Refused(vec![unknown(name.trim(), &entries, &fields)]));
    }
    output.prose(&texts.join("\n"))?;
    Ok(Outcome::Good)
}

/// The entries of the reference for a name, and the fields of an Operator that have this name.
fn find<'a>(name: &str, entries: &'a [DocEntry], fields: &'a [DocEntry]) -> Vec<&'a str> {
    let fields = fields.iter().filter(|field| fields::is_named(field, name));
    let mut found: Vec<&DocEntry> = fields.collect();
    let mut named = entries.iter().filter(|entry| entry.is(name));
    let mut cel = entries.iter().filter(|entry| entry.is_cel(name));
    match named.next() {
        Some(entry) => found.insert(0, entry),
        None if found.is_empty() => found.extend(cel.next()),
        None => {}
    }
    found.iter().map(|entry| entry.text.as_str()).collect()
}

/// The codes of all errors and warnings.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    codes::codes().map(|doc| doc.code)
}

/// A part of the reference.
struct DocEntry {
    /// Its names, the first of which is listed.
    names: Vec<String>,
    /// A sentence.
    summary: String,
    /// Everything about it.
    text: String,
}

impl DocEntry {
    /// Whether this is its name, with or without `@`, or the first word of it.
    fn is(&self, name: &str) -> bool {
        let first = |own: &str| own.split_once(' ').is_some_and(|(first, _)| first == name);
        let mut names = self.names.iter();
        names.any(|own| own == name || own.strip_prefix('@') == Some(name) || first(own))
    }

    /// Whether this is its name without `cel.`.
    fn is_cel(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|own| own.strip_prefix("cel.") == Some(name))
    }
}

/// The whole reference, in the order of the list.
fn entries() -> Vec<DocEntry> {
    let functions = Functions::builtin();
    let operators = functions.functions().map(|function| DocEntry {
        names: names(function.name, function.aliases),
        summary: function.summary.to_owned(),
        text: format!(
            "{}\n\n  {}\n\n{}\n{}",
            function.name,
            function.signature,
            function.summary,
            shown(function.examples)
        ),
    });
    let operators: Vec<DocEntry> = operators.collect();
    let stages = STAGES.iter().map(stage);
    let cel = cel_interpreter::reference().flat_map(|(_, functions)| functions);
    let errors = codes::codes().map(error);
    stages
        .chain([paths()])
        .chain(topics::TOPICS.iter().map(topic))
        .chain(operators)
        .chain(cel.map(cel_function))
        .chain(errors)
        .collect()
}

fn names(name: &str, aliases: &[&str]) -> Vec<String> {
    let all = [name].into_iter().chain(aliases.iter().copied());
    all.map(str::to_owned).collect()
}

fn stage(doc: &StageDoc) -> DocEntry {
    let mut text = format!("{} (stage)\n\n", doc.name);
    for line in doc.signature.lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "\n{}", doc.summary);
    for rule in doc.rules {
        let _ = writeln!(text, "- {rule}");
    }
    for example in doc.examples {
        let _ = writeln!(text, "\n{}:", example.title);
        let parts = [
            ("pipeline", example.pipeline),
            ("input", example.input),
            ("output", example.output),
        ];
        for (what, yaml) in parts {
            let _ = writeln!(text, "  # {what}");
            for line in yaml.trim().lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    if !doc.errors.is_empty() {
        let _ = writeln!(text, "\nErrors: {}", doc.errors.join(", "));
    }
    DocEntry {
        names: names(doc.name, doc.aliases),
        summary: doc.summary.to_owned(),
        text,
    }
}

fn paths() -> DocEntry {
    let mut text = String::from("Paths: strings that start with $\n");
    for doc in &PATHS {
        let _ = write!(text, "\n{}", path(doc));
    }
    DocEntry {
        names: names("path", &["paths", "$"]),
        summary: "Strings that start with `$`: fields, indexes, filters, setters.".to_owned(),
        text,
    }
}

fn path(doc: &PathDoc) -> String {
    format!("{}\n{}\n{}", doc.syntax, doc.summary, shown(doc.examples))
}

fn topic(topic: &Topic) -> DocEntry {
    DocEntry {
        names: names(topic.name, topic.aliases),
        summary: topic.summary.to_owned(),
        text: format!(
            "{} ({})\n\n{}\n{}",
            topic.name,
            topic.what,
            topic.summary,
            indented(topic.text)
        ),
    }
}

/// A text with one line for each paragraph, which the terminal breaks, and with indented examples.
fn indented(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with([' ', '|']);
        match (lines.last_mut(), line.strip_prefix('|')) {
            (_, Some(example)) => lines.push(format!(" {example}")),
            (Some(last), None) if is_prose(last) && is_prose(line) => {
                last.extend([" ", line]);
            }
            (_, None) => lines.push(line.to_owned()),
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A function or macro of CEL, as `cel.NAME`.
fn cel_function(function: &cel_interpreter::Documented) -> DocEntry {
    let name = format!("cel.{}", function.name);
    let mut text = format!(
        "{name} (CEL)\n\n  {}\n\n{}\n",
        function.signature, function.summary
    );
    for cel_interpreter::Example(expression, result) in function.examples {
        let _ = writeln!(text, "  {expression}  →  {result}");
    }
    DocEntry {
        names: vec![name],
        summary: function.summary.to_owned(),
        text,
    }
}

fn error(doc: &CodeDoc) -> DocEntry {
    let text = format!(
        "{}\n\n{}\n\nExample: {}\nWhat to do: {}\n",
        doc.code,
        doc.meaning,
        doc.trigger.text(),
        doc.fix
    );
    DocEntry {
        names: names(doc.code, &[]),
        summary: doc.meaning.to_owned(),
        text,
    }
}

fn shown(examples: &[Example]) -> String {
    let mut text = String::new();
    for Example(expr, subject, result) in examples {
        let _ = match *subject {
            "{}" => writeln!(text, "  {expr}  →  {result}"),
            _ => writeln!(text, "  {expr}  on {subject}  →  {result}"),
        };
    }
    text
}

/// The names of stages and operators, and how to find the rest.
fn overview(fields: usize) -> String {
    let listed = |names: Vec<&str>| names.join(", ");
    let stages = listed(STAGES.iter().map(|doc| doc.name).collect());
    let topics = listed(topics::TOPICS.iter().map(|topic| topic.name).collect());
    let functions = Functions::builtin();
    let operators = listed(functions.functions().map(|one| one.name).collect());
    let cel = cel_interpreter::reference().flat_map(|(_, functions)| functions);
    let (cel, codes) = (cel.count(), codes::codes().count());
    format!(
        "Stages: {stages}\n\n\
         Operators: {operators}\n\n\
         Other words: path, {topics}\n\n\
         Also {cel} functions of CEL such as cel.quantity, {codes} codes of errors and warnings such as \
         bad-arity, and {fields} fields of Operators such as maxDeletions.\n\n\
         `deltic doc NAME` prints what the reference has about a name, `deltic doc --list` all names, each \
         with a sentence.\n"
    )
}

fn unknown(name: &str, entries: &[DocEntry], fields: &[DocEntry]) -> manifest::Diagnostic {
    let names = entries.iter().flat_map(|entry| &entry.names);
    let fields = fields.iter().flat_map(|field| &field.names);
    let fields = fields.filter_map(|path| path.rsplit('.').next());
    let names: Vec<&str> = names.map(String::as_str).chain(fields).collect();
    let at = format!("@{name}");
    let nearest = expr::nearest(name, names.iter().copied())
        .or_else(|| expr::nearest(&at, names.iter().copied()));
    manifest::Diagnostic {
        help: Some(match nearest {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => "`deltic doc --list` prints all names".to_owned(),
        }),
        ..input::error("usage", format!("the reference has nothing about {name:?}"))
    }
}

/// The examples of codes, one JSON document per line, for the tests.
fn examples() -> String {
    use codes::Trigger;
    let mut text = String::new();
    for doc in codes::codes() {
        let parts: Vec<&str> = match doc.trigger {
            Trigger::File(text) => vec!["file", text],
            Trigger::Operator(fields) => vec!["operator", fields],
            Trigger::Check(sources, pipeline) => [&["check", pipeline], sources].concat(),
            Trigger::Eval(expr, object) => vec!["eval", expr, object],
            Trigger::Render(pipeline, object) => vec!["render", pipeline, object],
            Trigger::Patch(patch, document) => vec!["patch", patch, document],
            Trigger::Usage(arguments) => [&["usage"], arguments].concat(),
            Trigger::Stream(arguments, input) => [&["stream", input], arguments].concat(),
            Trigger::Objects(pipeline, objects, arguments) => {
                [&["objects", pipeline, objects], arguments].concat()
            }
            Trigger::Manifests(text, arguments) => [&["manifests", text], arguments].concat(),
            Trigger::Script(commands) => vec!["script", commands],
            Trigger::Message(..) => vec!["none"],
        };
        let parts = [&[doc.code], &parts[..]].concat();
        let line: document::Value = parts.into_iter().map(document::Value::from).collect();
        let _ = writeln!(text, "{line}");
    }
    text
}
