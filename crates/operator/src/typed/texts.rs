//! Texts that are probably meant as paths: they start with the name of an input, and not with `$.`.

use dataflow::pipeline::stages_of;
use document::{Key, Location, Path, Value, View};
use schema::Type;

use super::inference::MAX_PROBLEMS;
use crate::problem::Problem;

/// The inputs of a pipeline or branch.
struct Inputs<'a> {
    /// By name, the types of the objects of sources; unknown for streams.
    types: &'a [(&'a str, Type)],
    /// Whether the documents have the names as keys.
    joined: bool,
}

/// Finds such texts in a pipeline with these sources.
pub(super) fn check(
    pipeline: &Value,
    at: &Location,
    sources: &[(&str, Type)],
    problems: &mut Vec<Problem>,
) {
    let branches = |list: document::ListRef<'_>| list.iter().any(|item| item.as_list().is_some());
    let Some(list) = pipeline.as_list().filter(|list| branches(*list)) else {
        return branch(pipeline, at, sources, problems);
    };
    for (i, stages) in list.iter().enumerate() {
        let names = stages.at(0).get("@inputs").as_list();
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        let inputs: Vec<(&str, Type)> = names
            .map(|name| {
                let source = sources.iter().find(|(source, _)| *source == name);
                let found = source.map_or_else(Type::any, |(_, found)| found.clone());
                (name, found)
            })
            .collect();
        branch(stages, &at.index(i), &inputs, problems);
    }
}

fn branch(stages: &Value, at: &Location, types: &[(&str, Type)], problems: &mut Vec<Problem>) {
    let mut all = stages_of(stages, at).into_iter();
    let joined = all.any(|(stage, _)| !stage.get("@join").is_null());
    Inputs { types, joined }.find(stages, at, problems);
}

impl Inputs<'_> {
    fn find(&self, spec: &Value, at: &Location, problems: &mut Vec<Problem>) {
        match spec.view() {
            View::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.find(item, &at.index(i), problems);
                }
            }
            View::Map(map) => {
                for (name, value) in map {
                    // What these take is no expression.
                    if !matches!(name.as_str(), "@literal" | "@cel" | "@patch" | "@inputs") {
                        self.find(value, &at.key(name.as_str()), problems);
                    }
                }
            }
            View::Str(text) => {
                if let Some(meant) = self.path(text).filter(|_| problems.len() < MAX_PROBLEMS) {
                    let message = format!("{text:?} is a text, not a path");
                    let problem = Problem::warning("path-as-text", at, message);
                    problems.push(problem.with_help(format!("did you mean {meant}?")));
                }
            }
            View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => {}
        }
    }

    /// The path that a text is probably meant as.
    fn path(&self, text: &str) -> Option<String> {
        let (name, rest) = text.split_once('.')?;
        let (_, object) = self.types.iter().find(|(input, _)| *input == name)?;
        let is_name = |part: &str| {
            let part = part.split_once('[').map_or(part, |(name, _)| name);
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            !part.is_empty() && part.chars().all(plain)
        };
        if !rest.split('.').all(is_name) {
            return None;
        }
        // A text such as Pod.png names no field.
        let first = Key::new(rest.split(['.', '[']).next().unwrap_or(rest));
        let shape = object.map.as_ref().filter(|_| !object.any);
        if shape.is_some_and(|shape| shape.field(&first).is_none()) {
            return None;
        }
        let meant = if self.joined {
            format!("$.{text}")
        } else {
            format!("$.{rest}")
        };
        Path::parse(&meant).is_ok().then_some(meant)
    }
}
