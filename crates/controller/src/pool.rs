//! How many keys run at a time, by pool.
//!
//! A key that is due and finds its pool full is parked there, out of the way of the keys of other
//! pools: these start though they became due later. It leaves when a run of that pool has ended.

use std::collections::VecDeque;

/// The pools of a scheduler; `W` is what is known of a parked key.
#[derive(Debug)]
pub(crate) struct Pools<W>(Vec<Pool<W>>);

#[derive(Debug)]
struct Pool<W> {
    limit: usize,
    running: usize,
    /// In the order in which they became due.
    parked: VecDeque<W>,
}

impl<W> Pool<W> {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            running: 0,
            parked: VecDeque::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.running >= self.limit
    }
}

impl<W> Pools<W> {
    /// One pool for each limit. Without limits, one pool without a limit.
    pub(crate) fn new(limits: impl IntoIterator<Item = usize>) -> Self {
        let mut pools: Vec<_> = limits.into_iter().map(Pool::new).collect();
        if pools.is_empty() {
            pools.push(Pool::new(usize::MAX));
        }
        Self(pools)
    }

    /// The position of a pool that exists: what lies beyond is the last one.
    pub(crate) fn position(&self, pool: usize) -> usize {
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

    pub(crate) fn park(&mut self, pool: usize, key: W) {
        self.0[pool].parked.push_back(key);
    }

    /// Takes the first parked key of a pool that has a place.
    pub(crate) fn unpark(&mut self) -> Option<W> {
        let mut pools = self.0.iter_mut();
        pools.find_map(|pool| {
            if pool.is_full() {
                return None;
            }
            pool.parked.pop_front()
        })
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
