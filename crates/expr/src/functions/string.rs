//! Strings.

use document::Value;
use regex::{Regex, RegexBuilder};

use super::{TWO, convert::string_form, function, int, list, text, types};
use crate::error::ErrorKind;
use crate::function::{Arity, Body, Example, Function};
use crate::scope::Env;
use crate::types::{Gives, Takes};

/// The length in bytes of the longest string that a function builds.
pub const MAX_STRING: usize = 16 << 20;

pub(super) fn functions() -> Vec<Function> {
    let mut functions = building();
    functions.extend(testing());
    functions
}

fn building() -> Vec<Function> {
    vec![
        Function {
            joins_one_list: true,
            ..function(
                "@concat",
                Arity::Nary(0, None),
                Body::Strict(concat),
                types(&[Takes::NotNull], Gives::String),
                r#"{"@concat": [<value>, …]}"#,
                "The string forms of the arguments, concatenated. Null is an error. One path or operator that gives a list, also inside `[…]`, means the elements of that list.",
                &[
                    Example(
                        r#"{"@concat": ["$.name", "-", 1]}"#,
                        r#"{"name": "web"}"#,
                        r#""web-1""#,
                    ),
                    Example(
                        r#"{"@concat": [{"@map": [{"@upper": "$$"}, "$.l"]}]}"#,
                        r#"{"l": ["a", "b"]}"#,
                        r#""AB""#,
                    ),
                    Example(r#"{"@concat": ["a", "$.missing"]}"#, "{}", "error: type"),
                ],
            )
        },
        Function {
            list_argument: Some(0),
            ..function(
                "@join",
                TWO,
                Body::Strict(join),
                types(&[Takes::List, Takes::String], Gives::String),
                r#"{"@join": [<list>, <separator>]}"#,
                "The string forms of the items with the separator between them. (As the first stage of a pipeline, `@join` joins the sources instead.)",
                &[Example(r#"{"@join": [["a", 1], ", "]}"#, "{}", r#""a, 1""#)],
            )
        },
        function(
            "@split",
            TWO,
            Body::Metered(split),
            types(&[Takes::String], Gives::Strings),
            r#"{"@split": [<string>, <separator>]}"#,
            "The parts of the string between the separators. An empty separator splits it into characters.",
            &[
                Example(r#"{"@split": ["a/b", "/"]}"#, "{}", r#"["a","b"]"#),
                Example(r#"{"@split": ["ab", ""]}"#, "{}", r#"["a","b"]"#),
            ],
        ),
        function(
            "@replace",
            Arity::Nary(3, Some(3)),
            Body::Strict(replace),
            types(&[Takes::String], Gives::String),
            r#"{"@replace": [<string>, <old>, <new>]}"#,
            "The string with every occurrence of old replaced by new.",
            &[Example(
                r#"{"@replace": ["a.b.c", ".", "-"]}"#,
                "{}",
                r#""a-b-c""#,
            )],
        ),
        function(
            "@substring",
            Arity::Nary(2, Some(3)),
            Body::Strict(substring),
            types(&[Takes::String, Takes::Number], Gives::String),
            r#"{"@substring": [<string>, <start>, <length>]}"#,
            "The characters from the start position, which counts from 1: as many as the length says, or up to the end.",
            &[
                Example(r#"{"@substring": ["héllo", 2, 3]}"#, "{}", r#""éll""#),
                Example(r#"{"@substring": ["hello", 4]}"#, "{}", r#""lo""#),
            ],
        ),
        function(
            "@upper",
            Arity::Unary,
            Body::Whole(|value| Ok(text(value)?.to_uppercase().into())),
            types(&[Takes::String], Gives::String),
            r#"{"@upper": <string>}"#,
            "The string in upper case.",
            &[Example(r#"{"@upper": "aé"}"#, "{}", r#""AÉ""#)],
        ),
        function(
            "@lower",
            Arity::Unary,
            Body::Whole(|value| Ok(text(value)?.to_lowercase().into())),
            types(&[Takes::String], Gives::String),
            r#"{"@lower": <string>}"#,
            "The string in lower case.",
            &[Example(r#"{"@lower": "AÉ"}"#, "{}", r#""aé""#)],
        ),
        function(
            "@trim",
            Arity::Unary,
            Body::Whole(|value| Ok(text(value)?.trim().into())),
            types(&[Takes::String], Gives::String),
            r#"{"@trim": <string>}"#,
            "The string without white space at its ends.",
            &[Example(r#"{"@trim": " a b "}"#, "{}", r#""a b""#)],
        ),
    ]
}

fn testing() -> Vec<Function> {
    vec![
        function(
            "@startswith",
            TWO,
            Body::Strict(|args| Ok(text(&args[0])?.starts_with(text(&args[1])?).into())),
            types(&[Takes::String], Gives::Boolean),
            r#"{"@startswith": [<string>, <prefix>]}"#,
            "Whether the string starts with the prefix.",
            &[Example(
                r#"{"@startswith": ["web-1", "web-"]}"#,
                "{}",
                "true",
            )],
        ),
        function(
            "@endswith",
            TWO,
            Body::Strict(|args| Ok(text(&args[0])?.ends_with(text(&args[1])?).into())),
            types(&[Takes::String], Gives::Boolean),
            r#"{"@endswith": [<string>, <suffix>]}"#,
            "Whether the string ends with the suffix.",
            &[Example(r#"{"@endswith": ["web-1", "-1"]}"#, "{}", "true")],
        ),
        function(
            "@contains",
            TWO,
            Body::Strict(|args| Ok(text(&args[0])?.contains(text(&args[1])?).into())),
            types(&[Takes::String], Gives::Boolean),
            r#"{"@contains": [<string>, <part>]}"#,
            "Whether the string contains the part.",
            &[Example(r#"{"@contains": ["web-1", "b-"]}"#, "{}", "true")],
        ),
        function(
            "@regexp",
            TWO,
            Body::Metered(regexp),
            types(&[Takes::String], Gives::Boolean),
            r#"{"@regexp": [<pattern>, <string>]}"#,
            "Whether the pattern is found in the string.",
            &[
                Example(
                    r#"{"@regexp": ["^web-[0-9]+$", "$.name"]}"#,
                    r#"{"name": "web-12"}"#,
                    "true",
                ),
                Example(r#"{"@regexp": ["^a", "ba"]}"#, "{}", "false"),
            ],
        ),
    ]
}

fn bounded(string: String) -> Result<Value, ErrorKind> {
    fits(string.len()).map(|()| string.into())
}

fn fits(length: usize) -> Result<(), ErrorKind> {
    if length > MAX_STRING {
        return Err(ErrorKind::Limit {
            what: "the length of a string",
            limit: MAX_STRING as u64,
        });
    }
    Ok(())
}

fn concat(args: &[Value]) -> Result<Value, ErrorKind> {
    let mut out = String::new();
    for arg in args {
        out.push_str(&string_form(arg)?);
        fits(out.len())?;
    }
    Ok(out.into())
}

fn join(args: &[Value]) -> Result<Value, ErrorKind> {
    let separator = text(&args[1])?;
    let mut out = String::new();
    for (i, item) in list(&args[0])?.iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        out.push_str(&string_form(item)?);
        fits(out.len())?;
    }
    Ok(out.into())
}

fn split(args: &[Value], env: &Env) -> Result<Value, ErrorKind> {
    let (string, separator) = (text(&args[0])?, text(&args[1])?);
    if separator.is_empty() {
        let ends = string.char_indices().map(|(at, c)| (at, at + c.len_utf8()));
        return parts(ends.map(|(from, to)| &string[from..to]), env);
    }
    parts(string.split(separator), env)
}

fn parts<'a>(parts: impl Iterator<Item = &'a str>, env: &Env) -> Result<Value, ErrorKind> {
    let mut tally = env.tally();
    let mut out = Vec::new();
    for part in parts {
        let part = Value::from(part);
        tally.element(&part)?;
        out.push(part);
    }
    Ok(tally.list(out)?)
}

fn replace(args: &[Value]) -> Result<Value, ErrorKind> {
    let (string, old, new) = (text(&args[0])?, text(&args[1])?, text(&args[2])?);
    if old.is_empty() {
        return Ok(args[0].clone());
    }
    let places = string.matches(old).count();
    fits((string.len() - places * old.len()).saturating_add(places.saturating_mul(new.len())))?;
    bounded(string.replace(old, new))
}

/// As in SQL: positions start at 1, and positions outside the string are ignored.
fn substring(args: &[Value]) -> Result<Value, ErrorKind> {
    let (string, start) = (text(&args[0])?, int(&args[1])?);
    let end = match args.get(2) {
        Some(length) => {
            let length = int(length)?;
            if length < 0 {
                return Err(ErrorKind::EmptyRange);
            }
            start.saturating_add(length)
        }
        None => i64::MAX,
    };
    let skip = usize::try_from(start.max(1) - 1).unwrap_or(usize::MAX);
    let take = usize::try_from(end.saturating_sub(start.max(1))).unwrap_or(0);
    Ok(string
        .chars()
        .skip(skip)
        .take(take)
        .collect::<String>()
        .into())
}

/// Compiles a regular expression of bounded size, or returns the reason why it does not compile.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .size_limit(1 << 20)
        .nest_limit(100)
        .build()
        .map_err(|error| {
            if let regex::Error::CompiledTooBig(limit) = error {
                return format!("larger than {limit} bytes when compiled");
            }
            // The message shows the pattern on several lines. The last line is the reason.
            let text = error.to_string();
            let reason = text.lines().next_back().unwrap_or_default();
            reason.trim_start_matches("error: ").to_owned()
        })
}

thread_local! {
    /// The patterns that this thread compiled last, newest at the end. Nearly all patterns
    /// are written in the pipeline, so a few are enough.
    static PATTERNS: std::cell::RefCell<Vec<(String, Regex)>> = const { std::cell::RefCell::new(Vec::new()) };
}

const CACHED_PATTERNS: usize = 16;

/// The steps that compiling a pattern costs. It takes about a millisecond.
const COMPILE: usize = 2_000;

fn regexp(args: &[Value], env: &Env) -> Result<Value, ErrorKind> {
    let (source, string) = (text(&args[0])?, text(&args[1])?);
    PATTERNS.with_borrow_mut(|patterns| {
        if let Some((_, regex)) = patterns.iter().find(|(text, _)| text == source) {
            return Ok(regex.is_match(string).into());
        }
        env.charge(COMPILE)?;
        let regex = pattern(source).map_err(|_| ErrorKind::Pattern)?;
        let found = regex.is_match(string);
        if patterns.len() == CACHED_PATTERNS {
            patterns.remove(0);
        }
        patterns.push((source.to_owned(), regex));
        Ok(found.into())
    })
}
