//! Which objects are as this process last wrote them.
//!
//! A controller that reads what it writes, directly or through others, may never come to rest:
//!
//! ```text
//! ConfigMap a {n: 1} ─▶ n + 1 ─▶ ConfigMap a {n: 2} ─▶ n + 1 ─▶ ConfigMap a {n: 3} ─▶ …
//! ```
//!
//! So each write of an object that is also read is recorded here, with its *depth*: 0 if something
//! else caused it, otherwise one more than the depth of the writes that caused it. What passes
//! between the controllers of an Operator within a batch has the depth of the batch. In a chain of
//! controllers the depth is at most the length of the chain. In a cycle it grows, and a target
//! whose depth reaches [`MAX_DEPTH`] is held with the error `cycle` after as many writes of its own.
//!
//! An event is an *echo* if it shows the version that the last write returned, or if a write is
//! under way, because events often overtake answers. A deletion has no version. So deletions
//! are numbered, and each reader remembers the last one that it has seen of an object: a later
//! deletion without a new number was made by somebody else.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::{GroupKind, ObjectName};

/// How many writes in a row may cause each other.
pub(crate) const MAX_DEPTH: u32 = 64;

/// Whether the writes of an object, of which `streak` in a row had a depth above 0, are those of a
/// cycle. `depth` is that of the next one.
pub(crate) fn is_cycle(depth: u32, streak: u32) -> bool {
    let often = depth >= MAX_DEPTH && streak >= MAX_DEPTH;
    // A cycle that writes other objects each time, or creates and deletes one in turn: nothing
    // counts its writes.
    let endless = depth >= 2 * MAX_DEPTH && streak == 0;
    often || endless
}

/// How many deletions of a kind are recorded: the latest.
const MAX_DELETIONS: usize = 4096;

/// The last writes of a process, of the kinds that it also reads. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Echoes(Arc<Mutex<HashMap<GroupKind, Arc<KindEchoes>>>>);

/// The last writes of objects of one kind.
#[derive(Debug, Default)]
pub(crate) struct KindEchoes {
    /// How many inputs read the kind. Without any, nothing is recorded.
    readers: AtomicUsize,
    writes: Mutex<Writes>,
}

#[derive(Debug, Default)]
struct Writes {
    /// The depths of the writes under way, which may be of several Operators.
    under_way: HashMap<ObjectName, Vec<u32>>,
    /// The last write of each object.
    last: HashMap<ObjectName, LastWrite>,
    /// The deletions in `last`, from old to new.
    deletions: VecDeque<ObjectName>,
    /// How many deletions there were.
    deleted: u64,
}

impl Writes {
    /// The next deletion. The oldest one is forgotten if there are too many.
    fn deletion(&mut self, name: &ObjectName) -> EchoOf {
        self.deletions.push_back(name.clone());
        if self.deletions.len() > MAX_DELETIONS
            && let Some(oldest) = self.deletions.pop_front()
            && let Some(last) = self.last.get(&oldest)
            && matches!(last.shown, EchoOf::Deletion(_))
        {
            self.last.remove(&oldest);
        }
        self.deleted += 1;
        EchoOf::Deletion(self.deleted)
    }
}

#[derive(Debug)]
struct LastWrite {
    shown: EchoOf,
    depth: u32,
}

/// How an event of a write is recognized.
#[derive(Debug)]
enum EchoOf {
    /// By the version that it returned.
    Version(Box<str>),
    /// The object is gone. The number of the deletion.
    Deletion(u64),
}

impl Echoes {
    /// The writes of a kind.
    pub(crate) fn of(&self, kind: &GroupKind) -> Arc<KindEchoes> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.entry(kind.clone()).or_default().clone()
    }

    /// A reader of a kind. While there is one, writes of the kind are recorded.
    pub(crate) fn reader(&self, kind: &GroupKind) -> EchoReader {
        let echoes = self.of(kind);
        echoes.readers.fetch_add(1, Ordering::Relaxed);
        EchoReader {
            echoes: Some(echoes),
            deletions: Mutex::default(),
        }
    }
}

impl KindEchoes {
    fn writes(&self) -> MutexGuard<'_, Writes> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Writes)) {
        if self.readers.load(Ordering::Relaxed) > 0 {
            change(&mut self.writes());
        }
    }

    /// A write begins.
    pub(crate) fn sends(&self, name: &ObjectName, depth: u32) {
        self.change(|writes| {
            let under_way = writes.under_way.entry(name.clone());
            under_way.or_default().push(depth);
        });
    }

    /// A write has ended: with this version, with a deletion (`Some("")`), or with an error.
    pub(crate) fn sent(&self, name: &ObjectName, depth: u32, version: Option<&str>) {
        self.change(|writes| {
            if let Some(under_way) = writes.under_way.get_mut(name) {
                if let Some(at) = under_way.iter().position(|other| *other == depth) {
                    under_way.swap_remove(at);
                }
                if under_way.is_empty() {
                    writes.under_way.remove(name);
                }
            }
            if let Some(version) = version {
                let shown = match version {
                    "" => writes.deletion(name),
                    version => EchoOf::Version(version.into()),
                };
                let last = LastWrite { shown, depth };
                writes.last.insert(name.clone(), last);
            }
        });
    }
}

