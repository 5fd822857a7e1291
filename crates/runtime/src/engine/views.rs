//! Views: what controllers derive for them, and whether they are complete.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataflow::ObjectName;
use document::Value;
use operator::Operator;
use operator::spec::Resource;
use store::{Change, Collection, ObjectKey, Preconditions, Store, Write, Writer, Written};
use tokio::sync::watch;

use super::book::Book;

/// Which views are complete: after a start, a view that its controllers have not filled
/// yet is unavailable, not empty.
#[derive(Clone, Debug, Default)]
pub struct Views(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    producers: Mutex<Producers>,
    /// Whether operators are still to come that nobody has been told of.
    starting: AtomicBool,
    /// Tells those who wait that something has changed.
    changed: watch::Sender<()>,
}

/// For each view the operators that fill it, with the version up to which they have.
type Producers = BTreeMap<Collection, BTreeMap<String, Option<u64>>>;

impl Views {
    /// None is complete before [`Views::all_expected`].
    pub fn starting() -> Self {
        let views = Self::default();
        views.0.starting.store(true, Ordering::SeqCst);
        views
    }

    /// All operators that there are at the start have been told of.
    pub fn all_expected(&self) {
        self.0.starting.store(false, Ordering::SeqCst);
        self.0.changed.send_replace(());
    }

    /// Waits until all operators that fill this view have filled it.
    pub async fn completed(&self, collection: &Collection) {
        let mut changed = self.0.changed.subscribe();
        while !self.is_complete(collection) {
            // The sender lives as long as `self`.
            let _ = changed.changed().await;
        }
    }

    fn is_complete(&self, collection: &Collection) -> bool {
        let views = self.views();
        let mut producers = views.get(collection).into_iter().flatten();
        !self.0.starting.load(Ordering::SeqCst) && producers.all(|(_, filled)| filled.is_some())
    }

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
        if known.is_none() {
            *known = Some(version);
            self.0.changed.send_replace(());
        }
    }

    /// An operator fills no views any more.
    pub fn remove(&self, operator: &str) {
        for producers in self.views().values_mut() {
            producers.remove(operator);
        }
        self.0.changed.send_replace(());
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
        let producers = self.0.producers.lock();
        producers.unwrap_or_else(PoisonError::into_inner)
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
    /// The version of the last change of it that we made.
    version: u64,
}

impl Outputs {
    pub(super) fn new(expected: &Views, operator: &Operator) -> Self {
        let mut views: BTreeMap<Collection, View> = BTreeMap::new();
        for (number, controller) in operator.controllers.iter().enumerate() {
            for target in controller.targets.iter().filter(|t| t.resource.is_view()) {
                expected.expect(&operator.name, &target.resource);
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
            let mut changed = std::mem::take(&mut view.changed);
            changed.sort();
            changed.dedup();
            for name in changed {
                let derived = view.derived.get(&name).and_then(BTreeMap::first_key_value);
                let number = derived.map_or(view.producers[0], |(number, _)| *number);
                let controller = &operator.controllers[number].name;
                let writer = Writer::controller(&self.operator, controller);
                let write = match derived {
                    Some((_, object)) => Write::Put(object.clone()),
                    None => Write::Delete(key(&name), Preconditions::default()),
                };
                let refused = match store.write_one(&writer, collection, write) {
                    Ok(written) => {
                        view.version = view.version.max(version(&written));
                        None
                    }
                    Err(store::Error::NotFound { .. }) => None,
                    Err(error) => {
                        // Tried again with the next change.
                        view.changed.push(name.clone());
                        Some(error.to_string())
                    }
                };
                book.view(controller, collection, &name, refused);
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
    pub(super) fn clear(&self, store: &Store) {
        self.take_out(store, |_, _| true);
    }

    /// Takes out what an earlier generation put in and this one does not derive.
    pub(super) fn sweep(&self, store: &Store) {
        self.take_out(store, |collection, name| {
            let view = self.views.get(collection);
            view.is_none_or(|view| !view.derived.contains_key(name))
        });
    }

    fn take_out(&self, store: &Store, goes: impl Fn(&Collection, &ObjectName) -> bool) {
        for yielded in store.yielded(&self.operator) {
            let name = ObjectName::new(&yielded.key.namespace, &yielded.key.name);
            if goes(&yielded.collection, &name) {
                let writer = Writer::controller(&self.operator, &yielded.controller);
                let delete = Write::Delete(yielded.key, Preconditions::default());
                // What is gone already is gone.
                let _ = store.write_one(&writer, &yielded.collection, delete);
            }
        }
    }
}

fn key(name: &ObjectName) -> ObjectKey {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    ObjectKey::new(text(&name.namespace), text(&name.name))
}

/// The version of the change that a write made; 0 if it changed nothing. The version of
/// the whole store will not do: other views move it on, and no watch of this one sees that.
fn version(written: &Written) -> u64 {
    if written.change == Change::Unchanged {
        return 0;
    }
    let version = written.object.get("metadata").get("resourceVersion");
    version
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;
    use crate::engine::EngineEvents;
    use crate::engine::measures::Measures;
    use crate::metrics::Metrics;
    use crate::status::Trouble;

    struct Quiet;

    impl EngineEvents for Quiet {
        fn adopted(&self, _key: &crate::target::ObjectKey, _controller: &str) {}
        fn trouble(&self, _controller: &str, _trouble: &Trouble) {}
    }

    #[test]
    fn a_view_is_told_whatever_happens_to_other_views() {
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
            "spec": {"controllers": [{
                "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
                "pipeline": [{"@select": true}], "target": {"kind": "V"}
            }]}
        });
        let (operator, problems) = operator::read(&spec, &expr::Table::builtin());
        let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
        let store = Store::new(crate::clock::System, store::Config::default());
        let measures = Measures::new(&Metrics::default(), &operator);
        let book = Book::new(Arc::new(Quiet), Arc::default(), measures);
        let resource = &operator.controllers[0].targets[0].resource;
        let mut outputs = Outputs::new(&Views::default(), &operator);
        let object = json!({"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "V", "metadata": {"name": "a"}});
        let put = |outputs: &mut Outputs| {
            let name = ObjectName::new("", "a");
            outputs.change(0, resource, name, Some(object.clone()));
            outputs.write(&store, &operator, &book);
        };
        put(&mut outputs);
        let position = store.version().0;
        let other = json!({"apiVersion": "x.view.dcontroller.io/v1alpha1", "kind": "W", "metadata": {"name": "b"}});
        let elsewhere = Collection::new("x.view.dcontroller.io", "W");
        store
            .write_one(&Writer::User, &elsewhere, Write::Create(other))
            .unwrap();
        // As it is already: no watch hears of it.
        put(&mut outputs);
        assert!(outputs.told(resource, position));
        assert!(!outputs.told(resource, position - 1));
    }
}
