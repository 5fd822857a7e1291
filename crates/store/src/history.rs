//! The last changes of a collection, for watches: a window, never more.

use std::collections::VecDeque;

use document::Value;

use crate::version::Version;

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) version: Version,
    /// `None` if the object is new.
    pub(crate) old: Option<Value>,
    /// `None` if it is gone.
    pub(crate) new: Option<Value>,
}

/// The last changes, oldest first.
#[derive(Debug)]
pub(crate) struct History {
    records: VecDeque<Record>,
    /// Invariant: every change after this version is in `records`.
    floor: Version,
}

impl History {
    /// Nothing has happened since `floor`.
    pub(crate) fn new(floor: Version) -> Self {
        Self {
            records: VecDeque::new(),
            floor,
        }
    }

    /// One more change; changes beyond the window are forgotten.
    pub(crate) fn push(&mut self, record: Record, window: usize) {
        self.records.push_back(record);
        while self.records.len() > window {
            if let Some(record) = self.records.pop_front() {
                self.floor = record.version;
            }
        }
    }

    /// The changes after a version, oldest first; `None` if some are forgotten.
    pub(crate) fn after(&self, version: Version) -> Option<impl Iterator<Item = &Record>> {
        if version < self.floor {
            return None;
        }
        let at = self.records.partition_point(|r| r.version <= version);
        Some(self.records.range(at..))
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
    fn a_window_forgets_the_oldest() {
        let mut history = History::new(Version(10));
        check(&history, 9, None);
        check(&history, 10, Some(&[]));
        for version in [12, 15, 16, 20] {
            let record = Record {
                version: Version(version),
                old: None,
                new: None,
            };
            history.push(record, 3);
        }
        check(&history, 10, None);
        check(&history, 11, None);
        check(&history, 12, Some(&[15, 16, 20]));
        check(&history, 15, Some(&[16, 20]));
        check(&history, 30, Some(&[]));
    }
}
