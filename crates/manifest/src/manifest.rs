//! A loaded document, and the conversion of its locations to spans of its source.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use document::{Key, Location, LocationStep, Value};

use crate::diagnostic::Diagnostic;
use crate::inside;
use crate::load::load;
use crate::source::{Source, Span, Text};
use crate::span_tree::{ByteRange, Children, SpanTree};

/// One document of a source.
#[derive(Clone)]
pub struct Manifest {
    /// The document.
    pub value: Value,
    text: Arc<Text>,
    /// The spans. Those of JSON in large files are only read when they are needed.
    root: OnceLock<SpanTree>,
    /// In text order.
    duplicates: Arc<[Diagnostic]>,
}

impl Manifest {
    pub(crate) fn new(
        value: Value,
        text: Arc<Text>,
        root: SpanTree,
        duplicates: Arc<[Diagnostic]>,
    ) -> Self {
        Self {
            value,
            text,
            root: OnceLock::from(root),
            duplicates,
        }
    }

    /// A document whose spans are found when they are needed.
    pub(crate) fn without_spans(value: Value, text: Arc<Text>) -> Self {
        Self {
            value,
            text,
            root: OnceLock::new(),
            duplicates: Arc::from([]),
        }
    }

    /// The spans of the document. A text that cannot be read again is one span.
    fn root(&self) -> &SpanTree {
        self.root.get_or_init(|| {
            let mut manifests = load(&self.text, usize::MAX).unwrap_or_default();
            let first = manifests.drain(..).next();
            first
                .and_then(|manifest| manifest.root.into_inner())
                .unwrap_or(SpanTree {
                    range: ByteRange::new(0..self.text.as_str().len()),
                    children: Children::None,
                })
        })
    }

    /// The only element of a list with one element.
    pub(crate) fn single(&self) -> Option<Self> {
        let is_single = self.value.as_list()?.len() == 1;
        is_single.then(|| self.part(&Location::root().index(0)))?
    }

    /// The part at a location as a document of its own; `None` if there is none.
    pub fn part(&self, location: &Location) -> Option<Self> {
        let (mut value, mut spans) = (&self.value, self.root());
        for step in location.steps() {
            value = match step {
                LocationStep::Key(key) => value.as_map()?.get_str(key)?,
                LocationStep::Index(index) => value.as_list()?.get(*index)?,
            };
            spans = spans.child(step)?;
        }
        Some(Self {
            value: value.clone(),
            root: OnceLock::from(spans.clone()),
            ..self.clone()
        })
    }

    /// The document as an item of a list of this kind and version.
    #[must_use]
    pub(crate) fn in_list(mut self, kind: &str, version: &Value) -> Self {
        self.value = named(&self.value, kind, version);
        self
    }

    /// The source that it was read from.
    pub fn source(&self) -> &Arc<Source> {
        &self.text.source
    }

    /// The duplicate keys, at most a hundred. Code that uses the manifest should treat them as
    /// errors. Each names the first occurrence of the key. The items of an expanded list have
    /// the duplicates of the whole list.
    pub fn duplicates(&self) -> &[Diagnostic] {
        &self.duplicates
    }

    /// The span of the value at this location. For a location that does not exist, it is the
    /// span of the nearest existing ancestor. Parts of an alias, and entries that a merge key
    /// adds, have the spans where they are written: at the anchor.
    pub fn span(&self, location: &Location) -> Span {
        let mut spans = self.root();
        for step in location.steps() {
            match spans.child(step) {
                Some(child) => spans = child,
                None => break,
            }
        }
        self.text.span(spans.range.bytes())
    }

    /// The span of these bytes of the source.
    pub fn span_of(&self, bytes: Range<usize>) -> Span {
        self.text.span(bytes)
    }

    /// The span of the key at the end of the location; [`Manifest::span`] if it does not end in a
    /// key.
    pub fn key_span(&self, location: &Location) -> Span {
        let steps = location.steps();
        let place = steps.split_last().and_then(|(last, parents)| {
            let parent = parents
                .iter()
                .try_fold(self.root(), |spans, step| spans.child(step))?;
            match last {
                LocationStep::Key(key) => Some(parent.member(key)?.key_range),
                LocationStep::Index(_) => None,
            }
        });
        match place {
            Some(place) => self.text.span(place.bytes()),
            None => self.span(location),
        }
    }

    /// The span of a part of the string at this location, given as a range of its bytes. An empty
    /// range is the character at this offset. [`Manifest::span`] if there is no such part.
    pub fn span_inside(&self, location: &Location, part: &Range<usize>) -> Span {
        let whole = self.span(location);
        let value = location.steps().into_iter().fold(&self.value, step);
        let source = self.text.as_str().get(whole.start..whole.end);
        let found = source.zip(value.as_str()).and_then(|(source, value)| {
            if !part.is_empty() {
                let found = inside::range(source, value, part)?;
                return Some(
                    self.text
                        .span(whole.start + found.start..whole.start + found.end),
                );
            }
            let found = inside::position(source, value, part.start)?;
            Some(self.text.character(whole.start + found))
        });
        found.unwrap_or(whole)
    }

    /// The elements of `items`, if this is a list of objects.
    fn items(&self) -> Option<Vec<Self>> {
        let kind = self.value.get("kind").as_str()?.strip_suffix("List")?;
        let items = self.value.get("items").as_list()?;
        let spans = self.root().child(&LocationStep::Key("items".to_owned()))?;
        let manifests = items.iter().enumerate().map(|(index, item)| Self {
            value: named(item, kind, self.value.get("apiVersion")),
            text: self.text.clone(),
            // The tree has the same shape as the value, so the item exists.
            root: OnceLock::from(
                spans
                    .child(&LocationStep::Index(index))
                    .unwrap_or(spans)
                    .clone(),
            ),
            duplicates: self.duplicates.clone(),
        });
        Some(manifests.collect())
    }
}

/// The part of a value that a step of a location leads to.
fn step<'a>(value: &'a Value, step: &LocationStep) -> &'a Value {
    match step {
        LocationStep::Key(key) => value.get(key),
        LocationStep::Index(index) => value.at(*index),
    }
}

/// An item of a `PodList` may omit kind and version: they follow from the list.
fn named(item: &Value, kind: &str, version: &Value) -> Value {
    match item.as_map() {
        Some(map)
            if !kind.is_empty()
                && map.get_str("kind").is_none()
                && map.get_str("apiVersion").is_none() =>
        {
            map.with(Key::new("kind"), kind.into())
                .with(Key::new("apiVersion"), version.clone())
                .into()
        }
        _ => item.clone(),
    }
}

/// Replaces every list of objects (a kind that ends in `List`, with `items`) by its items, also
/// nested ones. The items keep their spans.
pub fn expand_lists(manifests: Vec<Manifest>) -> Vec<Manifest> {
    let mut expanded = Vec::with_capacity(manifests.len());
    // A stack, last first, because lists may contain lists.
    let mut rest: Vec<_> = manifests.into_iter().rev().collect();
    while let Some(manifest) = rest.pop() {
        match manifest.items() {
            Some(items) => rest.extend(items.into_iter().rev()),
            None => expanded.push(manifest),
        }
    }
    expanded
}

/// Without the text and the spans, which would hide the value.
impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manifest")
            .field("source", &self.source().name)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}
