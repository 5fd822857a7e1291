//! The views of an Operator that its own controllers read or patch.
//!
//! What a controller derives for such a view enters the controllers that read it inside the batch.
//! The store gets it at the end of the batch, so that nobody sees a state in between:
//!
//! ```text
//! batch   Pod a ─▶ controller 1 ─▶ V a ─▶ controller 2 ─▶ W a ─▶ controller 3 (reads V and W)
//! store                                                           V a, W a
//! ```
//!
//! Users and reconcilers change objects of these views, too. A watch collects the names of
//! the objects that they change, and the next batch reads these from the store. (Its
//! other views are watched, too, once a write there was refused.) An object whose version is the
//! one that the Operator wrote is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use dataflow::SourceEvent;
use dataflow::fields::Kept;
use document::Value;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::Operator;
use operator::spec::TargetType;
use store::{Event, Expired, Selector, Start, Store, Watch};
use target::batch::Memory;
use target::in_place::Own;

use super::views::write::controller_of;
use super::views::{collection, version_of, view_of};
use crate::guard::Boundary;
use crate::inbox::{Admission, Admittance, EchoedObjects, Inbox, Port};
use crate::view_source::{ViewSubscription, operator_of};

/// The views of an Operator that its own controllers read or patch.
#[derive(Debug)]
pub(super) struct OwnViews {
    inputs: Vec<OwnInput>,
    /// The version of each object that the inputs have received.
    known: BTreeMap<GroupKind, BTreeMap<ObjectName, u64>>,
    changes: Arc<Mutex<ViewChanges>>,
    /// The events that wait for each controller.
    waiting: Vec<Waiting>,
    watches: Vec<ViewSubscription>,
    /// Views without a watch in which a write was refused.
    refused: BTreeSet<GroupKind>,
}

/// An input of a controller that reads a view of the same Operator.
#[derive(Debug)]
struct OwnInput {
    view: GroupKind,
    port: Port,
    admission: Admission,
    /// Whose patches are taken back, if the controller patches the view itself.
    own: Option<Own>,
}

/// What has changed in views since the last batch.
#[derive(Debug, Default)]
struct ViewChanges {
    /// The views to be listed, because a watch has started.
    lists: BTreeSet<GroupKind>,
    /// The objects that have changed, with the version of the change.
    objects: BTreeMap<ObjectKey, u64>,
}

/// The events that wait for a controller.
#[derive(Debug, Default)]
struct Waiting {
    /// The last state of each object, by input and name.
    events: BTreeMap<(usize, ObjectName), Option<Kept>>,
    /// The depths of the steps of this batch that the events come from: they cause steps of the
    /// same depth, because a batch is one turn of a cycle.
    echoes: EchoedObjects,
    bulk: bool,
}

/// A batch of events for a controller.
#[derive(Debug, Default)]
pub(super) struct ViewBatch {
    pub(super) events: Vec<SourceEvent>,
    /// The depths of steps that only these events cause.
    pub(super) echoes: EchoedObjects,
    /// Whether a list, a re-list or an edit caused an event.
    pub(super) bulk: bool,
}

/// A state of an object that the inputs receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entering<'a> {
    pub(super) key: &'a ObjectKey,
    /// `None` if the object is gone.
    pub(super) object: Option<&'a Value>,
    /// The values that the Operator's controllers have set on it.
    pub(super) memory: &'a Memory,
    /// The depth of the step that wrote it; `None` if others wrote it.
    pub(super) depth: Option<u32>,
    /// Whether a list, a re-list or an edit caused it.
    pub(super) bulk: bool,
    /// Whether it is part of a list, so that no predicate applies.
    pub(super) listed: bool,
}

/// Objects that others have changed, or that a list contains.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) key: ObjectKey,
    /// `None` if the object is gone.
    pub(super) object: Option<Value>,
    /// The version of the change; `None` for a list.
    pub(super) version: Option<u64>,
}

