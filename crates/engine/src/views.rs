//! The views of an Operator: the objects that its controllers derive for them, and writing these
//! to the store.

mod cycle;
mod stage;
mod stale;
pub(super) mod write;

use std::collections::BTreeMap;

use document::Value;
use object::{GroupKind, KindRef, ObjectKey, ObjectName};
use operator::spec::{Source, SourceKind, Target, TargetType};
use operator::{Controller, Operator};
pub(super) use stale::Stale;
use store::{Basis, Caller, Change, Preconditions, Store, Write, Written};
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::stage::StagedWrites;
pub(super) use self::write::RefusedWrite;
use self::write::{Memories, Outcome, ViewObject};
use super::availability::{Producer, Views};
use super::echoes::Echoes;
use super::snapshot::Asked;

pub(super) fn collection(resource: &KindRef) -> GroupKind {
    GroupKind::new(&resource.group, &resource.kind)
}

/// The view that a source reads. A `OneShot` source reads none: its object is only a trigger.
pub(super) fn view_of(source: &Source) -> Option<GroupKind> {
    let reads = source.resource.is_view() && source.kind != SourceKind::OneShot;
    reads.then(|| collection(&source.resource))
}

/// The views that an Operator writes.
#[derive(Debug)]
pub(super) struct Outputs {
    operator: String,
    views: BTreeMap<GroupKind, View>,
    /// Publishes the completeness of the views.
    producer: Producer,
    memories: Memories,
    /// The writes that reach the store at the end of the batch.
    staged: StagedWrites,
    /// Records what is written, to find cycles.
    echoes: Echoes,
    /// The depth of the current step; 0 if not only writes of this process caused it.
    pub(super) depth: u32,
    /// How many rounds of the batch are over.
    pub(super) round: usize,
    /// The objects that are held because of a cycle.
    cycles: Cycles,
}

/// Held objects, each with its controller and the end of the hold.
type Cycles = BTreeMap<ObjectKey, (usize, Instant)>;

/// The positions of a controller and of one of its targets.
type At = (usize, usize);

#[derive(Debug, Default)]
struct View {
    /// The controllers that write to it.
    producers: Vec<usize>,
    /// Whether one of them creates objects, and not only patches those of users.
    yielded: bool,
    /// The document that each target derives for an object, by name and target. `None` means that
    /// the target no longer derives it; the entry is dropped when the object is written.
    derived: BTreeMap<ObjectName, BTreeMap<At, Option<Value>>>,
    /// The names of the objects to be written.
    changed: Vec<ObjectName>,
    /// The objects that finalizers keep although they are deleted, with their controllers. They
    /// are written again, if they are derived, when they are gone.
    terminating: BTreeMap<ObjectName, usize>,
    /// How many writes in a row had a depth above 0, if any. A deletion ends them.
    streaks: BTreeMap<ObjectName, u32>,
    /// The version of our last change of the view.
    version: u64,
}

