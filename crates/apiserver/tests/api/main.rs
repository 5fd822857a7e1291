//! Requests as kubectl and client libraries send them, and the answers.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod applies;
mod common;
mod discovery;
mod extensions;
mod info;
mod limits;
mod many_watches;
mod reads;
mod reviews;
mod watches;
mod writes;
