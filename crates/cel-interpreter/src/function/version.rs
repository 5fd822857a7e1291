//! Semantic versions: `1.2.3-rc.1+build`.

use std::cmp::Ordering;

use super::{Arguments, Result};
use crate::types::Extension;
use crate::value::Val;

/// A version. What follows a `+` does not matter and is not kept.
pub(crate) struct Version {
    numbers: [u64; 3],
    /// The parts of the pre-release.
    pre: Vec<VersionPart>,
}

/// A part of a pre-release. Numbers come before texts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum VersionPart {
    Number(u64),
    Text(String),
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        if build.is_some_and(|build| !build.split('.').all(is_identifier)) {
            return None;
        }
        let pre = pre.map(|pre| pre.split('.').map(VersionPart::parse).collect());
        Some(Self {
            numbers: [number(major)?, number(minor)?, number(patch)?],
            pre: pre.unwrap_or(Some(Vec::new()))?,
        })
    }

    /// Reads a version after removing a `v` and leading zeros, and adding missing numbers.
    fn parse_tolerantly(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        // A pre-release comes before its release.
        let release = |version: &Self| version.pre.is_empty();
        let (a, b) = (
            (self.numbers, release(self)),
            (other.numbers, release(other)),
        );
        a.cmp(&b).then_with(|| self.pre.cmp(&other.pre))
    }
}

impl VersionPart {
    fn parse(text: &str) -> Option<Self> {
        if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) {
            return number(text).map(Self::Number);
        }
        is_identifier(text).then(|| Self::Text(text.to_owned()))
    }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}

/// A number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|c| c.is_ascii_digit());
    let leading = text.len() > 1 && text.starts_with('0');
    (plain && !leading).then(|| text.parse().ok())?
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    let zero = if rest.starts_with(|c: char| c.is_ascii_digit()) {
        ""
    } else {
        "0"
    };
    [zero, rest].concat()
}

/// Reads the version of `semver(text)` and `semver(text, tolerant)`.
fn read(call: &Arguments<'_>) -> Result<Option<Version>> {
    let text = call.text(0)?;
    let tolerant = match call.args.get(1) {
        None => false,
        Some(Val::Bool(tolerant)) => *tolerant,
        Some(_) => return Err(call.mismatch()),
    };
    Ok(if tolerant {
        Version::parse_tolerantly(text)
    } else {
        Version::parse(text)
    })
}

pub(super) fn semver(call: &mut Arguments<'_>) -> Result<Val> {
    let version = read(call)?;
    version
        .map(|version| Val::extension(Extension::Version(version)))
        .ok_or_else(|| call.invalid("the string is not a semantic version"))
}

pub(super) fn is_semver(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(read(call)?.is_some()))
}

pub(super) fn major(call: &mut Arguments<'_>) -> Result<Val> {
    component(call, 0)
}

pub(super) fn minor(call: &mut Arguments<'_>) -> Result<Val> {
    component(call, 1)
}

pub(super) fn patch(call: &mut Arguments<'_>) -> Result<Val> {
    component(call, 2)
}

fn component(call: &Arguments<'_>, n: usize) -> Result<Val> {
    match call.extension(0) {
        // As in Go, a number above the range of an int wraps around.
        Some(Extension::Version(version)) => Ok(Val::Int(version.numbers[n].cast_signed())),
        _ => Err(call.mismatch()),
    }
}
