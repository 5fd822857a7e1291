//! Answers each line of JSON on stdin with a line on stdout.
//!
//! A bad line is answered with an error, and the next one is read.

use std::io::{self, BufRead, Read};

use document::{Location, Value};

use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

/// Answers every line of stdin with `{"value":…}` or `{"error":…,"code":…}`, in order. Lines are
/// numbered from 1; empty lines and lines that are too long are not counted.
pub(crate) fn run(
    max_bytes: u64,
    output: &mut Output,
    mut answer: impl FnMut(usize, Value) -> Result<Value, Refusal>,
) -> Result<Outcome, Stop> {
    let mut stdin = io::stdin().lock();
    let mut line = Vec::new();
    let mut number = 0;
    while let Some(fits) =
        read_line(&mut stdin, &mut line, max_bytes).map_err(|error| unreadable(&error))?
    {
        let answer = if !fits {
            let message = format!("the line has more than {max_bytes} bytes");
            Err(Refusal::new("too-large", message))
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            number += 1;
            Value::from_json(&line)
                .map_err(|error| Refusal::new("bad-json", error.to_string()))
                .and_then(|line| answer(number, line))
        };
        output.text(&match answer {
            Ok(value) => format!("{{\"value\":{value}}}\n"),
            Err(refusal) => refusal.to_line(),
        })?;
        output.flush()?;
    }
    Ok(Outcome::Good)
}

/// Reads a line of at most this many bytes. Returns whether the line fits, or `None` at the end.
/// The rest of a line that does not fit is skipped.
fn read_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    max_bytes: u64,
) -> io::Result<Option<bool>> {
    line.clear();
    let limit = max_bytes.saturating_add(1);
    if reader.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    let ended = line.last() == Some(&b'\n');
    let fits = ended || line.len() as u64 <= max_bytes;
    if !fits {
        reader.skip_until(b'\n')?;
    }
    Ok(Some(fits))
}

fn unreadable(error: &io::Error) -> Stop {
    let message = format!("cannot read stdin: {error}");
    Stop::failed(input::error("read", message))
}

/// Why a line has no value.
pub(crate) struct Refusal {
    code: &'static str,
    message: String,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// A refusal with a location inside the line.
    pub(crate) fn at(code: &'static str, message: &str, at: &Location) -> Self {
        let at = at.to_string();
        if at.is_empty() {
            Self::new(code, message)
        } else {
            Self::new(code, format!("{message}, at {at}"))
        }
    }

    fn to_line(&self) -> String {
        let message = Value::from(self.message.as_str());
        format!("{{\"error\":{message},\"code\":\"{}\"}}\n", self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, max_bytes: u64, expect: &[Result<&str, ()>]) {
        let mut reader = io::BufReader::with_capacity(3, text.as_bytes());
        let mut line = Vec::new();
        let mut found = Vec::new();
        while let Some(fits) = read_line(&mut reader, &mut line, max_bytes).unwrap() {
            let text = String::from_utf8(line.clone()).unwrap();
            found.push(if fits {
                Ok(text.trim_end().to_owned())
            } else {
                Err(())
            });
        }
        let expect: Vec<_> = expect.iter().map(|line| line.map(str::to_owned)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        check("", 4, &[]);
        check("ab\ncd", 4, &[Ok("ab"), Ok("cd")]);
        check("abcd\nabcde\nx\n", 4, &[Ok("abcd"), Err(()), Ok("x")]);
        check("abcdefghijk", 4, &[Err(())]);
    }
}
