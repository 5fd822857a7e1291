//! A source: the current objects, reduced to the fields that the pipeline reads. It turns
//! events into changes. An event that changes none of these fields ends here:
//!
//! ```text
//! the pipeline reads $.metadata.name and $.spec.replicas
//!
//! a  spec: {replicas: 1, image: x}  ─▶  origin a: no document ─▶ {name: a, replicas: 1}
//! a  spec: {replicas: 1, image: y}  ─▶  no change
//! a  is deleted                     ─▶  origin a: {name: a, replicas: 1} ─▶ no document
//! ```

use document::Value;
use hashbrown::HashTable;
use object::ObjectName;

use super::Change;
use crate::circuit::SourceEvent;
use crate::fields::{Fields, Kept};
use crate::origin::{Origin, SourceObject};

/// The objects of one source.
#[derive(Debug)]
pub(crate) struct SourceState {
    number: u32,
    fields: Fields,
    /// By the hash of the name, which the origin stores.
    objects: HashTable<Object>,
    /// The bytes of the documents; `None` if they are not counted.
    bytes: Option<usize>,
}

#[derive(Debug)]
struct Object {
    origin: Origin,
    document: Value,
}

impl Object {
    fn hash(&self) -> u64 {
        self.origin.object_hash().unwrap_or_default()
    }

    fn is(&self, name: &ObjectName) -> bool {
        self.origin.object_name() == Some(name)
    }
}

impl SourceState {
    pub(crate) fn new(number: usize, fields: Fields, count_bytes: bool) -> Self {
        Self {
            number: number as u32,
            fields,
            objects: HashTable::new(),
            bytes: count_bytes.then_some(0),
        }
    }

    /// The fields that the pipeline reads.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The bytes of the documents; 0 if they are not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.unwrap_or_default()
    }

    /// Stores the new state of an object, and counts its bytes.
    pub(crate) fn set(&mut self, name: ObjectName, object: Option<Kept>) -> Option<Change> {
        let change = self.change(name, object)?;
        if let Some(bytes) = &mut self.bytes {
            let size = |document: &Option<Value>| document.as_ref().map_or(0, Value::size);
            *bytes = (*bytes + size(&change.new)).saturating_sub(size(&change.old));
        }
        Some(change)
    }

    /// Stores the new state of an object. Returns `None` if it equals the old one, and for a
    /// delete of an unknown object.
    fn change(&mut self, name: ObjectName, object: Option<Kept>) -> Option<Change> {
        let hash = SourceObject::hash_of(self.number, &name);
        let Some(object) = object else {
            let found = self
                .objects
                .find_entry(hash, |object| object.is(&name))
                .ok()?;
            let (object, _) = found.remove();
            return Some(Change {
                origin: object.origin,
                old: Some(object.document),
                new: None,
            });
        };
        let document = object.into_document();
        if let Some(stored) = self.objects.find_mut(hash, |object| object.is(&name)) {
            if stored.document == document {
                return None;
            }
            let old = std::mem::replace(&mut stored.document, document.clone());
            return Some(Change {
                origin: stored.origin.clone(),
                old: Some(old),
                new: Some(document),
            });
        }
        let origin = Origin::object(self.number, name);
        let stored = Object {
            origin: origin.clone(),
            document: document.clone(),
        };
        self.objects.insert_unique(hash, stored, Object::hash);
        Some(Change {
            origin,
            old: None,
            new: Some(document),
        })
    }

    /// Whether an object has another state than this.
    pub(crate) fn differs(&self, name: &ObjectName, new: Option<&Value>) -> bool {
        let hash = SourceObject::hash_of(self.number, name);
        let stored = self.objects.find(hash, |object| object.is(name));
        stored.map(|object| &object.document) != new
    }

    pub(crate) fn holds(&self, name: &ObjectName) -> bool {
        let hash = SourceObject::hash_of(self.number, name);
        self.objects.find(hash, |object| object.is(name)).is_some()
    }

    /// The stored document of an object.
    pub(crate) fn document(&self, origin: &Origin) -> Option<Value> {
        let name = origin.object_name()?;
        let hash = origin.object_hash()?;
        let found = self.objects.find(hash, |object| object.is(name))?;
        Some(found.document.clone())
    }

    /// All objects, as events of a new list.
    pub(crate) fn events(&self) -> impl Iterator<Item = SourceEvent> {
        self.objects.iter().filter_map(|object| {
            Some(SourceEvent {
                source: self.number as usize,
                name: object.origin.object_name()?.clone(),
                object: Some(Kept::stored(object.document.clone())),
            })
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
