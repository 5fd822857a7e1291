//! Timestamps: read and written as Go does, which Kubernetes uses.

use std::cmp::Ordering;
use std::fmt::Write;
use std::sync::LazyLock;

use jiff::tz::TimeZoneDatabase;

const DAY: i64 = 86_400;

/// The first and last second of the years 1 to 9999, which CEL supports.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// The time zones. They are part of the program, because an evaluation reads no files.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A point in time in the years 1 to 9999.
#[derive(Clone, Copy)]
pub(crate) struct Timestamp {
    /// Since 1970.
    seconds: i64,
    nanos: u32,
    /// The offset from UTC in seconds that it was written with. Only its text shows it.
    offset: i32,
}

impl Timestamp {
    pub(crate) fn from_seconds(seconds: i64) -> Option<Self> {
        Self::at(seconds, 0, 0)
    }

    fn at(seconds: i64, nanos: u32, offset: i32) -> Option<Self> {
        (FIRST..=LAST).contains(&seconds).then_some(Self {
            seconds,
            nanos,
            offset,
        })
    }

    pub(crate) fn seconds(self) -> i64 {
        self.seconds
    }

    /// Whether this is the first moment of the year 1, which is Go's zero time.
    pub(crate) fn is_year_one(self) -> bool {
        (self.seconds, self.nanos) == (FIRST, 0)
    }

    fn total(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }

    /// The time after this many nanoseconds.
    pub(crate) fn plus(self, nanos: i128) -> Option<Self> {
        let total = self.total() + nanos;
        let seconds = i64::try_from(total.div_euclid(1_000_000_000)).ok()?;
        let nanos = u32::try_from(total.rem_euclid(1_000_000_000)).ok()?;
        Self::at(seconds, nanos, self.offset)
    }

    /// The nanoseconds since another time.
    pub(crate) fn since(self, earlier: Self) -> Option<i64> {
        i64::try_from(self.total() - earlier.total()).ok()
    }

    /// The time in UTC.
    pub(crate) fn utc(self) -> Self {
        Self { offset: 0, ..self }
    }

    /// Reads a text such as `2024-01-31T12:00:00.5+01:00`. `None` if it is malformed or out of
    /// range.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = Digits(text.as_bytes());
        let year = rest.number(4)?;
        let month = rest.after(b'-')?.number(2)?;
        let day = rest.after(b'-')?.number(2)?;
        rest.after(b'T')?;
        let hour = rest.hour()?;
        let minute = rest.after(b':')?.number(2)?;
        let second = rest.after(b':')?.number(2)?;
        let nanos = rest.fraction();
        let offset = rest.offset()?;
        let days_of_month = 1..=days_in(year, month)?;
        if !days_of_month.contains(&day) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
        Self::at(seconds - i64::from(offset), nanos, offset)
    }

    /// The date and time in a zone, given by its name or by an offset such as `-02:00`.
    pub(crate) fn in_zone(self, zone: &str) -> Option<Civil> {
        let offset = match zone.split_once(':') {
            Some((hours, minutes)) => {
                let (hours, minutes) = (go_int(hours)?, go_int(minutes)?);
                let sign = if zone.starts_with('-') { -1 } else { 1 };
                let offset = hours.checked_mul(60)?.checked_add(sign * minutes)?;
                offset.checked_mul(60)?
            }
            None if matches!(zone, "" | "UTC") => 0,
            None => {
                let found = ZONES.get(zone).ok()?;
                // The names of files, which Go looks for, are in one case only.
                if found.iana_name() != Some(zone) {
                    return None;
                }
                let at = jiff::Timestamp::new(self.seconds, 0).ok()?;
                i64::from(found.to_offset(at).seconds())
            }
        };
        Some(Civil::new(self.seconds.checked_add(offset)?, self.nanos))
    }

    pub(crate) fn civil(self) -> Civil {
        Civil::new(self.seconds + i64::from(self.offset), self.nanos)
    }

    /// The text in RFC 3339, with the offset that the time was written with, and without trailing
    /// zeros in the fraction.
    pub(crate) fn text(self) -> String {
        let local = self.civil();
        let mut text = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            local.year, local.month, local.day, local.hour, local.minute, local.second
        );
        if self.nanos > 0 {
            let fraction = format!("{:09}", self.nanos);
            text.extend([".", fraction.trim_end_matches('0')]);
        }
        if self.offset == 0 {
            text.push('Z');
        } else {
            let sign = if self.offset < 0 { '-' } else { '+' };
            let minutes = self.offset.unsigned_abs() / 60;
            // Writing to a string cannot fail.
            let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
        text
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

/// A date and time of day.
pub(crate) struct Civil {
    pub year: i64,
    /// From 1, like the day.
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub nanos: u32,
    /// Since 1970-01-01.
    days: i64,
}

impl Civil {
    fn new(seconds: i64, nanos: u32) -> Self {
        let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = date(days);
        Self {
            year,
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            nanos,
            days,
        }
    }

    /// From 0 on Sunday.
    pub(crate) fn day_of_week(&self) -> i64 {
        // 1970-01-01 was a Thursday.
        (self.days + 4).rem_euclid(7)
    }

    /// From 0 on the 1st of January.
    pub(crate) fn day_of_year(&self) -> i64 {
        self.days - days(self.year, 1, 1)
    }
}

/// The days from 1970-01-01 to a date. The year is shifted to begin in March, so that a leap day is
/// its last day, and counted in cycles of 400 years.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_cycle = year * 365 + year / 4 - year / 100 + day_of_year;
    cycle * 146_097 + day_of_cycle - 719_468
}

