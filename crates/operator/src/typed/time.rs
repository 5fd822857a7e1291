//! Literal times and durations.

use document::Location;
use expr::Time;
use schema::{Strings, Type};

use super::inference::Inference;
use crate::problem::Problem;

impl Inference {
    /// Reports an operand that is never an RFC 3339 time.
    pub(super) fn expect_time(&mut self, found: &Type, name: &str, at: &Location) {
        let before = self.problems.len();
        self.expect(found, &Type::string(), name, at);
        if self.problems.len() == before
            && let Some(text) = never(found, |text| Time::parse(text).is_some())
        {
            let message = format!("{name} needs a time, but this is the string {text:?}");
            let problem = self.fails("wrong-type", &place(found, at), message);
            self.report(problem.with_help(time_help(&text)));
        }
    }

    /// Reports an operand that is never a duration.
    pub(super) fn expect_duration(&mut self, found: &Type, name: &str, at: &Location) {
        let wanted = Type {
            string: Strings::All,
            ..Type::number()
        };
        let before = self.problems.len();
        self.expect(found, &wanted, name, at);
        if self.problems.len() == before
            && let Some(text) = never(found, expr::is_duration)
        {
            let message = format!("{name} needs a duration, but this is the string {text:?}");
            let problem = self.fails("wrong-type", &place(found, at), message);
            self.report(problem.with_help(duration_help(&text)));
        }
    }

    /// Warns if `"@now"` is compared with a text that is not a time.
    pub(super) fn compared_with_now(&mut self, other: &Type, at: &Location) {
        if let Some(text) = never(other, |text| Time::parse(text).is_some()) {
            let message =
                format!("\"@now\" is compared as text with {text:?}, which is not a time");
            let problem = Problem::warning("wrong-type", &place(other, at), message);
            self.report(problem.with_help(time_help(&text)));
        }
    }
}

fn place(found: &Type, at: &Location) -> Location {
    found.at.as_ref().unwrap_or(at).clone()
}

/// A string of the type, if it has only strings that are known and wrong.
fn never(found: &Type, right: impl Fn(&str) -> bool) -> Option<String> {
    let known = found.string.as_known().filter(|_| !found.any)?;
    let mut rest = found.clone().without_null();
    rest.string = Strings::None;
    let wrong = rest.is_never() && !known.iter().any(|text| right(text));
    wrong.then(|| known.first().map(ToString::to_string))?
}

fn time_help(text: &str) -> String {
    if text != "@now" && expr::nearest(text.trim_start_matches('@'), ["now"]).is_some() {
        return "the time is \"@now\"".to_owned();
    }
    if let Some(path) = text.strip_prefix('.') {
        return format!("a path starts with `$`: \"$.{path}\"");
    }
    let midnight = format!("{text}T00:00:00Z");
    if Time::parse(&midnight).is_some() {
        return format!("a date alone is no time: write {midnight}");
    }
    "a time is written 2026-01-31T12:00:00Z".to_owned()
}

fn duration_help(text: &str) -> String {
    match expr::meant_duration(text) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "a duration is written 30s, 5m, 1h30m or 2d, or is a number of seconds".to_owned(),
    }
}
