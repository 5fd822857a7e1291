//! Benchmarks: the engine beside its peers, in one run and on the same objects.
//!
//! [`generate`] makes Kubernetes-like objects from a seed, [`workload`] says what is done
//! with them, [`hand`] and [`differential`] do the same by other means, [`measure`] runs
//! one peer in a process of its own, and [`report`] sets the results against the bars.
//! What deltic does on a cluster is measured by `benches/figures`.
//!
//! ```text
//! cargo bench -p benches --bench ratios                       # all peers, all sizes
//! cargo bench -p benches --bench ratios -- --max 10000 --workload w1
//! cargo bench -p benches --bench ratios -- --write docs/performance.md --date 2026-08-01
//! cargo bench -p benches --features cluster --bench figures   # on a real control plane
//! cargo bench -p benches --bench patch                        # patches beside json-patch
//! cargo bench -p benches --bench update                       # criterion
//! cargo install gungraun-runner --version 0.20.0              # once; needs valgrind
//! cargo bench -p benches --bench instructions                 # instruction counts
//! ```

pub mod allocator;
pub mod bars;
pub mod differential;
pub mod engine;
pub mod generate;
pub mod hand;
pub mod measure;
pub mod patch;
pub mod peer;
pub mod report;
pub mod workload;

pub use generate::{Generator, Object, Sequence, UPDATES};
pub use peer::{Outcome, Peer};
pub use workload::Workload;
