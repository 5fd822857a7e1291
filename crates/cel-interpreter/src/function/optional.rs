//! Functions of optionals.

use super::{Arguments, Result};
use crate::value::Val;

#[expect(clippy::unnecessary_wraps, reason = "the shape of all functions")]
pub(super) fn none(_: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Optional(None))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of all functions")]
pub(super) fn of(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::optional(Some(call.args[0].clone())))
}

pub(super) fn of_non_zero(call: &mut Arguments<'_>) -> Result<Val> {
    if call.args[0].is_zero() {
        return none(call);
    }
    of(call)
}

pub(super) fn has_value(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Optional(inner) => Ok(Val::Bool(inner.is_some())),
        _ => Err(call.mismatch()),
    }
}

pub(super) fn value(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Optional(Some(inner)) => Ok(Val::clone(inner)),
        Val::Optional(None) => Err(call.invalid("the optional has no value")),
        _ => Err(call.mismatch()),
    }
}

/// The values of the optionals of a list that have one.
pub(super) fn unwrap(call: &mut Arguments<'_>) -> Result<Val> {
    let list = call.list(0)?;
    call.meter.items(list.len())?;
    let mut values = Vec::new();
    for item in list.iter() {
        match item {
            Val::Optional(inner) => values.extend(inner.map(|inner| Val::clone(&inner))),
            _ => return Err(call.mismatch()),
        }
    }
    Ok(Val::from(values))
}
