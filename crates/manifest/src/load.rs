//! Loading of manifests from a text.
//!
//! The loader turns the events of the YAML parser into documents. Neither recurses without
//! bounds: the nesting of the parser is limited, and the loader keeps its open lists and maps
//! on the heap.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use document::{Key, MAX_DEPTH, Value};
use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, StructureStyle, Tag};

use crate::decode::decode;
use crate::diagnostic::Diagnostic;
use crate::manifest::Manifest;
use crate::open_collection::{Built, Duplicates, OpenCollection, Pending};
use crate::problem::LoadProblem;
use crate::source::{MAX_SIZE, Source, Text};
use crate::span_tree::{ByteRange, Children, SpanTree};
use crate::{scalar, syntax};

/// How many nodes (scalars, lists and maps) all documents of a source may have together. An
/// alias counts as a copy of the value that it refers to. A scalar counts one more for every 64
/// bytes of its text.
pub const MAX_NODES: usize = 5_000_000;

/// How many bytes of text count as one node.
const BYTES_PER_NODE: usize = 64;

/// The longest key without a `?`, in characters. YAML allows 1024; JSON has no limit.
const MAX_KEY: usize = 64 * 1024;

/// How many objects may follow each other on one line without `---`. The parser looks ahead
/// from each of them again, so the time grows with the square of their number.
const MAX_ON_LINE: usize = 16;

/// All documents of a YAML or JSON text. Empty documents are skipped. If a key occurs twice, the
/// last value wins, and [`Manifest::duplicates`] reports it.
pub fn parse(source: Arc<Source>) -> Result<Vec<Manifest>, Diagnostic> {
    if source.text.len() > MAX_SIZE {
        let message = format!("more than {MAX_SIZE} bytes");
        let empty = Arc::new(Source {
            name: source.name.clone(),
            text: String::new(),
        });
        return Err(LoadProblem::new("too-large", message).at(&Text::new(empty), 0..0));
    }
    load(&Arc::new(Text::new(source)), MAX_NODES)
}

/// All documents of a text with at most this many nodes.
pub(crate) fn load(text: &Arc<Text>, max_nodes: usize) -> Result<Vec<Manifest>, Diagnostic> {
    let mut loader = Loader::new(text, max_nodes);
    let mut next = Some(text.start());
    while let Some(start) = next {
        next = loader.stream(start)?;
    }
    Ok(loader.manifests)
}

/// Like [`parse`], from bytes, which must be UTF-8. A byte order mark is skipped.
pub fn parse_bytes(name: &str, bytes: Vec<u8>) -> Result<Vec<Manifest>, Diagnostic> {
    parse(Arc::new(decode(name, bytes)?))
}

struct Loader<'a> {
    text: &'a Arc<Text>,
    /// How many nodes there may be.
    max_nodes: usize,
    /// The offset of the text that the current parser reads.
    base: usize,
    /// Open lists and maps, the innermost last.
    stack: Vec<OpenCollection>,
    /// The complete root of the current document.
    root: Option<Built>,
    /// Whether the last root was written with brackets or braces.
    flow_root: bool,
    /// How many objects without `---` the current line has so far.
    on_line: usize,
    /// The values of the anchors of the current document.
    anchors: HashMap<usize, Built>,
    /// The duplicate keys of the current document.
    duplicates: Duplicates,
    /// How many nodes there are so far, as [`MAX_NODES`] counts them.
    weight: usize,
    manifests: Vec<Manifest>,
}

impl<'a> Loader<'a> {
    fn new(text: &'a Arc<Text>, max_nodes: usize) -> Self {
        Self {
            text,
            max_nodes,
            base: 0,
            stack: Vec::new(),
            root: None,
            flow_root: false,
            on_line: 0,
            anchors: HashMap::new(),
            duplicates: Duplicates::default(),
            weight: 0,
            manifests: Vec::new(),
        }
    }

    /// Reads documents from `start` to the end of the text, or to an object that follows
    /// without `---`. Returns the offset of that object.
    fn stream(&mut self, start: usize) -> Result<Option<usize>, Diagnostic> {
        self.base = start;
        let text = self.text.clone();
        let mut parser = Parser::new_from_str_with_options(&text.as_str()[start..], options());
        while let Some(event) = parser.next_event() {
            match event {
                Ok((event, span)) => {
                    let bytes = self.bytes(span.byte_range());
                    let tag = span.tag_span().map(|span| self.bytes(span.byte_range()));
                    self.event(event, &bytes, tag.as_ref())?;
                }
                Err(error) => return self.resume(&error),
            }
        }
        Ok(None)
    }

