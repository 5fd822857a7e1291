//! Simulates deltic as a whole on an API server in memory: random histories with faults and
//! crashes, on a paused clock.
//!
//! ```text
//! seed ─▶ steps ─▶ run ─┬▶ world: actions of users          ─┐
//!                       ├▶ process: deltic starts and dies  ─┼▶ api ─▶ trace
//!                       └▶ faults: of the network           ─┘    └─▶ guard: every write
//!                  at the end ─▶ check: the cluster has the state that `render` derives
//! ```
//!
//! A seed determines a history completely, down to the last request. So a failure can be
//! repeated, and is shrunk to a few steps before it is shown.

pub mod api;
mod check;
pub mod clock;
pub mod faults;
pub mod fields;
pub mod fleet;
pub mod guard;
pub mod histories;
pub mod identity;
mod panics;
pub mod process;
pub mod run;
pub mod scene;
pub mod shape;
pub mod shrink;
pub mod steps;
pub mod stories;
pub mod trace;
pub mod truth;
pub mod world;
