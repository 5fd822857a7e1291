//! Lists and maps while they are read.
//!
//! An [`OpenCollection`] collects the parts of a list or map. When the collection ends, it
//! becomes a [`Built`] value with its tree of spans, and a part of the collection around it:
//!
//! ```text
//! a: [1, {b: 2}]      open, outermost first      closed
//! {                   {
//! a: [                { a: [
//! 1, {                { a: [1  {
//! b: 2}               { a: [1                    {b: 2}, a part of the list
//! ]                   {                          [1, {b: 2}], the value of a
//! ```

use std::sync::Arc;

use document::{Key, Map, Value};

use crate::diagnostic::Diagnostic;
use crate::problem::LoadProblem;
use crate::source::Text;
use crate::span_tree::{ByteRange, Children, MemberSpans, SpanTree};

/// How many duplicate keys of one document are reported.
pub(crate) const MAX_DUPLICATES: usize = 100;

/// A complete value.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) value: Value,
    pub(crate) spans: SpanTree,
    /// How deep lists and maps are nested in it; 0 for a scalar.
    pub(crate) height: usize,
    /// How many nodes it has, with all aliases expanded.
    pub(crate) weight: usize,
}

/// A list or map that has not ended yet.
#[derive(Debug)]
pub(crate) struct OpenCollection {
    pub(crate) start: usize,
    /// Whether it is written with brackets or braces.
    pub(crate) flow: bool,
    /// The number of its anchor; 0 if it has none.
    pub(crate) anchor: usize,
    /// The end of the last part.
    end: usize,
    height: usize,
    weight: usize,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    List(Vec<Value>, Vec<SpanTree>),
    Map(OpenMap),
}

#[derive(Debug, Default)]
struct OpenMap {
    /// In text order.
    entries: Vec<(Value, MemberSpans)>,
    /// The key whose value comes next.
    pending: Option<Pending>,
    /// The range of the key `<<`.
    merge: Option<ByteRange>,
    /// The entries that `<<` adds. The first of equal keys wins, and keys in `entries` win over
    /// these.
    merged: Vec<(Value, MemberSpans)>,
}

/// A key that waits for its value.
#[derive(Debug)]
pub(crate) enum Pending {
    Key(Key, ByteRange),
    /// `<<`
    Merge(ByteRange),
}

impl OpenCollection {
    pub(crate) fn list(start: usize, flow: bool, anchor: usize) -> Self {
        Self::new(start, flow, anchor, Contents::List(Vec::new(), Vec::new()))
    }

    pub(crate) fn map(start: usize, flow: bool, anchor: usize) -> Self {
        Self::new(start, flow, anchor, Contents::Map(OpenMap::default()))
    }

    fn new(start: usize, flow: bool, anchor: usize, contents: Contents) -> Self {
        Self {
            start,
            flow,
            anchor,
            end: start,
            height: 1,
            weight: 1,
            contents,
        }
    }

    /// Whether the next part is a key.
    pub(crate) fn wants_key(&self) -> bool {
        matches!(&self.contents, Contents::Map(map) if map.pending.is_none())
    }

    /// The end of the key whose value comes next.
    pub(crate) fn key_end(&self) -> Option<usize> {
        match &self.contents {
            Contents::Map(OpenMap {
                pending: Some(Pending::Key(_, place) | Pending::Merge(place)),
                ..
            }) => Some(place.bytes().end),
            _ => None,
        }
    }

    pub(crate) fn add_key(&mut self, pending: Pending, text: &Text) -> Result<(), Diagnostic> {
        let Contents::Map(map) = &mut self.contents else {
            return Ok(());
        };
        if let Pending::Merge(place) = pending {
            if let Some(first) = map.merge {
                return Err(duplicate("<<", first, text)
                    .help("merge several maps with `<<: [*a, *b]`")
                    .at(text, place.bytes()));
            }
            map.merge = Some(place);
        }
        map.pending = Some(pending);
        Ok(())
    }

    pub(crate) fn add(&mut self, part: Built, text: &Text) -> Result<(), Diagnostic> {
        self.height = self.height.max(part.height + 1);
        self.weight = self.weight.saturating_add(part.weight);
        self.end = self.end.max(part.spans.range.bytes().end);
        match &mut self.contents {
            Contents::List(values, spans) => {
                values.push(part.value);
                spans.push(part.spans);
            }
            Contents::Map(map) => match map.pending.take() {
                Some(Pending::Key(key, key_range)) => {
                    let spans = part.spans;
                    map.entries.push((
                        part.value,
                        MemberSpans {
                            key,
                            key_range,
                            spans,
                        },
                    ));
                }
                Some(Pending::Merge(_)) => merge(&mut map.merged, &part, text)?,
                // Not reached: the loader adds a key before every value.
                None => {}
            },
        }
        Ok(())
    }

