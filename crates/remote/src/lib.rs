//! A running deltic, seen from outside.
//!
//! | module | what it does |
//! |---|---|
//! | [`questions`] | asks why objects are derived, or where they end |
//! | [`observe`] | reads the metrics of a process, and the Operators on its cluster |
//!
//! The other sides are `process::explain` and `process::serve`.

pub mod observe;
pub mod questions;
