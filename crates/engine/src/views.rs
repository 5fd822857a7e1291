//! What controllers derive for views.

mod stale;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use document::Value;
use fieldset::MergeKeys;
use object::{GroupKind, KindRef, ObjectName};
use operator::spec::{Source, SourceKind, Target, TargetType};
use operator::{Controller, Operator};
pub(super) use stale::Stale;
use store::{Basis, Caller, Change, Holder, Preconditions, Store, Write, Written};
use target::layer::overlay;
use target::outgoing::patch_of;

use super::availability::{Producer, Views};
use super::patches::{Patch, PatchedObject, Patches};
use super::problem_log::ProblemLog;

pub(super) fn collection(resource: &KindRef) -> GroupKind {
    GroupKind::new(&resource.group, &resource.kind)
}

/// The view that a source reads. The trigger of a `OneShot` source is an object of none.
pub(super) fn view_of(source: &Source) -> Option<GroupKind> {
    let reads = source.resource.is_view() && source.kind != SourceKind::OneShot;
    reads.then(|| collection(&source.resource))
}

/// What an operator puts into views.
#[derive(Debug)]
pub(super) struct Outputs {
    operator: String,
    views: BTreeMap<GroupKind, View>,
    /// Makes the views available to others.
    producer: Producer,
    patches: Patches,
    touched: Touched,
}

/// The objects of patched views that have changed, by whomever.
pub(super) type Touched = Arc<Mutex<BTreeSet<(GroupKind, ObjectName)>>>;

/// A target of a controller, both by position.
type At = (usize, usize);

#[derive(Debug, Default)]
struct View {
    /// The controllers that write to it.
    producers: Vec<usize>,
    /// Whether one of them makes objects, and not only patches those of users.
    yielded: bool,
    /// What each target gets, by name and rank: the first Updater is written, the others
    /// wait, Patchers and Appliers layer on it.
    derived: BTreeMap<ObjectName, BTreeMap<At, Value>>,
    /// What Patchers have set on these and do not derive any more.
    withdrawn: BTreeSet<(ObjectName, String)>,
    /// The names to be written.
    changed: Vec<ObjectName>,
    /// The version of the last change of it that we made.
    version: u64,
}

impl Outputs {
    pub(super) fn new(shared: &Views, operator: &Operator) -> Self {
        let mut views: BTreeMap<GroupKind, View> = BTreeMap::new();
        for (number, controller) in operator.controllers.iter().enumerate() {
            for target in controller.targets.iter().filter(|t| t.resource.is_view()) {
                let view = views.entry(collection(&target.resource)).or_default();
                view.producers.push(number);
                view.yielded |= target.kind != TargetType::Patcher;
            }
        }
        Self {
            operator: operator.name.clone(),
            producer: shared.start(&operator.name, views.keys().cloned()),
            views,
            patches: shared.patches().clone(),
            touched: Touched::default(),
        }
    }

    /// The views.
    pub(super) fn collections(&self) -> impl ExactSizeIterator<Item = &GroupKind> {
        self.views.keys()
    }

    /// Where it is noted that an object of a patched view has changed.
    pub(super) fn touched(&self) -> &Touched {
        &self.touched
    }

    /// Takes the objects that have changed. Says whether there is something to write.
    pub(super) fn take_touched(&mut self) -> bool {
        let touched = self.touched.lock();
        let touched = std::mem::take(&mut *touched.unwrap_or_else(PoisonError::into_inner));
        let mut news = false;
        for (collection, name) in touched {
            if let Some(view) = self.views.get_mut(&collection)
                && view.derived.contains_key(&name)
            {
                view.changed.push(name);
                news = true;
            }
        }
        news
    }

    /// The controllers that write to a view.
    pub(super) fn producers(&self, collection: &GroupKind) -> &[usize] {
        let view = self.views.get(collection);
        view.map(|view| view.producers.as_slice())
            .unwrap_or_default()
    }

    /// Whether a controller makes objects of a view.
    pub(super) fn yields(&self, collection: &GroupKind) -> bool {
        self.views.get(collection).is_some_and(|view| view.yielded)
    }

    /// The version of the last change of a view that we made.
    pub(super) fn version(&self, collection: &GroupKind) -> u64 {
        self.views.get(collection).map_or(0, |view| view.version)
    }

