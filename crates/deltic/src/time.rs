//! Points in time: reading the clock, and reading and printing RFC 3339.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time in UTC, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    /// Seconds since 1970, in the years 0 to 9999.
    seconds: i64,
}

const DAY: i64 = 86_400;
/// The last second that has a four-digit year.
const LAST: i64 = 253_402_300_799;
/// The first second of the year 0.
const FIRST: i64 = -62_167_219_200;

impl Time {
    /// The current time.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |duration| duration.as_secs());
        Self {
            seconds: i64::try_from(since).map_or(LAST, |seconds| seconds.min(LAST)),
        }
    }
}

/// `YYYY-MM-DDTHH:MM:SSZ`
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.seconds.div_euclid(DAY));
        let rest = self.seconds.rem_euclid(DAY);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

/// A text is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time such as 2026-01-02T03:04:05Z")]
pub(crate) struct NoTime;

impl FromStr for Time {
    type Err = NoTime;

    /// Reads RFC 3339; fractions of a second are dropped.
    fn from_str(text: &str) -> Result<Self, NoTime> {
        let seconds = parse(text).ok_or(NoTime)?;
        if (FIRST..=LAST).contains(&seconds) {
            Ok(Self { seconds })
        } else {
            Err(NoTime)
        }
    }
}

fn parse(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)?
        }
        None => rest,
    };
    let offset = match rest.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        ("+", zone) => zone_seconds(zone)?,
        ("-", zone) => -zone_seconds(zone)?,
        _ => return None,
    };
    let days = days(year, month, day)?;
    (hour < 24 && minute < 60 && second < 60)
        .then_some(days * DAY + hour * 3600 + minute * 60 + second - offset)
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
        let found = text.parse::<Time>().map(|time| time.to_string());
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expect);
    }

    #[test]
    fn times_of_all_forms_become_utc() {
        check("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z");
        check("2026-01-02t03:04:05.999z", "2026-01-02T03:04:05Z");
        check("2026-01-01 01:00:00+02:30", "2025-12-31T22:30:00Z");
        check("2024-02-28T23:30:00-01:00", "2024-02-29T00:30:00Z");
        check("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z");
        check("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z");
        check("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "now",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-1-2T03:04:05Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2:00",
            "2026-01-01T00:00:00Zx",
            "0000-01-01T00:00:00+01:00",
            "２026-01-01T00:00:00Z",
            "2026-01-01T00:00:0é",
        ] {
            check(text, &NoTime.to_string());
        }
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
