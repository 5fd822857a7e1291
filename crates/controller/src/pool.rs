//! How many keys run at a time, by pool.
//!
//! A key that is due and finds its pool full is parked there, out of the way of the keys of other
//! pools: these start though they became due later. It leaves when a run of that pool has ended.

use std::collections::BTreeMap;

/// The pools of a scheduler. `P` is the position of a parked key in the order of all keys, and
/// `W` what is known of it.
#[derive(Debug)]
pub(crate) struct Pools<P, W>(Vec<Pool<P, W>>);

#[derive(Debug)]
struct Pool<P, W> {
    limit: usize,
    running: usize,
    parked: BTreeMap<P, W>,
}

impl<P, W> Pool<P, W> {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            running: 0,
            parked: BTreeMap::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.running >= self.limit
    }
}

impl<P, W> Pools<P, W> {
    /// One pool for each limit. Without limits, one pool without a limit.
    pub(crate) fn new(limits: impl IntoIterator<Item = usize>) -> Self {
        let mut pools: Vec<_> = limits.into_iter().map(Pool::new).collect();
        if pools.is_empty() {
            pools.push(Pool::new(usize::MAX));
        }
        Self(pools)
    }

    /// The number of a pool that exists: what lies beyond is the last one.
    pub(crate) fn number(&self, pool: usize) -> usize {
        pool.min(self.0.len() - 1)
    }

    /// Takes a place. Says whether there was one.
    pub(crate) fn enter(&mut self, pool: usize) -> bool {
        let pool = &mut self.0[pool];
        let enters = !pool.is_full();
        pool.running += usize::from(enters);
        enters
    }

    /// Gives a place back.
    pub(crate) fn leave(&mut self, pool: usize) {
        self.0[pool].running -= 1;
    }

    /// How many keys are parked.
    pub(crate) fn parked(&self) -> usize {
        self.0.iter().map(|pool| pool.parked.len()).sum()
    }

    /// Drops all parked keys.
    pub(crate) fn clear(&mut self) {
        for pool in &mut self.0 {
            pool.parked.clear();
        }
    }
}

impl<P: Ord, W> Pools<P, W> {
    pub(crate) fn park(&mut self, pool: usize, position: P, key: W) {
        self.0[pool].parked.insert(position, key);
    }

    /// Takes the first parked key whose pool has a place, if it comes before `other`.
    pub(crate) fn unpark_before(&mut self, other: Option<&P>) -> Option<(P, W)> {
        let free = self.0.iter_mut().filter(|pool| !pool.is_full());
        let parked = free.filter_map(|pool| pool.parked.first_entry());
        let first = parked.min_by(|one, two| one.key().cmp(two.key()))?;
        let before = other.is_none_or(|other| first.key() < other);
        before.then(|| first.remove_entry())
    }
}
