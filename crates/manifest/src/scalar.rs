//! The value of a scalar, by its text, quotes and tag.

use document::Value;
use granit_parser::{ScalarStyle, Tag};

use crate::plain::{self, NoNumber};
use crate::problem::LoadProblem;

/// The prefix that `!!` abbreviates.
const YAML: &str = "tag:yaml.org,2002:";

/// The value of a scalar.
pub(crate) fn value(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
) -> Result<Value, LoadProblem> {
    let Some(tag) = tag else {
        return match style {
            ScalarStyle::Plain => plain::resolve(text).map_err(no_number),
            _ => Ok(text.into()),
        };
    };
    match name(tag).as_deref() {
        // `!` alone means a string, whatever the text is.
        Some("str" | "binary" | "!") => Ok(text.into()),
        Some("null") if plain::is_null(text) => Ok(Value::NULL),
        Some("bool") => plain::boolean(text)
            .map(Value::from)
            .ok_or_else(|| mismatch(tag, "true or false")),
        Some("int") => number(text, tag, "an integer").and_then(|value| match value.as_int() {
            Some(_) => Ok(value),
            None => Err(mismatch(tag, "an integer")),
        }),
        Some("float") => number(text, tag, "a number"),
        Some("null") => Err(mismatch(tag, "null")),
        Some("map") => Err(mismatch(tag, "a map")),
        Some("seq") => Err(mismatch(tag, "a list")),
        _ => Err(unsupported(tag)),
    }
}

/// Whether a list (or a map) may have this tag.
pub(crate) fn check_collection(list: bool, tag: Option<&Tag>) -> Result<(), LoadProblem> {
    let Some(tag) = tag else {
        return Ok(());
    };
    match (name(tag).as_deref(), list) {
        (Some("seq"), true) | (Some("map"), false) | (Some("!"), _) => Ok(()),
        (Some("seq"), false) => Err(mismatch(tag, "a list")),
        (Some("map"), true) => Err(mismatch(tag, "a map")),
        (Some("str" | "binary" | "null" | "bool" | "int" | "float"), _) => {
            Err(mismatch(tag, "a scalar"))
        }
        _ => Err(unsupported(tag)),
    }
}

/// Whether a key is the merge key: `<<` without quotes, or tagged as one.
pub(crate) fn is_merge(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    match tag {
        None => text == "<<" && style == ScalarStyle::Plain,
        Some(tag) => name(tag).as_deref() == Some("merge"),
    }
}

/// The name of a standard YAML tag, without its prefix.
fn name(tag: &Tag) -> Option<String> {
    if tag.handle().is_empty() && tag.suffix() == "!" {
        return Some("!".to_owned());
    }
    tag.suffix_in_namespace(YAML)
        .map(std::borrow::Cow::into_owned)
}

fn number(text: &str, tag: &Tag, expected: &str) -> Result<Value, LoadProblem> {
    plain::number(text)
        .map_err(no_number)?
        .ok_or_else(|| mismatch(tag, expected))
}

fn no_number(error: NoNumber) -> LoadProblem {
    let message = match error {
        NoNumber::NotFinite => "infinity and NaN are not JSON numbers",
        NoNumber::OutOfRange => "out of the range of JSON numbers",
    };
    LoadProblem::new("no-json-number", message).help("put quotes around it if it is text")
}

fn mismatch(tag: &Tag, expected: &str) -> LoadProblem {
    let message = format!("the tag `{}` expects {expected}", shown(tag));
    LoadProblem::new("tag-mismatch", message)
}

fn unsupported(tag: &Tag) -> LoadProblem {
    LoadProblem::new(
        "unsupported-tag",
        format!("the tag `{}` has no meaning here", shown(tag)),
    )
    .help("JSON has null, !!bool, !!int, !!float, !!str, !!seq and !!map")
}

/// The tag as written, shortened for a message.
fn shown(tag: &Tag) -> String {
    tag.original().chars().take(64).collect()
}
