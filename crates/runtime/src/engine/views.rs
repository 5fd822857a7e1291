//! Views: what controllers derive for them, and whether they are complete.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataflow::ObjectName;
use document::Value;
use operator::Operator;
use operator::spec::Resource;
use store::{Collection, ObjectKey, Preconditions, Request, Store, Write, Writer};

use super::Context;
use super::book::Book;

/// Which views are complete: after a start, a view that its controllers have not filled
/// yet is unavailable, not empty.
#[derive(Clone, Debug, Default)]
pub struct Views(Arc<Mutex<Producers>>);

/// For each view the operators that fill it, with the version up to which they have.
type Producers = BTreeMap<Collection, BTreeMap<String, Option<u64>>>;

impl Views {
    /// An operator will fill this view.
    pub fn expect(&self, operator: &str, resource: &Resource) {
        let mut views = self.views();
        let producers = views.entry(collection(resource)).or_default();
        producers.entry(operator.to_owned()).or_default();
    }

    /// An operator has filled this view, up to a version.
    fn complete(&self, operator: &str, collection: &Collection, version: u64) {
        let mut views = self.views();
        let producers = views.entry(collection.clone()).or_default();
        let known = producers.entry(operator.to_owned()).or_default();
        known.get_or_insert(version);
    }

    /// An operator fills no views any more.
    pub fn remove(&self, operator: &str) {
        for producers in self.views().values_mut() {
            producers.remove(operator);
        }
    }

    /// Whether who has been told all up to `version` knows all that other operators put
    /// into this view when they started.
    pub(super) fn told(&self, resource: &Resource, reader: &str, version: u64) -> bool {
        let views = self.views();
        let producers = views.get(&collection(resource));
        let mut others = producers
            .into_iter()
            .flatten()
            .filter(|(operator, _)| *operator != reader);
        others.all(|(_, filled)| filled.is_some_and(|filled| filled <= version))
    }

    fn views(&self) -> MutexGuard<'_, Producers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn collection(resource: &Resource) -> Collection {
    Collection::new(&resource.group, &resource.kind)
}

/// What an operator puts into views.
#[derive(Debug)]
pub(super) struct Outputs {
    operator: String,
    views: BTreeMap<Collection, View>,
}

#[derive(Debug, Default)]
struct View {
    /// The controllers that fill it.
    producers: Vec<usize>,
    /// What each controller derives, by name and rank: the first is written.
    derived: BTreeMap<ObjectName, BTreeMap<usize, Value>>,
    /// The names to be written.
    changed: Vec<ObjectName>,
    /// The version of the last write.
    version: u64,
}

impl Outputs {
    pub(super) fn new(context: &Context, operator: &Operator) -> Self {
        let mut views: BTreeMap<Collection, View> = BTreeMap::new();
        for (number, controller) in operator.controllers.iter().enumerate() {
            for target in controller.targets.iter().filter(|t| t.resource.is_view()) {
                context.views.expect(&operator.name, &target.resource);
                let view = views.entry(collection(&target.resource)).or_default();
                view.producers.push(number);
            }
        }
        Self {
            operator: operator.name.clone(),
            views,
        }
    }

    /// The controllers that fill a view.
    pub(super) fn producers(&self, resource: &Resource) -> impl Iterator<Item = usize> {
        let view = self.views.get(&collection(resource));
        view.map(|view| view.producers.clone())
            .unwrap_or_default()
            .into_iter()
    }

    /// Whether who has been told all up to `version` knows all that was written.
    pub(super) fn told(&self, resource: &Resource, version: u64) -> bool {
        let view = self.views.get(&collection(resource));
        view.is_none_or(|view| view.version <= version)
    }

    /// A controller derives this for an object of a view now, or nothing any more.
    pub(super) fn change(
        &mut self,
        number: usize,
        resource: &Resource,
        name: ObjectName,
        object: Option<Value>,
    ) {
        let view = self.views.entry(collection(resource)).or_default();
        let derived = view.derived.entry(name.clone()).or_default();
        match object {
            Some(object) => derived.insert(number, object),
            None => derived.remove(&number),
        };
        if derived.is_empty() {
            view.derived.remove(&name);
        }
        view.changed.push(name);
    }

    /// Writes what has changed.
    pub(super) fn write(&mut self, store: &Store, operator: &Operator, book: &Book) {
        for (collection, view) in &mut self.views {
            view.changed.sort();
            view.changed.dedup();
            for name in std::mem::take(&mut view.changed) {
                let derived = view.derived.get(&name).and_then(BTreeMap::first_key_value);
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let key = ObjectKey::new(text(&name.namespace), text(&name.name));
                let number = derived.map_or(0, |(number, _)| *number);
                let controller = &operator.controllers[number].name;
                let writer = Writer::controller(&self.operator, controller);
                let write = match derived {
                    Some((_, object)) => Write::Put(object.clone()),
                    None => Write::Delete(key, Preconditions::default()),
                };
                let request = Request {
                    writer: &writer,
                    collection,
                    write,
                };
                let answer = store.write([request]).pop();
                let refused = match answer {
                    Some(Ok(_) | Err(store::Error::NotFound { .. })) | None => None,
                    Some(Err(error)) => Some(error.to_string()),
                };
                if refused.is_some() {
                    // Tried again with the next change.
                    view.changed.push(name.clone());
                }
                book.view(controller, collection, &name, refused);
                view.version = store.version().0;
            }
        }
    }

    /// Says which views are complete: those whose controllers are all open.
    pub(super) fn publish(&self, views: &Views, operator: &Operator, open: impl Fn(usize) -> bool) {
        for (collection, view) in &self.views {
            if view.producers.iter().all(|number| open(*number)) {
                views.complete(&operator.name, collection, view.version);
            }
        }
    }

    /// Takes all out of the views.
    pub(super) fn clear(&mut self, store: &Store) {
        for yielded in store.yielded(&self.operator) {
            let writer = Writer::controller(&self.operator, &yielded.controller);
            let delete = Write::Delete(yielded.key, Preconditions::default());
            let _ = store.write_one(&writer, &yielded.collection, delete);
        }
    }

    /// Takes out what an earlier generation put in and this one does not derive.
    pub(super) fn sweep(&self, store: &Store) {
        for yielded in store.yielded(&self.operator) {
            let name = ObjectName::new(&yielded.key.namespace, &yielded.key.name);
            let view = self.views.get(&yielded.collection);
            if view.is_none_or(|view| !view.derived.contains_key(&name)) {
                let writer = Writer::controller(&self.operator, &yielded.controller);
                let delete = Write::Delete(yielded.key, Preconditions::default());
                let _ = store.write_one(&writer, &yielded.collection, delete);
            }
        }
    }
}
