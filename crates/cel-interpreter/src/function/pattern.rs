//! Regular expressions.
//!
//! The syntax is that of RE2, which Kubernetes uses; see [`re2`](super::re2). A literal pattern is compiled with the expression, any other at each call. The size of a
//! pattern is bounded. A match costs the length of the text times the size of the pattern, which
//! is the time that it takes in the worst case.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::{Arguments, Result, re2};
use crate::error::EvalError;
use crate::value::Val;

/// How long a pattern may be, in bytes.
const MAX_PATTERN: usize = 1024;

/// The cost of compiling a pattern at run time.
const COMPILE_COST: u64 = 2_000;

/// Classes of compiled patterns: the greatest size in bytes, and the factor for the cost of a
/// match. `[a-z]+` is in the first class, `\pL+` (the letters of all scripts) in the last.
const SIZES: [(usize, u64); 3] = [(8 << 10, 1), (32 << 10, 4), (128 << 10, 16)];

/// How many bytes of text cost one unit to match with a pattern of the first class.
const BYTES: usize = 2;

/// The same for the text after a match. A search may have read it before it returned, so finding
/// all matches takes quadratic time in the worst case.
const BYTES_BEHIND: usize = 128;

/// A compiled regular expression.
pub(crate) struct Pattern {
    regex: Regex,
    /// The factor for the cost of a match.
    weight: u64,
}

/// A regular expression that is invalid or too large.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("the regular expression is too large")]
    TooLarge,
    #[error("invalid regular expression: {0}")]
    Syntax(&'static str),
}

impl Pattern {
    pub(crate) fn new(text: &str) -> std::result::Result<Arc<Self>, PatternError> {
        if text.len() > MAX_PATTERN {
            return Err(PatternError::TooLarge);
        }
        let translated = re2::translate(text).map_err(PatternError::Syntax)?;
        for (size, weight) in SIZES {
            let built = RegexBuilder::new(&translated)
                .size_limit(size)
                .dfa_size_limit(256 << 10)
                .nest_limit(50)
                .build();
            match built {
                Ok(regex) => return Ok(Arc::new(Self { regex, weight })),
                Err(regex::Error::CompiledTooBig(_)) => {}
                // What RE2 accepts and the crate does not is nested too deep.
                Err(_) => return Err(PatternError::TooLarge),
            }
        }
        Err(PatternError::TooLarge)
    }
}

pub(super) fn matches(call: &mut Arguments<'_>) -> Result<Val> {
    with_pattern(call, |pattern, text, _| {
        Ok(Val::Bool(pattern.regex.is_match(text)))
    })
}

pub(super) fn find(call: &mut Arguments<'_>) -> Result<Val> {
    with_pattern(call, |pattern, text, _| {
        let found = pattern.regex.find(text);
        Ok(Val::from(found.map_or("", |found| found.as_str())))
    })
}

pub(super) fn find_all(call: &mut Arguments<'_>) -> Result<Val> {
    // A negative limit means no limit.
    let limit = call.optional_int(2)?.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    with_pattern(call, |pattern, text, call| {
        let mut found = Vec::new();
        for part in pattern.regex.find_iter(text).take(limit) {
            let behind = (text.len() - part.end()) / BYTES_BEHIND;
            call.meter.charge(1 + behind as u64 * pattern.weight)?;
            found.push(Val::from(part.as_str()));
        }
        Ok(Val::from(found))
    })
}

fn with_pattern(
    call: &mut Arguments<'_>,
    apply: impl FnOnce(&Pattern, &str, &mut Arguments<'_>) -> Result<Val>,
) -> Result<Val> {
    let text = call.text(0)?;
    if let Some(pattern) = call.pattern {
        pay(pattern, text, call)?;
        return apply(pattern, text, call);
    }
    let written = call.text(1)?;
    call.meter.charge(COMPILE_COST)?;
    let pattern = Pattern::new(written).map_err(|error| match error {
        PatternError::TooLarge => call.invalid("the regular expression is too large"),
        // The pattern is a value, which may be secret, so the message does not describe it.
        PatternError::Syntax(_) => call.invalid("the string is not a regular expression"),
    })?;
    pay(&pattern, text, call)?;
    apply(&pattern, text, call)
}

fn pay(
    pattern: &Pattern,
    text: &str,
    call: &mut Arguments<'_>,
) -> std::result::Result<(), EvalError> {
    call.meter
        .charge((text.len() / BYTES) as u64 * pattern.weight)
}
