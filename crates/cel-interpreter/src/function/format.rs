//! `format`: `'%s has %d'.format([name, count])`.

use std::fmt::Write;

use super::conversion::scalar_text;
use super::number::special;
use super::time::duration_text;
use super::{Arguments, Result};
use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::{List, Map, Val};

/// The greatest precision: digits after the decimal point.
const MAX_PRECISION: usize = 1_000;

/// The default precision.
const PRECISION: usize = 6;

pub(super) fn format(call: &mut Arguments<'_>) -> Result<Val> {
    let mut rest = call.text(0)?;
    let mut values = call.list(1)?.iter();
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (precision, after) = precision(after)
            .ok_or_else(|| call.invalid("the precision is not a number up to 1000"))?;
        let mut chars = after.chars();
        let verb = chars
            .next()
            .ok_or_else(|| call.invalid("the text ends in the middle of a verb"))?;
        let value = values
            .next()
            .ok_or_else(|| call.invalid("there are fewer values than verbs"))?;
        write_verb(&mut out, verb, precision, &value, call)?;
        rest = chars.as_str();
    }
    out.push_str(rest);
    // As in Kubernetes, a list that is computed may have more values.
    if call.listed && values.next().is_some() {
        return Err(call.invalid("there are more values than verbs"));
    }
    Ok(Val::from(out))
}

/// `.3` in `%.3f`
fn precision(text: &str) -> Option<(Option<usize>, &str)> {
    let Some(text) = text.strip_prefix('.') else {
        return Some((None, text));
    };
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let precision = digits.parse().ok().filter(|n| *n <= MAX_PRECISION)?;
    Some((Some(precision), rest))
}

fn write_verb(
    out: &mut String,
    verb: char,
    precision: Option<usize>,
    value: &Val,
    call: &mut Arguments<'_>,
) -> Result<()> {
    call.meter.charge(1)?;
    let digits = precision.unwrap_or(PRECISION);
    call.meter.bytes(digits)?;
    let mismatch = || EvalError::types(&format!("%{verb}"), [value.type_name()]);
    // Writing to a string cannot fail.
    let _ = match (verb, value) {
        ('s', value) => return write_value(out, value, call.meter),
        ('d', Val::Int(i)) => write!(out, "{i}"),
        ('d', Val::UInt(u)) => write!(out, "{u}"),
        ('f', value) => {
            let double = double(value).ok_or_else(mismatch)?;
            out.write_str(&localized(double, |double| grouped(double, digits)))
        }
        ('e', value) => {
            let double = double(value).ok_or_else(mismatch)?;
            write!(out, "{:>digits$}", localized(double, scientific))
        }
        ('b', Val::Bool(b)) => out.write_str(if *b { "1" } else { "0" }),
        ('b' | 'o' | 'x' | 'X', Val::Int(i)) => {
            let sign = if *i < 0 { "-" } else { "" };
            out.push_str(sign);
            write_digits(out, verb, i.unsigned_abs())
        }
        ('b' | 'o' | 'x' | 'X', Val::UInt(u)) => write_digits(out, verb, *u),
        ('x' | 'X', Val::Str(_) | Val::Bytes(_)) => {
            let text = value.as_str().map(str::as_bytes);
            let bytes = text.or(value.as_bytes()).unwrap_or_default();
            call.meter.bytes(bytes.len() * 2)?;
            bytes.iter().try_for_each(|byte| match verb {
                'x' => write!(out, "{byte:02x}"),
                _ => write!(out, "{byte:02X}"),
            })
        }
        ('d' | 'b' | 'o' | 'x' | 'X', _) => return Err(mismatch()),
        _ => return Err(call.invalid("unknown verb")),
    };
    Ok(())
}

