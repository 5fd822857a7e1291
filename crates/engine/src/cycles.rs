//! Cycles through views and targets: what caused a batch, and when held objects are written again.
//!
//! See [`echoes`](super::echoes) for how a cycle is found.

use dataflow::SourceEvent;

use super::Task;
use super::writes::WriteReason;
use crate::inbox::EchoedObjects;

impl Task {
    /// Sets the depth of a batch before it is processed: 0 if not only writes of this process have
    /// caused it. Then the objects of the controller that are held because of a cycle
    /// are written again.
    pub(super) fn begin_depth(
        &mut self,
        number: usize,
        batch: &[SourceEvent],
        echoes: &EchoedObjects,
    ) {
        self.views.depth = 0;
        let held = self.views.has_cycles() || self.writes.writer.has_cycles();
        if echoes.is_empty() && !held {
            return;
        }
        let circuit = &self.controllers[number].circuit;
        let mut depth = 0;
        for event in batch {
            let object = ((number, event.source), event.name.clone());
            match echoes.get(&object) {
                Some(caused) => depth = depth.max(*caused),
                // A change outside of the fields that are read does not count.
                None if circuit.is_changed_by(event) => {
                    self.release_cycles(number);
                    return;
                }
                None => {}
            }
        }
        self.views.depth = depth;
    }

    fn release_cycles(&mut self, number: usize) {
        let name = &self.operator.controllers[number].name;
        let released = self.writes.writer.release_cycles(name);
        self.writes.look(released, WriteReason::Derived);
        if self.views.release_cycles(Some(number)) {
            self.write_views(None);
        }
    }

    /// Decides on the objects of views whose hold is over. The next batch writes them.
    pub(super) fn release_due(&mut self) {
        self.views.depth = 0;
        if self.views.release_cycles(None) {
            self.write_views(None);
        }
    }
}
