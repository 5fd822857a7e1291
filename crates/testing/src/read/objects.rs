//! Reads objects: written in the test, or in a file that it names.

use document::{Location, Value};

use super::TestReader;
use crate::file::Placed;
use crate::object_ref::ObjectRef;

impl TestReader<'_> {
    /// Reads a list of objects and files, or one file.
    pub(super) fn objects(&mut self, value: &Value, at: &Location) -> Vec<Value> {
        if let Some(path) = value.as_str() {
            return self.file_objects(path, at);
        }
        let items = self.items(value, at).into_iter();
        items
            .flat_map(|(item, at)| self.item_objects(&item, &at))
            .collect()
    }

    /// Reads an item of such a list.
    pub(super) fn item_objects(&mut self, item: &Value, at: &Location) -> Vec<Value> {
        match item.as_str() {
            Some(path) => self.file_objects(path, at),
            None => self.inline(at),
        }
    }

    /// Reads a list of objects, or of parts of objects, that are written in the test.
    pub(super) fn placed_objects(&mut self, value: &Value, at: &Location) -> Vec<Placed<Value>> {
        let items = self.items(value, at).into_iter();
        let placed = |(value, at): (Value, Location)| {
            self.named(&value, &at).then_some(Placed { value, at })
        };
        items.filter_map(placed).collect()
    }

    fn file_objects(&mut self, path: &str, at: &Location) -> Vec<Value> {
        let read = self.inputs.objects(path);
        match self.with_place(read, path, at) {
            Ok(objects) => objects,
            Err(problems) => {
                self.problems.extend(problems);
                Vec::new()
            }
        }
    }

    /// The object at a location, or the items of a List.
    fn inline(&mut self, at: &Location) -> Vec<Value> {
        let part = self.manifest.part(at).into_iter().collect();
        let objects = manifest::expand_lists(part).into_iter();
        objects
            .map(|object| object.value)
            .filter(|object| self.named(object, at))
            .collect()
    }

    /// Whether an object has a kind and a name. It is an error if not.
    fn named(&mut self, object: &Value, at: &Location) -> bool {
        if ObjectRef::of(object).is_some() {
            return true;
        }
        if object.as_map().is_none() {
            self.expected("an object", object, at);
            return false;
        }
        let message = "an object needs a kind and a metadata.name".to_owned();
        let problem = self.problem("no-name", at, message);
        self.problems.push(problem);
        false
    }
}