    /// Continues after a parser error that is only an object right after another one.
    fn resume(&mut self, error: &ScanError) -> Result<Option<usize>, Diagnostic> {
        let at = self.base + error.marker().byte_offset().unwrap_or_default();
        let place = self.text.character(at);
        let problem = syntax::problem(error);
        let follows = *error.kind() == granit_parser::ErrorKind::ExpectedDocumentStart
            && self.flow_root
            && self.text.as_str()[place.start..].starts_with(['{', '[']);
        if !follows {
            return Err(problem.at(self.text, place.start..place.end));
        }
        let between = &self.text.as_str()[self.base..place.start];
        self.on_line = if between.contains('\n') {
            1
        } else {
            self.on_line + 1
        };
        if self.on_line >= MAX_ON_LINE {
            let problem = problem.help("put each object on a line of its own");
            return Err(problem.at(self.text, place.start..place.end));
        }
        self.flow_root = false;
        Ok(Some(place.start))
    }

    /// Converts offsets of the parser, which start at `base`, to offsets in the whole text.
    fn bytes(&self, bytes: Option<Range<usize>>) -> Range<usize> {
        let bytes = bytes.unwrap_or_default();
        self.base + bytes.start..self.base + bytes.end
    }

    fn event(
        &mut self,
        event: Event<'_>,
        bytes: &Range<usize>,
        tag_bytes: Option<&Range<usize>>,
    ) -> Result<(), Diagnostic> {
        // A problem with a tag is reported at the tag.
        let tagged = tag_bytes.unwrap_or(bytes).clone();
        match event {
            Event::Scalar(content, style, anchor, tag) => {
                let scalar = Scalar {
                    content: &content,
                    style,
                    tag: tag.as_deref(),
                };
                self.scalar(&scalar, anchor, bytes, tagged)
            }
            Event::SequenceStart(style, anchor, tag) => {
                scalar::check_collection(true, tag.as_deref())
                    .map_err(|problem| problem.at(self.text, tagged))?;
                let flow = style == StructureStyle::Flow;
                let start = if flow {
                    bytes.start
                } else {
                    self.first_dash(bytes.start)
                };
                self.open(OpenCollection::list(start, flow, anchor), bytes)
            }
            Event::MappingStart(style, anchor, tag) => {
                scalar::check_collection(false, tag.as_deref())
                    .map_err(|problem| problem.at(self.text, tagged))?;
                let flow = style == StructureStyle::Flow;
                self.open(OpenCollection::map(bytes.start, flow, anchor), bytes)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(bytes),
            Event::Alias(anchor) => self.alias(anchor, bytes),
            Event::DocumentEnd => {
                self.finish();
                Ok(())
            }
            // Comments are disabled. The other events carry no data.
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        scalar: &Scalar<'_>,
        anchor: usize,
        bytes: &Range<usize>,
        tagged: Range<usize>,
    ) -> Result<(), Diagnostic> {
        if self.wants_key() {
            return self.key(scalar, anchor, bytes, tagged);
        }
        let built = self.scalar_value(scalar, bytes, tagged)?;
        self.add_new(built, anchor, bytes)
    }

    fn scalar_value(
        &self,
        scalar: &Scalar<'_>,
        bytes: &Range<usize>,
        tagged: Range<usize>,
    ) -> Result<Built, Diagnostic> {
        let (value, place) = if scalar.is_left_out(bytes) {
            // The parser reports the offset before the colon.
            let colon = self.text.as_str()[bytes.start..].starts_with(':');
            let at = bytes.start + usize::from(colon);
            (Value::NULL, at..at)
        } else {
            let value = scalar::value(scalar.content, scalar.style, scalar.tag)
                .map_err(|problem| problem.at(self.text, tagged))?;
            (value, self.trimmed(bytes))
        };
        Ok(Built {
            value,
            spans: SpanTree {
                range: ByteRange::new(place),
                children: Children::None,
            },
            height: 0,
            weight: 1 + scalar.content.len() / BYTES_PER_NODE,
        })
    }

    fn key(
        &mut self,
        scalar: &Scalar<'_>,
        anchor: usize,
        bytes: &Range<usize>,
        tagged: Range<usize>,
    ) -> Result<(), Diagnostic> {
        if scalar.is_left_out(bytes) {
            let problem = LoadProblem::new("missing-key", "expected a key before `:`");
            return Err(problem.at(self.text, bytes.clone()));
        }
        if scalar::is_merge(scalar.content, scalar.style, scalar.tag) {
            return self.add_key(Pending::Merge(ByteRange::new(bytes.clone())));
        }
        if anchor != 0 || scalar.tag.is_some() {
            let built = self.scalar_value(scalar, bytes, tagged)?;
            if anchor != 0 {
                self.anchors.insert(anchor, built);
            }
        }
        let place = ByteRange::new(self.trimmed(bytes));
        self.add_key(Pending::Key(Key::new(scalar.content), place))
    }

    fn add_key(&mut self, pending: Pending) -> Result<(), Diagnostic> {
        match self.stack.last_mut() {
            Some(open) => open.add_key(pending, self.text),
            None => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize, bytes: &Range<usize>) -> Result<(), Diagnostic> {
        let Some(target) = self.anchors.get(&anchor).cloned() else {
            let problem = LoadProblem::new("recursive-alias", "the alias is inside its anchor");
            return Err(problem.at(self.text, bytes.clone()));
        };
        if self.wants_key() {
            if target.height > 0 {
                return Err(complex_key().at(self.text, bytes.clone()));
            }
            let text = match target.value.as_str() {
                Some(text) => text.to_owned(),
                None => target.value.to_string(),
            };
            let place = ByteRange::new(bytes.clone());
            return self.add_key(Pending::Key(Key::new(&text), place));
        }
        if self.stack.len() + target.height > MAX_DEPTH {
            return Err(syntax::too_deep().at(self.text, bytes.clone()));
        }
        let spans = SpanTree {
            range: ByteRange::new(bytes.clone()),
            children: target.spans.children,
        };
        self.add_new(Built { spans, ..target }, 0, bytes)
    }

    fn open(&mut self, open: OpenCollection, bytes: &Range<usize>) -> Result<(), Diagnostic> {
        if self.wants_key() {
            return Err(complex_key().at(self.text, bytes.clone()));
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err(syntax::too_deep().at(self.text, bytes.clone()));
        }
        self.count(1, bytes)?;
        self.stack.push(open);
        Ok(())
    }

    fn close(&mut self, bytes: &Range<usize>) -> Result<(), Diagnostic> {
        let Some(open) = self.stack.pop() else {
            return Ok(());
        };
        let (flow, anchor) = (open.flow, open.anchor);
        // A single pair in a flow list, `[a: 1]`, has no braces.
        let end = (flow && !bytes.is_empty()).then_some(bytes.end);
        let built = open.close(end, self.text, &mut self.duplicates);
        self.flow_root = flow;
        self.add(built, anchor)
    }

    /// Adds a part that has not been counted yet.
    fn add_new(
        &mut self,
        built: Built,
        anchor: usize,
        bytes: &Range<usize>,
    ) -> Result<(), Diagnostic> {
        self.count(built.weight, bytes)?;
        self.flow_root = false;
        self.add(built, anchor)
    }

    fn add(&mut self, built: Built, anchor: usize) -> Result<(), Diagnostic> {
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        if let Some(open) = self.stack.last_mut() {
            return open.add(built, self.text);
        }
        self.root = Some(built);
        Ok(())
    }

    fn count(&mut self, weight: usize, bytes: &Range<usize>) -> Result<(), Diagnostic> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > self.max_nodes {
            let message = format!("more than {} nodes with aliases expanded", self.max_nodes);
            let problem = LoadProblem::new("too-many-nodes", message);
            return Err(problem.at(self.text, bytes.clone()));
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.anchors.clear();
        let duplicates = self.duplicates.take();
        if let Some(root) = self.root.take()
            && !root.value.is_null()
        {
            let manifest = Manifest::new(root.value, self.text.clone(), root.spans, duplicates);
            self.manifests.push(manifest);
        }
    }

    fn wants_key(&self) -> bool {
        self.stack.last().is_some_and(OpenCollection::wants_key)
    }

    /// The start of a block list. If the list is not indented more than its key, the parser
    /// reports the start of its first element instead.
    fn first_dash(&self, start: usize) -> usize {
        let Some(key_end) = self.stack.last().and_then(OpenCollection::key_end) else {
            return start;
        };
        // Only comments, an anchor or a tag can be between the key and the first dash.
        let between = self.text.as_str().get(key_end..start).unwrap_or_default();
        let mut offset = key_end;
        for line in between.split_inclusive('\n') {
            let content = line.trim_start_matches([' ', '\t']);
            if offset > key_end && content.starts_with('-') {
                return offset + line.len() - content.len();
            }
            offset += line.len();
        }
        start
    }

    /// The bytes without the white space at the end of a block scalar.
    fn trimmed(&self, bytes: &Range<usize>) -> Range<usize> {
        let text = self.text.as_str().get(bytes.clone()).unwrap_or_default();
        bytes.start..bytes.start + text.trim_end().len()
    }
}

/// A scalar as the parser reports it.
struct Scalar<'a> {
    content: &'a str,
    style: ScalarStyle,
    tag: Option<&'a Tag>,
}

impl Scalar<'_> {
    /// Whether the value is omitted: for `a:` the parser reports an empty range.
    fn is_left_out(&self, bytes: &Range<usize>) -> bool {
        bytes.is_empty() && self.style == ScalarStyle::Plain && self.tag.is_none()
    }
}

fn complex_key() -> LoadProblem {
    LoadProblem::new("complex-key", "a key must be a scalar, not a list or a map")
}

fn options() -> Options {
    granit_parser::options! {
        emit_comments: false,
        simple_key_max_lookahead: MAX_KEY,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}
