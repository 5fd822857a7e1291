//! The settings of the process.

use std::sync::Arc;
use std::time::Duration;

use cluster::client::Rate;
use cluster::lease::Leadership;
use engine::Budget;
use engine::background::Background;
use engine::clock::{Clock, System};
use engine::guard::FailPoints;
use engine::native::ViewStore;
use engine::workers::Workers;
use metrics::Metrics;
use object::LabelSelector;
use operator::Operator;
use operators::Health;
use operators::targets::TargetPolicy;

use crate::instance::Memory;

/// The settings of [`run`](crate::run::run). By default it runs all Operators of the cluster, with
/// the permissions of its client and without leader election.
#[derive(Clone, Debug)]
pub struct Config {
    /// Operators to run instead of those stored on the cluster; for these no status is written.
    /// Empty: the Operators of the cluster run.
    pub files: Vec<Operator>,
    /// The instance that `files` belong to. Objects of another instance are another Operator's.
    pub instance: String,
    /// Where the kinds that may hold objects of `files` are recorded. `None`: nowhere, so that
    /// objects of a changed target kind are left behind.
    pub memory: Option<Memory>,
    /// The only namespace whose objects are read and written. Cluster-scoped objects are read, and
    /// not written. `None`: all namespaces.
    pub namespace: Option<String>,
    /// The Operators of the cluster that this process runs, by their labels. `None`: all.
    pub operator_selector: Option<LabelSelector>,
    /// Whether Operators without a `serviceAccount` are refused.
    pub require_service_account: bool,
    /// Which kinds Operators may write.
    pub targets: TargetPolicy,
    /// The limits of each Operator.
    pub budget: Budget,
    /// The limit on the rate of requests.
    pub rate: Rate,
    /// How long a graceful shutdown waits for writes under way.
    pub grace: Duration,
    /// The name of this process, as the reporter of Events and the holder of the lease.
    pub identity: String,
    /// Whether this process leads. Before it leads it writes nothing; after it has lost the lease
    /// it sends no request.
    pub leadership: Leadership,
    /// The store of views. Native reconcilers in Rust read views from it.
    pub views: ViewStore,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The health of the process.
    pub health: Health,
    /// The source of the time of day and of random numbers.
    pub clock: Arc<dyn Clock>,
    /// The threads on which batches run.
    pub workers: Workers,
    /// Where tests make Operators and tasks fail.
    pub fail_points: FailPoints,
}

impl Config {
    /// Runs the tasks that belong to no Operator.
    pub fn background(&self) -> Background {
        Background::new(self.metrics.clone(), self.fail_points.clone())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            instance: engine::DEFAULT_INSTANCE.to_owned(),
            memory: None,
            namespace: None,
            operator_selector: None,
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
            workers: Workers::default(),
            fail_points: FailPoints::default(),
        }
    }
}

/// The default limit of a graceful shutdown: a little less than the 30 s that a pod gets.
pub const GRACE: Duration = Duration::from_secs(25);
