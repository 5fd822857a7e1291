//! The source objects that may own a derived object.

use std::collections::HashMap;

use dataflow::fields::Kept;
use dataflow::{Component, Origin, SourceEvent};
use document::Value;
use object::ObjectName;

use crate::desired::Owner;

/// The uid of the object, if it is needed.
fn uid(event: &SourceEvent) -> Option<&Value> {
    let uid = event.object.as_ref().map(Kept::uid);
    uid.filter(|uid| !uid.is_null())
}

/// The uids of the source objects of a controller, if its pipeline may yield ownerReferences.
#[derive(Debug)]
pub struct Owners {
    /// For each input.
    uids: Vec<HashMap<ObjectName, Value>>,
}

impl Owners {
    /// For a controller with this number of inputs.
    pub fn new(inputs: usize) -> Self {
        Self {
            uids: vec![HashMap::new(); inputs],
        }
    }

    /// Whether an event changes the uid of an object: it was deleted and created again.
    pub fn is_changed_by(&self, event: &SourceEvent) -> bool {
        self.uids[event.source].get(&event.name) != uid(event)
    }

    /// Notes the uid of an object.
    pub fn note(&mut self, event: &SourceEvent) {
        let uids = &mut self.uids[event.source];
        match uid(event) {
            None if uids.is_empty() => return,
            Some(uid) => uids.insert(event.name.clone(), uid.clone()),
            None => uids.remove(&event.name),
        };
    }

    /// Forgets all objects.
    pub fn clear(&mut self) {
        self.uids.iter_mut().for_each(HashMap::clear);
    }

    /// The source objects of an origin that have a uid.
    pub fn of(&self, origin: &Origin) -> Vec<Owner> {
        let objects = origin.components().iter();
        let owners = objects.filter_map(|component| {
            let Component::Object(object) = component else {
                return None;
            };
            let uids = self.uids.get(object.source as usize)?;
            Some(Owner {
                uid: uids.get(&object.name)?.as_str()?.to_owned(),
                namespace: object.name.namespace.as_str()?.to_owned(),
            })
        });
        owners.collect()
    }
}
