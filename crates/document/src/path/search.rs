//! Finding the matches of a path.
//!
//! A search follows segments from a start value and visits all matches in order. Below a `..`
//! it keeps the values to visit on a stack of its own, and the number of segments is bounded.
//! So the depth of a document never becomes the depth of the call stack.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use super::error::TooManyMatches;
use super::pattern::{Extent, Pattern};
use super::segment::{self, Segment, Selector};
use super::{Found, MAX_MATCHES, MAX_STEPS};
use crate::value::{Value, View};

/// How many bytes that are compared or matched count as one visited value.
const BYTES: usize = 64;

/// How many visited values compiling a pattern counts as.
const COMPILE: usize = 5_000;

/// One search, and the state that its filters share.
pub(super) struct Search<'a> {
    /// The meaning of `$` in filters.
    document: &'a Value,
    /// How many more values may be visited.
    steps: Cell<usize>,
    /// Whether the steps ran out: then the matches found so far are meaningless.
    given_up: Cell<bool>,
    /// The last pattern from the document. Most filters match all elements with the same
    /// pattern.
    pattern: RefCell<Option<ComputedPattern>>,
}

/// A pattern from the document. An invalid one is `None` and matches nothing.
struct ComputedPattern {
    source: String,
    extent: Extent,
    compiled: Option<Pattern>,
}

