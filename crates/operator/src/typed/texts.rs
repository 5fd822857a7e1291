//! Texts that are probably meant as paths, but do not start with `$.`: they start with the name of
//! an input, are the path of a field that the documents have, or are templates.

use dataflow::pipeline::stages_of;
use document::{Key, Location, Path, Value, View};
use schema::Type;

use super::inference::MAX_PROBLEMS;
use super::written::replace;
use crate::problem::Problem;

/// What is known about the documents of a controller.
pub(super) struct Known<'a> {
    /// By name, the objects of its sources.
    pub(super) sources: &'a [(&'a str, Type)],
    /// By the location of a stage, the documents that its expressions read.
    pub(super) documents: &'a [(Location, Type)],
}

/// What the expressions of a stage may read.
struct Readable<'a> {
    /// By name, the types of the inputs; unknown for streams.
    inputs: &'a [(&'a str, Type)],
    /// Whether the documents have the names as keys.
    joined: bool,
    document: Type,
}

/// The fields of every object that have fields.
const TOP: [&str; 3] = ["metadata", "spec", "status"];

/// Names of files and hosts, such as `data.json`, end with these.
const ENDS: [&str; 16] = [
    "com", "conf", "crt", "csv", "ini", "io", "json", "key", "md", "net", "org", "pem", "toml",
    "txt", "yaml", "yml",
];

impl Known<'_> {
    /// Finds such texts in a pipeline.
    pub(super) fn check(&self, pipeline: &Value, at: &Location, problems: &mut Vec<Problem>) {
        let is_branch = |item: &Value| item.as_list().is_some();
        let list = pipeline.as_list();
        let Some(list) = list.filter(|list| list.iter().any(is_branch)) else {
            return self.branch(pipeline, at, self.sources, problems);
        };
        for (i, stages) in list.iter().enumerate() {
            let names = stages.at(0).get("@inputs").as_list();
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            let inputs: Vec<(&str, Type)> = names
                .map(|name| {
                    let source = self.sources.iter().find(|(source, _)| *source == name);
                    let found = source.map_or_else(Type::any, |(_, found)| found.clone());
                    (name, found)
                })
                .collect();
            self.branch(stages, &at.index(i), &inputs, problems);
        }
    }

    fn branch(
        &self,
        stages: &Value,
        at: &Location,
        inputs: &[(&str, Type)],
        problems: &mut Vec<Problem>,
    ) {
        let stages = stages_of(stages, at);
        let joined = stages
            .iter()
            .any(|(stage, _)| !stage.get("@join").is_null());
        for (stage, at) in stages {
            for (name, argument) in stage.as_map().into_iter().flatten() {
                let at = at.key(name.as_str());
                let document = self.documents.iter().find(|(stage, _)| *stage == at);
                let readable = Readable {
                    inputs,
                    joined,
                    document: document.map_or_else(Type::any, |(_, document)| document.clone()),
                };
                readable.member(name, argument, &at, problems);
            }
        }
    }
}

