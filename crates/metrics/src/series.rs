//! Labels, and families of metrics that can be forgotten by operator.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;

/// Labels that say whose a metric is.
pub(super) trait Labels:
    EncodeLabelSet + Clone + Debug + Ord + Hash + Send + Sync + 'static
{
    /// Whether it is about this operator.
    fn is_of(&self, operator: &str) -> bool;
}

/// `<operator>/<controller>`, as the metrics of other controllers want it in one label.
fn joined(joined: &str, operator: &str) -> bool {
    joined.split_once('/').map_or(joined, |(of, _)| of) == operator
}

macro_rules! labels {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* } $is_of:expr) => {
        $(#[$doc])*
        // Labels have the names that are printed.
        #[allow(clippy::struct_field_names)]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
        pub(super) struct $name { $(pub(super) $field: $type),* }

        impl Labels for $name {
            fn is_of(&self, operator: &str) -> bool {
                let is_of: fn(&Self, &str) -> bool = $is_of;
                is_of(self, operator)
            }
        }
    };
}

labels!(
    /// A controller, as others name theirs.
    Named { controller: String } |labels, operator| joined(&labels.controller, operator)
);
labels!(
    /// How a run ended.
    Result { controller: String, result: &'static str }
    |labels, operator| joined(&labels.controller, operator)
);
labels!(
    /// An operator has one queue for all its controllers, which has its name.
    Queue { name: String } |labels, operator| labels.name == operator
);
labels!(
    /// A controller of an operator.
    Each { operator: String, controller: String } |labels, operator| labels.operator == operator
);
labels!(
    /// Why something was put into the queue.
    Reason { operator: String, controller: String, reason: String }
    |labels, operator| labels.operator == operator
);
labels!(
    /// A source of a controller.
    Source { operator: String, controller: String, source: String }
    |labels, operator| labels.operator == operator
);
labels!(
    /// A kind of error.
    Code { operator: String, controller: String, code: &'static str }
    |labels, operator| labels.operator == operator
);
labels!(
    /// A kind of write.
    Write { operator: String, controller: String, verb: &'static str, code: u16 }
    |labels, operator| labels.operator == operator
);

impl Each {
    pub(super) fn named(&self) -> Named {
        Named {
            controller: format!("{}/{}", self.operator, self.controller),
        }
    }
}

/// A kind of request, whoever sends it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) code: u16,
}

/// Lists of a kind, whoever reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Listed {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) reason: &'static str,
}

/// A family that remembers its labels, so that those of one operator can be dropped.
pub(super) struct Series<S, M> {
    family: Family<S, M, fn() -> M>,
    known: Mutex<BTreeSet<S>>,
}

impl<S, M> Series<S, M>
where
    S: Labels,
    M: Clone,
{
    pub(super) fn new(make: fn() -> M) -> Self {
        Self {
            family: Family::new_with_constructor(make),
            known: Mutex::default(),
        }
    }

    /// A handle to the family, for the registry.
    pub(super) fn family(&self) -> Family<S, M, fn() -> M> {
        self.family.clone()
    }

    /// The metric with these labels.
    pub(super) fn get(&self, labels: &S) -> M {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(labels) {
            known.insert(labels.clone());
        }
        self.family.get_or_create_owned(labels)
    }

    /// Drops the metrics of an operator.
    pub(super) fn forget(&self, operator: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|labels| {
            let gone = labels.is_of(operator);
            if gone {
                self.family.remove(labels);
            }
            !gone
        });
    }
}

impl<S, M> Default for Series<S, M>
where
    S: Labels,
    M: Clone + Default,
{
    fn default() -> Self {
        Self::new(M::default)
    }
}

impl<S: Debug, M> Debug for Series<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").finish_non_exhaustive()
    }
}