    /// A controller derives this for an object of a view now, or nothing any more.
    pub(super) fn change(
        &mut self,
        at: At,
        controller: &Controller,
        name: ObjectName,
        object: Option<Value>,
    ) {
        let resource = &controller.targets[at.1].resource;
        let view = self.views.entry(collection(resource)).or_default();
        let derived = view.derived.entry(name.clone()).or_default();
        if let Some(object) = object {
            derived.insert(at, object);
        } else {
            derived.remove(&at);
            let by = patcher(controller, at);
            view.withdrawn.insert((name.clone(), by));
        }
        if derived.is_empty() {
            view.derived.remove(&name);
        }
        view.changed.push(name);
    }

    /// Writes what has changed.
    pub(super) fn write(&mut self, store: &Store, operator: &Operator, problem_log: &ProblemLog) {
        let patches = &self.patches;
        for (collection, view) in &mut self.views {
            let mut changed = std::mem::take(&mut view.changed);
            changed.sort();
            changed.dedup();
            let withdrawn = std::mem::take(&mut view.withdrawn);
            for name in changed {
                let object = Object::new(store, operator, patches, collection, &name);
                let derived = view.derived.get(&name);
                let gone = |by: &str| withdrawn.contains(&(name.clone(), by.to_owned()));
                let (number, result) = object.write(derived, &gone);
                let number = number.unwrap_or(view.producers[0]);
                let refused = match result {
                    Ok(written) => {
                        let version = written.as_ref().map_or(0, version);
                        view.version = view.version.max(version);
                        None
                    }
                    Err(error) => {
                        // Tried again with the next change.
                        view.changed.push(name.clone());
                        let kept = withdrawn.iter().filter(|(other, _)| *other == name);
                        view.withdrawn.extend(kept.cloned());
                        Some(error.to_string())
                    }
                };
                let controller = &operator.controllers[number].name;
                problem_log.view(controller, collection, &name, refused);
            }
        }
    }

    /// Tells readers how the views stand.
    pub(super) fn publish(
        &self,
        over_budget: bool,
        mut basis: impl FnMut(&GroupKind) -> Option<Basis>,
    ) {
        let views = self.views.keys();
        self.producer
            .publish(over_budget, views.map(|view| (view, basis(view))));
    }

    /// Takes all out of the views, which are not available from then on.
    pub(super) fn clear(&self, store: &Store) {
        self.producer.down("the Operator is being deleted");
        take_out(store, &self.operator, |_, _| true);
        for place in self.patches.places(&self.operator) {
            // An object that somebody else changes all the time keeps what was set.
            let _ = self.patches.apply(store, &place, &[], &|_| true);
        }
    }
}

/// Takes objects out of views that an operator's controllers have put in.
pub(crate) fn take_out(
    store: &Store,
    operator: &str,
    goes: impl Fn(&GroupKind, &ObjectName) -> bool,
) {
    for yielded in store.yielded(operator) {
        if goes(&yielded.collection, &yielded.key) {
            let caller = Caller::controller(operator, &yielded.controller);
            let delete = Write::Delete(yielded.key, Preconditions::default());
            // What is gone already is gone.
            let _ = store.write(&caller, &yielded.collection, &delete);
        }
    }
}

/// One object of a view, about to be written.
struct Object<'a> {
    store: &'a Store,
    operator: &'a Operator,
    patches: &'a Patches,
    place: PatchedObject,
}

impl<'a> Object<'a> {
    fn new(
        store: &'a Store,
        operator: &'a Operator,
        patches: &'a Patches,
        collection: &GroupKind,
        name: &ObjectName,
    ) -> Self {
        Self {
            store,
            operator,
            patches,
            place: PatchedObject {
                operator: operator.name.clone(),
                collection: collection.clone(),
                name: name.clone(),
            },
        }
    }

    /// Writes what is derived. Also gives whose object it is.
    fn write(
        &self,
        derived: Option<&BTreeMap<At, Value>>,
        gone: &dyn Fn(&str) -> bool,
    ) -> (Option<usize>, Result<Option<Written>, store::Error>) {
        let (collection, key) = (&self.place.collection, self.place.name.clone());
        let held = self.store.holder(collection, &key) == Some(Holder::User);
        let wanted = wanted(self.operator, derived);
        let whole = self.whole(derived, &wanted, held);
        let first = derived.and_then(|derived| derived.keys().next());
        let number = whole.as_ref().map(|(at, _)| at.0).or(first.map(|at| at.0));
        let put = whole.map(|(at, document)| (at.0, Write::Put(document)));
        if held {
            let patched = self.patches.apply(self.store, &self.place, &wanted, gone);
            // Where a user holds the key, the controller waits.
            let refused = put.map(|(number, put)| self.send(number, &put)).transpose();
            return (number, patched.and_then(|patched| refused.map(|_| patched)));
        }
        self.patches.forget(&self.place);
        let delete = || {
            (
                number.unwrap_or(0),
                Write::Delete(key, Preconditions::default()),
            )
        };
        let (by, write) = put.unwrap_or_else(delete);
        let result = match self.send(by, &write) {
            Err(store::Error::NotFound { .. }) => Ok(None),
            result => result.map(Some),
        };
        (number, result)
    }

