//! Reads the options of a controller, and durations.

use std::time::Duration;

use document::{Location, Value};

use super::SpecReader;
use crate::problem::Problem;
use crate::spec::{MaxDeletions, Options};

impl SpecReader<'_> {
    /// Reads a duration above 0, such as `1h30m`, `2d`, `1.5s` or `100ms`.
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
        let parsed = value.as_str().and_then(expr::duration_of);
        if parsed.is_none() {
            let (found, meant) = match (value.as_str(), value.as_int()) {
                (Some(text), _) => (format!("{text:?}"), expr::meant_duration(text)),
                (None, Some(number)) => {
                    let text = number.to_string();
                    let meant = expr::meant_duration(&text);
                    (text, meant)
                }
                (None, None) => (value.kind().to_string(), None),
            };
            let message = format!("expected a duration such as 30s, 1h30m or 2d, found {found}");
            let problem = Problem::error("bad-duration", at, message);
            self.problems.push(match meant {
                Some(meant) => problem.with_help(format!("did you mean {meant}?")),
                None => problem,
            });
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
