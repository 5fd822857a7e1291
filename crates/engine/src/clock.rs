//! The clock and the random numbers of the process, for the pure crates that have neither.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use k8s_openapi::jiff::Timestamp;

/// The time of day and the random numbers of a process. A simulation provides its own, so that
/// a run can be repeated.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;

    /// A random number.
    fn random(&self) -> u64;

    /// The time of day in the format of objects: `YYYY-MM-DDTHH:MM:SSZ`.
    fn text(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

/// The clock and the random numbers of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn random(&self) -> u64 {
        random()
    }
}

impl store::Env for System {
    fn now(&self) -> String {
        self.text()
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

/// A random number. The standard library seeds the keys of a hasher from the operating system.
pub fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(0);
    hasher.finish()
}

/// Microseconds since 1970.
pub(crate) fn micros() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| u64::try_from(since.as_micros()).unwrap_or(1))
}
