//! The time of offline commands: the clock, and times on the command line and in events.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time in UTC, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(expr::Time);

impl Time {
    /// The current time.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = since.map_or(0, |since| since.as_secs());
        let time = i64::try_from(seconds).ok().and_then(expr::Time::of_unix);
        // A clock after the year 9999 is not worth an error.
        Self(time.unwrap_or(expr::Time::EPOCH))
    }

    /// The same for the offline runner.
    pub(crate) fn get(self) -> expr::Time {
        self.0
    }
}

/// `YYYY-MM-DDTHH:MM:SSZ`
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
        let time = expr::Time::parse(text).ok_or(NoTime)?;
        expr::Time::of_unix(time.seconds()).map(Self).ok_or(NoTime)
    }
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
    fn times_become_utc_to_the_second() {
        check("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z");
        check("2026-01-01T01:00:00+02:30", "2025-12-31T22:30:00Z");
        check("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z");
        for text in [
            "",
            "now",
            "2026-01-02",
            "2026-01-02t03:04:05z",
            "0000-01-01T00:00:00+01:00",
        ] {
            check(text, &NoTime.to_string());
        }
    }
}
