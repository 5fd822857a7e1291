//! All settings of the runtime.

use std::sync::Arc;
use std::time::Duration;

use cluster::client::Rate;
use cluster::lease::Leadership;
use engine::Budget;
use engine::clock::{Clock, System};
use engine::native::ViewStore;
use metrics::Metrics;
use operator::Operator;
use operators::Health;
use operators::targets::TargetPolicy;

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
            identity: cluster::lease::identity(),
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
