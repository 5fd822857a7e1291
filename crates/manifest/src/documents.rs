//! Reads the documents of a file one by one, so that a file may be larger than the memory.
//!
//! ```text
//! bytes ─▶ Window ─▶ is it at most WHOLE bytes?  ─ yes ─▶ parsed as a whole
//!                    └ no: one document after the other
//!                          `{…}`  json: up to the closing brace
//!                          else   yaml: up to the next line `---`
//!                    a document that is larger than WHOLE and has `items`: item by item
//! ```
//!
//! Only a large file is split, so that in all others everything that YAML allows has its meaning:
//! an anchor in one item of a List and its alias in another, for example.

mod json;
mod window;
mod yaml;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use document::Value;

use crate::decode::decode;
use crate::diagnostic::{Diagnostic, Severity};
use crate::load::{MAX_NODES, load};
use crate::manifest::{Manifest, expand_lists};
use crate::source::{MAX_SIZE, Source, Text};
use window::Window;

/// A file, and a List, of at most this many bytes is parsed as a whole.
const WHOLE: usize = 1024 * 1024;

/// The documents of a reader, one by one, with lists expanded. After an error there are no more.
///
/// ```
/// use manifest::{Documents, MAX_SIZE};
///
/// let list = r#"{"kind": "List", "items": [{"kind": "A"}, {"kind": "B"}]}"#;
/// let kinds: Vec<_> = Documents::new("list.json", list.as_bytes(), MAX_SIZE)
///     .map(|manifest| manifest.unwrap().value.get("kind").to_string())
///     .collect();
/// assert_eq!(kinds, [r#""A""#, r#""B""#]);
/// ```
pub struct Documents<R> {
    window: Window<R>,
    limits: Limits,
    state: State,
    /// The documents that were parsed and not returned yet.
    ready: VecDeque<Manifest>,
}

/// The limits of one document.
struct Limits {
    /// The name of the file.
    name: String,
    max_bytes: usize,
    /// How many bytes are parsed as a whole.
    whole: usize,
}

/// What comes next in the file.
enum State {
    /// Nothing was read yet.
    Start,
    /// A document.
    Document,
    /// An item of a List in JSON.
    JsonItem(ListType),
    /// An item of a List in YAML, behind this many spaces.
    YamlItem(ListType, usize),
    /// Nothing.
    End,
}

/// What is known about a List.
#[derive(Clone, Default)]
struct ListType {
    kind: Option<String>,
    version: Value,
}

impl ListType {
    /// Reads a member of the List.
    fn note(&mut self, key: &str, value: &Value) {
        match key {
            "kind" => self.kind = value.as_str().map(str::to_owned),
            "apiVersion" => self.version = value.clone(),
            _ => {}
        }
    }

    /// Whether it may still be a List, as far as it was read.
    fn may_be_list(&self) -> bool {
        self.kind
            .as_deref()
            .is_none_or(|kind| kind.ends_with("List"))
    }

    /// The kind of its items; empty if it says nothing about them.
    fn item_kind(&self) -> &str {
        let kind = self.kind.as_deref().unwrap_or_default();
        kind.strip_suffix("List").unwrap_or_default()
    }
}

impl<R: Read> Documents<R> {
    /// The documents of this reader, each with at most this many bytes. `name` is used in
    /// messages.
    pub fn new(name: &str, reader: R, max_bytes: usize) -> Self {
        Self {
            window: Window::new(reader),
            limits: Limits {
                name: name.to_owned(),
                // Spans are stored as 32 bits.
                max_bytes: max_bytes.min(u32::MAX as usize / 2),
                whole: WHOLE.min(max_bytes),
            },
            state: State::Start,
            ready: VecDeque::new(),
        }
    }

    /// How many bytes were read.
    pub fn bytes_read(&self) -> u64 {
        self.window.bytes_read()
    }

    /// Reads on, until there is a document or nothing left.
    fn read(&mut self) -> Result<(), Diagnostic> {
        while self.ready.is_empty() {
            self.state = match std::mem::replace(&mut self.state, State::End) {
                State::Start => self.start()?,
                State::Document => self.document()?,
                State::JsonItem(list) => self.json_item(list)?,
                State::YamlItem(list, indent) => self.yaml_item(list, indent)?,
                State::End => return Ok(()),
            };
        }
        Ok(())
    }

