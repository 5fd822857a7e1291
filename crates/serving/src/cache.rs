//! Answers that are reused for a short time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many answers are kept.
const MAX_ENTRIES: usize = 10_000;

/// A cache whose entries expire.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    entries: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
        }
    }
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// The answer, unless it has expired.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, value) = entries.get(key)?;
        (*until > Instant::now()).then(|| value.clone())
    }

    /// Keeps an answer for this time.
    pub(crate) fn put(&self, key: K, value: V, time: Duration) {
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, (until, _)| *until > now);
        }
        if entries.len() >= MAX_ENTRIES {
            // All are fresh: asking again costs less than remembering without a limit.
            entries.clear();
        }
        entries.insert(key, (now + time, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn entries_expire() {
        let cache = Cache::default();
        cache.put("a", 1, Duration::from_secs(10));
        assert_eq!(cache.get(&"a"), Some(1));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(cache.get(&"a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_entries_is_bounded() {
        let cache = Cache::default();
        for i in 0..3 * MAX_ENTRIES {
            cache.put(i, (), Duration::from_secs(10));
        }
        let entries = cache.entries.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(entries.len() <= MAX_ENTRIES);
    }
}
