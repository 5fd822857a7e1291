//! Whose objects are: Operators that are created again, renamed, given as files, or that write
//! another kind than before. The tests run a whole deltic on the API server in memory.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod deletion;
mod files;
mod kinds;
mod operators;
mod world;
