//! Values of patches that are literal, but look like paths, `"@now"` or operators.

use document::path::{Root, Segment};
use document::{Location, Path, Value, View};

use super::super::inference::Inference;
use super::super::written::{NOW_AS_TEXT, OPERATOR_IN_MAP};
use crate::problem::Problem;

impl Inference {
    /// Warns about parts of a literal value that were probably meant to be evaluated. Returns whether
    /// there are any.
    pub(super) fn meant_as_expression(&mut self, value: &Value, at: &Location) -> bool {
        match value.view() {
            View::Str("@now") => {
                let message = "\"@now\" is a text in a patch";
                let problem = Problem::warning(NOW_AS_TEXT, at, message);
                self.report(problem.with_help("the time is \"${now}\" there"));
                true
            }
            View::Str(text) => {
                let Some(path) = meant_path(text) else {
                    return false;
                };
                let message = format!("{text:?} is a text in a patch, not a path");
                let problem = Problem::warning("path-as-text", at, message);
                self.report(problem.with_help(match as_cel(&path) {
                    Some(cel) => format!("did you mean \"${{{cel}}}\"?"),
                    None => "the value of a patch is CEL inside \"${…}\"".to_owned(),
                }));
                true
            }
            View::List(items) => {
                let items = items.iter().enumerate();
                let found = items.map(|(i, item)| self.meant_as_expression(item, &at.index(i)));
                found.fold(false, |all, found| all | found)
            }
            View::Map(map) => {
                if let [(name, _)] = map.entries()
                    && name.as_str().starts_with('@')
                    && expr::Functions::builtin().get(name.as_str()).is_some()
                {
                    let message = format!("{name} is a key in a patch, and not an operator");
                    let at = at.key(name.as_str());
                    let problem = Problem::warning(OPERATOR_IN_MAP, &at, message).at_key();
                    self.report(problem.with_help(
                        "the value of a patch is CEL inside \"${…}\"; operators are for @project",
                    ));
                    return true;
                }
                let found = map.iter().map(|(key, value)| {
                    let at = at.key(key.as_str());
                    self.meant_as_expression(value, &at)
                });
                found.fold(false, |all, found| all | found)
            }
            View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => false,
        }
    }
}

/// The path that a text is probably meant as.
fn meant_path(text: &str) -> Option<Path> {
    let path = Path::parse(text).ok()?;
    let in_document = text.starts_with("$.") && path.root() == Root::Document;
    (in_document && !path.is_root()).then_some(path)
}

/// A path of names and positions in the notation of CEL.
fn as_cel(path: &Path) -> Option<String> {
    let mut cel = String::new();
    for segment in path.segments() {
        match segment {
            Segment::Name(name) if is_identifier(name.as_str()) => {
                if !cel.is_empty() {
                    cel.push('.');
                }
                cel.push_str(name.as_str());
            }
            // A variable has no brackets.
            _ if cel.is_empty() => return None,
            Segment::Name(name) if !name.as_str().contains(['\'', '\\']) => {
                cel = format!("{cel}['{name}']");
            }
            Segment::Index(index) if *index >= 0 => cel = format!("{cel}[{index}]"),
            Segment::Name(_)
            | Segment::Index(_)
            | Segment::Several(_)
            | Segment::Descendants(_) => return None,
        }
    }
    Some(cel)
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
