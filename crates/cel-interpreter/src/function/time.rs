//! Functions of timestamps and durations.

use super::number::fixed_text;
use super::{Arguments, Result};
use crate::error::EvalError;
use crate::timestamp::{Civil, Timestamp};
use crate::value::Val;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// `timestamp(x)`: a text in RFC 3339, or seconds since 1970.
pub(super) fn timestamp(call: &mut Arguments<'_>) -> Result<Val> {
    let at = match &call.args[0] {
        Val::Timestamp(at) => Some(*at),
        Val::Int(seconds) => Timestamp::from_seconds(*seconds),
        Val::Str(_) => {
            let at = Timestamp::parse(call.text(0)?).map(Val::Timestamp);
            return at.ok_or_else(|| call.invalid("the string is not a time in RFC 3339"));
        }
        _ => return Err(call.mismatch()),
    };
    at.map(Val::Timestamp).ok_or(EvalError::Overflow(call.name))
}

/// `duration(x)`: a text such as `1h30m`.
pub(super) fn duration(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Duration(nanos) => Ok(Val::Duration(*nanos)),
        _ => parse_duration(call.text(0)?)
            .map(Val::Duration)
            .ok_or_else(|| call.invalid("the string is not a duration")),
    }
}

/// `getHours` and the like: a component of a time in UTC or in a given zone, or a whole duration in
/// that unit.
pub(super) fn get(call: &mut Arguments<'_>) -> Result<Val> {
    match (&call.args[0], call.args.len()) {
        (Val::Timestamp(at), 1) => component(&at.utc().civil(), call),
        (Val::Timestamp(at), _) => {
            let local = at.in_zone(call.text(1)?);
            component(
                &local.ok_or_else(|| call.invalid("unknown time zone"))?,
                call,
            )
        }
        (Val::Duration(nanos), 1) => {
            let unit = match call.name {
                "getHours" => HOUR,
                "getMilliseconds" => SECOND / 1000,
                "getMinutes" => MINUTE,
                "getSeconds" => SECOND,
                _ => return Err(call.mismatch()),
            };
            Ok(Val::Int(nanos / unit.cast_signed()))
        }
        _ => Err(call.mismatch()),
    }
}

fn component(local: &Civil, call: &Arguments<'_>) -> Result<Val> {
    Ok(Val::Int(match call.name {
        "getDate" => local.day,
        "getDayOfMonth" => local.day - 1,
        "getDayOfWeek" => local.day_of_week(),
        "getDayOfYear" => local.day_of_year(),
        "getFullYear" => local.year,
        "getHours" => local.hour,
        "getMilliseconds" => i64::from(local.nanos / 1_000_000),
        "getMinutes" => local.minute,
        "getMonth" => local.month - 1,
        "getSeconds" => local.second,
        _ => return Err(call.mismatch()),
    }))
}

/// The text of a duration: its seconds as a decimal number, as in `5400s` and `0.2s`.
pub(crate) fn duration_text(nanos: i64) -> String {
    // Go adds the fraction to the whole seconds, both as doubles.
    let second = SECOND.cast_signed();
    let seconds = (nanos / second) as f64 + (nanos % second) as f64 / 1e9;
    fixed_text(seconds) + "s"
}

/// Parses a duration in the form of Go: `-1.5h`, `1h30m`, `100ms`, `0`.
fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (nanos, after) = parse_part(rest)?;
        total = total.checked_add(nanos)?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn parse_part(text: &str) -> Option<(i128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, rest) = unit(rest)?;
    // A number of more than 19 digits is out of range.
    let whole = whole.trim_start_matches('0');
    if whole.len() > 19 {
        return None;
    }
    let whole = whole.parse::<i128>().unwrap_or(0) * i128::from(unit);
    Some((whole + i128::from(part(fraction, unit)), rest))
}

/// The nanoseconds of a fraction of a unit, rounded as Go does: with doubles, and from as many digits
/// as an int can hold.
#[expect(clippy::cast_sign_loss, reason = "a fraction has no sign")]
fn part(fraction: &str, unit: u64) -> u64 {
    const MAX: u64 = i64::MAX as u64;
    let (mut number, mut scale) = (0_u64, 1.0);
    for digit in fraction.bytes() {
        let next = number * 10 + u64::from(digit - b'0');
        if number > MAX / 10 || next > MAX + 1 {
            break;
        }
        number = next;
        scale *= 10.0;
    }
    (number as f64 * (unit as f64 / scale)) as u64
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn unit(text: &str) -> Option<(u64, &str)> {
    let units: [(&str, u64); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", SECOND),
        ("m", MINUTE),
        ("h", HOUR),
    ];
    units
        .iter()
        .find_map(|(name, nanos)| Some((*nanos, text.strip_prefix(name)?)))
}