impl OwnViews {
    /// Watches the views. The first batch lists them.
    pub(super) fn start(operator: &Operator, store: &Store, inbox: &Arc<Inbox>) -> Self {
        let inputs = inputs(operator);
        for input in &inputs {
            inbox.set(input.port, |state| state.listed = true);
        }
        let targets = operator.controllers.iter().flat_map(|c| &c.targets);
        let patched = targets
            .filter(|target| target.resource.is_view() && target.kind != TargetType::Updater)
            .map(|target| collection(&target.resource));
        let views = inputs.iter().map(|input| input.view.clone());
        let views: BTreeSet<GroupKind> = views.chain(patched).collect();
        let changes: Arc<Mutex<ViewChanges>> = Arc::default();
        let watches = views.iter();
        let watches = watches.map(|view| watch(store, view, &changes, inbox));
        Self {
            watches: watches.collect(),
            known: views.into_iter().map(|v| (v, BTreeMap::new())).collect(),
            waiting: operator
                .controllers
                .iter()
                .map(|_| Waiting::default())
                .collect(),
            inputs,
            changes,
            refused: BTreeSet::new(),
        }
    }

    /// A write to this view was refused: its object belongs to a user, or is being deleted.
    pub(super) fn refused(&mut self, view: &GroupKind) {
        if !self.known.contains_key(view) {
            self.refused.insert(view.clone());
        }
    }

    /// Watches the views in which a write was refused, so that it is tried again when the object
    /// changes.
    pub(super) fn follow_refused(&mut self, store: &Store, inbox: &Arc<Inbox>) {
        for view in mem::take(&mut self.refused) {
            let watch = watch(store, &view, &self.changes, inbox);
            self.watches.push(watch);
            self.known.insert(view, BTreeMap::new());
            inbox.poke();
        }
    }

    /// Ends the watches.
    pub(super) fn clear(&mut self) {
        self.watches.clear();
    }

    /// The objects that others have changed since the last call.
    pub(super) fn arrived(&mut self, store: &Store) -> Vec<Arrived> {
        let changes = self.changes.lock();
        let changes = mem::take(&mut *changes.unwrap_or_else(PoisonError::into_inner));
        let mut arrived = Vec::new();
        for view in changes.lists {
            let listed = store.list(&view, &Selector::default()).items;
            let listed = listed.into_iter();
            let listed = listed.filter_map(|object| Some((ObjectName::of(&object)?, object)));
            let listed: BTreeMap<ObjectName, Value> = listed.collect();
            // A list of the store is complete at once, so the names are compared directly.
            let gone = self.known.get(&view).into_iter().flat_map(BTreeMap::keys);
            let gone = gone.filter(|name| !listed.contains_key(*name));
            let gone: Vec<ObjectName> = gone.cloned().collect();
            let gone = gone.into_iter().map(|name| (name, None));
            let listed = listed.into_iter();
            for (name, object) in gone.chain(listed.map(|(name, object)| (name, Some(object)))) {
                let kind = view.clone();
                arrived.extend(self.news(ObjectKey { kind, name }, object, None));
            }
        }
        for (key, version) in changes.objects {
            let object = store.get(&key.kind, &key.name);
            arrived.extend(self.news(key, object, Some(version)));
        }
        arrived
    }

    /// An object, unless the inputs have this version of it.
    fn news(
        &mut self,
        key: ObjectKey,
        object: Option<Value>,
        version: Option<u64>,
    ) -> Option<Arrived> {
        let current = object.as_ref().map_or(0, version_of);
        let known = self.known.get(&key.kind);
        let known = known.and_then(|known| known.get(&key.name));
        if known.copied().unwrap_or_default() == current {
            return None;
        }
        self.wrote(&key.kind, &key.name, current);
        Some(Arrived {
            key,
            object,
            version,
        })
    }

    /// The inputs have received this version of an object; 0 if it is gone.
    pub(super) fn wrote(&mut self, view: &GroupKind, name: &ObjectName, version: u64) {
        let Some(known) = self.known.get_mut(view) else {
            return;
        };
        if version == 0 {
            known.remove(name);
        } else {
            known.insert(name.clone(), version);
        }
    }

    /// What the inputs have received of an object is not in the store: the next batch reads it.
    pub(super) fn doubt(&mut self, view: &GroupKind, name: &ObjectName) {
        if self.known.contains_key(view) {
            self.wrote(view, name, u64::MAX);
            let changes = self.changes.lock();
            let mut changes = changes.unwrap_or_else(PoisonError::into_inner);
            let key = ObjectKey {
                kind: view.clone(),
                name: name.clone(),
            };
            changes.objects.entry(key).or_insert(u64::MAX);
        }
    }

