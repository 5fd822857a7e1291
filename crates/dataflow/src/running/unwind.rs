//! `@unwind`: puts out one document for each element of a list.
//!
//! ```text
//! @unwind: "$.ports"
//! (web)  {metadata: {name: web}, ports: [80, 81]}
//!   ─▶ (web, 0)  {metadata: {name: web-0}, ports: 80}
//!      (web, 1)  {metadata: {name: web-1}, ports: 81}
//! ```
//!
//! Elements are compared by position. If only the list has changed, elements that are equal in
//! both versions are skipped without building their documents.

use document::{Location, Path, Value};

use super::{Change, Failing, FailingMap, StepContext, release};
use crate::apply;
use crate::origin::{Component, Origin};

/// A running `@unwind`.
#[derive(Debug)]
pub(crate) struct UnwindState {
    path: Path,
    at: Location,
    pub(crate) failing: FailingMap<Vec<Value>>,
}

/// The elements of one document: built on demand, or held.
enum Elements<'a> {
    None,
    Fresh(apply::Unwound<'a>),
    Held(&'a [Value]),
}

impl Elements<'_> {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Fresh(unwound) => unwound.len(),
            Self::Held(elements) => elements.len(),
        }
    }

    fn get(&self, index: usize) -> Option<Value> {
        match self {
            Self::None => None,
            Self::Fresh(unwound) => unwound.element(index),
            Self::Held(elements) => elements.get(index).cloned(),
        }
    }

    fn to_vec(&self) -> Vec<Value> {
        (0..self.len())
            .filter_map(|index| self.get(index))
            .collect()
    }
}

impl UnwindState {
    pub(crate) fn new(path: Path, at: Location) -> Self {
        Self {
            path,
            at,
            failing: FailingMap::default(),
        }
    }

    pub(crate) fn step(&mut self, changes: &mut Vec<Change>, cx: &mut StepContext<'_>) {
        let mut out = Vec::with_capacity(changes.len());
        for change in changes.drain(..) {
            if !cx.goes_on() {
                break;
            }
            self.change(&change, &mut out, cx);
        }
        *changes = out;
    }

    fn change(&mut self, change: &Change, out: &mut Vec<Change>, cx: &mut StepContext<'_>) {
        let held = release(&mut self.failing, &change.origin);
        let old = match (&held, &change.old) {
            (Some(failing), _) => Elements::Held(&failing.held),
            (None, Some(document)) => apply::unwind(&self.path, &self.at, document)
                .map_or(Elements::None, Elements::Fresh),
            (None, None) => Elements::None,
        };
        let new = match &change.new {
            None => Elements::None,
            Some(document) => match apply::unwind(&self.path, &self.at, document) {
                Ok(unwound) => Elements::Fresh(unwound),
                Err(failure) => {
                    cx.report(&change.origin, &failure);
                    let held = old.to_vec();
                    self.failing
                        .insert(change.origin.clone(), Failing::new(held, failure));
                    return;
                }
            },
        };
        difference(&change.origin, &old, &new, out, cx);
    }

    /// The current element for an origin, given the current document of its parent.
    pub(crate) fn current(
        &self,
        input: Option<&Value>,
        parent: &Origin,
        index: usize,
    ) -> Option<Value> {
        if let Some(failing) = self.failing.get(parent) {
            return failing.held.get(index).cloned();
        }
        apply::unwind(&self.path, &self.at, input?)
            .ok()?
            .element(index)
    }
}

/// The number of elements between two checks of the interrupt.
const CHECK_INTERVAL: usize = 64;

/// Adds the changes between the elements of two versions of a document.
fn difference(
    origin: &Origin,
    old: &Elements<'_>,
    new: &Elements<'_>,
    out: &mut Vec<Change>,
    cx: &mut StepContext<'_>,
) {
    let fresh = match (old, new) {
        (Elements::Fresh(old), Elements::Fresh(new)) => Some((old, new)),
        _ => None,
    };
    // Two element documents are equal if the elements and the rest of the documents are. That
    // can be checked without building them.
    let same_around = fresh.is_some_and(|(old, new)| old.same_around(new));
    for index in 0..old.len().max(new.len()) {
        if index % CHECK_INTERVAL == CHECK_INTERVAL - 1 && !cx.goes_on() {
            return;
        }
        if same_around && fresh.is_some_and(|(old, new)| old.same_item(new, index)) {
            continue;
        }
        let origin = origin.with(Component::Index(index as u32));
        let (old, new) = (old.get(index), new.get(index));
        if fresh.is_some() || old != new {
            let documents = usize::from(old.is_some()) + usize::from(new.is_some());
            if !cx.meter.unwound(documents) {
                return;
            }
            out.push(Change { origin, old, new });
        }
    }
}
