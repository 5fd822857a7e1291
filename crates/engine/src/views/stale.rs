//! Stale objects and patches: an earlier generation of the Operator wrote them to views, and this
//! one does not derive them.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use object::{KindRef, ObjectKey, ObjectName};
use operator::Operator;
use operator::spec::TargetType;
use store::Store;

use super::super::causes::Causes;
use super::write::{WrittenObject, controller_of, writer_name};
use super::{At, Outputs, collection, target};
use crate::own_views::OwnViews;

/// An object or a patch that an earlier generation left in a view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stale {
    /// The controller that wrote it.
    pub(crate) controller: String,
    pub(crate) key: ObjectKey,
    /// The Patcher, if this is a patch on an object that stays.
    pub(crate) patcher: Option<String>,
}

impl Outputs {
    /// All stale objects and patches.
    pub(crate) fn stale(&self, store: &Store, operator: &Operator) -> Vec<Stale> {
        let derived = |key: &ObjectKey| {
            let view = self.views.get(&key.kind);
            view.and_then(|view| view.derived.get(&key.name))
        };
        let yielded = store.yielded(&self.operator).into_iter();
        let objects = yielded.map(|yielded| Stale {
            controller: yielded.controller,
            key: ObjectKey {
                kind: yielded.collection,
                name: yielded.key,
            },
            patcher: None,
        });
        let objects = objects.filter(|stale| !yields(operator, derived(&stale.key)));
        let mut objects: Vec<Stale> = objects.collect();
        let gone: BTreeSet<&ObjectKey> = objects.iter().map(|stale| &stale.key).collect();
        let patched = self.memories.patched(&self.operator).into_iter();
        let patched = patched.filter(|(object, _)| !gone.contains(&object.key));
        let patches = patched.flat_map(|(object, mut patchers)| {
            let writers = derived(&object.key).into_iter().flatten();
            let writers = writers.map(|(at, _)| writer_name(operator, *at));
            let writers: Vec<String> = writers.collect();
            patchers.retain(|by| !writers.contains(by));
            Stale::patches(object, patchers)
        });
        let patches: Vec<Stale> = patches.collect();
        objects.extend(patches);
        objects
    }

    /// How many objects and patches each controller of an earlier generation left.
    pub(crate) fn held_before(&self, store: &Store) -> BTreeMap<String, usize> {
        let yielded = store.yielded(&self.operator).into_iter();
        let objects = yielded.map(|yielded| yielded.controller);
        let patched = self.memories.patched(&self.operator).into_iter();
        let patches = patched.flat_map(|(object, patchers)| Stale::patches(object, patchers));
        let patches = patches.map(|stale| stale.controller);
        let mut counts = BTreeMap::new();
        for controller in objects.chain(patches) {
            *counts.entry(controller).or_default() += 1;
        }
        counts
    }

    /// Removes a stale object or patch.
    pub(crate) fn remove_stale(
        &mut self,
        store: &Store,
        operator: &Operator,
        own: &mut OwnViews,
        causes: &Causes,
        stale: &Stale,
    ) {
        causes.begin(&self.operator, &stale.key.kind);
        let key = stale.key.clone();
        self.decide(store, operator, key, own, causes, |leftover| {
            match &stale.patcher {
                None => leftover.whole = true,
                Some(by) => leftover.patchers.push(by.clone()),
            }
        });
    }

    /// Whether an object or a patch is removed from a view when a target no longer derives it.
    pub(crate) fn removes(&self, operator: &Operator, at: At, name: &ObjectName) -> bool {
        let own = target(operator, at);
        let view = self.views.get(&collection(&own.resource));
        let derived = view.and_then(|view| view.derived.get(name));
        let others = derived.into_iter().flatten();
        let others = others.filter(|(_, document)| document.is_some());
        let mut others = others.map(|(other, _)| *other);
        let whole = |other: At| target(operator, other).kind != TargetType::Patcher;
        own.kind == TargetType::Patcher || !others.any(|other| other != at && whole(other))
    }

    /// From now on, changes of these views count for `maxDeletions`.
    pub(crate) fn begin<'a>(
        &self,
        causes: &Causes,
        targets: impl IntoIterator<Item = &'a KindRef>,
    ) {
        for resource in targets.into_iter().filter(|resource| resource.is_view()) {
            causes.begin(&self.operator, &collection(resource));
        }
    }

    /// From now on, changes of a view no longer count for `maxDeletions` if none of its controllers
    /// `counts`: single events cause them.
    pub(crate) fn end(&self, causes: &Causes, counts: impl Fn(usize) -> bool) {
        for (collection, view) in &self.views {
            if !view.producers.iter().any(|number| counts(*number)) {
                causes.end(collection, view.version);
            }
        }
    }
}

/// Whether a target creates the object. A Patcher does not: an object that only Patchers derive is
/// removed.
pub(super) fn yields(operator: &Operator, derived: Option<&BTreeMap<At, Option<Value>>>) -> bool {
    let mut derived = derived.into_iter().flatten();
    derived.any(|(at, document)| {
        document.is_some() && target(operator, *at).kind != TargetType::Patcher
    })
}

impl Stale {
    fn patches(object: WrittenObject, patchers: Vec<String>) -> impl Iterator<Item = Self> {
        patchers.into_iter().map(move |by| Self {
            controller: controller_of(&by).to_owned(),
            key: object.key.clone(),
            patcher: Some(by),
        })
    }
}
