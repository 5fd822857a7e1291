//! What several Operators, several processes and several accounts share, and what they must not, on
//! an API server in memory.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod accounts;
mod misplaced;
mod namespaces;
mod selectors;
mod streaming;
mod watches;
mod world;
