//! Points in time, and durations: reading, printing, arithmetic. There is no clock here.
//!
//! A time is a full RFC 3339 date-time with an upper-case `T` and `Z`:
//!
//! ```text
//! 2026-01-02T03:04:05Z    2026-01-02T03:04:05.25+02:00
//! ```
//!
//! A duration is written as in Go, and `d` is a day of 24 hours: `1h30m`, `-5m`, `2d`.

use std::fmt;
use std::time::Duration;

/// A point in time, to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Whole seconds since 1970, rounded down.
    seconds: i64,
    /// The rest, below a second.
    nanos: u32,
}

const DAY: i64 = 86_400;
/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;
/// The first second of the year 0.
const FIRST: i64 = -62_167_219_200;
/// The last second of the year 9999.
const LAST: i64 = 253_402_300_799;

impl Time {
    /// 1970-01-01T00:00:00Z
    pub const EPOCH: Self = Self {
        seconds: 0,
        nanos: 0,
    };

    /// The time that a text shows. The year in the text has four digits; with an offset, the year
    /// in UTC may be the one before or after. Digits after the ninth of a fraction are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        // The test of one byte keeps comparisons of other strings fast.
        if text.as_bytes().get(10) != Some(&b'T') {
            return None;
        }
        let (date, rest) = (text.get(..10)?, text.get(11..)?);
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let (time, rest) = rest.split_at_checked(8)?;
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        let (nanos, zone) = fraction(rest)?;
        let offset = match zone.split_at_checked(1)? {
            ("Z", "") => 0,
            ("+", zone) => zone_seconds(zone)?,
            ("-", zone) => -zone_seconds(zone)?,
            _ => return None,
        };
        let days = days(year, month, day)?;
        let seconds = days * DAY + hour * 3600 + minute * 60 + second - offset;
        (hour < 24 && minute < 60 && second < 60).then_some(Self { seconds, nanos })
    }

    /// The time of a Unix time; `None` outside of the years 0 to 9999.
    pub fn of_unix(seconds: i64) -> Option<Self> {
        (FIRST..=LAST)
            .contains(&seconds)
            .then_some(Self { seconds, nanos: 0 })
    }

    /// The Unix time, rounded down to whole seconds.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// The first whole second that is not before this time, as a Unix time.
    pub fn ceil(self) -> i64 {
        self.seconds + i64::from(self.nanos > 0)
    }

    /// The Unix time in nanoseconds.
    pub(crate) fn unix_nanos(self) -> i128 {
        i128::from(self.seconds) * SECOND + i128::from(self.nanos)
    }

    /// The time after a duration such as `1h30m` or `2d`; `None` if the text is no duration, and
    /// outside of the years 0 to 9999.
    pub fn plus(self, text: &str) -> Option<Self> {
        self.after(duration(text)?)
    }

    /// The time after these nanoseconds; `None` outside of the years 0 to 9999.
    pub(crate) fn after(self, nanos: i128) -> Option<Self> {
        let sum = self.unix_nanos().checked_add(nanos)?;
        let seconds = i64::try_from(sum.div_euclid(SECOND)).ok()?;
        let nanos = u32::try_from(sum.rem_euclid(SECOND)).ok()?;
        Some(Self {
            nanos,
            ..Self::of_unix(seconds)?
        })
    }
}

/// In UTC, with the shortest fraction: `2026-01-02T03:04:05.25Z`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.seconds.div_euclid(DAY));
        let rest = self.seconds.rem_euclid(DAY);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )?;
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// Nanoseconds as decimal seconds: `-1.5`.
pub(crate) fn decimal_seconds(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let second = SECOND.unsigned_abs();
    format!("{sign}{}.{:09}", nanos / second, nanos % second)
}

/// Whether a text is a duration, such as `1h30m`, `-5m` or `2d`.
pub fn is_duration(text: &str) -> bool {
    duration(text).is_some()
}

/// A duration that is not negative, such as `1h30m` or `2d`.
pub fn duration_of(text: &str) -> Option<Duration> {
    let nanos = u128::try_from(duration(text)?).ok()?;
    let second = SECOND.unsigned_abs();
    let seconds = u64::try_from(nanos / second).ok()?;
    let nanos = u32::try_from(nanos % second).ok()?;
    Some(Duration::new(seconds, nanos))
}

/// The duration that is meant by a number alone, or with a unit in words: `1 hour` is `1h`.
pub fn meant_duration(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: u32 = number.parse().ok()?;
    let unit = unit.trim().to_lowercase();
    match unit.strip_suffix('s').unwrap_or(&unit) {
        "" | "sec" | "second" => Some(format!("{number}s")),
        "m" | "min" | "minute" => Some(format!("{number}m")),
        "h" | "hr" | "hour" => Some(format!("{number}h")),
        "d" | "day" => Some(format!("{number}d")),
        "w" | "week" => Some(format!("{}d", number.checked_mul(7)?)),
        _ => None,
    }
}

/// The nanoseconds of a duration in the form of Go, or with days.
pub(crate) fn duration(text: &str) -> Option<i128> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (part, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let (unit, after) = unit(after)?;
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        sum = sum.checked_add(whole.checked_mul(unit)?)?;
        sum = sum.checked_add(part_of(part, unit))?;
        rest = after;
    }
    Some(sign * sum)
}

