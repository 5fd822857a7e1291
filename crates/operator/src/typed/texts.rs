//! Texts that are probably meant as paths, but do not start with `$.`: they start with the name of
//! an input, are the path of a field that the documents have, or are templates that contain paths.

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

    /// The expression of a text that contains paths, in one of the forms of templates, or that is the
    /// call of an operator.
    fn template(&self, text: &str) -> Option<String> {
        // These are paths.
        if ["$.", "$[", "$$"]
            .iter()
            .any(|start| text.starts_with(start))
        {
            return None;
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((start, end, path)) = self.first_path(rest) {
            parts.extend([rest[..start].to_owned(), path]);
            rest = &rest[end..];
        }
        if parts.is_empty() {
            return None;
        }
        if let Some(call) = as_call(text) {
            return Some(call);
        }
        parts.push(rest.to_owned());
        parts.retain(|part| !part.is_empty());
        if let [path] = parts.as_slice() {
            return Some(path.clone());
        }
        let parts: Vec<String> = parts.iter().map(|part| format!("{part:?}")).collect();
        Some(format!("{{\"@concat\": [{}]}}", parts.join(", ")))
    }

    /// The first path in a text that is no path as a whole: where it starts and ends, with its
    /// brackets, and what it is as a path.
    fn first_path(&self, text: &str) -> Option<(usize, usize, String)> {
        let starts = text.match_indices(['{', '$']);
        starts.into_iter().find_map(|(start, _)| {
            let here = &text[start..];
            let within = |open: &str, close: &str| {
                let (inside, _) = here.strip_prefix(open)?.split_once(close)?;
                let end = start + open.len() + inside.len() + close.len();
                Some((inside.trim(), end))
            };
            if let Some((inside, end)) = within("{{", "}}")
                && let Some(path) = self.any_path(inside)
            {
                return Some((start, end, path));
            }
            if let Some((inside, end)) = within("${", "}") {
                let inside = inside.strip_prefix("resource.").unwrap_or(inside);
                return Some((start, end, self.any_path(inside)?));
            }
            if let Some((inside, end)) = within("{$.", "}") {
                return Some((start, end, self.path(inside)?));
            }
            let rest = here.strip_prefix("$.")?;
            let inner = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
            let longest = &rest[..rest.find(|c| !inner(c)).unwrap_or(rest.len())];
            // Where it ends shows from the fields that there are: `$.metadata.name-cert`.
            let prefixes = || {
                let ends = longest.rmatch_indices(['-', '.']).map(|(end, _)| end);
                let ends = std::iter::once(longest.len()).chain(ends);
                ends.map(|end| longest[..end].trim_end_matches(['-', '.']))
            };
            let mut there = prefixes().filter(|name| self.is_there(name));
            let mut names = there.next().into_iter().chain(prefixes());
            names.find_map(|name| Some((start, start + 2 + name.len(), self.path(name)?)))
        })
    }

    /// Whether the documents certainly have a field, which is not always null.
    fn is_there(&self, path: &str) -> bool {
        let names = names(path).unwrap_or_default();
        let found = field(&self.document, &names).flatten();
        !names.is_empty() && found.is_some_and(|field| !field.is_null())
    }

    /// A path with or without `$.`.
    fn any_path(&self, text: &str) -> Option<String> {
        match Path::parse(text) {
            Ok(path) if text.starts_with("$.") && !path.is_root() => Some(text.to_owned()),
            _ => self.path(text),
        }
    }
}

/// A text such as `concat($.a, "b")` as an expression.
fn as_call(text: &str) -> Option<String> {
    let (name, arguments) = text.strip_suffix(')')?.split_once('(')?;
    let name = format!("@{}", name.trim_start_matches('@'));
    expr::Functions::builtin().get(&name)?;
    Some(format!("{{\"{name}\": [{arguments}]}}"))
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

/// Whether documents of a type have a field, if that is known.
fn has(document: &Type, names: &[&str]) -> Option<bool> {
    field(document, names).map(|field| field.is_some())
}

/// The type of a field, if it is known whether there is one. Elements of lists count as fields.
// The outer option is what is known, the inner one is the field.
#[allow(clippy::option_option)]
fn field(document: &Type, names: &[&str]) -> Option<Option<Type>> {
    let mut here = document.clone();
    for name in names {
        if let Some(element) = here.list.as_ref().filter(|_| here.map.is_none()) {
            here = (**element).clone();
        }
        if here.any {
            return None;
        }
        let Some(field) = here.field(&Key::new(name)) else {
            return Some(None);
        };
        here = field;
    }
    Some(Some(here))
}
