//! Where the objects of a kind are stored.
//!
//! A file may have far more data than a pipeline reads, and the sources of the pipelines store the
//! fields that they read. So an object of a kind that is only read is not stored a second time:
//!
//! ```text
//! Pod: only read                     in the sources, with the fields that they read
//! Service: read with a predicate     in the cluster, because predicates compare whole objects
//! ConfigMap: a target                in the cluster, because it is written and printed
//! Secret: not read                   nowhere
//! ```

use std::collections::BTreeMap;

use object::GroupKind;
use operator::spec::Operator;

/// Where the objects of a kind are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// In the sources alone.
    InSources,
    /// As a whole in the cluster, from which they are fed to the sources.
    InCluster,
}

/// The kinds that an Operator reads or writes. Objects of other kinds are not stored.
pub(super) fn kinds(operator: &Operator) -> BTreeMap<GroupKind, Stored> {
    let mut kinds = BTreeMap::new();
    for controller in &operator.controllers {
        for source in &controller.sources {
            let stored = kinds
                .entry(source.resource.group_kind())
                .or_insert(Stored::InSources);
            if source.predicate.is_some() {
                *stored = Stored::InCluster;
            }
        }
    }
    let targets = operator.controllers.iter().flat_map(|of| &of.targets);
    kinds.extend(targets.map(|target| (target.resource.group_kind(), Stored::InCluster)));
    kinds
}
