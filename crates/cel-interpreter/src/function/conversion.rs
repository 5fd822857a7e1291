//! Conversions between types.

use super::number::{parse_double, short_text};
use super::{Arguments, Result, time};
use crate::error::EvalError;
use crate::types::{Extension, Type};
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
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
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
        Val::Str(_) => {
            parse_double(call.text(0)?).ok_or_else(|| call.invalid("the string is not a number"))?
        }
        _ => return Err(call.mismatch()),
    }))
}

pub(super) fn int(call: &mut Arguments<'_>) -> Result<Val> {
    let overflow = EvalError::Overflow(call.name);
    Ok(Val::Int(match &call.args[0] {
        Val::Int(i) => *i,
        Val::UInt(u) => i64::try_from(*u).map_err(|_| overflow)?,
        // As in cel-go, the least int is out of range, too.
        Val::Double(d) if *d > -INT_LIMIT && *d < INT_LIMIT => *d as i64,
        Val::Double(_) => return Err(overflow),
        Val::Timestamp(at) => at.seconds(),
        Val::Duration(nanos) => *nanos,
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
        // Go reads no sign here.
        Val::Str(_) if call.text(0)?.starts_with('+') => {
            return Err(call.invalid("the string is not a uint"));
        }
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
        Val::Extension(value) => match &**value {
            Extension::Ip(address) => Ok(Val::from(address.to_string())),
            Extension::Cidr(cidr) => Ok(Val::from(cidr.to_string())),
            Extension::Quantity(quantity) => {
                // It may have a thousand digits.
                call.meter.charge(10)?;
                Ok(Val::from(quantity.text()))
            }
            Extension::Url(_) | Extension::Version(_) | Extension::Format(_) => {
                Err(call.mismatch())
            }
        },
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
        Val::Double(d) => Some(short_text(*d)),
        Val::Str(text) => text.as_str().map(str::to_owned),
        Val::Timestamp(at) => Some(at.text()),
        Val::Duration(nanos) => Some(time::duration_text(*nanos)),
        Val::Null
        | Val::Bytes(_)
        | Val::List(_)
        | Val::Map(_)
        | Val::Optional(_)
        | Val::Type(_)
        | Val::Extension(_) => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of all functions")]
pub(super) fn type_of(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Type(Type::of(&call.args[0])))
}
