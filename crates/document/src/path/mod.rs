//! Paths: the `JSONPath` of expressions, RFC 9535 with a few additions.
//!
//! A path is parsed from a text that starts with `$`, the document, or `$$`, the current item
//! of a list function such as `@map`. A [`Path`] finds values in documents, and sets them. An
//! invalid path is an error when it is parsed, never later.
//!
//! Added to RFC 9535 are: more characters in dotted names (`$.metadata.my-key`), `in [..]`
//! and `=~ /re/` in filters, and `$.` for `$`. The constants of this module bound all work, so
//! that no path and no document can overflow the stack or block the process.

pub(crate) mod cursor;
mod error;
mod filter;
mod parse;
mod parse_filter;
mod pattern;
mod search;
mod segment;
mod set;

use std::fmt;

pub use error::{PathError, SetError, TooManyMatches};
pub use filter::{Filter, FilterComparison};
pub use segment::{Segment, Selector, Slice};

use crate::value::Value;
use search::Search;

/// How many bytes the text of a path may have.
pub const MAX_LENGTH: usize = 8192;

/// How deep segments, filters, parentheses and functions may be nested, all counted together.
/// A segment nests in the one before it, so a path has at most this many segments.
pub const MAX_NESTING: usize = 100;

/// How many regular expressions a path may contain.
pub const MAX_PATTERNS: usize = 32;

/// How many matches [`Path::all`] returns at most.
pub const MAX_MATCHES: usize = 100_000;

/// How many values one search may visit, including those in filters. A value that a filter
/// compares or matches also counts by its size.
pub const MAX_STEPS: usize = 5_000_000;

/// How far beyond the end of a list an element may be set.
pub const MAX_PADDING: usize = 10_000;

/// A path into a document.
///
/// ```
/// use document::{Path, Value, json};
///
/// let pod = json!({"status": {"conditions": [
///     {"type": "Ready", "status": "True"},
///     {"type": "PodScheduled", "status": "False"},
/// ]}});
/// let path = Path::parse("$.status.conditions[?(@.type == 'Ready')].status")?;
/// assert_eq!(path.first(&pod, &Value::NULL), Some(&json!("True")));
///
/// let path = Path::parse("$.metadata.name")?;
/// assert_eq!(path.first(&pod, &Value::NULL), None);
/// let named = path.set(&pod, json!("web-0"), &pod).unwrap();
/// assert_eq!(path.first(&named, &Value::NULL), Some(&json!("web-0")));
/// # Ok::<(), document::PathError>(())
/// ```
#[derive(Clone)]
pub struct Path {
    text: Box<str>,
    root: Root,
    segments: Box<[Segment]>,
    /// Where each segment ends in `text`; as long as `segments`.
    ends: Box<[usize]>,
}

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// `$`: the document.
    Document,
    /// `$$`: the current item of the innermost list function.
    Item,
}

/// The result of a search and its cost.
#[derive(Clone, Copy, Debug)]
pub struct Found<T, E = TooManyMatches> {
    /// What was found, or why the search was aborted.
    pub result: Result<T, E>,
    /// The steps that it took: values that were visited, at most [`MAX_STEPS`], and, when setting,
    /// entries that were copied.
    pub steps: usize,
}

/// Whether the values at these segments are the same in both documents, or missing in both.
/// The test is conservative: it may return false for equal values, but never true for
/// different ones. It is fast if the documents share the list or map around the value. All
/// segments must be [singular](Segment::is_singular).
pub fn same_at(segments: &[Segment], one: &Value, other: &Value) -> bool {
    let (mut one, mut other) = (one, other);
    debug_assert!(segments.iter().all(Segment::is_singular));
    for segment in segments {
        if one.same(other) {
            return true;
        }
        let step = |value| match segment {
            Segment::Name(key) => Value::as_map(value)?.get(key),
            Segment::Index(index) => search::element(value, *index),
            Segment::Several(_) | Segment::Descendants(_) => None,
        };
        match (step(one), step(other)) {
            (Some(a), Some(b)) => (one, other) = (a, b),
            (a, b) => return a.is_none() && b.is_none(),
        }
    }
    one.same(other)
        || one
            .as_str()
            .is_some_and(|text| other.as_str() == Some(text))
}

