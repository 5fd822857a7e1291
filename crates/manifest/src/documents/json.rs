//! Documents that begin with a brace or bracket.
//!
//! The end of a document is where its brackets are closed. Then it is read as JSON, which is much
//! faster than YAML; what is not JSON is parsed as YAML.

use std::io::Read;
use std::sync::Arc;

use document::Value;

use super::{Documents, ListType, State};
use crate::diagnostic::Diagnostic;
use crate::manifest::{Manifest, expand_lists};

/// Where a value ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Before this offset.
    At(usize),
    /// Behind the end of the file.
    Missing,
    /// Behind the limit.
    TooFar,
}

/// The search for the end of a value.
#[derive(Debug, Default)]
struct Scan {
    /// How many brackets are open.
    depth: usize,
    /// Whether this is inside a string.
    string: bool,
    /// Whether the last byte was a backslash.
    escaped: bool,
    /// Whether a byte of the value was seen.
    begun: bool,
}

impl Scan {
    /// Reads the next byte. Returns `Some(true)` if the value ends with it, and `Some(false)` if
    /// it has ended before.
    fn step(&mut self, byte: u8) -> Option<bool> {
        let first = !std::mem::replace(&mut self.begun, true);
        if self.string {
            let ends = byte == b'"' && !self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            self.string = !ends;
            return (ends && self.depth == 0).then_some(true);
        }
        match byte {
            b'"' => self.string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 0 => return Some(false),
            b'}' | b']' => {
                self.depth -= 1;
                return (self.depth == 0).then_some(true);
            }
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 && !first => {
                return Some(false);
            }
            _ => {}
        }
        None
    }
}

impl<R: Read> Documents<R> {
    /// Reads a document that begins with a bracket. `None` if its end is not found.
    pub(super) fn json_document(&mut self) -> Result<Option<State>, Diagnostic> {
        if let End::At(end) = self.json_end(0, self.limits.whole)? {
            self.json_value(end, &ListType::default())?;
            return Ok(Some(State::Document));
        }
        if let Some((list, items)) = self.json_list()? {
            self.window.skip(items + 1);
            return Ok(Some(State::JsonItem(list)));
        }
        match self.json_end(0, self.limits.max_bytes)? {
            End::At(end) => {
                self.json_value(end, &ListType::default())?;
                Ok(Some(State::Document))
            }
            End::Missing => Ok(None),
            End::TooFar => Err(self.too_large()),
        }
    }

    /// What is known about a List before its items, and where these begin. `None` if it is no
    /// List.
    fn json_list(&mut self) -> Result<Option<(ListType, usize)>, Diagnostic> {
        let mut list = ListType::default();
        let mut at = 1;
        while let Some((key, value)) = self.json_key(at)? {
            if key == "items" && self.window.bytes()[value] == b'[' {
                return Ok(list.may_be_list().then_some((list, value)));
            }
            let End::At(end) = self.json_end(value, self.limits.whole)? else {
                return Ok(None);
            };
            if let Ok(value) = Value::from_json(&self.window.bytes()[value..end]) {
                list.note(&key, &value);
            }
            at = self.json_blank(end)?;
            if self.window.bytes().get(at) != Some(&b',') {
                return Ok(None);
            }
            at += 1;
        }
        Ok(None)
    }

    /// The key at an offset, and where its value begins.
    fn json_key(&mut self, at: usize) -> Result<Option<(String, usize)>, Diagnostic> {
        let at = self.json_blank(at)?;
        let End::At(end) = self.json_end(at, self.limits.whole)? else {
            return Ok(None);
        };
        let key = Value::from_json(&self.window.bytes()[at..end]);
        let colon = self.json_blank(end)?;
        let value = self.json_blank(colon + 1)?;
        let bytes = self.window.bytes();
        let key = key.ok().and_then(|key| key.as_str().map(str::to_owned));
        let complete = bytes.get(colon) == Some(&b':') && value < bytes.len();
        Ok(key.filter(|_| complete).map(|key| (key, value)))
    }

    /// Reads an item of a List, or its end.
    pub(super) fn json_item(&mut self, mut list: ListType) -> Result<State, Diagnostic> {
        let at = self.json_blank(0)?;
        self.window.skip(at);
        match self.window.bytes().first() {
            Some(b',') => {
                self.window.skip(1);
                Ok(State::JsonItem(list))
            }
            Some(b']') => {
                self.window.skip(1);
                self.json_list_end(&mut list)?;
                self.end_list(&list)
            }
            Some(_) => match self.json_end(0, self.limits.max_bytes)? {
                End::At(end) if end > 0 => {
                    self.json_value(end, &list)?;
                    Ok(State::JsonItem(list))
                }
                End::At(_) => Err(self.syntax("expected an item, `,` or `]`")),
                End::Missing => Err(self.syntax("the file ends inside an item")),
                End::TooFar => Err(self.too_large()),
            },
            None => Err(self.syntax("the file ends inside a List")),
        }
    }

    /// Reads what follows the items of a List, up to its closing brace.
    fn json_list_end(&mut self, list: &mut ListType) -> Result<(), Diagnostic> {
        loop {
            let at = self.json_blank(0)?;
            self.window.skip(at);
            match self.window.bytes().first() {
                Some(b'}') => {
                    self.window.skip(1);
                    return Ok(());
                }
                Some(b',') => self.window.skip(1),
                Some(_) | None => return Err(self.syntax("expected `,` or `}` after the items")),
            }
            let Some((key, value)) = self.json_key(0)? else {
                return Err(self.syntax("expected a key and its value after the items"));
            };
            let End::At(end) = self.json_end(value, self.limits.max_bytes)? else {
                return Err(self.syntax("the file ends inside a List"));
            };
            if let Ok(value) = Value::from_json(&self.window.bytes()[value..end]) {
                list.note(&key, &value);
            }
            self.window.skip(end);
        }
    }

    /// Reads a value of this length, as an item of a List or for itself.
    fn json_value(&mut self, length: usize, list: &ListType) -> Result<(), Diagnostic> {
        let value = Value::from_json(&self.window.bytes()[..length]);
        let text = self.take_text(length)?;
        let manifests = match value {
            Ok(value) if value.is_null() => Vec::new(),
            Ok(value) => vec![Manifest::without_spans(value, Arc::new(text))],
            Err(_) => self.load(text)?,
        };
        let items = manifests
            .into_iter()
            .map(|item| item.in_list(list.item_kind(), &list.version));
        self.ready.extend(expand_lists(items.collect()));
        Ok(())
    }

    /// Where the value at an offset ends, within a number of bytes.
    fn json_end(&mut self, from: usize, limit: usize) -> Result<End, Diagnostic> {
        let mut scan = Scan::default();
        let mut at = from;
        loop {
            let known = self.window.bytes();
            while at < known.len() {
                match scan.step(known[at]) {
                    Some(last) => return Ok(End::At(at + usize::from(last))),
                    None => at += 1,
                }
                if at - from > limit {
                    return Ok(End::TooFar);
                }
            }
            if !self.more()? {
                return Ok(End::Missing);
            }
        }
    }

    /// The offset of the next byte that is not white space.
    pub(super) fn json_blank(&mut self, from: usize) -> Result<usize, Diagnostic> {
        let mut at = from;
        loop {
            let known = self.window.bytes();
            while at < known.len() {
                if !known[at].is_ascii_whitespace() {
                    return Ok(at);
                }
                at += 1;
            }
            if !self.more()? {
                return Ok(at);
            }
        }
    }

    fn syntax(&self, message: &str) -> Diagnostic {
        self.error("syntax", message.to_owned())
    }
}
