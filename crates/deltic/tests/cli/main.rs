//! The `deltic` command as a user meets it: arguments and files in, text and exit codes
//! out.
#![allow(clippy::unwrap_used)]

mod bounds;
mod cases;
mod check;
mod cluster;
mod common;
mod eval;
mod general;
#[cfg(feature = "cluster")]
mod operations;
mod patch;
mod processes;
mod render;
mod replay;
