//! Conversions between types.

use document::Value;

use super::{Arguments, Result, time};
use crate::error::EvalError;
use crate::value::Val;

/// 2^63 and 2^64: the first doubles above the range of an int and a uint.
const INT_LIMIT: f64 = 9_223_372_036_854_775_808.0;
const UINT_LIMIT: f64 = 18_446_744_073_709_551_616.0;

/// `dyn(x)` only matters for type checkers.
#[expect(clippy::unnecessary_wraps, reason = "the shape of all functions")]
pub(super) fn dynamic(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(call.args[0].clone())
}

pub(super) fn boolean(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Bool(b) => Ok(Val::Bool(*b)),
        Val::Str(_) => match call.text(0)? {
            "1" | "t" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(call.invalid("the string is not a boolean")),
        },
        _ => Err(call.mismatch()),
    }
}

pub(super) fn bytes(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Bytes(bytes) => Ok(Val::Bytes(bytes.clone())),
        _ => Ok(Val::bytes(call.text(0)?.as_bytes())),
    }
}

pub(super) fn double(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Double(match &call.args[0] {
        Val::Double(d) => *d,
        Val::Int(i) => *i as f64,
        Val::UInt(u) => *u as f64,
        Val::Str(_) => call
            .text(0)?
            .parse()
            .map_err(|_| call.invalid("the string is not a number"))?,
        _ => return Err(call.mismatch()),
    }))
}

pub(super) fn int(call: &mut Arguments<'_>) -> Result<Val> {
    let overflow = EvalError::Overflow(call.name);
    Ok(Val::Int(match &call.args[0] {
        Val::Int(i) => *i,
        Val::UInt(u) => i64::try_from(*u).map_err(|_| overflow)?,
        Val::Double(d) if (-INT_LIMIT..INT_LIMIT).contains(d) => *d as i64,
        Val::Double(_) => return Err(overflow),
        Val::Timestamp(at) => at.timestamp(),
        Val::Str(_) => call
            .text(0)?
            .parse()
            .map_err(|_| call.invalid("the string is not an int"))?,
        _ => return Err(call.mismatch()),
    }))
}

#[expect(clippy::cast_sign_loss, reason = "the range is checked")]
pub(super) fn uint(call: &mut Arguments<'_>) -> Result<Val> {
    let overflow = EvalError::Overflow(call.name);
    Ok(Val::UInt(match &call.args[0] {
        Val::UInt(u) => *u,
        Val::Int(i) => u64::try_from(*i).map_err(|_| overflow)?,
        Val::Double(d) if (0.0..UINT_LIMIT).contains(d) => *d as u64,
        Val::Double(_) => return Err(overflow),
        Val::Str(_) => call
            .text(0)?
            .parse()
            .map_err(|_| call.invalid("the string is not a uint"))?,
        _ => return Err(call.mismatch()),
    }))
}

pub(super) fn string(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Bytes(_) => {
            let bytes = call.args[0].as_bytes().unwrap_or_default();
            let text = str::from_utf8(bytes);
            text.map(Val::from)
                .map_err(|_| call.invalid("the bytes are not UTF-8"))
        }
        Val::Opaque(_) => call.in_library(false),
        value => scalar_text(value)
            .map(Val::from)
            .ok_or_else(|| call.mismatch()),
    }
}

/// The text of a scalar; `None` for lists, maps and library types.
pub(super) fn scalar_text(value: &Val) -> Option<String> {
    match value {
        Val::Bool(b) => Some(b.to_string()),
        Val::Int(i) => Some(i.to_string()),
        Val::UInt(u) => Some(u.to_string()),
        Val::Double(d) => Some(double_text(*d)),
        Val::Str(text) => text.as_str().map(str::to_owned),
        Val::Timestamp(at) => Some(time::timestamp_text(*at)),
        Val::Duration(nanos) => Some(time::duration_text(*nanos)),
        Val::Null
        | Val::Bytes(_)
        | Val::List(_)
        | Val::Map(_)
        | Val::Optional(_)
        | Val::Opaque(_) => None,
    }
}

/// The form of Go: the shortest digits, with an exponent if there would be many.
fn double_text(double: f64) -> String {
    match Value::number(double) {
        Some(number) => number.to_string(),
        None if double.is_nan() => "NaN".to_owned(),
        None if double > 0.0 => "+Inf".to_owned(),
        None => "-Inf".to_owned(),
    }
}
