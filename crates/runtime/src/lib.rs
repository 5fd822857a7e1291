//! Operators on a Kubernetes cluster.

pub mod target;
