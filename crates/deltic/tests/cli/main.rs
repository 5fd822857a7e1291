//! Tests of the `deltic` command: arguments and files, output and exit codes.
#![allow(clippy::unwrap_used)]

mod bounds;
mod cases;
mod check;
mod cluster;
mod common;
#[cfg(feature = "cluster")]
mod connection;
mod doc;
mod eval;
mod general;
mod init;
#[cfg(feature = "cluster")]
mod messages;
#[cfg(feature = "cluster")]
mod operations;
#[cfg(feature = "cluster")]
mod packages;
mod patch;
#[cfg(feature = "cluster")]
mod plan;
mod processes;
mod render;
mod replay;
mod schema;
mod secrets;
mod sessions;
mod soft_joins;
mod terminal;
mod testing;
mod time;
#[cfg(feature = "cluster")]
mod top;
mod why;
mod why_not;