impl<'a> Search<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        Self {
            document,
            steps: Cell::new(MAX_STEPS),
            given_up: Cell::new(false),
            pattern: RefCell::new(None),
        }
    }

    pub(super) fn document(&self) -> &'a Value {
        self.document
    }

    /// A result of this search, with the cost of the search.
    pub(super) fn found<T, E>(&self, result: Result<T, E>) -> Found<T, E> {
        Found {
            result,
            steps: MAX_STEPS - self.steps.get(),
        }
    }

    /// The first match below `start`.
    pub(super) fn first<'v>(
        &self,
        segments: &[Segment],
        start: &'v Value,
    ) -> Result<Option<&'v Value>, TooManyMatches> {
        let mut found = None;
        let _ = self.walk(segments, start, &mut |value| {
            found = Some(value);
            ControlFlow::Break(())
        });
        self.finish(found)
    }

    /// All matches below `start`.
    pub(super) fn all<'v>(
        &self,
        segments: &[Segment],
        start: &'v Value,
    ) -> Result<Vec<&'v Value>, TooManyMatches> {
        let mut found = Vec::new();
        let flow = self.walk(segments, start, &mut |value| {
            if found.len() == MAX_MATCHES {
                return ControlFlow::Break(());
            }
            found.push(value);
            ControlFlow::Continue(())
        });
        if flow.is_break() {
            return Err(TooManyMatches);
        }
        self.finish(found)
    }

    /// The result, unless the search was aborted.
    pub(super) fn finish<T>(&self, result: T) -> Result<T, TooManyMatches> {
        if self.given_up.get() {
            return Err(TooManyMatches);
        }
        Ok(result)
    }

    /// Visits all matches below `value`, in order, until `visit` breaks.
    pub(super) fn walk<'v>(
        &self,
        segments: &[Segment],
        mut value: &'v Value,
        visit: &mut dyn FnMut(&'v Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut rest = segments;
        while let [segment, after @ ..] = rest {
            rest = after;
            let next = match segment {
                Segment::Name(key) => value.as_map().and_then(|map| map.get(key)),
                Segment::Index(index) => element(value, *index),
                Segment::Several(selectors) => {
                    return self.select(selectors, value, &mut |_, child| {
                        self.walk(rest, child, visit)
                    });
                }
                Segment::Descendants(selectors) => {
                    return self.descend(selectors, value, &mut |_, child| {
                        self.walk(rest, child, visit)
                    });
                }
            };
            match next {
                Some(next) => value = next,
                None => return ControlFlow::Continue(()),
            }
        }
        visit(value)
    }

    /// Visits the matches of the selectors in `value` and in everything below it, parents
    /// before children.
    fn descend<'v>(
        &self,
        selectors: &[Selector],
        value: &'v Value,
        visit: &mut dyn FnMut(usize, &'v Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            self.step()?;
            self.select(selectors, value, visit)?;
            let first = waiting.len();
            match value.view() {
                View::Map(map) => waiting.extend(map.values().filter(|v| is_container(v))),
                View::List(list) => waiting.extend(list.iter().filter(|v| is_container(v))),
                _ => {}
            }
            waiting[first..].reverse();
        }
        ControlFlow::Continue(())
    }

    /// Visits the children that the selectors match, each with its position: the index in a
    /// list, or of the entry in a map.
    pub(super) fn select<'v>(
        &self,
        selectors: &[Selector],
        value: &'v Value,
        visit: &mut dyn FnMut(usize, &'v Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for selector in selectors {
            match (selector, value.view()) {
                (Selector::Name(key), View::Map(map)) => {
                    if let Some(at) = map.iter().position(|(k, _)| k == key) {
                        visit(at, &map.entries()[at].1)?;
                    }
                }
                (Selector::Index(index), View::List(list)) => {
                    if let Some(at) = segment::position(*index, list.len()) {
                        list.get(at)
                            .map_or(ControlFlow::Continue(()), |v| visit(at, v))?;
                    }
                }
                (Selector::Slice(slice), View::List(list)) => {
                    for at in slice.indexes(list.len()) {
                        self.step()?;
                        list.get(at)
                            .map_or(ControlFlow::Continue(()), |v| visit(at, v))?;
                    }
                }
                (Selector::Wildcard, _) => self.children(value, visit)?,
                (Selector::Filter(filter), _) => self.children(value, &mut |at, child| {
                    if filter.holds(child, self) {
                        visit(at, child)?;
                    }
                    ControlFlow::Continue(())
                })?,
                (Selector::Name(_) | Selector::Index(_) | Selector::Slice(_), _) => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn children<'v>(
        &self,
        value: &'v Value,
        visit: &mut dyn FnMut(usize, &'v Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match value.view() {
            View::Map(map) => map.values().enumerate().try_for_each(|(at, child)| {
                self.step()?;
                visit(at, child)
            }),
            View::List(list) => list.iter().enumerate().try_for_each(|(at, child)| {
                self.step()?;
                visit(at, child)
            }),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Counts a visited value.
    fn step(&self) -> ControlFlow<()> {
        self.spend(1)
    }

    fn spend(&self, steps: usize) -> ControlFlow<()> {
        if let Some(left) = self.steps.get().checked_sub(steps) {
            self.steps.set(left);
            return ControlFlow::Continue(());
        }
        // No later match counts, so the search stops.
        self.steps.set(0);
        self.given_up.set(true);
        ControlFlow::Break(())
    }

    /// Counts a value that is read as a whole. Returns whether there are steps left for it.
    pub(super) fn may_read(&self, bytes: usize) -> bool {
        bytes < BYTES || self.spend(bytes / BYTES).is_continue()
    }

    /// Counts two values that are compared. Returns whether there are steps left for it.
    pub(super) fn may_compare(&self, one: Option<&Value>, other: Option<&Value>) -> bool {
        let (Some(one), Some(other)) = (one, other) else {
            return true;
        };
        let bytes = one.measure().bytes.min(other.measure().bytes);
        self.may_read(bytes as usize)
    }

    /// Whether `text` matches a pattern from the document.
    pub(super) fn matches(&self, source: &str, extent: Extent, text: &str) -> bool {
        let mut last = self.pattern.borrow_mut();
        let pattern = match &mut *last {
            Some(known) if known.source == source && known.extent == extent => known,
            _ if self.spend(COMPILE).is_break() => return false,
            other => other.insert(ComputedPattern {
                source: source.to_owned(),
                extent,
                compiled: Pattern::computed(source, extent),
            }),
        };
        pattern.compiled.as_ref().is_some_and(|p| p.matches(text))
    }
}

/// The element at an index that may count from the end.
pub(super) fn element(value: &Value, index: i64) -> Option<&Value> {
    let list = value.as_list()?;
    list.get(segment::position(index, list.len())?)
}

/// The value that names and indexes lead to.
pub(super) fn place<'v>(segments: &[Segment], value: &'v Value) -> Option<&'v Value> {
    segments
        .iter()
        .try_fold(value, |value, segment| match segment {
            Segment::Name(key) => value.as_map()?.get(key),
            Segment::Index(index) => element(value, *index),
            Segment::Several(_) | Segment::Descendants(_) => None,
        })
}

fn is_container(value: &Value) -> bool {
    matches!(value.view(), View::Map(_) | View::List(_))
}