impl Readable<'_> {
    fn member(&self, name: &Key, value: &Value, at: &Location, problems: &mut Vec<Problem>) {
        // What these take is no expression.
        if !matches!(
            name.as_str(),
            "@literal" | "@cel" | "@patch" | "@inputs" | "@output"
        ) && !names_fields(name.as_str())
        {
            self.find(value, at, problems);
        }
    }

    fn find(&self, spec: &Value, at: &Location, problems: &mut Vec<Problem>) {
        match spec.view() {
            View::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.find(item, &at.index(i), problems);
                }
            }
            View::Map(map) => {
                for (name, value) in map {
                    self.member(name, value, &at.key(name.as_str()), problems);
                }
            }
            View::Str(text) => {
                if let Some(meant) = self.meant(text).filter(|_| problems.len() < MAX_PROBLEMS) {
                    // Two texts are never equal unless they are the same.
                    let around = at.parent().map(|(around, _)| around);
                    problems.retain(|problem| {
                        problem.code != "never-equal" || Some(&problem.at) != around
                    });
                    let message = format!("{text:?} is a text, not a path");
                    let problem = Problem::warning("path-as-text", at, message);
                    let problem = problem.with_help(format!("did you mean {meant}?"));
                    replace(problems, at, problem);
                }
            }
            View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => {}
        }
    }

    /// What a text is probably meant as.
    fn meant(&self, text: &str) -> Option<String> {
        self.template(text).or_else(|| self.path(text))
    }

    fn path(&self, text: &str) -> Option<String> {
        let in_input = self.in_input(text);
        in_input.or_else(|| self.in_document(text))
    }

    /// The path of a text that starts with the name of an input.
    fn in_input(&self, text: &str) -> Option<String> {
        let (name, rest) = text.split_once('.')?;
        let (_, object) = self.inputs.iter().find(|(input, _)| *input == name)?;
        // A text such as Pod.png names no field.
        let first = Key::new(names(rest)?.first()?);
        let shape = object.map.as_ref().filter(|_| !object.any);
        if shape.is_some_and(|shape| shape.field(&first).is_none()) {
            return None;
        }
        as_path(if self.joined { text } else { rest })
    }

    /// The path of a text that names a field of the document.
    fn in_document(&self, text: &str) -> Option<String> {
        let dotted = text.strip_prefix('.');
        let names = names(dotted.unwrap_or(text))?;
        let (first, last) = (names.first()?, names.last()?);
        if names.len() < 2 || (names.len() == 2 && ENDS.contains(last)) {
            return None;
        }
        let found = match (dotted, TOP.contains(first)) {
            (Some(_), is_top) => is_top,
            // Of an object of an unknown kind these are known.
            (None, true) => has(&self.document, &names) != Some(false),
            (None, false) => has(&self.document, &names) == Some(true),
        };
        if found {
            as_path(dotted.unwrap_or(text))
        } else {
            None
        }
    }

    /// The expression of a text with a path between `{{` and `}}`.
    fn template(&self, text: &str) -> Option<String> {
        let (before, rest) = text.split_once("{{")?;
        let (inside, after) = rest.split_once("}}")?;
        let inside = inside.trim();
        let path = match Path::parse(inside) {
            Ok(path) if inside.starts_with("$.") && !path.is_root() => inside.to_owned(),
            _ => self.path(inside)?,
        };
        if before.is_empty() && after.is_empty() {
            return Some(path);
        }
        let parts = [before, &path, after].into_iter();
        let parts = parts.filter(|part| !part.is_empty());
        let parts: Vec<String> = parts.map(|part| format!("{part:?}")).collect();
        Some(format!("{{\"@concat\": [{}]}}", parts.join(", ")))
    }
}

/// Whether a field takes the name of a field, such as `fieldPath: metadata.name`.
fn names_fields(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.starts_with('@') && (name.contains("path") || name.contains("field"))
}

/// The names of a path without `$.`; positions are left out.
fn names(text: &str) -> Option<Vec<&str>> {
    let name = |part| {
        let name: &str = str::split_once(part, '[').map_or(part, |(name, _)| name);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        (!name.is_empty() && name.chars().all(plain)).then_some(name)
    };
    text.split('.').map(name).collect()
}

fn as_path(text: &str) -> Option<String> {
    let path = format!("$.{text}");
    Path::parse(&path).is_ok().then_some(path)
}

/// Whether documents of a type have a field, if that is known. Elements of lists count as fields.
fn has(document: &Type, names: &[&str]) -> Option<bool> {
    let mut here = document.clone();
    for name in names {
        if let Some(element) = here.list.as_ref().filter(|_| here.map.is_none()) {
            here = (**element).clone();
        }
        if here.any {
            return None;
        }
        let Some(field) = here.field(&Key::new(name)) else {
            return Some(false);
        };
        here = field;
    }
    Some(true)
}