impl Path {
    /// Parses a path, which starts with `$`. `$.` means `$`, and `$$.` means `$$`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        parse::path(text)
    }

    /// Where this path starts.
    pub fn root(&self) -> Root {
        self.root
    }

    /// Whether this is the root itself, without any segment.
    pub fn is_root(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether this path matches at most one place: names and indexes only.
    pub fn is_singular(&self) -> bool {
        self.segments.iter().all(Segment::is_singular)
    }

    /// The segments from the root, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The `$` paths in the filters of this path, including those in filters inside these
    /// paths.
    pub fn filter_reads(&self) -> impl Iterator<Item = &Self> {
        let mut reads = Vec::new();
        filter::document_reads(&self.segments, &mut reads);
        reads.into_iter()
    }

    /// The first match. `$` starts at `document`, `$$` at `item`. A search that exceeds
    /// [`MAX_STEPS`] finds nothing; see [`Path::find_first`].
    pub fn first<'a>(&self, document: &'a Value, item: &'a Value) -> Option<&'a Value> {
        self.find_first(document, item).result.ok().flatten()
    }

    /// Like [`Path::first`], with the cost of the search. One that is aborted is an error, which
    /// does not happen for a [singular](Path::is_singular) path.
    pub fn find_first<'a>(&self, document: &'a Value, item: &'a Value) -> Found<Option<&'a Value>> {
        let (value, rest) = self.plain(document, item);
        match value {
            Some(value) if rest > 0 => {
                let search = Search::new(document);
                let segments = &self.segments[self.segments.len() - rest..];
                search.found(search.first(segments, value))
            }
            value => Found {
                result: Ok(value),
                steps: 0,
            },
        }
    }

    /// Follows the names and indexes at the beginning of this path. Returns the value they
    /// lead to, and how many segments remain; the first of those may match several places.
    #[inline]
    pub fn plain<'a>(&self, document: &'a Value, item: &'a Value) -> (Option<&'a Value>, usize) {
        let mut value = self.start(document, item);
        for (i, segment) in self.segments.iter().enumerate() {
            let next = match segment {
                Segment::Name(key) => value.as_map().and_then(|map| map.get(key)),
                Segment::Index(index) => search::element(value, *index),
                Segment::Several(_) | Segment::Descendants(_) => {
                    return (Some(value), self.segments.len() - i);
                }
            };
            match next {
                Some(next) => value = next,
                None => return (None, 0),
            }
        }
        (Some(value), 0)
    }

    /// All matches, at most [`MAX_MATCHES`]. Maps are searched in key order, lists in list
    /// order, and `..` yields the matches in a value before those further down.
    pub fn all<'a>(
        &self,
        document: &'a Value,
        item: &'a Value,
    ) -> Result<Vec<&'a Value>, TooManyMatches> {
        self.find_all(document, item).result
    }

    /// Like [`Path::all`], with the cost of the search.
    pub fn find_all<'a>(&self, document: &'a Value, item: &'a Value) -> Found<Vec<&'a Value>> {
        let search = Search::new(document);
        let result = search.all(&self.segments, self.start(document, item));
        search.found(result)
    }

    fn start<'a>(&self, document: &'a Value, item: &'a Value) -> &'a Value {
        match self.root {
            Root::Document => document,
            Root::Item => item,
        }
    }

    /// The text of this path before the segment at `index`.
    fn text_before(&self, index: usize) -> &str {
        match index.checked_sub(1).and_then(|last| self.ends.get(last)) {
            Some(end) => &self.text[..*end],
            None => match self.root {
                Root::Document => "$",
                Root::Item => "$$",
            },
        }
    }
}

/// Paths are equal if they have the same root and segments, no matter how they are written.
impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root && self.segments == other.segments
    }
}

impl Eq for Path {}

/// The text that the path was parsed from.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({})", self.text)
    }
}
