//! A source: what is kept of the objects as they last were.

use document::Value;
use hashbrown::HashTable;
use object::ObjectName;

use super::Change;
use crate::fields::{Fields, Kept};
use crate::origin::{Origin, SourceObject};

/// The objects of one source.
#[derive(Debug)]
pub(crate) struct SourceState {
    number: u32,
    fields: Fields,
    /// By the hash of the name, which the origin knows.
    objects: HashTable<Object>,
    /// How many bytes the documents take, if that is counted.
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

    /// What the pipeline reads of the objects.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// How many bytes the documents take; 0 if that is not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.unwrap_or_default()
    }

    /// Takes what is known of an object now, and counts its bytes.
    pub(crate) fn set(&mut self, name: ObjectName, object: Option<Kept>) -> Option<Change> {
        let change = self.change(name, object)?;
        if let Some(bytes) = &mut self.bytes {
            let size = |document: &Option<Value>| document.as_ref().map_or(0, Value::size);
            *bytes = (*bytes + size(&change.new)).saturating_sub(size(&change.old));
        }
        Some(change)
    }

    /// Takes what is known of an object now. What arrives is compared with what is
    /// stored: duplicates and deletes of unknown objects change nothing.
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

    pub(crate) fn holds(&self, name: &ObjectName) -> bool {
        let hash = SourceObject::hash_of(self.number, name);
        self.objects.find(hash, |object| object.is(name)).is_some()
    }

    /// The document of an object.
    pub(crate) fn document(&self, origin: &Origin) -> Option<Value> {
        let name = origin.object_name()?;
        let hash = origin.object_hash()?;
        let found = self.objects.find(hash, |object| object.is(name))?;
        Some(found.document.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
