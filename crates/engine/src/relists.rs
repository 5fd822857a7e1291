//! Lists of sources that were complete before: they enter the circuits when they are complete.
//!
//! While a source is listed again, some of its objects have been listed and others have not. Such a
//! mixture may derive less than the states before and after the list:
//!
//! ```text
//! before   pod a: zone green   pod b: zone red        zones green, red
//! list     pod a: zone red                            zone red: green would be deleted
//!          pod b: zone green                          zones green, red
//! ```
//!
//! So the objects that differ from what the circuit holds wait here until the list completes, and
//! then enter as one batch. Objects that do not differ, usually almost all, are dropped at once. If
//! the objects that wait do not fit into what is left of the Operator's budget, they enter before the
//! list is complete. A list that does not complete delays no other source, nor events that arrived
//! before it began.

use std::collections::BTreeMap;
use std::mem;

use dataflow::SourceEvent;
use dataflow::fields::Kept;
use document::Value;
use object::ObjectName;

use super::Task;
use crate::inbox::{Port, PortState, Taken, WaitingEvent};

/// The objects of lists that are not complete yet.
#[derive(Debug, Default)]
pub(super) struct Relists {
    objects: BTreeMap<(Port, ObjectName), Relisted>,
    /// The bytes of their documents.
    bytes: usize,
}

/// The listed state of an object.
#[derive(Debug)]
struct Relisted {
    object: Option<Kept>,
    /// The depth of a step that only it causes; `None` if others wrote it.
    depth: Option<u32>,
}

impl Relisted {
    fn size(&self) -> usize {
        let object = self.object.as_ref();
        object.map(Kept::document).map_or(0, Value::size)
    }
}

impl Relists {
    fn remove(&mut self, object: &(Port, ObjectName)) {
        if let Some(removed) = self.objects.remove(object) {
            self.bytes -= removed.size();
        }
    }

    fn insert(&mut self, object: (Port, ObjectName), state: Relisted) {
        self.remove(&object);
        self.bytes += state.size();
        self.objects.insert(object, state);
    }

    /// Takes the objects of the inputs that are chosen.
    fn take(&mut self, is_chosen: impl Fn(Port) -> bool) -> Vec<WaitingEvent> {
        if self.objects.is_empty() {
            return Vec::new();
        }
        let all = mem::take(self).objects;
        let mut taken = Vec::new();
        for ((port, name), Relisted { object, depth }) in all {
            if is_chosen(port) {
                taken.push(WaitingEvent {
                    port,
                    name,
                    object,
                    depth,
                });
            } else {
                self.insert((port, name), Relisted { object, depth });
            }
        }
        taken
    }
}

impl Task {
    /// Keeps the objects of lists that are in progress, and adds those of lists that are complete
    /// to the events.
    pub(super) fn relist(&mut self, taken: &mut Taken) {
        if taken.relisted.is_empty() && self.relists.objects.is_empty() {
            return;
        }
        let with_events = taken.objects();
        for event in mem::take(&mut taken.relisted) {
            let has_event = with_events.contains(&(event.port, event.name.clone()));
            self.keep_relisted(event, has_event);
        }
        let (ports, tasks) = (&self.ports, &self.controllers);
        let is_relisting = |port| ports.get(&port).is_some_and(PortState::is_relisting);
        let enters = |port: Port| !is_relisting(port) || tasks[port.0].stopped.is_some();
        let mut entering = self.relists.take(enters);
        if !self.relists_fit() {
            entering.append(&mut self.relists.take(|_| true));
        }
        for event in entering {
            // An event is older than the list if that is in progress, and newer otherwise.
            let has_event = with_events.contains(&(event.port, event.name.clone()));
            if is_relisting(event.port) || !has_event {
                taken.bulk.insert(event.port.0);
                taken.add(event);
            }
        }
    }

    /// Keeps the listed state of an object, unless it is known. If there is an event of the object,
    /// it is going to change what is known.
    fn keep_relisted(&mut self, event: WaitingEvent, has_event: bool) {
        let WaitingEvent {
            port,
            name,
            object,
            depth,
        } = event;
        let event = SourceEvent {
            source: port.1,
            name,
            object,
        };
        let differs = has_event || self.controllers[port.0].is_changed_by(&event);
        let SourceEvent { name, object, .. } = event;
        if differs {
            let state = Relisted { object, depth };
            self.relists.insert((port, name), state);
        } else {
            self.relists.remove(&(port, name));
        }
    }

    /// Whether the objects that wait fit into what the circuits leave of the budget.
    fn relists_fit(&self) -> bool {
        let Relists { objects, bytes } = &self.relists;
        if objects.is_empty() {
            return true;
        }
        let budget = &self.context.budget;
        let usages = self.controllers.iter().map(|task| task.circuit.usage());
        let (mut documents, mut bytes) = (objects.len(), *bytes);
        for usage in usages {
            documents += usage.documents;
            bytes += usage.bytes;
        }
        documents <= budget.documents && budget.bytes.is_none_or(|limit| bytes <= limit)
    }
}

#[cfg(test)]
mod tests {
    use dataflow::fields::{Fields, Intake, Keep};
    use document::json;

    use super::*;

    #[test]
    fn the_objects_of_one_input_are_taken_and_the_bytes_of_the_others_stay_counted() {
        let object = |port: Port, name: &str| (port, ObjectName::new("", name));
        let state = |value: &str| Relisted {
            object: Some(
                Keep::new(&Fields::all(), Intake::default()).of(&json!({"spec": (value)})),
            ),
            depth: Some(2),
        };
        let mut relists = Relists::default();
        relists.insert(object((0, 0), "a"), state("short"));
        relists.insert(object((0, 0), "a"), state("a text that is longer"));
        relists.insert(object((0, 0), "b"), state("equal again"));
        relists.remove(&object((0, 0), "b"));
        relists.insert(object((0, 1), "c"), state("of another input"));
        let others = state("of another input").size();
        assert_eq!(
            relists.bytes,
            state("a text that is longer").size() + others
        );
        let taken = relists.take(|port| port == (0, 0));
        let [event] = taken.as_slice() else {
            panic!("{taken:?}");
        };
        assert_eq!(
            (event.name.name.as_str(), event.depth),
            (Some("a"), Some(2))
        );
        assert_eq!(relists.bytes, others);
        assert_eq!(relists.take(|_| true).len(), 1);
        assert_eq!(relists.bytes, 0);
    }
}
