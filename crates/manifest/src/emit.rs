//! Printing of YAML like `kubectl`: block style, two spaces, lists not indented in their map. A
//! text is quoted if a parser of YAML 1.1 or 1.2 would not read it as a string.

use std::fmt::Write;

use document::{ListRef, Map, Value, View};

use crate::plain;

/// A longer key is written with `?`, because YAML parsers look only 1024 characters ahead for
/// the `:` of a key.
const MAX_SIMPLE_KEY: usize = 1000;

/// The value as one YAML document, which ends with a newline. Keys are sorted. Opaque bytes are
/// written as base64.
///
/// ```
/// let value = document::json!({"args": ["-c", "yes"], "empty": {}, "text": "a\nb\n"});
/// assert_eq!(
///     manifest::to_yaml(&value),
///     "args:\n- -c\n- \"yes\"\nempty: {}\ntext: |\n  a\n  b\n"
/// );
/// ```
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value.view() {
        View::Map(map) if !map.is_empty() => block_map(map, 0, &mut out),
        View::List(items) if !items.is_empty() => block_list(items, 0, &mut out),
        _ => {
            inline(value, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

/// Writes the entries of a map. The first one starts at the current position, the others on
/// new lines.
fn block_map(map: &Map, indent: usize, out: &mut String) {
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 {
            spaces(indent, out);
        }
        let mut text = String::new();
        scalar(key.as_str(), &mut text);
        if text.len() > MAX_SIMPLE_KEY {
            out.push_str("? ");
            out.push_str(&text);
            out.push('\n');
            spaces(indent, out);
        } else {
            out.push_str(&text);
        }
        out.push(':');
        match value.view() {
            View::Map(map) if !map.is_empty() => {
                out.push('\n');
                spaces(indent + 2, out);
                block_map(map, indent + 2, out);
            }
            View::List(items) if !items.is_empty() => {
                out.push('\n');
                spaces(indent, out);
                block_list(items, indent, out);
            }
            _ => {
                out.push(' ');
                inline(value, indent, out);
                out.push('\n');
            }
        }
    }
}

/// Like [`block_map`], for the elements of a list.
fn block_list(items: ListRef<'_>, indent: usize, out: &mut String) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            spaces(indent, out);
        }
        out.push_str("- ");
        match item.view() {
            View::Map(map) if !map.is_empty() => block_map(map, indent + 2, out),
            View::List(items) if !items.is_empty() => block_list(items, indent + 2, out),
            _ => {
                inline(item, indent, out);
                out.push('\n');
            }
        }
    }
}

/// A scalar or an empty collection, without the newline at its end. `indent` is that of
/// the map or list around it.
fn inline(value: &Value, indent: usize, out: &mut String) {
    match value.view() {
        View::Map(_) => out.push_str("{}"),
        View::List(_) => out.push_str("[]"),
        View::Str(text) if is_literal(text) => literal(text, indent + 2, out),
        View::Str(text) => scalar(text, out),
        // As JSON they are base64 in quotes.
        View::Bytes(_) => scalar(value.to_string().trim_matches('"'), out),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) => {
            out.push_str(&value.to_string());
        }
    }
}

/// Whether a text is written as a `|` block: it has several lines, nothing to escape, and no
/// leading white space, which would be read as indentation.
fn is_literal(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.chars().any(|c| c != '\n' && needs_escape(c))
}

fn literal(text: &str, indent: usize, out: &mut String) {
    let body = text.strip_suffix('\n');
    out.push_str(match body {
        None => "|-",
        Some(body) if body.ends_with('\n') => "|+",
        Some(_) => "|",
    });
    for line in body.unwrap_or(text).split('\n') {
        out.push('\n');
        // An empty line has no trailing spaces.
        if !line.is_empty() {
            spaces(indent, out);
            out.push_str(line);
        }
    }
}

/// Writes a text on one line: plain if possible, otherwise in quotes.
fn scalar(text: &str, out: &mut String) {
    if text.chars().any(needs_escape) {
        double_quoted(text, out);
    } else if is_plain(text) {
        out.push_str(text);
    } else if text.contains(['"', '\\']) {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

/// Whether the text needs no quotes.
fn is_plain(text: &str) -> bool {
    let mut chars = text.chars();
    let (first, second) = (chars.next(), chars.next());
    let starts_well = match first {
        None => false,
        // `-c` is a text; `- c` and `-` are lists.
        Some('-') => second.is_some_and(|c| c != ' ') && !text.starts_with("---"),
        Some(c) => !"?:,[]{}#&*!|>'\"%@`= ".contains(c),
    };
    starts_well
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains('\t')
        && !text.starts_with("...")
        && text != "<<"
        && !is_word_or_number(text)
}

/// Whether some parser would read the text as null, a boolean, a number or a date.
fn is_word_or_number(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | "~"
    ) || is_number(&lower)
        || is_date(&lower)
}

fn is_number(lower: &str) -> bool {
    let digits = lower.replace('_', "");
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
    let binary = unsigned
        .strip_prefix("0b")
        .is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|bit| matches!(bit, b'0' | b'1')));
    // YAML 1.1 reads `1:30` as 90.
    let sexagesimal = unsigned.contains(':')
        && unsigned.starts_with(|c: char| c.is_ascii_digit())
        && unsigned
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'));
    binary || sexagesimal || !matches!(plain::number(&digits), Ok(None))
}

/// `2001-01-01`, with or without a time.
fn is_date(lower: &str) -> bool {
    let mut parts = lower.splitn(3, '-');
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let year = parts
        .next()
        .is_some_and(|part| part.len() == 4 && all_digits(part));
    let month = parts
        .next()
        .is_some_and(|part| part.len() <= 2 && all_digits(part));
    let day = parts
        .next()
        .is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    year && month && day
}

/// Characters that YAML forbids, that some parser reads as a line break, or that change the
/// direction of the surrounding text.
fn needs_escape(c: char) -> bool {
    (c.is_control() && c != '\t')
        || matches!(
            c,
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn double_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !needs_escape(c) => out.push(c),
            // All characters that need an escape are in the basic plane. Writing to a string
            // cannot fail.
            c => _ = write!(out, "\\u{:04x}", u32::from(c)),
        }
    }
    out.push('"');
}

fn spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}
