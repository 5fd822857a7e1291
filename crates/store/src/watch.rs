//! Watches: the changes of a collection after a version.
//!
//! A watch keeps a place in the collection's history, and at first one in the list that it
//! begins with, not a queue of its own: however slow its reader, it costs nothing, and one
//! that falls behind the history expires.

use std::collections::VecDeque;

use document::Value;
use object::GroupKind;
use tokio::sync::watch;

use crate::draft::at_version;
use crate::error::Error;
use crate::history::Record;
use crate::page::{CHUNK, Cursor};
use crate::selector::Selector;
use crate::store::Store;
use crate::version::Version;

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With every object there is, as [`Event::Added`], then a bookmark that says so.
    Now,
    /// With the first change after this version.
    After(Version),
}

/// What a watch reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An object is new, or is now one that the selector admits.
    Added(Value),
    /// An object changed.
    Modified(Value),
    /// An object is gone, or is no longer one that the selector admits: as it last was,
    /// with the version of this change.
    Deleted(Value),
    /// All changes up to this version have been reported.
    Bookmark {
        /// The version.
        version: Version,
        /// Whether this ends the objects that a watch from [`Start::Now`] begins with.
        initial: bool,
    },
}

/// The version that a watch should go on from is older than what is remembered, or of
/// another store: list, and watch from there (410).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {from} is not within what is remembered")]
pub struct Expired {
    /// The version.
    pub from: Version,
}

impl From<Expired> for Error {
    fn from(Expired { from }: Expired) -> Self {
        Self::Expired { from, fresh: None }
    }
}

/// A watch of one collection.
#[derive(Debug)]
pub struct Watch {
    store: Store,
    collection: GroupKind,
    selector: Selector,
    /// Invariant: all changes up to here have been reported or are in `events`.
    position: Version,
    /// The objects that the watch begins with, as far as they are not in `events` yet:
    /// those of the version `position`.
    initial: Option<Cursor>,
    /// About [`CHUNK`] at most.
    events: VecDeque<Event>,
    changed: watch::Receiver<Version>,
}

impl Watch {
    pub(crate) fn new(
        store: Store,
        collection: GroupKind,
        selector: Selector,
        start: Start,
    ) -> Result<Self, Expired> {
        let now = start == Start::Now;
        let (position, changed) = store.with(&collection, |version, objects| {
            let changed = objects.changed.subscribe();
            match start {
                Start::Now => Ok((version, changed)),
                Start::After(from) if from > version => Err(Expired { from }),
                Start::After(from) => match objects.history.after(from) {
                    Some(_) => Ok((from, changed)),
                    None => Err(Expired { from }),
                },
            }
        })?;
        Ok(Self {
            store,
            collection,
            selector,
            position,
            initial: now.then(|| Cursor::start(position)),
            events: VecDeque::new(),
            changed,
        })
    }

    /// The next event; waits for it. Nothing is lost if the wait is given up.
    pub async fn next(&mut self) -> Result<Event, Expired> {
        loop {
            // Marked as seen before looking: a change after the look wakes the wait.
            self.changed.borrow_and_update();
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            if self.changed.changed().await.is_err() {
                // The collection lives as long as the store, which this watch holds.
                return Err(self.expired());
            }
        }
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Result<Option<Event>, Expired> {
        while self.events.is_empty() {
            if !self.take_chunk()? {
                return Ok(None);
            }
        }
        Ok(self.events.pop_front())
    }

    /// A bookmark, if all there is has been reported: for a reader that has not heard of
    /// changes for long, because they were elsewhere.
    pub fn bookmark(&mut self) -> Result<Option<Event>, Expired> {
        while self.events.is_empty() {
            if !self.take_chunk()? {
                return Ok(Some(Event::Bookmark {
                    version: self.position,
                    initial: false,
                }));
            }
        }
        Ok(None)
    }

    /// Takes the next events from the store; `false` if there are none.
    fn take_chunk(&mut self) -> Result<bool, Expired> {
        let state = self.store.read();
        let Some(objects) = state.collections.get(&self.collection) else {
            return Ok(false);
        };
        if let Some(cursor) = &mut self.initial {
            let chunk = objects.chunk(cursor, &self.selector, CHUNK, CHUNK)?;
            self.events.extend(chunk.into_iter().map(Event::Added));
            if cursor.done {
                self.initial = None;
                self.events.push_back(Event::Bookmark {
                    version: self.position,
                    initial: true,
                });
            }
            return Ok(true);
        }
        let Some(records) = objects.history.after(self.position) else {
            let from = self.position;
            return Err(Expired { from });
        };
        let mut taken = 0;
        for record in records.take(CHUNK) {
            taken += 1;
            self.position = record.version;
            self.events.extend(event(record, &self.selector));
        }
        if taken < CHUNK {
            self.position = state.version;
        }
        Ok(taken > 0)
    }

    fn expired(&self) -> Expired {
        Expired {
            from: self.position,
        }
    }
}

/// What a change is to who sees only what the selector admits.
fn event(record: &Record, selector: &Selector) -> Option<Event> {
    let seen = |object: &Option<Value>| object.clone().filter(|o| selector.admits(o));
    match (seen(&record.old), seen(&record.new)) {
        (None, None) => None,
        (None, Some(new)) => Some(Event::Added(new)),
        (Some(_), Some(new)) => Some(Event::Modified(new)),
        (Some(old), None) => Some(Event::Deleted(at_version(&old, record.version))),
    }
}
