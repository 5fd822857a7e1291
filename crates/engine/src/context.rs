//! The services that Operators share.

use std::sync::Arc;

use cluster::access::Reviews;
use cluster::client::Clients;
use cluster::source::Watches;
use metrics::Metrics;
use store::Store;

use crate::background::Background;
use crate::clock::{self, Clock};
use crate::guard::FailPoints;
use crate::native::ViewStore;
use crate::views::take_out;
use crate::workers::Workers;
use crate::{Budget, Echoes, Roster, Turns, Views, WallClock};

/// The services that all Operators of a process share.
#[derive(Clone, Debug)]
pub struct Context {
    /// The clients of the cluster.
    pub clients: Clients,
    /// The shared watches.
    pub watches: Watches,
    /// Asks what accounts may read.
    pub reviews: Reviews,
    /// The objects of views.
    pub store: Store,
    /// The availability of views.
    pub views: Views,
    /// The resources that an Operator may use.
    pub budget: Budget,
    /// The only namespace whose objects are read and written. Cluster-scoped objects are read, and
    /// not written.
    pub namespace: Option<String>,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The time of day and random numbers.
    pub clock: Arc<dyn Clock>,
    /// The time of `"@now"`.
    pub wall_clock: WallClock,
    /// The threads for batches.
    pub workers: Workers,
    /// Where tests make Operators fail.
    pub fail_points: FailPoints,
    /// One engine at a time for each Operator.
    pub turns: Turns,
    /// The objects that are as this process wrote them, to find cycles.
    pub echoes: Echoes,
    /// The Operators that exist.
    pub roster: Roster,
}

impl Context {
    /// A context with the default budget and the system's clock, for all namespaces.
    pub fn new(clients: Clients, views: &ViewStore, metrics: Metrics) -> Self {
        Self {
            watches: Watches::new(clients.clone(), metrics.clone()),
            reviews: Reviews::new(clients.clone()),
            clients,
            store: views.store().clone(),
            views: views.views().clone(),
            budget: Budget::default(),
            namespace: None,
            metrics,
            clock: Arc::new(clock::System),
            wall_clock: WallClock::default(),
            workers: Workers::default(),
            fail_points: FailPoints::default(),
            turns: Turns::default(),
            echoes: Echoes::default(),
            roster: Roster::default(),
        }
    }

    /// Runs the tasks that belong to no Operator.
    pub(crate) fn background(&self) -> Background {
        Background::new(self.metrics.clone(), self.fail_points.clone())
    }

    /// Empties the views of an Operator that no longer exists.
    pub fn forget(&self, operator: &str) {
        // This comes first, so that readers do not take the empty views for deletions.
        self.views.down(operator, "the Operator is being deleted");
        take_out(&self.store, operator, |_, _| true);
        self.views.remove(operator);
        self.views.secrets().remove(operator);
        let version = self.store.version().0;
        self.views.causes().forget(operator, version);
    }
}
