//! Repeatable randomness: the same seed gives the same objects on every machine.

/// A stream of numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of this place: equal parts give equal streams, other parts unrelated
    /// ones.
    pub fn new(parts: &[u64]) -> Self {
        let mut state = Self(0x5bd1_e995_9e37_79b9);
        for part in parts {
            state.0 ^= part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            state.0 = state.next();
        }
        state
    }

    /// The next 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "a stream without end is no iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0. The bias is far below what a benchmark sees.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// One of the items, of which there is at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_streams() {
        let stream = |parts: &[u64]| {
            let mut random = Random::new(parts);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(stream(&[1, 2]), stream(&[1, 2]));
        assert_ne!(stream(&[1, 2]), stream(&[2, 1]));
        assert_ne!(stream(&[1, 2]), stream(&[1, 3]));
    }
}