/// A double, an int as one (a document cannot contain `2.0`), or the text of a special double.
fn double(value: &Val) -> Option<f64> {
    match value {
        Val::Int(i) => Some(*i as f64),
        Val::UInt(u) => Some(*u as f64),
        Val::Double(d) => Some(*d),
        Val::Str(_) => match value.as_str()? {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn fixed(double: f64, digits: usize) -> String {
    if double.is_finite() {
        format!("{double:.digits$}")
    } else {
        special(double)
    }
}

/// A number as Kubernetes writes it: in the form of American English.
fn localized(double: f64, finite: impl FnOnce(f64) -> String) -> String {
    if double.is_finite() {
        // Zero has no sign.
        finite(if double == 0.0 { 0.0 } else { double })
    } else {
        special(double).replace("+Inf", "∞").replace("Inf", "∞")
    }
}

/// `1,234.50`
fn grouped(double: f64, digits: usize) -> String {
    let text = fixed(double, digits);
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::with_capacity(text.len() * 4 / 3 + 1);
    for (at, c) in whole.char_indices() {
        let left = whole.len() - at;
        if left % 3 == 0 && out.ends_with(|c: char| c.is_ascii_digit()) {
            out.push(',');
        }
        out.push(c);
    }
    out + fraction
}

/// `1.500000×10⁰³`. As in Kubernetes, the precision is always the default, and what the format calls
/// precision is the width.
fn scientific(double: f64) -> String {
    let text = format!("{double:.PRECISION$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { "⁻" } else { "" };
    let digits = format!("{:02}", exponent.unsigned_abs());
    let raised = digits
        .chars()
        .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize));
    format!("{mantissa}×10{sign}{}", raised.collect::<String>())
}

fn write_digits(out: &mut String, verb: char, number: u64) -> std::fmt::Result {
    match verb {
        'b' => write!(out, "{number:b}"),
        'o' => write!(out, "{number:o}"),
        'x' => write!(out, "{number:x}"),
        _ => write!(out, "{number:X}"),
    }
}

/// `%s`: any value that has a text.
fn write_value(out: &mut String, value: &Val, meter: &mut Meter) -> Result<()> {
    match value {
        Val::List(list) => write_list(out, list, meter),
        Val::Map(map) => write_map(out, map, meter),
        scalar => write_scalar(out, scalar, meter),
    }
}

fn write_scalar(out: &mut String, value: &Val, meter: &mut Meter) -> Result<()> {
    meter.charge(1)?;
    match value {
        Val::Null => out.push_str("null"),
        Val::Str(_) => {
            let text = value.as_str().unwrap_or_default();
            meter.bytes(text.len())?;
            out.push_str(text);
        }
        Val::Bytes(_) => {
            let bytes = value.as_bytes().unwrap_or_default();
            meter.bytes(bytes.len())?;
            out.push_str(str::from_utf8(bytes).map_err(|_| not_text())?);
        }
        Val::Type(named) => out.push_str(named.name()),
        scalar => {
            let text = scalar_text(scalar);
            out.push_str(&text.ok_or_else(|| EvalError::types("%s", [scalar.type_name()]))?);
        }
    }
    Ok(())
}

fn write_list(out: &mut String, list: &List, meter: &mut Meter) -> Result<()> {
    meter.charge(1)?;
    out.push('[');
    for (at, item) in list.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write_element(out, &item, meter)?;
    }
    out.push(']');
    Ok(())
}

fn not_text() -> EvalError {
    EvalError::Argument {
        function: "format",
        reason: "the bytes are not UTF-8",
    }
}

/// The entries are in the order of the texts of their keys.
fn write_map(out: &mut String, map: &Map, meter: &mut Meter) -> Result<()> {
    meter.items(map.len())?;
    let mut entries = Vec::with_capacity(map.len());
    for (key, item) in map.entries() {
        let mut name = String::new();
        write_element(&mut name, &key.value(), meter)?;
        entries.push((name, item));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    out.push('{');
    for (at, (name, item)) in entries.iter().enumerate() {
        out.extend([if at > 0 { ", " } else { "" }, name, ":"]);
        write_element(out, item, meter)?;
    }
    out.push('}');
    Ok(())
}

/// A value in a list or map, as it is written in an expression.
fn write_element(out: &mut String, value: &Val, meter: &mut Meter) -> Result<()> {
    match value {
        Val::List(list) => write_list(out, list, meter),
        Val::Map(map) => write_map(out, map, meter),
        scalar => write_literal(out, scalar, meter),
    }
}

fn write_literal(out: &mut String, value: &Val, meter: &mut Meter) -> Result<()> {
    match value {
        Val::Str(_) | Val::Bytes(_) => {
            let mut text = String::new();
            write_scalar(&mut text, value, meter)?;
            let prefix = if matches!(value, Val::Bytes(_)) {
                "b"
            } else {
                ""
            };
            out.extend([prefix, &quoted(&text)]);
        }
        Val::Double(d) if d.is_finite() => out.push_str(&fixed(*d, PRECISION)),
        Val::Double(d) => out.push_str(&quoted(&special(*d))),
        Val::Timestamp(at) => out.extend(["timestamp(", &quoted(&at.text()), ")"]),
        Val::Duration(nanos) => {
            out.extend(["duration(", &quoted(&duration_text(*nanos)), ")"]);
        }
        other => return write_scalar(out, other, meter),
    }
    Ok(())
}

/// A text in quotes, with the escapes of Go.
pub(super) fn quoted(text: &str) -> String {
    // Most texts have nothing to escape.
    let plain = |c: u8| matches!(c, b' '..=b'~') && c != b'"' && c != b'\\';
    if text.bytes().all(plain) {
        return ["\"", text, "\""].concat();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\u{7}' => out.write_str("\\a"),
            '\u{8}' => out.write_str("\\b"),
            '\u{c}' => out.write_str("\\f"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\u{b}' => out.write_str("\\v"),
            c if is_printable(c) => out.write_char(c),
            c if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
            c if u32::from(c) < 0x1_0000 => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "\\U{:08x}", u32::from(c)),
        };
    }
    out.push('"');
    out
}

fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        // Marks of direction and other characters without a form, and those for private use.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{f0000}'..='\u{10ffff}' => false,
        c => !c.is_control() && !c.is_whitespace(),
    }
}