    /// Adds a state of an object to the events of the controllers that read its view.
    pub(super) fn enter(&mut self, entering: &Entering<'_>) {
        let Entering { key, object, .. } = *entering;
        let name = &key.name;
        for input in self.inputs.iter().filter(|input| input.view == key.kind) {
            let own = |writer: &str| {
                let own = input.own.as_ref();
                own.is_some_and(|own| own.has(controller_of(writer)))
            };
            let object = object.map(|object| entering.memory.without(object, own));
            let admitted = match &object {
                Some(object) => input.admission.decide_stored(name, object, entering.listed),
                None => {
                    input.admission.forget(name);
                    Admittance::Enters(None)
                }
            };
            let Admittance::Enters(kept) = admitted else {
                continue;
            };
            let (number, position) = input.port;
            let waiting = &mut self.waiting[number];
            let place = (input.port, name.clone());
            match entering.depth {
                Some(depth) => drop(waiting.echoes.insert(place, depth)),
                None => drop(waiting.echoes.remove(&place)),
            }
            waiting.events.insert((position, name.clone()), kept);
            waiting.bulk |= entering.bulk;
        }
    }

    /// Whether events wait for a controller.
    pub(super) fn waits(&self, number: usize) -> bool {
        !self.waiting[number].events.is_empty()
    }

    /// Whether events wait for any controller.
    pub(super) fn any_waits(&self) -> bool {
        (0..self.waiting.len()).any(|number| self.waits(number))
    }

    /// Takes the events that wait for a controller.
    pub(super) fn take(&mut self, number: usize) -> ViewBatch {
        let Waiting {
            events,
            echoes,
            bulk,
        } = mem::take(&mut self.waiting[number]);
        let events = events
            .into_iter()
            .map(|((source, name), object)| SourceEvent {
                source,
                name,
                object,
            });
        ViewBatch {
            events: events.collect(),
            echoes,
            bulk,
        }
    }
}

/// The inputs that read views of their own Operator.
fn inputs(operator: &Operator) -> Vec<OwnInput> {
    let mut all = Vec::new();
    for (number, controller) in operator.controllers.iter().enumerate() {
        let inputs = controller.inputs.iter().zip(controller.keeps());
        for (input, (source, keep)) in inputs.enumerate() {
            let source = &controller.sources[*source];
            let view = view_of(source).filter(|view| operator_of(view) == operator.name);
            let Some(view) = view else {
                continue;
            };
            let own = controller.patches_input(input);
            all.push(OwnInput {
                view,
                port: (number, input),
                admission: Admission::new(source.clone(), keep),
                own: own.then(|| Own::new(operator, &controller.name)),
            });
        }
    }
    all
}

/// Watches a view, and collects what changes in it.
fn watch(
    store: &Store,
    view: &GroupKind,
    changes: &Arc<Mutex<ViewChanges>>,
    inbox: &Arc<Inbox>,
) -> ViewSubscription {
    let mut watch = begin(store, view, changes);
    let (store, view) = (store.clone(), view.clone());
    let (changes, inbox) = (changes.clone(), inbox.clone());
    let guard = inbox.guard().clone();
    let passed = guard.clone();
    let task = guard.spawn(Boundary::View, async move {
        passed.pass(Boundary::View);
        loop {
            let event = match &mut watch {
                Ok(watch) => watch.next().await,
                Err(expired) => Err(*expired),
            };
            match event {
                Ok(Event::Bookmark { .. }) => continue,
                Ok(Event::Added(object) | Event::Modified(object) | Event::Deleted(object)) => {
                    if let Some(name) = ObjectName::of(&object) {
                        let kind = view.clone();
                        let changes = changes.lock();
                        let mut changes = changes.unwrap_or_else(PoisonError::into_inner);
                        let version = version_of(&object);
                        changes.objects.insert(ObjectKey { kind, name }, version);
                    }
                }
                Err(_) => {
                    tokio::task::yield_now().await;
                    watch = begin(&store, &view, &changes);
                }
            }
            inbox.poke();
        }
    });
    ViewSubscription::new(&task)
}

/// Starts a watch. The next batch lists the view, so that no change is missed.
fn begin(store: &Store, view: &GroupKind, changes: &Mutex<ViewChanges>) -> Result<Watch, Expired> {
    let watch = store.watch(view, Selector::default(), Start::After(store.version()));
    let changes = changes.lock();
    let mut changes = changes.unwrap_or_else(PoisonError::into_inner);
    changes.lists.insert(view.clone());
    watch
}
