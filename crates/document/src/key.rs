//! Map keys. They are interned: comparing two keys compares two pointers, and documents of
//! the same shape share their keys.

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
/// Documents are full of keys, mostly the same few thousand, and building and dropping a
/// document would change the reference count of each. So the first keys of a process are
/// *lasting*: they are not counted and never freed. Their number and length are bounded; all
/// other keys are counted.
pub struct Key(
    /// A [`Text`] as a raw pointer. The lowest bit marks a lasting key, which owns no
    /// reference.
    NonNull<c_void>,
);

/// The hash of a key, in [`HASH`] bytes, followed by its text in UTF-8.
type Text = SharedSlice<u8>;

const HASH: usize = size_of::<u64>();

/// The bit that marks a lasting key. Slices are aligned, so their addresses leave it free.
const LASTING: usize = 1;

const _: () = assert!(ALIGN > LASTING);

/// How many lasting keys each shard has at most.
const LASTING_KEYS: usize = 2048;
/// The longest text of a lasting key, in bytes.
const LASTING_LENGTH: usize = 128;

/// One shard of the table of all keys. When the table has doubled, keys that nothing else
/// refers to are dropped, so that a stream of ever new keys does not grow it forever.
struct Interner {
    keys: HashTable<Key>,
    lasting: usize,
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 4096;

/// All keys of the process, in shards with a lock each.
struct Keys {
    seed: Seed,
    shards: [Mutex<Interner>; SHARDS],
}

const SHARDS: usize = 16;

static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    seed: Seed::random(),
    shards: std::array::from_fn(|_| Mutex::new(Interner::new())),
});

/// The shard of a hash. The hash table takes the bucket from the lowest bits and tells entries
/// apart by the highest seven. The shard is taken from bits in between: otherwise all hashes
/// of a shard would agree in bits that the table needs to tell them apart.
fn shard(hash: u64) -> usize {
    (hash >> 48) as usize % SHARDS
}

/// The seed of the hashes of keys. It is random in each process, so that nobody can choose
/// keys whose hashes collide.
struct Seed(SharedSeed);

impl Seed {
    fn random() -> Self {
        // The standard library gets its seed from the operating system.
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

    /// Drops the keys that only this table refers to. No new reference to such a key can
    /// appear meanwhile: it would have to come from this table, which is locked, or from
    /// another reference. A key whose last other reference is dropped during the sweep stays
    /// until the next one.
    fn sweep(&mut self) {
        self.keys.retain(|key| !key.is_unused());
        self.sweep_at = FIRST_SWEEP.max(self.keys.len() * 2);
    }
}

#[allow(unsafe_code)]
mod raw {
    //! The only code that knows the tag bit of the pointer.

    use super::{HASH, Key, LASTING, ManuallyDrop, NonNull, Text};

    impl Key {
        /// A new key. There must be no other key of this text.
        pub(super) fn of(hash: u64, text: &str, lasts: bool) -> Self {
            let text = Text::bytes(&[&hash.to_ne_bytes(), text.as_bytes()].concat());
            let pointer = text.into_raw().as_ptr();
            let tagged = pointer.map_addr(|address| address | usize::from(lasts));
            Self(NonNull::new(tagged).expect("an allocation has an address"))
        }

        /// Whether this key is never freed, so that dropping it does nothing.
        pub(crate) fn lasts(&self) -> bool {
            self.0.addr().get() & LASTING != 0
        }

        /// The text, borrowed: it must not be dropped unless this key is.
        fn text(&self) -> ManuallyDrop<Text> {
            let pointer = self.0.as_ptr().map_addr(|address| address & !LASTING);
            // SAFETY: without the tag it is the pointer that `of` got from `into_raw`. The
            // text is alive: a lasting one is never freed, and to any other this key owns a
            // reference.
            ManuallyDrop::new(unsafe { Text::from_raw(NonNull::new_unchecked(pointer)) })
        }

        /// The hash and the text.
        fn parts(&self) -> (&[u8], &[u8]) {
            let bytes: *const [u8] = &raw const **self.text();
            // SAFETY: the text lives as long as this key (see `text`), never changes, and
            // begins with a hash (see `of`).
            unsafe { (*bytes).split_at_unchecked(HASH) }
        }

        /// The cached hash.
        pub(super) fn quick_hash(&self) -> u64 {
            let hash = self.parts().0.try_into();
            u64::from_ne_bytes(hash.expect("a key begins with a whole hash"))
        }

        /// Whether this is the only reference to a key that is not lasting.
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
                // Counts the reference that the new key owns.
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

    // SAFETY: a key is a shared or an atomically counted reference to a text that never
    // changes.
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

/// The hash differs in every process: no output may depend on it.
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
