//! Random choices that can be made again.

/// Numbers that follow from a seed.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// With the seed in the variable `SEED`, or this one; it is printed.
    #[allow(clippy::print_stderr, reason = "a random test prints its seed")]
    pub fn seeded(default: u64) -> Self {
        let seed = std::env::var("SEED").ok();
        let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(default);
        eprintln!("SEED={seed}");
        Self(seed)
    }

    /// A number below this one.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits fit") % limit.max(1)
    }
}
