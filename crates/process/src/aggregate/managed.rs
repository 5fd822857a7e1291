//! The Operators whose views a process registers.

use std::collections::BTreeMap;

use object::LabelSelector;

/// The Operators of a process.
#[derive(Clone, Debug)]
pub enum Managed {
    /// Those of the cluster that the selector admits.
    Cluster(Option<LabelSelector>),
    /// Those of files, with these names.
    Files(Vec<String>),
}

impl Managed {
    /// The selector, as text.
    pub(super) fn selector(&self) -> Option<String> {
        match self {
            Self::Cluster(selector) => selector.as_ref().map(LabelSelector::to_string),
            Self::Files(_) => None,
        }
    }
}

/// The Operators that exist, by name.
pub(super) type Existing = BTreeMap<String, Run>;

/// Who runs an Operator.
#[derive(Clone, Debug)]
pub(super) enum Run {
    /// This process. It has a uid if it is an object of the cluster.
    Here(Option<String>),
    /// Another process.
    Elsewhere,
}
