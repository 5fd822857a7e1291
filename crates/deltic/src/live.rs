//! What a running deltic does now: its metrics, joined with the status of its Operators.
//!
//! ```text
//! GET /metrics ─▶ exposition ─▶ window (rates, durations) ─┐
//!                                                          ├─▶ snapshot ─▶ deltic top, graph --live
//! list Operators ─▶ status ────────────────────────────────┘
//! ```
//!
//! Only [`reader`] asks anybody. All else is computed from text, documents and times that are passed
//! in.

mod address;
mod distribution;
mod exposition;
pub(crate) mod format;
mod reader;
mod snapshot;
mod status;
mod window;

pub(crate) use address::Address;
pub(crate) use reader::{Cluster, Scraped, notes, read, scrape};
pub(crate) use snapshot::{ControllerNow, Numbers, OperatorNow, Snapshot};
pub(crate) use status::Condition;
#[cfg(test)]
pub(crate) use {exposition::Scrape, status::OperatorStatus, window::Window};
