//! Reads the options of a controller, and durations.

use std::time::Duration;

use document::{Location, Value};

use super::SpecReader;
use crate::spec::{MaxDeletions, Options};

impl SpecReader<'_> {
    /// Reads a duration above 0, such as `1h30m`, `5m`, `1.5s` or `100ms`.
    pub(super) fn duration(&mut self, value: &Value, at: &Location) -> Option<Duration> {
        let duration = self.duration_or_zero(value, at)?;
        if duration.is_zero() {
            self.error("bad-duration", at, "expected a duration above 0");
            return None;
        }
        Some(duration)
    }

    /// Reads a duration, which may be `0s`.
    fn duration_or_zero(&mut self, value: &Value, at: &Location) -> Option<Duration> {
        if value.is_null() {
            return None;
        }
        let parsed = value.as_str().and_then(parse_duration);
        if parsed.is_none() {
            self.error(
                "bad-duration",
                at,
                "expected a duration, such as 30s, 5m or 1h30m",
            );
        }
        parsed
    }

    pub(super) fn options(&mut self, value: &Value, at: &Location) -> Options {
        let mut options = Options::default();
        if value.is_null()
            || !self.known(
                value,
                &["debounce", "concurrency", "resync", "retry", "maxDeletions"],
                at,
            )
        {
            return options;
        }
        let debounce = self.duration_or_zero(value.get("debounce"), &at.key("debounce"));
        options.debounce = debounce.unwrap_or(options.debounce);
        match value.get("concurrency") {
            count if count.is_null() => {}
            count => match count.as_int().and_then(|count| usize::try_from(count).ok()) {
                Some(count) if count > 0 => options.concurrency = count,
                _ => self.error(
                    "bad-field",
                    &at.key("concurrency"),
                    "expected a number above 0",
                ),
            },
        }
        options.resync = self.duration(value.get("resync"), &at.key("resync"));
        self.retry(value.get("retry"), &at.key("retry"), &mut options);
        options.max_deletions =
            self.max_deletions(value.get("maxDeletions"), &at.key("maxDeletions"));
        options
    }

    fn retry(&mut self, value: &Value, at: &Location, options: &mut Options) {
        if value.is_null() || !self.known(value, &["initial", "max"], at) {
            return;
        }
        let initial = self.duration(value.get("initial"), &at.key("initial"));
        let max = self.duration(value.get("max"), &at.key("max"));
        match (initial, max) {
            (Some(initial), Some(max)) if initial > max => {
                self.error("bad-field", at, "initial must not be longer than max");
            }
            // If only one is given, the default of the other is adapted to it.
            (initial, max) => {
                options.retry_initial = initial.unwrap_or(options.retry_initial);
                options.retry_max = max.unwrap_or(options.retry_max.max(options.retry_initial));
                options.retry_initial = options.retry_initial.min(options.retry_max);
            }
        }
    }

    pub(super) fn max_deletions(&mut self, value: &Value, at: &Location) -> Option<MaxDeletions> {
        if value.is_null() {
            return None;
        }
        let count = value
            .as_int()
            .and_then(|count| u32::try_from(count).ok())
            .map(MaxDeletions::Count);
        let percent = value
            .as_str()
            .and_then(|text| text.strip_suffix('%')?.parse::<u8>().ok())
            .filter(|percent| *percent <= 100)
            .map(MaxDeletions::Percent);
        let found = count.or(percent);
        if found.is_none() {
            self.error(
                "bad-field",
                at,
                "expected a number of objects, or a percentage such as \"10%\"",
            );
        }
        found
    }
}

/// Reads a duration in Go's notation: numbers with units, such as `1h30m`.
fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, seconds) = [
            ("ms", 1e-3),
            ("us", 1e-6),
            ("ns", 1e-9),
            ("h", 3600.0),
            ("m", 60.0),
            ("s", 1.0),
        ]
        .into_iter()
        .find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_notation_of_go() {
        for (text, millis) in [
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1500),
            ("100ms", 100),
            ("0s", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "5", "m", "-1s", "1x", "1..5s", "99999999999999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