/// The year, month and day of a number of days since 1970-01-01; the inverse of [`days`].
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = cycle * 400 + year + i64::from(month <= 2);
    (year, month, day - (153 * shifted + 2) / 5 + 1)
}

fn days_in(year: i64, month: i64) -> Option<i64> {
    Some(match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    })
}

/// Whether a text is a date: `2024-02-29`.
pub(crate) fn is_date(text: &str) -> bool {
    let read = || {
        let mut rest = Digits(text.as_bytes());
        let year = rest.number(4)?;
        let month = rest.after(b'-')?.number(2)?;
        let day = rest.after(b'-')?.number(2)?;
        let valid = (1..=days_in(year, month)?).contains(&day);
        (valid && rest.0.is_empty()).then_some(())
    };
    read().is_some()
}

/// A whole number with an optional sign.
fn go_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// What is left of a text.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    /// A number of this many digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        let plain = number.iter().all(u8::is_ascii_digit);
        plain.then(|| {
            let digits = number.iter().map(|digit| i64::from(digit - b'0'));
            digits.fold(0, |number, digit| number * 10 + digit)
        })
    }

    fn after(&mut self, expected: u8) -> Option<&mut Self> {
        let (found, rest) = self.0.split_first()?;
        self.0 = rest;
        (*found == expected).then_some(self)
    }

    /// One or two digits: Go also reads `T1:00:00`.
    fn hour(&mut self) -> Option<i64> {
        let two = self.0.get(1).is_some_and(u8::is_ascii_digit);
        self.number(if two { 2 } else { 1 })
    }

    /// The nanoseconds of a fraction. Further digits are dropped.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', rest @ ..] = self.0 else {
            return 0;
        };
        let end = rest.iter().position(|c| !c.is_ascii_digit());
        let digits = &rest[..end.unwrap_or(rest.len())];
        if digits.is_empty() {
            return 0;
        }
        self.0 = &rest[digits.len()..];
        (0..9).fold(0, |nanos, place| {
            let digit = digits.get(place).map_or(0, |digit| u32::from(digit - b'0'));
            nanos * 10 + digit
        })
    }

    /// The offset of a zone in seconds, at the end of a text.
    fn offset(&mut self) -> Option<i32> {
        let sign = match self.0 {
            [b'Z'] => return Some(0),
            [b'+', _, _, b':', _, _] => 1,
            [b'-', _, _, b':', _, _] => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.number(2)?;
        let minutes = self.after(b':')?.number(2)?;
        if hours > 24 || minutes > 60 {
            return None;
        }
        i32::try_from(sign * (hours * 3600 + minutes * 60)).ok()
    }
}
