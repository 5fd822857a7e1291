//! Map keys: interned, so that equality is a pointer comparison and a document of the
//! same shape as another shares its keys.

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ffi::c_void;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex, PoisonError};

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use hashbrown::HashTable;

use crate::slice::{ALIGN, SharedSlice};

/// The key of a map entry. Two keys of the same text are the same allocation.
///
/// Documents consist of keys, mostly the same few thousand, and making and dropping a
/// document would count each of them up and down. So the first keys of a process last:
/// they are not counted and never freed. There is a bound to their number and length;
/// the keys after them are counted.
pub struct Key(
    /// A [`Text`] as a raw pointer. The lowest bit tells whether it lasts: then this owns
    /// no reference to it.
    NonNull<c_void>,
);

/// The hash of a key, [`HASH`] bytes, and its text, which is UTF-8.
type Text = SharedSlice<u8>;

const HASH: usize = size_of::<u64>();

/// The bit of a key that lasts; the address of a slice does not need it.
const LASTING: usize = 1;

const _: () = assert!(ALIGN > LASTING);

/// So many keys last in each shard.
const LASTING_KEYS: usize = 2048;
/// Longer keys do not last.
const LASTING_LENGTH: usize = 128;

/// All living keys. Keys that only this table still holds are dropped when it has
/// doubled, so that a stream of ever new keys does not grow without end.
struct Interner {
    keys: HashTable<Key>,
    lasting: usize,
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 4096;

/// The keys of the process, in shards that are locked one by one.
struct Keys {
    seed: Seed,
    shards: [Mutex<Interner>; SHARDS],
}

const SHARDS: usize = 16;

static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    seed: Seed::random(),
    shards: std::array::from_fn(|_| Mutex::new(Interner::new())),
});

/// The shard of a hash. A hash table finds the bucket by the lowest bits and tells its
/// entries apart by the highest seven, so the shard is in bits between them: otherwise all
/// hashes of a shard would have some of the bits in common that the table needs.
fn shard(hash: u64) -> usize {
    (hash >> 48) as usize % SHARDS
}

/// What the hashes of keys depend on. It is random and differs from process to process, so
/// that nobody can choose keys whose hashes collide.
struct Seed(SharedSeed);

impl Seed {
    fn random() -> Self {
        // The standard library gets its random numbers from the operating system.
        Self::new(RandomState::new().hash_one(0))
    }

    fn new(seed: u64) -> Self {
        Self(SharedSeed::from_u64(seed))
    }

    fn hash(&self, text: &str) -> u64 {
        let mut hasher = FoldHasher::with_seed(0, &self.0);
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

impl Interner {
    fn new() -> Self {
        Self {
            keys: HashTable::new(),
            lasting: 0,
            sweep_at: FIRST_SWEEP,
        }
    }

    fn intern(&mut self, hash: u64, text: &str) -> Key {
        if let Some(key) = self.keys.find(hash, |key| key.as_str() == text) {
            return key.clone();
        }
        if self.keys.len() >= self.sweep_at {
            self.sweep();
        }
        let lasts = self.lasting < LASTING_KEYS && text.len() <= LASTING_LENGTH;
        self.lasting += usize::from(lasts);
        let key = Key::of(hash, text, lasts);
        self.keys.insert_unique(hash, key.clone(), Key::quick_hash);
        key
    }

    /// Drops the keys that nobody else has. A key that is dropped by another thread
    /// meanwhile stays until the next time; nobody can get one of the others meanwhile,
    /// because new references come from this table, which is locked, or from others.
    fn sweep(&mut self) {
        self.keys.retain(|key| !key.is_unused());
        self.sweep_at = FIRST_SWEEP.max(self.keys.len() * 2);
    }
}

#[allow(unsafe_code)]
mod raw {
    //! The only code that knows of the bit in the pointer.

    use super::{HASH, Key, LASTING, ManuallyDrop, NonNull, Text};

    impl Key {
        /// A key of this text, which must be interned under it alone.
        pub(super) fn of(hash: u64, text: &str, lasts: bool) -> Self {
            let text = Text::bytes(&[&hash.to_ne_bytes(), text.as_bytes()].concat());
            let pointer = text.into_raw().as_ptr();
            let tagged = pointer.map_addr(|address| address | usize::from(lasts));
            Self(NonNull::new(tagged).expect("an allocation has an address"))
        }

        /// Whether it is never freed, so that dropping it does nothing.
        pub(crate) fn lasts(&self) -> bool {
            self.0.addr().get() & LASTING != 0
        }

        /// The text, on loan: it must not be dropped unless this key is.
        fn text(&self) -> ManuallyDrop<Text> {
            let pointer = self.0.as_ptr().map_addr(|address| address & !LASTING);
            // SAFETY: without its bit it is the pointer that `of` got from `into_raw`. It
            // is alive: a text that lasts is never freed, and of another this key owns a
            // reference.
            ManuallyDrop::new(unsafe { Text::from_raw(NonNull::new_unchecked(pointer)) })
        }

        /// The hash and the text.
        fn parts(&self) -> (&[u8], &[u8]) {
            let bytes: *const [u8] = &raw const **self.text();
            // SAFETY: the text lives as long as this key, see `text`, and never changes. It
            // begins with a hash, see `of`.
            unsafe { (*bytes).split_at_unchecked(HASH) }
        }

        /// The cached hash.
        pub(super) fn quick_hash(&self) -> u64 {
            let hash = self.parts().0.try_into();
            u64::from_ne_bytes(hash.expect("a hash has its length"))
        }

        /// Whether nobody has this key but the one who asks.
        pub(super) fn is_unused(&self) -> bool {
            !self.lasts() && self.text().is_unique()
        }

        /// The text of this key.
        pub fn as_str(&self) -> &str {
            // SAFETY: the bytes were written in `of`, from a `&str`.
            unsafe { std::str::from_utf8_unchecked(self.parts().1) }
        }
    }

    impl Clone for Key {
        #[inline]
        fn clone(&self) -> Self {
            if !self.lasts() {
                // The reference of the new key.
                let _: ManuallyDrop<Text> = self.text().clone();
            }
            Self(self.0)
        }
    }

    impl Drop for Key {
        #[inline]
        fn drop(&mut self) {
            if !self.lasts() {
                drop(ManuallyDrop::into_inner(self.text()));
            }
        }
    }

    // SAFETY: it is a shared reference to a text that never changes, or an atomically
    // counted one.
    unsafe impl Send for Key {}
    // SAFETY: as above.
    unsafe impl Sync for Key {}
}

impl Key {
    /// The key of this text.
    pub fn new(text: &str) -> Self {
        let keys = &*KEYS;
        let hash = keys.seed.hash(text);
        keys.shards[shard(hash)]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .intern(hash, text)
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
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

/// The hash is another one in every process: nothing that leaves a process may follow it.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.quick_hash());
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
