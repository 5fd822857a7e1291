//! Functions of numbers, in the namespace `math`.

use std::cmp::Ordering;

use super::{Arguments, Result};
use crate::error::EvalError;
use crate::infix::compare;
use crate::value::Val;

pub(super) fn greatest(call: &mut Arguments<'_>) -> Result<Val> {
    extreme(call, Ordering::Less)
}

pub(super) fn least(call: &mut Arguments<'_>) -> Result<Val> {
    extreme(call, Ordering::Greater)
}

/// The smallest or largest of several numbers or of a list. A later number replaces the best one so
/// far if the best one compares to it as `replaced`.
fn extreme(call: &mut Arguments<'_>, replaced: Ordering) -> Result<Val> {
    match call.args {
        [Val::List(list)] => best(list.iter(), call, replaced),
        args => best(args.iter().cloned(), call, replaced),
    }
}

fn best(
    mut items: impl Iterator<Item = Val>,
    call: &mut Arguments<'_>,
    replaced: Ordering,
) -> Result<Val> {
    let Some(mut best) = items.next() else {
        return Err(call.invalid("the list is empty"));
    };
    numeric(&best, call)?;
    for item in items {
        call.meter.charge(1)?;
        numeric(&item, call)?;
        if compare(call.name, &best, &item, call.meter)? == replaced {
            best = item;
        }
    }
    Ok(best)
}

fn numeric(value: &Val, call: &Arguments<'_>) -> Result<()> {
    match value {
        Val::Int(_) | Val::UInt(_) | Val::Double(_) => Ok(()),
        other => Err(EvalError::types(call.name, [other.type_name()])),
    }
}

pub(super) fn abs(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(match &call.args[0] {
        Val::Int(i) => Val::Int(i.checked_abs().ok_or(EvalError::Overflow(call.name))?),
        Val::UInt(u) => Val::UInt(*u),
        Val::Double(d) => Val::Double(d.abs()),
        _ => return Err(call.mismatch()),
    })
}

pub(super) fn sign(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(match &call.args[0] {
        Val::Int(i) => Val::Int(i.signum()),
        Val::UInt(u) => Val::UInt(u64::from(*u > 0)),
        Val::Double(d) if d.is_nan() => Val::Double(*d),
        Val::Double(d) => Val::Double(f64::from(i8::from(*d > 0.0) - i8::from(*d < 0.0))),
        _ => return Err(call.mismatch()),
    })
}

pub(super) fn sqrt(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::UInt(u) => Ok(Val::Double((*u as f64).sqrt())),
        _ => Ok(Val::Double(double(call)?.sqrt())),
    }
}

pub(super) fn ceil(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Double(double(call)?.ceil()))
}

pub(super) fn floor(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Double(double(call)?.floor()))
}

pub(super) fn round(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Double(double(call)?.round()))
}

pub(super) fn trunc(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Double(double(call)?.trunc()))
}

pub(super) fn is_finite(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(double(call)?.is_finite()))
}

pub(super) fn is_infinite(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(double(call)?.is_infinite()))
}

pub(super) fn is_nan(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(double(call)?.is_nan()))
}

/// A double, or an int as one: a document cannot contain `2.0`.
fn double(call: &Arguments<'_>) -> Result<f64> {
    match &call.args[0] {
        Val::Double(d) => Ok(*d),
        Val::Int(i) => Ok(*i as f64),
        _ => Err(call.mismatch()),
    }
}

pub(super) fn bit_and(call: &mut Arguments<'_>) -> Result<Val> {
    bits(call, |a, b| a & b)
}

pub(super) fn bit_or(call: &mut Arguments<'_>) -> Result<Val> {
    bits(call, |a, b| a | b)
}

pub(super) fn bit_xor(call: &mut Arguments<'_>) -> Result<Val> {
    bits(call, |a, b| a ^ b)
}

fn bits(call: &Arguments<'_>, apply: fn(u64, u64) -> u64) -> Result<Val> {
    match call.args {
        [Val::UInt(a), Val::UInt(b)] => Ok(Val::UInt(apply(*a, *b))),
        [Val::Int(a), Val::Int(b)] => {
            let bits = apply(a.cast_unsigned(), b.cast_unsigned());
            Ok(Val::Int(bits.cast_signed()))
        }
        _ => Err(call.mismatch()),
    }
}

pub(super) fn bit_not(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Int(i) => Ok(Val::Int(!i)),
        Val::UInt(u) => Ok(Val::UInt(!u)),
        _ => Err(call.mismatch()),
    }
}

pub(super) fn shift_left(call: &mut Arguments<'_>) -> Result<Val> {
    shift(call, u64::checked_shl)
}

pub(super) fn shift_right(call: &mut Arguments<'_>) -> Result<Val> {
    shift(call, u64::checked_shr)
}

/// Shifts the bits of a number. Zeros move in, and the sign is a bit like the others.
fn shift(call: &Arguments<'_>, apply: fn(u64, u32) -> Option<u64>) -> Result<Val> {
    let by = u64::try_from(call.int(1)?).map_err(|_| call.invalid("the offset is negative"))?;
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    match &call.args[0] {
        Val::Int(i) => {
            let bits = apply(i.cast_unsigned(), by).unwrap_or(0);
            Ok(Val::Int(bits.cast_signed()))
        }
        Val::UInt(u) => Ok(Val::UInt(apply(*u, by).unwrap_or(0))),
        _ => Err(call.mismatch()),
    }
}
