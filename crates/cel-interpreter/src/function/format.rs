//! `format`: `'%s has %d'.format([name, count])`.

use std::fmt::Write;

use super::conversion::scalar_text;
use super::{Arguments, Result};
use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Val;

/// The greatest precision: digits after the decimal point.
const MAX_PRECISION: usize = 100;

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
            .ok_or_else(|| call.invalid("the precision is not a number up to 100"))?;
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
    if values.next().is_some() {
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
    let mismatch = || EvalError::types(&format!("%{verb}"), [value.type_name()]);
    // Writing to a string cannot fail.
    let _ = match (verb, value) {
        ('s', value) => return write_value(out, value, false, call.meter),
        ('d', Val::Int(_) | Val::UInt(_) | Val::Double(_)) => {
            out.write_str(&scalar_text(value).ok_or_else(mismatch)?)
        }
        ('f', value) => {
            let double = double(value).ok_or_else(mismatch)?;
            write!(out, "{double:.digits$}")
        }
        ('e', value) => write_exponent(out, double(value).ok_or_else(mismatch)?, digits),
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

fn double(value: &Val) -> Option<f64> {
    match value {
        Val::Int(i) => Some(*i as f64),
        Val::UInt(u) => Some(*u as f64),
        Val::Double(d) => Some(*d),
        _ => None,
    }
}

/// The exponent has a sign and at least two digits, as in Go.
fn write_exponent(out: &mut String, double: f64, digits: usize) -> std::fmt::Result {
    let text = format!("{double:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or(0);
            write!(out, "{mantissa}e{exponent:+03}")
        }
        None => out.write_str(&text),
    }
}

fn write_digits(out: &mut String, verb: char, number: u64) -> std::fmt::Result {
    match verb {
        'b' => write!(out, "{number:b}"),
        'o' => write!(out, "{number:o}"),
        'x' => write!(out, "{number:x}"),
        _ => write!(out, "{number:X}"),
    }
}

/// Writes any value. Strings in lists and maps are quoted.
fn write_value(out: &mut String, value: &Val, quoted: bool, meter: &mut Meter) -> Result<()> {
    meter.charge(1)?;
    match value {
        Val::Null => out.push_str("null"),
        Val::Str(_) => {
            let text = value.as_str().unwrap_or_default();
            meter.bytes(text.len())?;
            let quote = if quoted { "\"" } else { "" };
            out.extend([quote, text, quote]);
        }
        Val::Bytes(_) => {
            let bytes = value.as_bytes().unwrap_or_default();
            meter.bytes(bytes.len() * 3)?;
            out.push_str(&String::from_utf8_lossy(bytes));
        }
        Val::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_value(out, &item, true, meter)?;
            }
            out.push(']');
        }
        Val::Map(map) => {
            meter.items(map.len())?;
            out.push('{');
            for (at, (key, item)) in map.entries().into_iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_value(out, &Val::from(&key), true, meter)?;
                out.push(':');
                write_value(out, &item, true, meter)?;
            }
            out.push('}');
        }
        scalar => {
            let text = scalar_text(scalar);
            out.push_str(&text.ok_or_else(|| EvalError::types("%s", [scalar.type_name()]))?);
        }
    }
    Ok(())
}
