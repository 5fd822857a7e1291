//! Watches: the changes of a collection after a version.
//!
//! A watch has no queue of its own, only a position in the collection's history, and at first a
//! position in its initial list:
//!
//! ```text
//! history    101  102  103  104  105
//!                   ▲         ▲
//!              slow watch   fast watch
//! ```
//!
//! So a slow reader costs nothing. One whose position has left the history gets [`Expired`],
//! and lists again.

use std::collections::VecDeque;

use document::Value;
use object::GroupKind;
use tokio::sync::watch;

use crate::draft::at_version;
use crate::error::Error;
use crate::history::Record;
use crate::page::{CHUNK, CHUNK_BYTES, Cursor, Portion};
use crate::selector::Selector;
use crate::store::Store;
use crate::version::Version;

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With all objects, as [`Event::Added`], and a bookmark after them.
    Now,
    /// With the first change after this version.
    After(Version),
}

/// An event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An object was created, or has begun to match the selector.
    Added(Value),
    /// An object has changed.
    Modified(Value),
    /// An object was deleted, or no longer matches the selector. Contains its last state, with
    /// the version of this change.
    Deleted(Value),
    /// All changes up to this version have been delivered.
    Bookmark {
        /// The version.
        version: Version,
        /// Whether it ends the initial list of a watch from [`Start::Now`].
        initial: bool,
    },
}

impl Event {
    /// The size of its object.
    fn bytes(&self) -> usize {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => {
                object.measure().bytes as usize
            }
            Self::Bookmark { .. } => 0,
        }
    }
}

/// The version is no longer in the history, or is a version of another store. The reader has to
/// list, and to watch from the version of the list (HTTP 410).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {from} is not in the history; list again")]
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
    /// Invariant: all changes up to here have been delivered or are in `events`.
    position: Version,
    /// The rest of the initial list, at the version `position`.
    initial: Option<Cursor>,
    /// At most about [`CHUNK`] events, and [`CHUNK_BYTES`] of objects.
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

    /// Waits for the next event. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Event, Expired> {
        loop {
            // Before `try_next`, so that a change after it ends the wait.
            self.changed.borrow_and_update();
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            if self.changed.changed().await.is_err() {
                // Unreachable: this watch holds the store, which holds the sender.
                return Err(self.expired());
            }
        }
    }

    /// The next event, if there is one now.
    pub fn try_next(&mut self) -> Result<Option<Event>, Expired> {
        while self.events.is_empty() {
            if !self.take_chunk()? {
                return Ok(None);
            }
        }
        Ok(self.events.pop_front())
    }

    /// A bookmark, if everything has been delivered. It moves a quiet reader past changes of
    /// other collections, so that its version does not expire.
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

    /// Reads the next events from the store. Returns `false` if there are none.
    fn take_chunk(&mut self) -> Result<bool, Expired> {
        let state = self.store.read();
        let Some(objects) = state.collections.get(&self.collection) else {
            return Ok(false);
        };
        if let Some(cursor) = &mut self.initial {
            let portion = Portion {
                most: CHUNK,
                look: CHUNK,
                bytes: CHUNK_BYTES,
            };
            let chunk = objects.chunk(cursor, &self.selector, portion)?;
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
        let (mut taken, mut bytes, mut all) = (0, 0, true);
        for record in records {
            if taken >= CHUNK || bytes >= CHUNK_BYTES {
                all = false;
                break;
            }
            taken += 1;
            self.position = record.version;
            if let Some(event) = event(record, &self.selector) {
                bytes += event.bytes();
                self.events.push_back(event);
            }
        }
        if all {
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

/// The event of a change, for a reader with this selector.
fn event(record: &Record, selector: &Selector) -> Option<Event> {
    let seen = |object: &Option<Value>| object.clone().filter(|o| selector.admits(o));
    match (seen(&record.old), seen(&record.new)) {
        (None, None) => None,
        (None, Some(new)) => Some(Event::Added(new)),
        (Some(_), Some(new)) => Some(Event::Modified(new)),
        (Some(old), None) => Some(Event::Deleted(at_version(&old, record.version))),
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;
    use crate::{Caller, Config, Env, Write};

    struct Fixed;

    impl Env for Fixed {
        fn now(&self) -> String {
            "2026-01-01T00:00:00Z".to_owned()
        }
        fn uid(&self) -> String {
            "uid".to_owned()
        }
    }

    #[test]
    fn a_watch_of_large_objects_holds_few_of_them() {
        let store = Store::new(Fixed, Config::default());
        let kind = GroupKind::new("shop.view.dcontroller.io", "Health");
        let watch = |start| store.watch(&kind, Selector::default(), start).unwrap();
        let text = "x".repeat(CHUNK_BYTES / 4);
        let before = store.version();
        for number in 0..20 {
            let object = json!({
                "apiVersion": "shop.view.dcontroller.io/v1alpha1", "kind": "Health",
                "metadata": {"name": (format!("large-{number}")), "namespace": "shop"},
                "text": (text.as_str())
            });
            let caller = Caller::user("alice");
            store.write(&caller, &kind, &Write::Put(object)).unwrap();
        }
        for start in [Start::Now, Start::After(before)] {
            let mut watch = watch(start);
            let mut count = 0;
            while let Some(event) = watch.try_next().unwrap() {
                count += usize::from(matches!(event, Event::Added(_)));
                let held: usize = watch.events.iter().map(Event::bytes).sum();
                assert!(held <= CHUNK_BYTES, "{start:?}: {held} bytes are held");
            }
            assert_eq!(count, 20, "{start:?}");
        }
    }
}
