//! Quantities of resources: `500m`, `1.5Gi`, `1e3`.
//!
//! A quantity is a whole number of billionths. As in Kubernetes, a finer value is rounded up, and
//! one above 2^63-1 is reduced to that.

use kube_cel::cel::objects::Opaque;

use super::{Arguments, Result};
use crate::error::EvalError;
use crate::value::Val;

/// A quantity in billionths. Its absolute value is at most [`MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Quantity(i128);

const BILLION: i128 = 1_000_000_000;
const MAX: i128 = i64::MAX as i128 * BILLION;

/// How many digits are read: enough for any int, and few enough that their product with the
/// largest unit fits an `i128`.
const DIGITS: usize = 20;

impl Opaque for Quantity {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.Quantity"
    }
}

impl Quantity {
    fn cut(size: i128) -> Self {
        Self(size.clamp(-MAX, MAX))
    }

    fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let (multiplier, exponent) = unit(suffix)?;
        let size = scaled(whole, fraction, multiplier, exponent);
        Some(Self::cut(if negative { -size } else { size }))
    }

    fn integer(self) -> Option<i64> {
        (self.0 % BILLION == 0)
            .then_some(self.0 / BILLION)
            .and_then(|whole| i64::try_from(whole).ok())
    }
}

/// The unit of a suffix: a factor, and a power of ten.
fn unit(suffix: &str) -> Option<(i128, i64)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            (1, i64::from(exponent.parse::<i32>().ok()?))
        }
    })
}

/// `whole.fraction × multiplier × 10^exponent` in billionths, rounded up.
fn scaled(whole: &str, fraction: &str, multiplier: i128, exponent: i64) -> i128 {
    let digits = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    let kept = &digits[..digits.len().min(DIGITS)];
    let dropped = &digits[kept.len()..];
    let Ok(mantissa) = kept.parse::<i128>() else {
        return 0;
    };
    let size = mantissa * multiplier;
    let inexact = dropped.bytes().any(|digit| digit != b'0');
    let (up, down) = (dropped.len() + 9, fraction.len());
    // Lengths of strings are far below the limit.
    let power = exponent
        .saturating_add_unsigned(up as u64)
        .saturating_sub_unsigned(down as u64);
    let factor = u32::try_from(power.unsigned_abs())
        .ok()
        .and_then(|power| 10_i128.checked_pow(power));
    if power >= 0 {
        let product = factor.and_then(|factor| size.checked_mul(factor));
        return if size == 0 { 0 } else { product.unwrap_or(MAX) };
    }
    match factor {
        Some(factor) => size / factor + i128::from(size % factor != 0 || inexact),
        None => i128::from(size != 0),
    }
}

fn receive(call: &Arguments<'_>, n: usize) -> Result<Quantity> {
    match call.args.get(n) {
        Some(Val::Opaque(opaque)) => opaque.downcast_ref::<Quantity>().copied(),
        // `add` and `sub` also accept ints.
        Some(Val::Int(int)) if n == 1 => Some(Quantity(i128::from(*int) * BILLION)),
        _ => None,
    }
    .ok_or_else(|| call.mismatch())
}

pub(super) fn quantity(call: &mut Arguments<'_>) -> Result<Val> {
    Quantity::parse(call.text(0)?)
        .map(Val::opaque)
        .ok_or_else(|| call.invalid("the string is not a quantity"))
}

pub(super) fn is_quantity(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(Quantity::parse(call.text(0)?).is_some()))
}

pub(super) fn is_integer(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(receive(call, 0)?.integer().is_some()))
}

pub(super) fn as_integer(call: &mut Arguments<'_>) -> Result<Val> {
    let integer = receive(call, 0)?.integer();
    integer
        .map(Val::Int)
        .ok_or_else(|| call.invalid("the quantity is not a whole number"))
}

pub(super) fn as_float(call: &mut Arguments<'_>) -> Result<Val> {
    let Quantity(size) = receive(call, 0)?;
    Ok(Val::Double(size as f64 / BILLION as f64))
}

pub(super) fn sign(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Int(receive(call, 0)?.0.signum() as i64))
}

pub(super) fn add(call: &mut Arguments<'_>) -> Result<Val> {
    let (Quantity(a), Quantity(b)) = (receive(call, 0)?, receive(call, 1)?);
    Ok(Val::opaque(Quantity::cut(a + b)))
}

pub(super) fn sub(call: &mut Arguments<'_>) -> Result<Val> {
    let (Quantity(a), Quantity(b)) = (receive(call, 0)?, receive(call, 1)?);
    Ok(Val::opaque(Quantity::cut(a - b)))
}

/// `compareTo`, `isGreaterThan` and `isLessThan`, of quantities and of versions.
pub(super) fn compare_to(call: &mut Arguments<'_>) -> Result<Val> {
    let [Val::Opaque(a), Val::Opaque(b)] = call.args else {
        return Err(call.mismatch());
    };
    let pair = (a.downcast_ref::<Quantity>(), b.downcast_ref::<Quantity>());
    let order = match pair {
        (Some(a), Some(b)) => a.cmp(b),
        (None, None) => return call.in_library(false),
        _ => return Err::<Val, EvalError>(call.mismatch()),
    };
    Ok(match call.name {
        "isGreaterThan" => Val::Bool(order.is_gt()),
        "isLessThan" => Val::Bool(order.is_lt()),
        _ => Val::Int(order as i64),
    })
}
