//! What several tests share: sources, and random numbers from a fixed seed.
#![allow(dead_code, unreachable_pub, clippy::result_large_err)]

use std::sync::Arc;

use manifest::{Diagnostic, Manifest, Source};

/// Loads a text under the name `test.yaml`.
pub fn load(text: &str) -> Result<Vec<Manifest>, Diagnostic> {
    manifest::parse(source(text))
}

/// A source named `test.yaml`.
pub fn source(text: &str) -> Arc<Source> {
    Arc::new(Source {
        name: "test.yaml".to_owned(),
        text: text.to_owned(),
    })
}

/// A small generator (xorshift), so that a failing run can be repeated.
pub struct Random(u64);

impl Random {
    /// A generator from a seed other than 0.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
