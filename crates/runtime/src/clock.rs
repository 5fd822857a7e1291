//! The clock and the randomness of the process, for the crates that have none.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use k8s_openapi::jiff::Timestamp;

/// The time, as `YYYY-MM-DDTHH:MM:SSZ`.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What a store takes from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl store::Env for System {
    fn now(&self) -> String {
        now()
    }

    fn uid(&self) -> String {
        let [a, b] = [random(), random()];
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | ((b >> 48) & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }
}

/// A random number: the keys of a hasher come from the operating system.
pub fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(0);
    hasher.finish()
}

/// The time in microseconds.
pub(crate) fn micros() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| u64::try_from(since.as_micros()).unwrap_or(1))
}
