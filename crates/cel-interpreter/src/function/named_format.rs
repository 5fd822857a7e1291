//! The named formats of Kubernetes: `format.dns1123Label().validate(name)`.
//!
//! The messages are those of Kubernetes, so that users recognise them.

use super::{Arguments, Result, url};
use crate::timestamp::is_date;
use crate::types::Extension;
use crate::value::Val;

/// A format by its name.
pub(crate) struct NamedFormat {
    pub(crate) name: &'static str,
    /// The messages on what is wrong with a text.
    problems: fn(&str) -> Vec<String>,
}

static FORMATS: &[NamedFormat] = &[
    format("byte", |text| unless(is_base64(text), "invalid base64")),
    format("date", |text| unless(is_date(text), "invalid date")),
    format("datetime", |text| {
        unless(is_date_time(text), "invalid datetime")
    }),
    format("dns1035Label", dns1035_label),
    format("dns1035LabelPrefix", |text| dns1035_label(&masked(text))),
    format("dns1123Label", dns1123_label),
    format("dns1123LabelPrefix", |text| dns1123_label(&masked(text))),
    format("dns1123Subdomain", dns1123_subdomain),
    format("dns1123SubdomainPrefix", |text| {
        dns1123_subdomain(&masked(text))
    }),
    format("labelValue", label_value),
    format("qualifiedName", qualified_name),
    format("uri", |text| url::problem(text).into_iter().collect()),
    format("uuid", |text| {
        unless(is_uuid(text), "does not match the UUID format")
    }),
];

const fn format(name: &'static str, problems: fn(&str) -> Vec<String>) -> NamedFormat {
    NamedFormat { name, problems }
}

fn find(name: &str) -> Option<Val> {
    let format = FORMATS.iter().find(|format| format.name == name);
    format.map(|format| Val::extension(Extension::Format(format)))
}

/// `format.dns1123Label()` and the like.
pub(super) fn constant(call: &mut Arguments<'_>) -> Result<Val> {
    let name = call.name.strip_prefix("format.").unwrap_or_default();
    find(name).ok_or_else(|| call.invalid("unknown format"))
}

/// `format.named('dns1123Label')`: an optional.
pub(super) fn named(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::optional(find(call.text(0)?)))
}

/// The messages as an optional list, which is empty if the text is valid.
pub(super) fn validate(call: &mut Arguments<'_>) -> Result<Val> {
    let Some(Extension::Format(format)) = call.extension(0) else {
        return Err(call.mismatch());
    };
    let problems = (format.problems)(call.text(1)?);
    let texts: usize = problems.iter().map(String::len).sum();
    call.meter.bytes(texts)?;
    let some = !problems.is_empty();
    Ok(Val::optional(
        some.then(|| problems.into_iter().map(Val::from).collect()),
    ))
}

fn unless(valid: bool, message: &str) -> Vec<String> {
    if valid {
        Vec::new()
    } else {
        vec![message.to_owned()]
    }
}

const LABEL_1123: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

/// The message for a text that does not match a pattern.
fn mismatch(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    let examples = examples.join(" or ");
    format!("{rule} (e.g. {examples}regex used for validation is '{pattern}')")
}

fn too_long(text: &str, most: usize) -> Option<String> {
    let message = || format!("must be no more than {most} characters");
    (text.len() > most).then(message)
}

/// Letters, digits and, in between, the characters of `inner`.
fn is_word(text: &str, plain: fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(|c| plain(*c)))
        && bytes.iter().all(|c| plain(*c) || inner.contains(c))
}

fn is_lower(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    is_word(text, is_lower, b"-")
}

fn is_name(text: &str) -> bool {
    is_word(text, |c| c.is_ascii_alphanumeric(), b"-_.")
}

fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems = Vec::from_iter(too_long(text, 63));
    if is_label(text) {
        return problems;
    }
    problems.push(if text.split('.').all(is_label) {
        "must not contain dots".to_owned()
    } else {
        let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
        mismatch(rule, LABEL_1123, &["my-name", "123-abc"])
    });
    problems
}

fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::from_iter(too_long(text, 253));
    if !text.split('.').all(is_label) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        problems.push(mismatch(rule, SUBDOMAIN, &["example.com"]));
    }
    problems
}

fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems = Vec::from_iter(too_long(text, 63));
    if !is_label(text) || text.starts_with(|c: char| c.is_ascii_digit()) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        problems.push(mismatch(rule, LABEL_1035, &["my-name", "abc-123"]));
    }
    problems
}

fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::from_iter(too_long(text, 63));
    if !text.is_empty() && !is_name(text) {
        let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        let examples = ["MyValue", "my_value", "12345"];
        problems.push(mismatch(rule, LABEL_VALUE, &examples));
    }
    problems
}

fn qualified_name(text: &str) -> Vec<String> {
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    let wrong_name = || mismatch(rule, NAME, &["MyName", "my.name", "123-abc"]);
    let mut problems = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        ["", name] => {
            problems.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            let wrong = dns1123_subdomain(prefix);
            problems.extend(wrong.iter().map(|message| format!("prefix part {message}")));
            name
        }
        _ => {
            let wrong = wrong_name();
            return vec![format!(
                "a valid label key {wrong} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    }
    problems.extend(too_long(name, 63).map(|message| format!("name part {message}")));
    if !is_name(name) {
        problems.push(format!("name part {}", wrong_name()));
    }
    problems
}

/// The start of a name, which a generated end follows: its last character may be a dash.
fn masked(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let end = rest.floor_char_boundary(rest.len() - 1);
            rest[..end].to_owned() + "a"
        }
        _ => text.to_owned(),
    }
}

/// With padding, and not empty.
fn is_base64(text: &str) -> bool {
    let digits = text
        .strip_suffix("==")
        .or(text.strip_suffix('='))
        .unwrap_or(text);
    let in_alphabet = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
    !digits.is_empty() && text.len().is_multiple_of(4) && digits.bytes().all(in_alphabet)
}

/// Hexadecimal digits, 32 of them, with or without dashes between the groups.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (at, size) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(size) else {
            return false;
        };
        if !group.bytes().all(|c| c.is_ascii_hexdigit()) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// As in Kubernetes: the `T` and `Z` may be in lower case, any character may precede a fraction, and
/// what follows another `T` is ignored.
fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let mut limits = ["23", "59", "59"].into_iter();
    let two_digits = |part: &str| part.len() == 2 && part.bytes().all(|c| c.is_ascii_digit());
    let in_range = |part: &str| limits.next().is_some_and(|most| part <= most) && two_digits(part);
    if clock.split(':').count() != 3 || !clock.split(':').all(in_range) {
        return false;
    }
    is_zone(rest) || without_fraction(rest).is_some_and(is_zone)
}

/// What follows a fraction: any character, and digits.
fn without_fraction(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(|c: char| c != '\n')?;
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < digits.len()).then_some(rest)
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        b"z" => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|c| c.is_ascii_digit()),
        _ => false,
    }
}