    /// Parses a small file as a whole.
    fn start(&mut self) -> Result<State, Diagnostic> {
        while self.window.bytes().len() <= self.limits.whole {
            if !self.more()? {
                let bytes = self.window.take(self.window.bytes().len());
                let source = decode(&self.limits.name, bytes)?;
                self.add(Text::new(Arc::new(source)))?;
                return Ok(State::End);
            }
        }
        self.window.skip_byte_order_mark();
        Ok(State::Document)
    }

    /// Reads a document, or begins a List.
    fn document(&mut self) -> Result<State, Diagnostic> {
        self.skip_blank()?;
        match self.window.bytes().first() {
            None => Ok(State::End),
            Some(b'{' | b'[') => match self.json_document()? {
                Some(state) => Ok(state),
                None => self.yaml_document(),
            },
            Some(_) => self.yaml_document(),
        }
    }

    /// Parses the next bytes of the window as documents of their own, which may follow each other.
    fn parse(&mut self, length: usize) -> Result<(), Diagnostic> {
        let text = self.take_text(length)?;
        self.add(text)
    }

    fn add(&mut self, text: Text) -> Result<(), Diagnostic> {
        let manifests = self.load(text)?;
        self.ready.extend(expand_lists(manifests));
        Ok(())
    }

    fn load(&self, text: Text) -> Result<Vec<Manifest>, Diagnostic> {
        // As many nodes for a byte as in a source of `MAX_SIZE`.
        let nodes = MAX_NODES.max(self.limits.max_bytes / (MAX_SIZE / MAX_NODES));
        load(&Arc::new(text), nodes)
    }

    /// Takes the next bytes of the window as a text. Spaces before it keep the columns correct.
    fn take_text(&mut self, length: usize) -> Result<Text, Diagnostic> {
        /// A text farther to the right has columns of its own.
        const INDENT: usize = 256;
        let (line, column) = self.window.position();
        let indent = if column <= INDENT { column } else { 0 };
        let mut bytes = vec![b' '; indent];
        bytes.extend(self.window.take(length));
        let source = decode(&self.limits.name, bytes).map_err(|mut error| {
            if let Some(span) = &mut error.span {
                span.line += line;
            }
            error
        })?;
        Ok(Text::part(Arc::new(source), line))
    }

    fn more(&mut self) -> Result<bool, Diagnostic> {
        let name = &self.limits.name;
        self.window.more().map_err(|error| unreadable(name, &error))
    }

    /// An error at the current line.
    fn error(&self, code: &str, message: String) -> Diagnostic {
        let (line, column) = self.window.position();
        let text = Text::part(
            Arc::new(Source {
                name: self.limits.name.clone(),
                text: String::new(),
            }),
            line,
        );
        let mut span = text.span(0..0);
        span.column = column + 1;
        Diagnostic {
            severity: Severity::Error,
            code: code.to_owned(),
            message,
            source: Some(text.source),
            span: Some(span),
            help: None,
        }
    }

    fn too_large(&self) -> Diagnostic {
        let limit = self.limits.max_bytes;
        self.error(
            "too-large",
            format!("the document has more than {limit} bytes"),
        )
    }

    /// Ends a List. Fails if its `kind` is not that of a List.
    fn end_list(&self, list: &ListType) -> Result<State, Diagnostic> {
        match &list.kind {
            Some(kind) if kind.ends_with("List") => Ok(State::Document),
            Some(kind) => Err(self.error(
                "bad-list",
                format!("the document has `items`, but is of kind {kind}: expected a kind that ends in List"),
            )),
            None => Err(self.error(
                "bad-list",
                "the document has `items`, but no `kind`: expected kind List".to_owned(),
            )),
        }
    }
}

impl<R: Read> Iterator for Documents<R> {
    type Item = Result<Manifest, Diagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.read() {
            Ok(()) => self.ready.pop_front().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: "read".to_owned(),
        message: format!("cannot read {name}: {error}"),
        source: None,
        span: None,
        help: None,
    }
}
