//! Hands out the objects of the controllers, to explain what they derive.

use dataflow::Snapshot;
use operator::Operator;

use crate::Offline;

impl Offline {
    /// The Operator.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// The objects of each controller.
    pub fn snapshots(&self) -> impl Iterator<Item = Snapshot> {
        self.circuits.iter().map(dataflow::Circuit::snapshot)
    }
}
