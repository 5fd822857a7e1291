//! Reads a stream of JSON documents, one after the other, each on one line or on many.
//!
//! A document is yielded as soon as its last byte has arrived, so that endless streams work. The
//! size of a document is limited.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use document::Value;
use serde_json::StreamDeserializer;
use serde_json::de::IoRead;

/// The size of the read buffer, in bytes.
const BUFFER: usize = 64 * 1024;

/// The documents of a reader.
pub(crate) struct Documents<R: Read> {
    stream: StreamDeserializer<'static, IoRead<Bounded<R>>, Value>,
    /// How many more bytes the current document may have.
    left: Rc<Cell<u64>>,
    max_bytes: u64,
    /// The number of the current document, from 1.
    number: usize,
}

/// Why a stream cannot be read further.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    /// Reading failed.
    #[error("cannot read document {number}: {error}")]
    Io { number: usize, error: io::Error },
    /// The document is not valid JSON, or nested too deep; the message has the position.
    #[error("document {number} is not valid JSON: {error}")]
    Json {
        number: usize,
        error: serde_json::Error,
    },
    /// The document has more bytes than allowed.
    #[error("document {number} has more than {limit} bytes")]
    TooLarge { number: usize, limit: u64 },
}

impl StreamError {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "read",
            Self::Json { .. } => "bad-json",
            Self::TooLarge { .. } => "too-large",
        }
    }
}

impl<R: Read> Documents<R> {
    pub(crate) fn new(reader: R, max_bytes: u64) -> Self {
        let left = Rc::new(Cell::new(max_bytes));
        let bounded = Bounded {
            reader: BufReader::with_capacity(BUFFER, reader),
            left: left.clone(),
        };
        Self {
            stream: serde_json::Deserializer::from_reader(bounded).into_iter(),
            left,
            max_bytes,
            number: 0,
        }
    }

    fn error(&self, error: serde_json::Error) -> StreamError {
        let number = self.number;
        if !error.is_io() {
            return StreamError::Json { number, error };
        }
        if self.left.get() == 0 {
            let limit = self.max_bytes;
            return StreamError::TooLarge { number, limit };
        }
        let error = error.into();
        StreamError::Io { number, error }
    }
}

impl<R: Read> Iterator for Documents<R> {
    type Item = Result<Value, StreamError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left.set(self.max_bytes);
        self.number += 1;
        let document = self.stream.next()?;
        Some(document.map_err(|error| self.error(error)))
    }
}

/// A reader that fails after a number of bytes.
struct Bounded<R> {
    reader: BufReader<R>,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    /// Returns the bytes that have arrived, without waiting for more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ready = self.reader.fill_buf()?;
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        let count = ready.len().min(buffer.len()).min(left);
        if count == 0 && !ready.is_empty() && !buffer.is_empty() {
            return Err(io::Error::other("too many bytes"));
        }
        buffer[..count].copy_from_slice(&ready[..count]);
        self.reader.consume(count);
        self.left.set(self.left.get() - count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, max_bytes: u64, expect: &[&str]) {
        let mut found = Vec::new();
        for document in Documents::new(text.as_bytes(), max_bytes) {
            match document {
                Ok(value) => found.push(value.to_string()),
                Err(error) => {
                    found.push(error.to_string());
                    break;
                }
            }
        }
        assert_eq!(found, expect);
    }

    #[test]
    fn documents_may_be_on_any_lines() {
        check("", 100, &[]);
        check(" \n", 100, &[]);
        check(
            "{}{\"a\":\n1}\n\n[\n]  []",
            100,
            &["{}", "{\"a\":1}", "[]", "[]"],
        );
    }

    #[test]
    fn an_error_has_the_number_of_the_document_and_the_position() {
        check(
            "{}\n{\"a\" 1}",
            100,
            &[
                "{}",
                "document 2 is not valid JSON: expected `:` at line 2 column 6",
            ],
        );
        check(
            "{}\n{\"a\"",
            100,
            &[
                "{}",
                "document 2 is not valid JSON: EOF while parsing an object at line 2 column 4",
            ],
        );
        check(
            &"[".repeat(1000),
            10_000,
            &["document 1 is not valid JSON: nested deeper than 100 levels at line 1 column 102"],
        );
    }

    #[test]
    fn the_size_of_documents_is_limited_that_of_streams_is_not() {
        check(&"[1,2]".repeat(100), 5, &["[1,2]"; 100]);
        check(
            "[1,2][1,23]",
            5,
            &["[1,2]", "document 2 has more than 5 bytes"],
        );
    }
}