impl Outputs {
    pub(super) fn new(shared: &Views, operator: &Operator, echoes: &Echoes) -> Self {
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
            producer: shared.start(
                &operator.name,
                views.keys().cloned(),
                operator::view_shapes(operator),
            ),
            views,
            memories: shared.memories().clone(),
            staged: StagedWrites::new(),
            echoes: echoes.clone(),
            depth: 0,
            round: 0,
            cycles: Cycles::new(),
        }
    }

    /// Who asks for the objects of the engine.
    pub(super) fn take_asked(&mut self) -> Option<mpsc::UnboundedReceiver<Asked>> {
        self.producer.take_asked()
    }

    /// The views.
    pub(super) fn collections(&self) -> impl ExactSizeIterator<Item = &GroupKind> {
        self.views.keys()
    }

    /// Others have changed an object: what is derived for it has to be written again.
    pub(super) fn repair(&mut self, collection: &GroupKind, name: &ObjectName) {
        let held = self.is_held(collection, name);
        if let Some(view) = self.views.get_mut(collection)
            && (view.derived.contains_key(name) || view.terminating.contains_key(name))
            && !held
        {
            view.changed.push(name.clone());
        }
    }

    /// The number of objects of a controller that finalizers keep although they are deleted: those
    /// that are derived again, and those that are not.
    pub(super) fn terminating(&self, controller: usize) -> (usize, usize) {
        let (mut again, mut leaving) = (0, 0);
        for view in self.views.values() {
            let own = view.terminating.iter().filter(|(_, of)| **of == controller);
            for (name, _) in own {
                match view.derived.get(name) {
                    Some(_) => again += 1,
                    None => leaving += 1,
                }
            }
        }
        (again, leaving)
    }

    /// The controllers that write to a view.
    pub(super) fn producers(&self, collection: &GroupKind) -> &[usize] {
        let view = self.views.get(collection);
        view.map(|view| view.producers.as_slice())
            .unwrap_or_default()
    }

    /// Whether a controller creates objects of a view.
    pub(super) fn yields(&self, collection: &GroupKind) -> bool {
        self.views.get(collection).is_some_and(|view| view.yielded)
    }

    /// The version of our last change of a view.
    pub(super) fn version(&self, collection: &GroupKind) -> u64 {
        self.views.get(collection).map_or(0, |view| view.version)
    }

    /// Records the document that a target derives for an object of a view; `None` if it derives
    /// none any more.
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
        if object.is_some() && derived.get(&at) == Some(&object) {
            // Only the origin of the object is another one.
            return;
        }
        derived.insert(at, object);
        if !self.cycle(at.0, resource, &name) {
            let view = self.views.entry(collection(resource)).or_default();
            view.changed.push(name);
        }
    }

    /// Publishes whether the views are complete.
    pub(super) fn publish(
        &self,
        over_budget: bool,
        mut basis: impl FnMut(&GroupKind) -> Option<Basis>,
    ) {
        let views = self.views.keys();
        self.producer
            .publish(over_budget, views.map(|view| (view, basis(view))));
    }

    /// Makes the views unavailable, then removes all objects and patches of this Operator.
    pub(super) fn clear(&mut self, store: &Store, operator: &Operator) {
        self.staged.clear();
        self.producer.down("the Operator is being deleted");
        take_out(store, &self.operator, |_, _| true);
        for (object, patchers) in self.memories.patched(&operator.name) {
            let object = ViewObject::new(store, operator, &self.memories, &object.key);
            // This fails if somebody else keeps changing the object. Then the patch stays.
            let _ = object.write(None, &patchers);
        }
    }
}

/// Removes objects that the controllers of an Operator have written to views, if `goes` returns
/// true for them.
pub(crate) fn take_out(
    store: &Store,
    operator: &str,
    goes: impl Fn(&GroupKind, &ObjectName) -> bool,
) {
    for yielded in store.yielded(operator) {
        if goes(&yielded.collection, &yielded.key) {
            let caller = Caller::controller(operator, &yielded.controller);
            let delete = Write::Delete(yielded.key, Preconditions::default());
            // This fails if the object is gone already.
            let _ = store.write(&caller, &yielded.collection, &delete);
        }
    }
}

impl View {
    /// Records the result of a write, and calls `report` with the controller and, if the write was
    /// refused, the reason. `terminates` says whether finalizers keep the object.
    fn note(
        &mut self,
        name: &ObjectName,
        result: Result<Outcome, store::Error>,
        terminates: bool,
        report: impl FnOnce(usize, Option<RefusedWrite>),
    ) {
        let first = || {
            let derived = self.derived.get(name)?;
            derived.keys().next().map(|at| at.0)
        };
        let failed = result.is_err();
        let (controller, written, refused) = match result {
            Ok(outcome) => {
                let (loser, refused) = outcome.conflict.unzip();
                (loser.or(outcome.controller), outcome.written, refused)
            }
            Err(error) => {
                let refused = RefusedWrite::new("conflict", error.to_string());
                (None, None, Some(refused))
            }
        };
        let controller = controller.or_else(first).unwrap_or(self.producers[0]);
        if terminates {
            self.terminating.insert(name.clone(), controller);
        } else {
            self.terminating.remove(name);
        }
        self.version = self.version.max(written.as_ref().map_or(0, version));
        if !failed && let Some(derived) = self.derived.get_mut(name) {
            derived.retain(|_, document| document.is_some());
            if derived.is_empty() {
                self.derived.remove(name);
            }
        }
        if refused.is_some() {
            // Tried again with the next change.
            self.changed.push(name.clone());
        }
        report(controller, refused);
    }
}

