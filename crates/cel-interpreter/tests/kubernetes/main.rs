//! Our results are those of Kubernetes 1.36. These tests need Go: `just cel`.

mod library;
mod literal;
mod oracle;
mod ours;
mod random;
mod suite;
