//! Pools: limits on how many keys run at a time.
//!
//! If the pool of a due key is full, the key is parked in the pool until a run of that pool ends.
//! Keys of other pools start meanwhile, even if they became due later.

use std::collections::BTreeMap;

/// The pools of a scheduler. `P` is the position of a parked key in the order of all keys, `W` the
/// key and its data.
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

    /// The number of an existing pool: a number beyond the last pool means the last one.
    pub(crate) fn number(&self, pool: usize) -> usize {
        pool.min(self.0.len() - 1)
    }

    /// Takes a slot of a pool. Returns whether one was free.
    pub(crate) fn enter(&mut self, pool: usize) -> bool {
        let pool = &mut self.0[pool];
        let enters = !pool.is_full();
        pool.running += usize::from(enters);
        enters
    }

    /// Frees a slot of a pool.
    pub(crate) fn leave(&mut self, pool: usize) {
        self.0[pool].running -= 1;
    }

    /// The number of parked keys.
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

    /// Takes the first parked key whose pool has a free slot, if it comes before `other`.
    pub(crate) fn unpark_before(&mut self, other: Option<&P>) -> Option<(P, W)> {
        let free = self.0.iter_mut().filter(|pool| !pool.is_full());
        let parked = free.filter_map(|pool| pool.parked.first_entry());
        let first = parked.min_by(|one, two| one.key().cmp(two.key()))?;
        let before = other.is_none_or(|other| first.key() < other);
        before.then(|| first.remove_entry())
    }
}
