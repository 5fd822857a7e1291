//! The latest changes of a collection: a window of limited size, from which watches and pages
//! of older versions are served.
//!
//! ```text
//! window of 3      12   15   16   20       after(12) ──▶ 15, 16, 20
//!                  ──   ▲                  after(10) ──▶ expired: 12 is forgotten
//!             forgotten └─ oldest          floor: 12
//! ```
//!
//! Each record has the object before and after the change. A watch with a selector needs both,
//! because a change may make an object match or no longer match. A list of an older version
//! needs the state before.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;

use document::Value;
use object::ObjectName;

use crate::version::Version;

/// A change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) version: Version,
    pub(crate) key: ObjectName,
    /// `None` if the object was created.
    pub(crate) old: Option<Value>,
    /// `None` if it was deleted.
    pub(crate) new: Option<Value>,
}

/// The latest changes, oldest first.
#[derive(Debug)]
pub(crate) struct History {
    records: VecDeque<Record>,
    /// Index of `records` by object.
    by_key: BTreeSet<(ObjectName, Version)>,
    /// Invariant: every change after this version is in `records`.
    floor: Version,
    /// The size of all objects in `records`.
    bytes: usize,
}

/// How much a history keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The number of changes.
    pub(crate) changes: usize,
    /// The size of their objects, in bytes.
    pub(crate) bytes: usize,
}

impl Record {
    /// The size of its objects. Both count, although the state before is often the one after an
    /// earlier change: that one may be dropped first.
    fn bytes(&self) -> usize {
        let size =
            |object: &Option<Value>| object.as_ref().map_or(0, |o| o.measure().bytes as usize);
        size(&self.old) + size(&self.new)
    }
}

impl History {
    /// A history without changes, which starts at `floor`.
    pub(crate) fn new(floor: Version) -> Self {
        Self {
            records: VecDeque::new(),
            by_key: BTreeSet::new(),
            floor,
            bytes: 0,
        }
    }

    /// Adds a change, and drops the oldest ones beyond the window. The new one is kept, so that
    /// readers that are up to date get it.
    pub(crate) fn push(&mut self, record: Record, window: Window) {
        self.bytes += record.bytes();
        self.by_key.insert((record.key.clone(), record.version));
        self.records.push_back(record);
        while self.records.len() > 1
            && (self.records.len() > window.changes || self.bytes > window.bytes)
        {
            if let Some(record) = self.records.pop_front() {
                self.bytes -= record.bytes();
                self.floor = record.version;
                self.by_key.remove(&(record.key, record.version));
            }
        }
    }

    /// The changes after a version, oldest first; `None` if some of them were dropped.
    pub(crate) fn after(&self, version: Version) -> Option<impl Iterator<Item = &Record>> {
        if version < self.floor {
            return None;
        }
        let at = self.records.partition_point(|r| r.version <= version);
        Some(self.records.range(at..))
    }

    /// The first key from here on that has a change in the window.
    pub(crate) fn next_key(&self, from: Bound<&ObjectName>) -> Option<&ObjectName> {
        let from = match from {
            Bound::Included(key) => Bound::Included((key.clone(), Version(0))),
            Bound::Excluded(key) => Bound::Excluded((key.clone(), Version(u64::MAX))),
            Bound::Unbounded => Bound::Unbounded,
        };
        let mut changes = self.by_key.range((from, Bound::Unbounded));
        changes.next().map(|(key, _)| key)
    }

    /// The first change of an object after a version.
    pub(crate) fn first_after(&self, key: &ObjectName, version: Version) -> Option<&Record> {
        let from = Bound::Excluded((key.clone(), version));
        let mut changes = self.by_key.range((from, Bound::Unbounded));
        let (_, version) = changes.next().filter(|(changed, _)| changed == key)?;
        let at = self.records.partition_point(|r| r.version < *version);
        self.records.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(history: &History, after: u64, expect: Option<&[u64]>) {
        let found = history
            .after(Version(after))
            .map(|records| records.map(|r| r.version.0).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), expect);
    }

    #[test]
    fn the_oldest_changes_are_dropped() {
        let mut history = History::new(Version(10));
        check(&history, 9, None);
        check(&history, 10, Some(&[]));
        for version in [12, 15, 16, 20] {
            let record = Record {
                version: Version(version),
                key: ObjectName::new("", if version % 2 == 0 { "even" } else { "odd" }),
                old: None,
                new: None,
            };
            let window = Window {
                changes: 3,
                bytes: 0,
            };
            history.push(record, window);
        }
        check(&history, 10, None);
        check(&history, 11, None);
        check(&history, 12, Some(&[15, 16, 20]));
        check(&history, 15, Some(&[16, 20]));
        check(&history, 30, Some(&[]));
        let first = |key: &str, after: u64| {
            let key = ObjectName::new("", key);
            let record = history.first_after(&key, Version(after));
            record.map(|record| record.version.0)
        };
        assert_eq!(first("even", 12), Some(16));
        assert_eq!(first("even", 16), Some(20));
        assert_eq!(first("odd", 12), Some(15));
        assert_eq!(first("odd", 15), None);
        let odd = ObjectName::new("", "odd");
        assert_eq!(history.next_key(Bound::Included(&odd)), Some(&odd));
        assert_eq!(history.next_key(Bound::Excluded(&odd)), None);
    }
}
