//! Labels, and metric families whose series can be removed by Operator.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;

/// Labels that belong to an Operator.
pub(super) trait Labels:
    EncodeLabelSet + Clone + Debug + Ord + Hash + Send + Sync + 'static
{
    /// The names of the labels.
    fn names() -> Vec<&'static str>;

    /// Whether they belong to this Operator.
    fn is_of(&self, operator: &str) -> bool;
}

/// Whether a label `<operator>/<controller>` belongs to this Operator.
fn joined(joined: &str, operator: &str) -> bool {
    joined.split_once('/').map_or(joined, |(of, _)| of) == operator
}

macro_rules! labels {
    (
        $(#[$doc:meta])*
        $name:ident { $(..$shared:ident: $inner:ty,)? $($field:ident: $type:ty),* }
        $is_of:expr
    ) => {
        $(#[$doc])*
        // The fields have the names of the labels.
        #[allow(clippy::struct_field_names)]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
        pub(super) struct $name {
            $(#[prometheus(flatten)] pub(super) $shared: $inner,)?
            $(pub(super) $field: $type),*
        }

        impl Labels for $name {
            fn names() -> Vec<&'static str> {
                let mut names: Vec<&'static str> = Vec::new();
                $(names.extend(<$inner as Labels>::names());)?
                names.extend([$(stringify!($field)),*]);
                names
            }

            fn is_of(&self, operator: &str) -> bool {
                let is_of: fn(&Self, &str) -> bool = $is_of;
                is_of(self, operator)
            }
        }
    };
}

labels!(
    /// A controller, in the single label that controller-runtime uses.
    Named { controller: String } |labels, operator| joined(&labels.controller, operator)
);
labels!(
    /// The result of a run.
    Result { controller: String, result: &'static str }
    |labels, operator| joined(&labels.controller, operator)
);
labels!(
    /// The queue of an Operator, which all of its controllers share.
    Queue { name: String } |labels, operator| labels.name == operator
);
labels!(
    /// An Operator.
    OperatorName { operator: String } |labels, operator| labels.operator == operator
);
labels!(
    /// A controller of an Operator.
    Each { operator: String, controller: String } |labels, operator| labels.operator == operator
);
labels!(
    /// The reason of a run.
    Reason { operator: String, controller: String, reason: String }
    |labels, operator| labels.operator == operator
);
labels!(
    /// A source of a controller.
    Source { operator: String, controller: String, source: String }
    |labels, operator| labels.operator == operator
);
labels!(
    /// A target of a controller.
    Target { operator: String, controller: String, target: String }
    |labels, operator| labels.operator == operator
);
labels!(
    /// The code of an error.
    Code { operator: String, controller: String, code: &'static str }
    |labels, operator| labels.operator == operator
);
labels!(
    /// The verb and the HTTP status of a write.
    Write { operator: String, controller: String, verb: &'static str, code: u16 }
    |labels, operator| labels.operator == operator
);

labels!(
    /// The resource of a request for views.
    Asked {
        verb: &'static str, group: String, version: String, resource: String,
        subresource: String, scope: &'static str, component: &'static str
    }
    |labels, operator| is_view_group(&labels.group, operator)
);
labels!(
    /// How long requests for views take.
    Took { ..asked: Asked, dry_run: &'static str }
    |labels, operator| labels.asked.is_of(operator)
);
labels!(
    /// A request for views that was answered.
    Answered { ..asked: Asked, dry_run: &'static str, code: u16 }
    |labels, operator| labels.asked.is_of(operator)
);

/// Whether an API group has the views of this Operator.
fn is_view_group(group: &str, operator: &str) -> bool {
    let rest = group.strip_prefix(operator);
    rest.is_some_and(|rest| rest == ".view.dcontroller.io")
}

impl Each {
    pub(super) fn named(&self) -> Named {
        Named {
            controller: format!("{}/{}", self.operator, self.controller),
        }
    }
}

labels!(
    /// A task of the process.
    Task { task: &'static str } |_, _| false
);
labels!(
    /// Requests to the API server.
    Request { method: String, code: u16 } |_, _| false
);
labels!(
    /// Lists of a kind.
    Listed { group: String, kind: String, reason: &'static str } |_, _| false
);

/// A family that remembers its labels, so that the series of one Operator can be removed.
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

    /// Removes the metrics of an Operator.
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
