//! Talking to a Kubernetes cluster.
//!
//! | module | what it does |
//! |---|---|
//! | [`connect`] | finds the cluster and makes a client with time limits and metrics |
//! | [`client`] | clients that act as an Operator's account, within a rate, while this process leads |
//! | [`lease`] | leader election |
//! | [`source`] | discovery, schemas, and one watch for each kind, whoever reads it |
//! | [`object`] | objects as documents, for kube's types |

pub mod client;
pub mod connect;
pub mod lease;
pub mod object;
pub mod source;
