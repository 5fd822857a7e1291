//! Timestamps and durations, read and written as Go and Kubernetes do.

use std::fmt::Write;

use chrono::{DateTime, Datelike, Timelike, Utc};

use super::{Arguments, Result};
use crate::error::EvalError;
use crate::value::Val;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// CEL supports the years 1 to 9999.
pub(crate) fn in_range(at: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (1..=9999).contains(&at.year()).then_some(at)
}

/// `timestamp(x)`: a text in RFC 3339, or seconds since 1970.
pub(super) fn timestamp(call: &mut Arguments<'_>) -> Result<Val> {
    let at = match &call.args[0] {
        Val::Timestamp(at) => Some(*at),
        Val::Int(seconds) => DateTime::from_timestamp(*seconds, 0),
        Val::Str(_) => {
            let at = DateTime::parse_from_rfc3339(call.text(0)?)
                .map_err(|_| call.invalid("the string is not a time in RFC 3339"))?;
            Some(at.to_utc())
        }
        _ => return Err(call.mismatch()),
    };
    at.and_then(in_range)
        .map(Val::Timestamp)
        .ok_or(EvalError::Overflow(call.name))
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

/// `getHours` and the like: a component of a time in UTC, or a whole duration in that unit.
pub(super) fn get(call: &mut Arguments<'_>) -> Result<Val> {
    let part = match &call.args[0] {
        Val::Timestamp(at) => match call.name {
            "getDate" => at.day(),
            "getDayOfMonth" => at.day0(),
            "getDayOfWeek" => at.weekday().num_days_from_sunday(),
            "getDayOfYear" => at.ordinal0(),
            "getFullYear" => return Ok(Val::Int(at.year().into())),
            "getHours" => at.hour(),
            "getMilliseconds" => at.timestamp_subsec_millis(),
            "getMinutes" => at.minute(),
            "getMonth" => at.month0(),
            "getSeconds" => at.second(),
            _ => return Err(call.mismatch()),
        },
        Val::Duration(nanos) => {
            let unit = match call.name {
                "getHours" => HOUR,
                "getMilliseconds" => SECOND / 1000,
                "getMinutes" => MINUTE,
                "getSeconds" => SECOND,
                _ => return Err(call.mismatch()),
            };
            return Ok(Val::Int(nanos / unit.cast_signed()));
        }
        _ => return Err(call.mismatch()),
    };
    Ok(Val::Int(part.into()))
}

/// The text of a time in UTC, with `Z`, and without trailing zeros in the fraction.
pub(crate) fn timestamp_text(at: DateTime<Utc>) -> String {
    let seconds = at.format("%Y-%m-%dT%H:%M:%S");
    // A leap second is written as the second before it.
    let nanos = at.nanosecond() % 1_000_000_000;
    if nanos == 0 {
        return format!("{seconds}Z");
    }
    let fraction = format!("{nanos:09}");
    format!("{seconds}.{}Z", fraction.trim_end_matches('0'))
}

/// The text of a duration in the form of Go: `1h30m0s`, `1.5s`, `200ms`.
pub(crate) fn duration_text(nanos: i64) -> String {
    let mut text = String::new();
    if nanos < 0 {
        text.push('-');
    }
    let size = nanos.unsigned_abs();
    // Writing to a string cannot fail.
    let _ = match size {
        0 => text.write_str("0s"),
        1..1_000 => write!(text, "{size}ns"),
        1_000..1_000_000 => write_fraction(&mut text, size, 1_000, "µs"),
        1_000_000..SECOND => write_fraction(&mut text, size, 1_000_000, "ms"),
        _ => {
            if size >= HOUR {
                let _ = write!(text, "{}h", size / HOUR);
            }
            if size >= MINUTE {
                let _ = write!(text, "{}m", size % HOUR / MINUTE);
            }
            write_fraction(&mut text, size % MINUTE, SECOND, "s")
        }
    };
    text
}

fn write_fraction(text: &mut String, size: u64, unit: u64, name: &str) -> std::fmt::Result {
    write!(text, "{}", size / unit)?;
    let width = unit.ilog10() as usize;
    let fraction = format!("{:0width$}", size % unit);
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        write!(text, ".{fraction}")?;
    }
    text.write_str(name)
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
    // A number of more than 19 digits is out of range; 18 digits of a fraction are enough.
    let whole = whole.trim_start_matches('0');
    if whole.len() > 19 {
        return None;
    }
    let number = |digits: &str| digits.parse::<i128>().unwrap_or(0);
    let fraction = &fraction[..fraction.len().min(18)];
    let part = number(fraction) * unit / 10_i128.pow(fraction.len() as u32);
    Some((number(whole) * unit + part, rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn unit(text: &str) -> Option<(i128, &str)> {
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
    let found = units
        .iter()
        .find_map(|(name, nanos)| Some((*nanos, text.strip_prefix(name)?)));
    found.map(|(nanos, rest)| (i128::from(nanos), rest))
}
