//! Map keys: interned, so that equality is a pointer comparison and a document of the
//! same shape as another shares its keys.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use hashbrown::HashTable;
use triomphe::ThinArc;

/// The key of a map entry. Two keys of the same text are the same allocation.
#[derive(Clone)]
pub struct Key(ThinArc<u64, u8>);

/// All living keys. Keys that only this table still holds are dropped when it has
/// doubled, so that a stream of ever new keys does not grow without end.
struct Interner {
    keys: HashTable<Key>,
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 4096;
const SHARDS: usize = 16;

static SHARD: LazyLock<[Mutex<Interner>; SHARDS]> = LazyLock::new(|| {
    std::array::from_fn(|_| {
        Mutex::new(Interner {
            keys: HashTable::new(),
            sweep_at: FIRST_SWEEP,
        })
    })
});

impl Interner {
    fn intern(&mut self, hash: u64, text: &str) -> Key {
        if let Some(key) = self.keys.find(hash, |key| key.as_str() == text) {
            return key.clone();
        }
        if self.keys.len() >= self.sweep_at {
            self.keys.retain(|key| ThinArc::strong_count(&key.0) > 1);
            self.sweep_at = FIRST_SWEEP.max(self.keys.len() * 2);
        }
        let key = Key(ThinArc::from_header_and_slice(hash, text.as_bytes()));
        self.keys
            .insert_unique(hash, key.clone(), |key| key.0.header.header);
        key
    }
}

/// A fixed seed, so that hashes are the same on every thread and in every run: a chain
/// of hostile keys costs one comparison each, and documents are bounded in size.
fn hash_of(text: &str) -> u64 {
    foldhash::fast::FixedState::default().hash_one(text)
}

impl Key {
    /// The key of this text.
    pub fn new(text: &str) -> Self {
        let hash = hash_of(text);
        SHARD[(hash >> 60) as usize % SHARDS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .intern(hash, text)
    }

    /// The text of this key.
    #[allow(unsafe_code)]
    pub fn as_str(&self) -> &str {
        // SAFETY: the bytes are written once, in `Interner::intern`, from a `&str`, and
        // never change after that.
        unsafe { std::str::from_utf8_unchecked(&self.0.slice) }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        if self == other {
            return std::cmp::Ordering::Equal;
        }
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.header.header);
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.as_str(), f)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_is_one_key() {
        assert_eq!(Key::new("metadata"), Key::new("metadata"));
        assert_ne!(Key::new("metadata"), Key::new("spec"));
        assert!(Key::new("a") < Key::new("b"));
    }

    #[test]
    fn unused_keys_are_dropped() {
        let mut interner = Interner {
            keys: HashTable::new(),
            sweep_at: FIRST_SWEEP,
        };
        for i in 0..100_000 {
            let text = format!("key-{i}");
            interner.intern(hash_of(&text), &text);
        }
        assert!(interner.keys.len() <= FIRST_SWEEP + 1);
    }
}
