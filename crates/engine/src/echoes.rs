//! Which objects are as this process last wrote them.
//!
//! A controller that reads what it writes, directly or through others, may never come to rest:
//!
//! ```text
//! ConfigMap a {n: 1} ─▶ n + 1 ─▶ ConfigMap a {n: 2} ─▶ n + 1 ─▶ ConfigMap a {n: 3} ─▶ …
//! ```
//!
//! So each write of an object that is also read is recorded here, with its *depth*: 0 if something
//! else caused it, otherwise one more than the depth of the writes that caused it. In a chain of
//! controllers the depth is at most the length of the chain. In a cycle it grows, and a target
//! whose depth reaches [`MAX_DEPTH`] is held with the error `cycle` after as many writes of its own.
//!
//! An event is an *echo* if it shows the version that the last write returned, or if a write is
//! under way, because events often overtake answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::{GroupKind, ObjectName};

/// How many writes in a row may cause each other.
pub(crate) const MAX_DEPTH: u32 = 64;

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
}

#[derive(Debug)]
struct LastWrite {
    /// The version that it returned; empty if it was a deletion.
    version: Box<str>,
    depth: u32,
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
        EchoReader(Some(echoes))
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
                let version = version.into();
                let last = LastWrite { version, depth };
                writes.last.insert(name.clone(), last);
            }
        });
    }
}

/// A reader of the writes of one kind.
#[derive(Debug, Default)]
pub(crate) struct EchoReader(Option<Arc<KindEchoes>>);

impl EchoReader {
    /// The depth of the write that an event shows; `None` if it shows something else. `version` is
    /// `None` if the object was deleted.
    pub(crate) fn depth(&self, name: &ObjectName, version: Option<&str>) -> Option<u32> {
        let mut writes = self.0.as_ref()?.writes();
        let under_way = writes.under_way.get(name);
        let under_way = under_way.and_then(|depths| depths.iter().max().copied());
        let last = writes.last.get(name);
        let shown = last.filter(|last| *last.version == *version.unwrap_or_default());
        let depth = under_way.or_else(|| shown.map(|last| last.depth));
        if version.is_none() && under_way.is_none() {
            writes.last.remove(name);
        }
        depth
    }
}

impl Drop for EchoReader {
    fn drop(&mut self) {
        if let Some(echoes) = &self.0
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
}
