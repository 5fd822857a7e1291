//! JSON: parsing, compact printing, and the [`json!`](crate::json) macro. The parser itself is in
//! [`read`](crate::read).

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::value::{Value, View};

/// How deep lists and maps may be nested in input.
pub const MAX_DEPTH: usize = 100;

/// A text that is not JSON, or is nested too deep.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct FromJsonError(#[from] serde_json::Error);

impl std::str::FromStr for Value {
    type Err = FromJsonError;

    /// Reads one JSON text.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(serde_json::from_str(text)?)
    }
}

impl Value {
    /// Reads one JSON text, which must be UTF-8.
    pub fn from_json(bytes: &[u8]) -> Result<Self, FromJsonError> {
        Ok(serde_json::from_slice(bytes)?)
    }
}

/// A [`Value`](crate::Value) written as JSON.
///
/// Interpolated expressions are converted with `Value::from`.
///
/// ```
/// let n = 2;
/// assert_eq!(document::json!({"a": [1, n]}).to_string(), r#"{"a":[1,2]}"#);
/// ```
#[macro_export]
macro_rules! json {
    (null) => { $crate::Value::NULL };
    ([ $($item:tt),* $(,)? ]) => { $crate::Value::from(vec![ $($crate::json!($item)),* ]) };
    ({ $($key:tt : $value:tt),* $(,)? }) => {
        $crate::Value::from($crate::Map::from_entries(vec![
            $(($crate::Key::new($key), $crate::json!($value))),*
        ]))
    };
    ($literal:literal) => { $crate::Value::from_literal($literal) };
    ($other:expr) => { $crate::Value::from($other) };
}

impl Value {
    /// For [`json!`](crate::json): a literal of the source code.
    #[doc(hidden)]
    pub fn from_literal(literal: impl Serialize) -> Self {
        serde_json::to_string(&literal)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.view() {
            View::Null => serializer.serialize_unit(),
            View::Bool(b) => serializer.serialize_bool(b),
            View::Int(i) => serializer.serialize_i64(i),
            View::Float(f) => serializer.serialize_f64(f),
            View::Str(s) => serializer.serialize_str(s),
            View::Bytes(bytes) => serializer.serialize_str(&base64(bytes)),
            View::List(items) => serializer.collect_seq(items.iter()),
            View::Map(map) => {
                let mut out = serializer.serialize_map(Some(map.len()))?;
                for (key, value) in map {
                    out.serialize_entry(key.as_str(), value)?;
                }
                out.end()
            }
        }
    }
}

/// Compact JSON with sorted keys. Floats have the form that `@hash` and `@string` specify.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(self, f, Escape::Json)
    }
}

/// Which characters a JSON text escapes.
#[derive(Clone, Copy, PartialEq)]
enum Escape {
    /// Those that JSON requires.
    Json,
    /// Also `<`, `>`, `&`, U+2028 and U+2029, as Go's encoder does.
    Html,
}

impl Value {
    /// The bytes that `@hash` is computed from: compact JSON with sorted keys, and
    /// `<`, `>`, `&`, U+2028 and U+2029 escaped.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write_json(self, &mut text, Escape::Html);
        text
    }
}

fn write_json(value: &Value, out: &mut impl fmt::Write, escape: Escape) -> fmt::Result {
    match value.view() {
        View::Null => out.write_str("null"),
        View::Bool(b) => write!(out, "{b}"),
        View::Int(i) => write!(out, "{i}"),
        View::Float(f) => write_float(f, out),
        View::Str(s) => write_string(s, out, escape),
        View::Bytes(bytes) => write_string(&base64(bytes), out, escape),
        View::List(items) => {
            out.write_char('[')?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.write_char(',')?;
                }
                write_json(item, out, escape)?;
            }
            out.write_char(']')
        }
        View::Map(map) => {
            out.write_char('{')?;
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.write_char(',')?;
                }
                write_string(key.as_str(), out, escape)?;
                out.write_char(':')?;
                write_json(value, out, escape)?;
            }
            out.write_char('}')
        }
    }
}

/// Shortest digits; an exponent only below 1e-6 or from 1e21 on.
fn write_float(float: f64, out: &mut impl fmt::Write) -> fmt::Result {
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{float:e}");
        // Rust writes 1e21, the format wants 1e+21.
        return match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                write!(out, "{digits}e+{exponent}")
            }
            _ => out.write_str(&text),
        };
    }
    write!(out, "{float}")
}

/// How many characters a float has.
pub(crate) fn float_length(float: f64) -> usize {
    struct Length(usize);

    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut length = Length(0);
    // Counting cannot fail.
    let _ = write_float(float, &mut length);
    length.0
}

fn write_string(text: &str, out: &mut impl fmt::Write, escape: Escape) -> fmt::Result {
    out.write_char('"')?;
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let short = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            c if c < ' ' => "",
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if escape == Escape::Html => "",
            _ => continue,
        };
        out.write_str(&text[plain..at])?;
        plain = at + c.len_utf8();
        if short.is_empty() {
            write!(out, "\\u{:04x}", u32::from(c))?;
        } else {
            out.write_str(short)?;
        }
    }
    out.write_str(&text[plain..])?;
    out.write_char('"')
}

fn base64(bytes: &[u8]) -> String {
    base64::engine::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expect: &str) {
        assert_eq!(json.parse::<Value>().unwrap().to_string(), expect);
    }

    #[test]
    fn numbers_are_normal() {
        check("[1.0, 1e3, -0.0, 2.5]", "[1,1000,0,2.5]");
        check(
            "[9223372036854775807, 9223372036854775808]",
            "[9223372036854775807,9223372036854776000]",
        );
        check(
            "[1e21, 1e-7, 1.5e300, 0.000001, 123456789012345680000]",
            "[1e+21,1e-7,1.5e+300,0.000001,123456789012345680000]",
        );
    }

    #[test]
    fn keys_are_sorted_and_the_last_of_equal_ones_wins() {
        check(
            r#"{"b":1,"a":{"d":1,"c":2},"b":2}"#,
            r#"{"a":{"c":2,"d":1},"b":2}"#,
        );
    }

    #[test]
    fn strings_are_escaped_as_little_as_json_allows() {
        check(r#""\u003c\n\u0001\u2028\"""#, "\"<\\n\\u0001\u{2028}\\\"\"");
        let value: Value = r#""<\u2028&é""#.parse().unwrap();
        assert_eq!(value.canonical(), "\"\\u003c\\u2028\\u0026é\"");
    }

    #[test]
    fn a_nesting_bomb_is_an_error() {
        let bomb = "[".repeat(100_000);
        assert!(bomb.parse::<Value>().is_err());
        let deep = format!(
            "{}1{}",
            "[".repeat(MAX_DEPTH + 1),
            "]".repeat(MAX_DEPTH + 1)
        );
        let error = deep.parse::<Value>().unwrap_err().to_string();
        assert!(error.contains("nested deeper"), "{error}");
        let fits = format!("{}1{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(fits.parse::<Value>().is_ok());
    }

    #[test]
    fn bytes_print_as_base64() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xff\xfe\xfd\xfc", "//79/A=="),
        ] {
            assert_eq!(Value::bytes(bytes).to_string(), format!("\"{text}\""));
        }
    }
}