    fn send(&self, controller: usize, write: &Write) -> Result<Written, store::Error> {
        let controller = &self.operator.controllers[controller].name;
        let caller = Caller::controller(&self.operator.name, controller);
        self.store.write(&caller, &self.place.collection, write)
    }

    /// The document of the first Updater, or of an Applier where there is nothing yet, with
    /// the patches on it.
    fn whole(
        &self,
        derived: Option<&BTreeMap<At, Value>>,
        wanted: &[Patch<'_>],
        held: bool,
    ) -> Option<(At, Value)> {
        let of_kind = |kind: TargetType| {
            let mut all = derived.into_iter().flatten();
            all.find(|(at, _)| target(self.operator, **at).kind == kind)
        };
        let applier = || of_kind(TargetType::Applier).filter(|_| !held);
        let (at, document) = of_kind(TargetType::Updater).or_else(applier)?;
        let patches = wanted.iter();
        let patches = patches.map(|patch| patch_of(patch.document, patch.target));
        let keys = MergeKeys::of_group(&target(self.operator, *at).resource.group);
        let patched = overlay(document, &patches.collect::<Vec<_>>(), &keys);
        Some((*at, patched))
    }
}

fn target(operator: &Operator, at: At) -> &Target {
    &operator.controllers[at.0].targets[at.1]
}

/// What layers on an object.
fn wanted<'a>(operator: &'a Operator, derived: Option<&'a BTreeMap<At, Value>>) -> Vec<Patch<'a>> {
    let all = derived.into_iter().flatten();
    let layers = all.filter(|(at, _)| target(operator, **at).kind != TargetType::Updater);
    let layers = layers.map(|(at, document)| Patch {
        by: patcher(&operator.controllers[at.0], *at),
        target: target(operator, *at),
        document,
    });
    layers.collect()
}

/// The name under which a Patcher is remembered.
fn patcher(controller: &Controller, at: At) -> String {
    format!("{}/{}", controller.name, at.1)
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
    use metrics::Metrics;

    use super::*;
    use crate::EngineEvents;
    use crate::measures::Measures;
    use crate::status::ReportedError;

    struct Quiet;

    impl EngineEvents for Quiet {
        fn adopted(&self, _key: &object::ObjectKey, _controller: &str) {}
        fn reported(&self, _controller: &str, _error: &ReportedError) {}
    }

    #[test]
    fn the_version_of_a_view_is_that_of_its_last_change() {
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
            "spec": {"controllers": [{
                "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
                "pipeline": [{"@select": true}], "target": {"kind": "V"}
            }]}
        });
        let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
        let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
        let store = Store::new(crate::clock::System, store::Config::default());
        let measures = Measures::new(&Metrics::default(), &operator);
        let problem_log = ProblemLog::new(Arc::new(Quiet), Arc::default(), measures);
        let view = GroupKind::new("o.view.dcontroller.io", "V");
        let mut outputs = Outputs::new(&Views::new(&store), &operator);
        let object = json!({"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "V", "metadata": {"name": "a"}});
        let put = |outputs: &mut Outputs| {
            let name = ObjectName::new("", "a");
            outputs.change((0, 0), &operator.controllers[0], name, Some(object.clone()));
            outputs.write(&store, &operator, &problem_log);
        };
        put(&mut outputs);
        let position = store.version().0;
        let other = json!({"apiVersion": "x.view.dcontroller.io/v1alpha1", "kind": "W", "metadata": {"name": "b"}});
        let elsewhere = GroupKind::new("x.view.dcontroller.io", "W");
        store
            .write(&Caller::user("alice"), &elsewhere, &Write::Create(other))
            .unwrap();
        // As it is already: no watch hears of it.
        put(&mut outputs);
        assert_eq!(outputs.version(&view), position);
    }
}