    /// Ends the collection. `end` is the end of its closing bracket, if it has one. Duplicate
    /// keys are recorded.
    pub(crate) fn close(
        self,
        end: Option<usize>,
        text: &Text,
        duplicates: &mut Duplicates,
    ) -> Built {
        let range = ByteRange::new(self.start..end.unwrap_or(self.end));
        let (value, children) = match self.contents {
            Contents::List(values, spans) => (Value::from(values), Children::List(Arc::new(spans))),
            Contents::Map(map) => map.close(text, duplicates),
        };
        Built {
            value,
            spans: SpanTree { range, children },
            height: self.height,
            weight: self.weight,
        }
    }
}

impl OpenMap {
    fn close(self, text: &Text, duplicates: &mut Duplicates) -> (Value, Children) {
        let mut entries = self.entries;
        // The sort is stable: equal keys stay in text order.
        entries.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
        for same in entries.chunk_by(|(_, a), (_, b)| a.key == b.key) {
            for (_, later) in &same[1..] {
                duplicates.note(&same[0].1, later, text);
            }
        }
        // Of equal keys the last one wins.
        entries.dedup_by(|later, earlier| {
            let same = later.1.key == earlier.1.key;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        if !self.merged.is_empty() {
            entries.extend(self.merged);
            entries.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
            entries.dedup_by(|(_, later), (_, earlier)| later.key == earlier.key);
        }
        let mut values = Vec::with_capacity(entries.len());
        let mut members = Vec::with_capacity(entries.len());
        for (value, member) in entries {
            values.push((member.key.clone(), value));
            members.push(member);
        }
        (
            Map::from_sorted(values).into(),
            Children::Map(Arc::new(members)),
        )
    }
}

/// The duplicate keys of a document.
#[derive(Debug, Default)]
pub(crate) struct Duplicates(Vec<Diagnostic>);

impl Duplicates {
    fn note(&mut self, first: &MemberSpans, later: &MemberSpans, text: &Text) {
        if self.0.len() < MAX_DUPLICATES {
            let problem = duplicate(first.key.as_str(), first.key_range, text);
            self.0.push(problem.at(text, later.key_range.bytes()));
        }
    }

    /// Takes all diagnostics, in text order.
    pub(crate) fn take(&mut self) -> Arc<[Diagnostic]> {
        let mut noted = std::mem::take(&mut self.0);
        noted.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start));
        noted.into()
    }
}

fn duplicate(key: &str, first: ByteRange, text: &Text) -> LoadProblem {
    let first = text.span(first.bytes());
    let mut shown: String = key.chars().take(64).collect();
    if shown.len() < key.len() {
        shown.push('…');
    }
    LoadProblem::new(
        "duplicate-key",
        format!(
            "duplicate key `{}`, first given at line {}, column {}",
            shown.escape_debug(),
            first.line,
            first.column
        ),
    )
}

/// Adds the value of `<<`: a map, or a list of maps in which the first map wins.
fn merge(
    merged: &mut Vec<(Value, MemberSpans)>,
    part: &Built,
    text: &Text,
) -> Result<(), Diagnostic> {
    match (part.value.as_list(), &part.spans.children) {
        (Some(values), Children::List(spans)) => {
            for (value, spans) in values.iter().zip(spans.iter()) {
                merge_map(merged, value, spans, text)?;
            }
            Ok(())
        }
        _ => merge_map(merged, &part.value, &part.spans, text),
    }
}

fn merge_map(
    merged: &mut Vec<(Value, MemberSpans)>,
    value: &Value,
    spans: &SpanTree,
    text: &Text,
) -> Result<(), Diagnostic> {
    let (Some(map), Children::Map(members)) = (value.as_map(), &spans.children) else {
        let message = format!("`<<` expects a map or a list of maps, not {}", value.kind());
        return Err(LoadProblem::new("merge-key", message).at(text, spans.range.bytes()));
    };
    // Both are sorted by key.
    merged.extend(map.values().cloned().zip(members.iter().cloned()));
    Ok(())
}