/// A reader of the writes of one kind.
#[derive(Debug, Default)]
pub(crate) struct EchoReader {
    echoes: Option<Arc<KindEchoes>>,
    /// The last deletion of each object that it was shown.
    deletions: Mutex<HashMap<ObjectName, u64>>,
}

impl EchoReader {
    /// The depth of the write that an event shows; `None` if it shows something else. `version` is
    /// `None` if the object was deleted.
    pub(crate) fn depth(&self, name: &ObjectName, version: Option<&str>) -> Option<u32> {
        let mut writes = self.echoes.as_ref()?.writes();
        if let Some(depths) = writes.under_way.get(name) {
            return depths.iter().max().copied();
        }
        let last = writes.last.get(name)?;
        let is_shown = match (&last.shown, version) {
            (EchoOf::Version(last), Some(version)) => **last == *version,
            (EchoOf::Deletion(number), None) => self.is_new(name, *number),
            (EchoOf::Version(_), None) => {
                // Somebody else has deleted it: no later event shows this version.
                writes.last.remove(name);
                return None;
            }
            (EchoOf::Deletion(_), Some(_)) => false,
        };
        is_shown.then_some(last.depth)
    }

    /// Whether a deletion has not been shown before.
    fn is_new(&self, name: &ObjectName, number: u64) -> bool {
        let deletions = self.deletions.lock();
        let mut deletions = deletions.unwrap_or_else(PoisonError::into_inner);
        if deletions.len() >= MAX_DELETIONS {
            deletions.clear();
        }
        deletions.insert(name.clone(), number) != Some(number)
    }
}

impl Drop for EchoReader {
    fn drop(&mut self) {
        if let Some(echoes) = &self.echoes
            && echoes.readers.fetch_sub(1, Ordering::Relaxed) == 1
        {
            *echoes.writes() = Writes::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ObjectName {
        ObjectName::new("n", "a")
    }

    #[test]
    fn an_event_is_an_echo_of_the_last_write_or_of_one_under_way() {
        let echoes = Echoes::default();
        let kind = GroupKind::new("", "ConfigMap");
        let writes = echoes.of(&kind);
        // Nobody reads the kind.
        writes.sends(&name(), 1);
        writes.sent(&name(), 1, Some("1"));
        let reader = echoes.reader(&kind);
        assert_eq!(reader.depth(&name(), Some("1")), None);
        writes.sends(&name(), 3);
        assert_eq!(reader.depth(&name(), Some("2")), Some(3));
        writes.sent(&name(), 3, Some("2"));
        assert_eq!(reader.depth(&name(), Some("2")), Some(3));
        assert_eq!(reader.depth(&name(), Some("3")), None);
        assert_eq!(reader.depth(&ObjectName::new("n", "b"), Some("2")), None);
        // A write that failed changes nothing.
        writes.sends(&name(), 4);
        writes.sent(&name(), 4, None);
        assert_eq!(reader.depth(&name(), Some("2")), Some(3));
        writes.sent(&name(), 5, Some(""));
        assert_eq!(reader.depth(&name(), None), Some(5));
        assert_eq!(reader.depth(&name(), None), None);
    }

    #[test]
    fn nothing_is_kept_of_an_object_that_others_delete() {
        let echoes = Echoes::default();
        let kind = GroupKind::new("batch", "Job");
        let (writes, reader) = (echoes.of(&kind), echoes.reader(&kind));
        writes.sends(&name(), 1);
        writes.sent(&name(), 1, Some("1"));
        // It is created again while the deletion is on its way.
        writes.sends(&name(), 2);
        assert_eq!(reader.depth(&name(), None), Some(2));
        writes.sent(&name(), 2, Some("3"));
        assert_eq!(reader.depth(&name(), Some("3")), Some(2));
        assert_eq!(reader.depth(&name(), None), None);
        assert!(writes.writes().last.is_empty());
    }

    #[test]
    fn all_readers_are_shown_a_deletion_once() {
        let echoes = Echoes::default();
        let kind = GroupKind::new("", "ConfigMap");
        let writes = echoes.of(&kind);
        let readers = [echoes.reader(&kind), echoes.reader(&kind)];
        for depth in 1..4 {
            writes.sent(&name(), depth, Some(""));
            for reader in &readers {
                assert_eq!(reader.depth(&name(), None), Some(depth));
                assert_eq!(reader.depth(&name(), None), None, "it is somebody else's");
            }
        }
    }

    #[test]
    fn only_the_latest_deletions_are_recorded() {
        let echoes = Echoes::default();
        let kind = GroupKind::new("", "ConfigMap");
        let (writes, reader) = (echoes.of(&kind), echoes.reader(&kind));
        let name = |number: usize| ObjectName::new("n", &number.to_string());
        for number in 0..2 * MAX_DELETIONS {
            writes.sent(&name(number), 1, Some(""));
        }
        assert_eq!(writes.writes().last.len(), MAX_DELETIONS);
        assert_eq!(reader.depth(&name(0), None), None);
        assert_eq!(reader.depth(&name(2 * MAX_DELETIONS - 1), None), Some(1));
    }
}
