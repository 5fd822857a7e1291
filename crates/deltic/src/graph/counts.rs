//! The numbers of a running deltic, for a graph. Without any, the graph has none.

use std::collections::BTreeMap;

/// How many objects sources and targets have, and what controllers do.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The objects of a source, by Operator, controller and name of the source.
    pub(super) sources: BTreeMap<(String, String, String), f64>,
    /// The derived objects, by Operator, controller and Kind.
    pub(super) targets: BTreeMap<(String, String, String), f64>,
    /// By Operator and controller.
    pub(super) controllers: BTreeMap<(String, String), NodeState>,
}

/// What a box of the picture says about the present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeState {
    /// Empty if nothing is known.
    pub(super) text: String,
    /// Whether something is wrong.
    pub(super) failing: bool,
}

impl NodeState {
    /// The state of a kind with so many objects.
    pub(super) fn objects(count: f64) -> Self {
        let objects = number(count);
        let plural = if objects == "1" { "" } else { "s" };
        Self {
            text: format!("{objects} object{plural}"),
            failing: false,
        }
    }
}

/// A number of objects, in full.
pub(super) fn number(count: f64) -> String {
    format!("{count:.0}")
}