/// Splits a text after its leading digits.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// The nanoseconds of a unit at the start of a text, and the rest of it.
fn unit(text: &str) -> Option<(i128, &str)> {
    // A unit whose name starts with that of another one comes first.
    let units = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", SECOND / 1_000),
        ("s", SECOND),
        ("m", 60 * SECOND),
        ("h", 3_600 * SECOND),
        ("d", 86_400 * SECOND),
    ];
    let mut found = units.into_iter();
    found.find_map(|(name, nanos)| Some((nanos, text.strip_prefix(name)?)))
}

/// The decimal fraction `0.<digits>` of a unit, rounded down. More than 18 digits cannot make a
/// difference of a nanosecond.
fn part_of(digits: &str, unit: i128) -> i128 {
    let digits = &digits[..digits.len().min(18)];
    let scale = 10_i128.pow(digits.len() as u32);
    digits.parse::<i128>().unwrap_or(0) * unit / scale
}

/// The nanoseconds of an optional fraction at the start of a text, and the rest of it.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(text) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let (found, rest) = digits(text);
    let kept = &found[..found.len().min(9)];
    let nanos: u32 = kept.parse().ok()?;
    Some((nanos * 10_u32.pow(9 - kept.len() as u32), rest))
}

fn zone_seconds(zone: &str) -> Option<i64> {
    let [hour, minute] = numbers(zone, ':', [2, 2])?;
    (hour < 24 && minute < 60).then_some(hour * 3600 + minute * 60)
}

/// Reads numbers of these lengths with a separator between them.
fn numbers<const N: usize>(text: &str, separator: char, lengths: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut found = [0; N];
    for (number, length) in found.iter_mut().zip(lengths) {
        let part = parts.next()?;
        if part.len() != length || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

/// The days since 1970 of a date; `None` if there is no such date. Years are counted from March, so
/// that the leap day is the last day of its year.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) {
        return None;
    }
    let shifted = year - i64::from(month <= 2);
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    // The 30th of February would be converted back to another date.
    (date(days) == (year, month, day)).then_some(days)
}

/// Year, month and day from the days since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let found = Time::parse(text).map(|time| time.to_string());
        assert_eq!(found.as_deref(), Some(expect), "{text}");
    }

    #[test]
    fn times_with_any_offset_and_fraction_become_utc() {
        check("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z");
        check("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05.999Z");
        check("2026-01-02T03:04:05.250Z", "2026-01-02T03:04:05.25Z");
        check("2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05Z");
        check(
            "2026-01-02T03:04:05.1234567899Z",
            "2026-01-02T03:04:05.123456789Z",
        );
        check("2026-01-01T01:00:00+02:30", "2025-12-31T22:30:00Z");
        check("2024-02-28T23:30:00-01:00", "2024-02-29T00:30:00Z");
        check("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z");
        check("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z");
        check("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z");
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "now",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-01-02t03:04:05Z",
            "2026-01-02T03:04:05z",
            "2026-01-02 03:04:05Z",
            "2026-1-2T03:04:05Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2:00",
            "2026-01-01T00:00:00Zx",
            "12026-01-01T00:00:00Z",
            "２026-01-01T00:00:00Z",
            "2026-01-01T00:00:0é",
            "2026-01-0éT00:00:00Z",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sums_stay_within_four_digit_years() {
        let at = |text: &str| Time::parse(text).unwrap();
        let last = at("9999-12-31T23:59:59.5Z");
        assert_eq!(last.after(SECOND), None);
        assert_eq!(last.after(i128::MAX), None);
        let first = at("0000-01-01T00:00:00Z");
        assert_eq!(first.after(-1), None);
        assert_eq!(first.after(i128::MIN), None);
        // In UTC this is a day of the year before, which cannot be written.
        assert_eq!(at("0000-01-01T00:00:00+01:00").after(0), None);
        let whole = first.after(i128::from(LAST - FIRST) * SECOND).unwrap();
        assert_eq!(whole.to_string(), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn durations_are_those_of_go_and_days() {
        for (text, nanos) in [
            ("0", 0),
            ("-0", 0),
            ("1h30m", 5_400 * SECOND),
            ("-5m", -300 * SECOND),
            ("+5m", 300 * SECOND),
            ("2d", 172_800 * SECOND),
            ("1d1h1ns", 90_000 * SECOND + 1),
            ("1500ms", 1_500_000_000),
            ("1.5h", 5_400 * SECOND),
            (".5s", 500_000_000),
            ("5.s", 5 * SECOND),
            ("3us2\u{b5}s1\u{3bc}s", 6_000),
            ("1.9999ns", 1),
            ("0.3333333333333333333h", 1_199_999_999_999),
        ] {
            assert_eq!(duration(text), Some(nanos), "{text}");
        }
        let long = "9".repeat(60);
        for text in [
            "",
            "-",
            "+",
            "1",
            "1x",
            "h",
            ".s",
            "1h 30m",
            " 1h",
            "1h ",
            "--1h",
            "1h-30m",
            "1e3s",
            "1H",
            "é",
            &long,
            &format!("{long}h"),
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn durations_in_words_are_known() {
        for (text, meant) in [
            ("5 minutes", Some("5m")),
            ("300", Some("300s")),
            ("1 Week", Some("7d")),
            ("5 parsecs", None),
            ("soon", None),
        ] {
            assert_eq!(meant_duration(text).as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn durations_are_not_negative() {
        assert_eq!(duration_of("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(duration_of("1d"), Some(Duration::from_hours(24)));
        assert_eq!(duration_of("-1s"), None);
        assert_eq!(duration_of("99999999999999999999h"), None);
    }

    #[test]
    fn every_day_survives_a_round_trip() {
        for day in -800_000..800_000 {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), Some(day));
        }
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(19_782), (2024, 2, 29));
    }
}