fn target(operator: &Operator, at: At) -> &Target {
    &operator.controllers[at.0].targets[at.1]
}

/// The version of the change that a write made; 0 if it changed nothing. It must not be the version
/// of the whole store, which other views increase: no watch of this view would reach it.
fn version(written: &Written) -> u64 {
    match written.change {
        Change::Unchanged => 0,
        Change::Created | Change::Updated | Change::Deleted => version_of(&written.object),
    }
}

/// The version of an object of the store; 0 if it has none.
pub(super) fn version_of(object: &Value) -> u64 {
    let version = object.get("metadata").get("resourceVersion");
    let version = version.as_str().and_then(|text| text.parse().ok());
    version.unwrap_or(0)
}

/// The version that a write made; `""` if it removed the object, `None` if it changed nothing.
fn version_text(written: &Written) -> Option<String> {
    match written.change {
        Change::Unchanged => None,
        Change::Deleted => Some(String::new()),
        Change::Created | Change::Updated => {
            let version = written.object.get("metadata").get("resourceVersion");
            version.as_str().map(str::to_owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use document::json;
    use metrics::Metrics;

    use super::*;
    use crate::EngineEvents;
    use crate::causes::Causes;
    use crate::masks::Masks;
    use crate::measures::Measures;
    use crate::own_views::OwnViews;
    use crate::problem_log::ProblemLog;
    use crate::status::ReportedError;

    struct Quiet;

    impl EngineEvents for Quiet {
        fn adopted(&self, _kind: &GroupKind, _name: Option<&ObjectName>, _controller: &str) {}
        fn reported(&self, _controller: &str, _error: &ReportedError) {}
    }

    #[tokio::test]
    async fn the_version_of_a_view_is_that_of_its_last_change() {
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
            "spec": {"controllers": [{
                "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
                "pipeline": [{"@select": true}], "target": {"kind": "V"}
            }]}
        });
        let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
        let operator = Arc::new(operator.unwrap_or_else(|| panic!("{problems:?}")));
        let store = Store::new(crate::clock::System, store::Config::default());
        let views = Views::new(&store);
        let measures = Measures::new(&Metrics::default(), &operator);
        let masks = Arc::new(Masks::new(&operator, &views));
        let problem_log = ProblemLog::new(Arc::new(Quiet), Arc::default(), measures, masks);
        let view = GroupKind::new("o.view.dcontroller.io", "V");
        let mut outputs = Outputs::new(&views, &operator, &Echoes::default());
        let object = json!({"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "V", "metadata": {"name": "a"}});
        let causes = Causes::default();
        let mut own = OwnViews::start(&operator, &store, &Arc::default());
        let mut put = |outputs: &mut Outputs| {
            let name = ObjectName::new("", "a");
            outputs.change((0, 0), &operator.controllers[0], name, Some(object.clone()));
            outputs.stage(&store, &operator, &mut own, &causes, || false);
            outputs.commit(&store, &operator, &mut own, &causes, &problem_log);
        };
        put(&mut outputs);
        let position = store.version().0;
        let other = json!({"apiVersion": "x.view.dcontroller.io/v1alpha1", "kind": "W", "metadata": {"name": "b"}});
        let elsewhere = GroupKind::new("x.view.dcontroller.io", "W");
        store
            .write(&Caller::user("alice"), &elsewhere, &Write::Create(other))
            .unwrap();
        // The object is the same, so that no watch gets an event.
        put(&mut outputs);
        assert_eq!(outputs.version(&view), position);
    }
}
