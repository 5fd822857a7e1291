//! All settings of the runtime.

mod targets;

use std::sync::Arc;
use std::time::Duration;

use document::Bounds;
use operator::Operator;

use crate::client::Rate;
use crate::clock::{Clock, System};
use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::native::ViewStore;
use crate::serve::Health;

pub use targets::{BadPattern, DENIED_GROUPS, Pattern, TargetDenied, TargetPolicy};

/// How the runtime runs. The default runs the Operators of the whole cluster, with the
/// rights of its client, and without other replicas.
#[derive(Clone, Debug)]
pub struct Config {
    /// Operators that run without being on the cluster; those of the cluster do not run
    /// then, and no status is written. Empty: those of the cluster run.
    pub files: Vec<Operator>,
    /// Only objects of this namespace are read and written; cluster-scoped ones, too.
    pub namespace: Option<String>,
    /// Whether an Operator without a `serviceAccount` is refused.
    pub require_service_account: bool,
    /// Which kinds may be written.
    pub targets: TargetPolicy,
    /// What one Operator may use.
    pub budget: Budget,
    /// How many requests may be sent.
    pub rate: Rate,
    /// How long a graceful shutdown waits for what runs.
    pub grace: Duration,
    /// Who reports Events, and who holds the lease.
    pub identity: String,
    /// Whether this process leads: before it does, nothing is written; after it did, no
    /// request is sent.
    pub leadership: Leadership,
    /// Where views are kept, for reconcilers in Rust that read them.
    pub views: ViewStore,
    /// Where numbers go.
    pub metrics: Metrics,
    /// Where it is said whether all is well.
    pub health: Health,
    /// The time of day and random numbers.
    pub clock: Arc<dyn Clock>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            namespace: None,
            require_service_account: false,
            targets: TargetPolicy::default(),
            budget: Budget::default(),
            rate: Rate::default(),
            grace: GRACE,
            identity: crate::lease::identity(),
            leadership: Leadership::always(),
            views: ViewStore::default(),
            metrics: Metrics::default(),
            health: Health::default(),
            clock: Arc::new(System),
        }
    }
}

/// How long a graceful shutdown takes at most, if nothing else is said: a little less
/// than the 30 s that a pod gets.
pub const GRACE: Duration = Duration::from_secs(25);

/// What one Operator may use. Over it, that Operator stops with `BudgetExceeded`, and
/// the others go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Objects that the sources of a controller hold together.
    pub documents: usize,
    /// Bytes that these take; not counted if `None`.
    pub bytes: Option<usize>,
    /// Documents that one step may look at to join them.
    pub candidates: u64,
    /// Objects that a controller may derive, and documents that its joins may give in one
    /// step.
    pub outputs: usize,
    /// Operators and list items that one evaluation may take.
    pub steps: u64,
    /// What one `@cel` expression may cost.
    pub cel_cost: u64,
    /// How many bytes a derived document may have, written out.
    pub derived_bytes: u32,
    /// How long one step may take.
    pub step_time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        let (circuit, limits) = (dataflow::Budget::default(), expr::Limits::default());
        Self {
            documents: 1_000_000,
            bytes: Some(1 << 30),
            candidates: circuit.candidates,
            outputs: 1_000_000,
            steps: limits.steps,
            cel_cost: limits.cel_cost,
            derived_bytes: limits.bounds.bytes,
            step_time: Duration::from_secs(30),
        }
    }
}

impl Budget {
    /// The part that the engine keeps.
    pub fn circuit(&self) -> dataflow::Budget {
        dataflow::Budget {
            documents: self.documents,
            bytes: self.bytes,
            candidates: self.candidates,
            outputs: self.outputs,
        }
    }

    /// The part that expressions keep.
    pub fn limits(&self) -> expr::Limits {
        expr::Limits {
            steps: self.steps,
            cel_cost: self.cel_cost,
            bounds: Bounds {
                bytes: self.derived_bytes,
                ..Bounds::default()
            },
        }
    }
}
