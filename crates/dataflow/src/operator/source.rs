//! A source: the objects as they last were, pruned to the fields that are read.

use document::Value;

use super::{Change, HashMap};
use crate::fields::Fields;
use crate::origin::{Component, ObjectName, Origin};

/// The objects of one source.
#[derive(Debug)]
pub(crate) struct Source {
    number: u32,
    fields: Fields,
    objects: HashMap<ObjectName, Object>,
}

#[derive(Debug)]
struct Object {
    origin: Origin,
    document: Value,
}

impl Source {
    pub(crate) fn new(number: usize, fields: Fields) -> Self {
        Self {
            number: number as u32,
            fields,
            objects: HashMap::default(),
        }
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Takes what is known of an object now. What arrives is compared with what is
    /// stored: duplicates and deletes of unknown objects change nothing.
    pub(crate) fn set(&mut self, name: &ObjectName, object: Option<&Value>) -> Option<Change> {
        let Some(object) = object else {
            let object = self.objects.remove(name)?;
            return Change::new(object.origin, Some(object.document), None);
        };
        let document = self.fields.prune(object);
        if let Some(stored) = self.objects.get_mut(name) {
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
        let origin = Origin::object(self.number, name.clone());
        let stored = Object {
            origin: origin.clone(),
            document: document.clone(),
        };
        self.objects.insert(name.clone(), stored);
        Change::new(origin, None, Some(document))
    }

    /// The document of an object.
    pub(crate) fn document(&self, origin: &Origin) -> Option<Value> {
        match origin.components() {
            [Component::Object(object)] => self
                .objects
                .get(&object.name)
                .map(|object| object.document.clone()),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
