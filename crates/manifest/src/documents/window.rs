//! The part of a file that is in memory.

use std::io::{self, Read};

/// How many bytes are read at a time.
const BLOCK: usize = 64 * 1024;

/// The bytes of a file that were read and not consumed yet.
pub(super) struct Window<R> {
    reader: R,
    bytes: Vec<u8>,
    /// Where the bytes that are not consumed begin.
    start: usize,
    /// How many lines were consumed.
    lines: usize,
    /// How many characters of the current line were consumed.
    column: usize,
    bytes_read: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            bytes: Vec::new(),
            start: 0,
            lines: 0,
            column: 0,
            bytes_read: 0,
        }
    }

    /// The bytes that were read and not consumed yet.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Reads more bytes. Returns whether there are any.
    pub(super) fn more(&mut self) -> io::Result<bool> {
        if self.start > BLOCK && self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        let before = self.bytes.len();
        self.bytes.resize(before + BLOCK, 0);
        let result = loop {
            match self.reader.read(&mut self.bytes[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let count = *result.as_ref().unwrap_or(&0);
        self.bytes.truncate(before + count);
        self.bytes_read += count as u64;
        result.map(|count| count > 0)
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// How many lines come before the next byte, and how many characters in its line.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.lines, self.column)
    }

    /// Consumes bytes.
    pub(super) fn skip(&mut self, count: usize) {
        let skipped = &self.bytes[self.start..self.start + count];
        let newlines = skipped.iter().map(|byte| usize::from(*byte == b'\n'));
        self.lines += newlines.sum::<usize>();
        let (line, before) = match skipped.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => (&skipped[newline + 1..], 0),
            None => (skipped, self.column),
        };
        self.column = before + line.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.start += count;
    }

    /// Consumes bytes and returns them.
    pub(super) fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.bytes()[..count].to_vec();
        self.skip(count);
        taken
    }

    pub(super) fn skip_byte_order_mark(&mut self) {
        if self.bytes().starts_with("\u{feff}".as_bytes()) {
            self.start += "\u{feff}".len();
        }
    }
}
