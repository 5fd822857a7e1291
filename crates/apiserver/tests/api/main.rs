//! Requests as kubectl and client libraries send them, and the answers.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;
mod discovery;
mod info;
mod reads;
mod watches;
mod writes;
