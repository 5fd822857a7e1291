//! A loaded document, and the way from a location in it to a place in its source.

use std::fmt;
use std::sync::Arc;

use document::{Key, Location, LocationStep, Value};

use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span, Text};
use crate::span_tree::SpanTree;

/// One document of a source.
#[derive(Clone)]
pub struct Manifest {
    /// What it says.
    pub value: Value,
    text: Arc<Text>,
    root: SpanTree,
    /// In the order of the text.
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
            root,
            duplicates,
        }
    }

    /// Where it was read from.
    pub fn source(&self) -> &Arc<Source> {
        &self.text.source
    }

    /// The keys that were given twice, at most a hundred: an error for everyone who means
    /// to use the manifest. Each says where the key stood first. The items of an expanded
    /// list have those of the whole list.
    pub fn duplicates(&self) -> &[Diagnostic] {
        &self.duplicates
    }

    /// The place of the value at this location. A location that does not exist gives
    /// the nearest one above it that does. The children of an alias, and what a merge key
    /// brings in, stand where they are written: at the anchor.
    pub fn span(&self, location: &Location) -> Span {
        let mut spans = &self.root;
        for step in location.steps() {
            match spans.child(step) {
                Some(child) => spans = child,
                None => break,
            }
        }
        self.text.span(spans.range.bytes())
    }

    /// The place of the key that the location ends in; [`Manifest::span`] where it ends
    /// in none.
    pub fn key_span(&self, location: &Location) -> Span {
        let steps = location.steps();
        let place = steps.split_last().and_then(|(last, parents)| {
            let parent = parents
                .iter()
                .try_fold(&self.root, |spans, step| spans.child(step))?;
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

    /// The elements of `items`, if this is a list of objects.
    fn items(&self) -> Option<Vec<Self>> {
        let kind = self.value.get("kind").as_str()?.strip_suffix("List")?;
        let items = self.value.get("items").as_list()?;
        let spans = self.root.child(&LocationStep::Key("items".to_owned()))?;
        let manifests = items.iter().enumerate().map(|(index, item)| Self {
            value: named(item, kind, self.value.get("apiVersion")),
            text: self.text.clone(),
            // The tree has the shape of the value, so the item is there.
            root: spans
                .child(&LocationStep::Index(index))
                .unwrap_or(spans)
                .clone(),
            duplicates: self.duplicates.clone(),
        });
        Some(manifests.collect())
    }
}

/// An item of a `PodList` may leave out its kind and version: it then has the list's.
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

/// Replaces every list of objects (a kind that ends in `List`, with `items`) by its
/// items, also lists in lists. The items keep their places.
pub fn expand_lists(manifests: Vec<Manifest>) -> Vec<Manifest> {
    let mut expanded = Vec::with_capacity(manifests.len());
    // A stack, last first, because a list may hold lists.
    let mut rest: Vec<_> = manifests.into_iter().rev().collect();
    while let Some(manifest) = rest.pop() {
        match manifest.items() {
            Some(items) => rest.extend(items.into_iter().rev()),
            None => expanded.push(manifest),
        }
    }
    expanded
}

/// Without the text and the places, which would bury the value.
impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manifest")
            .field("source", &self.source().name)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}
