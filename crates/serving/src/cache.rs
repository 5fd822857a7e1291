//! Answers that are reused for a short time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many answers are kept.
const MAX_ENTRIES: usize = 10_000;
/// The total size of all entries, in bytes. Strangers choose the keys.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A cache whose entries expire.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    entries: Mutex<Entries<K, V>>,
    /// The size of an entry.
    size: fn(&K, &V) -> usize,
}

#[derive(Debug)]
struct Entries<K, V> {
    map: HashMap<K, (Instant, V)>,
    bytes: usize,
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// An empty cache. `size` returns about how many bytes an entry has.
    pub(crate) fn new(size: fn(&K, &V) -> usize) -> Self {
        let entries = Entries {
            map: HashMap::new(),
            bytes: 0,
        };
        Self {
            entries: Mutex::new(entries),
            size,
        }
    }

    /// The answer, unless it has expired.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, value) = entries.map.get(key)?;
        (*until > Instant::now()).then(|| value.clone())
    }

    /// Keeps an answer for this time.
    pub(crate) fn put(&self, key: K, value: V, time: Duration) {
        let now = Instant::now();
        let bytes = (self.size)(&key, &value);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.is_full(bytes) {
            entries.map.retain(|_, (until, _)| *until > now);
            let kept = entries.map.iter();
            entries.bytes = kept.map(|(key, (_, value))| (self.size)(key, value)).sum();
        }
        if entries.is_full(bytes) {
            // All are fresh: asking again costs less than remembering without a limit.
            entries.map.clear();
            entries.bytes = 0;
        }
        // One that is replaced is counted twice, until the next time that the cache is full.
        entries.bytes += bytes;
        entries.map.insert(key, (now + time, value));
    }
}

impl<K, V> Entries<K, V> {
    /// Whether there is no room for an entry of this size.
    fn is_full(&self, bytes: usize) -> bool {
        self.map.len() >= MAX_ENTRIES || self.bytes + bytes > MAX_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn entries_expire() {
        let cache = Cache::new(|_, _| 1);
        cache.put("a", 1, Duration::from_secs(10));
        assert_eq!(cache.get(&"a"), Some(1));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(cache.get(&"a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_entries_is_bounded() {
        let cache = Cache::new(|_, ()| 1);
        for i in 0..3 * MAX_ENTRIES {
            cache.put(i, (), Duration::from_secs(10));
        }
        let entries = cache.entries.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(entries.map.len() <= MAX_ENTRIES);
    }

    #[tokio::test(start_paused = true)]
    async fn the_size_of_the_entries_is_bounded() {
        let cache = Cache::new(|key: &String, ()| key.len());
        let held = || {
            let entries = cache.entries.lock().unwrap_or_else(PoisonError::into_inner);
            entries.map.keys().map(String::len).sum::<usize>()
        };
        for i in 0..1000 {
            cache.put(format!("{i:060000}"), (), Duration::from_secs(10));
            assert!(held() <= MAX_BYTES, "{} bytes", held());
        }
        // Expired ones make room.
        tokio::time::advance(Duration::from_secs(10)).await;
        cache.put("0".repeat(MAX_BYTES), (), Duration::from_secs(10));
        assert_eq!(held(), MAX_BYTES);
    }
}
