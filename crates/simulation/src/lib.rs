//! deltic as a whole on an API server in memory: seeded histories with faults and crashes,
//! on a paused clock.
//!
//! ```text
//! seed ─▶ steps ─▶ run ─┬▶ world: what users do             ─┐
//!                       ├▶ process: deltic starts and dies  ─┼▶ api ─▶ trace
//!                       └▶ faults: what goes wrong          ─┘    └─▶ guard: every write
//!                  at the end ─▶ check: the cluster is what `render` says
//! ```
//!
//! One seed is one history, to the last request: a failure can be run again, and is shrunk
//! to a few steps before it is shown.

pub mod api;
mod check;
pub mod clock;
pub mod faults;
pub mod fields;
pub mod guard;
mod panics;
pub mod process;
pub mod run;
pub mod shape;
pub mod shrink;
pub mod steps;
pub mod trace;
pub mod truth;
pub mod world;
