//! The state of a [`Writer`](super::Writer): the objects that are wanted or have marks, their
//! kinds, and the progress of the target watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::object::Unreadable;
use document::Value;
use object::relist::{Lists, Shown};
use object::{GroupKind, ObjectKey, ObjectName, OperatorId};
use target::TargetKind;
use target::desired::{Desired, Wanted};
use target::live::{Leftover, Live, Observed, is_marked, leftovers};
use target::problem::Cause;

use super::awaited::Awaited;
use super::entry::{TargetEntry, WaitsFor};
use super::holdings::Unjudged;
use super::places::Scopes;
use super::standing::Standings;

/// The state of all objects and kinds.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Boxed to save memory, because the nodes of the map have free slots.
    pub(super) entries: BTreeMap<ObjectKey, Box<TargetEntry>>,
    kinds: BTreeMap<GroupKind, Arc<TargetKind>>,
    /// Why kinds are not among `kinds`, as far as that is known.
    unknown: BTreeMap<GroupKind, Cause>,
    /// The only namespace whose objects are written; `None` for all objects.
    pub(super) boundary: Option<Arc<str>>,
    pub(super) scopes: Scopes,
    /// The lists of each kind's target watch.
    lists: BTreeMap<GroupKind, Lists>,
    /// How many objects are not as derived.
    pub(super) standings: Standings,
    /// The objects that are held because of a cycle.
    pub(super) cycles: BTreeSet<ObjectKey>,
    /// The objects whose entries were removed together with problems that are still reported. A run
    /// that is under way clears these.
    pub(super) uncleared: BTreeSet<ObjectKey>,
    /// The kinds that the cluster does not serve in any version: they have no objects.
    pub(super) gone: BTreeSet<GroupKind>,
    /// The objects with a claim of an Operator of the same name that existed before.
    pub(super) orphans: BTreeSet<ObjectKey>,
    /// The objects that the engine waits for.
    pub(super) awaited: Awaited,
    /// The objects that the last search for leftovers could not judge.
    pub(super) unjudged: Unjudged,
    /// Whether namespaces cannot be watched.
    pub(super) namespaces_unwatched: bool,
    /// How many objects each controller had written when the first list of their kind completed;
    /// `None` if nobody needs the counts.
    pub(super) held_before: Option<BTreeMap<String, usize>>,
}

impl State {
    pub(super) fn get(&mut self, key: &ObjectKey) -> Option<&mut TargetEntry> {
        self.entries.get_mut(key).map(Box::as_mut)
    }

    pub(super) fn kind(&self, key: &ObjectKey) -> Option<Arc<TargetKind>> {
        self.kinds.get(&key.kind).cloned()
    }

    pub(super) fn serve(&mut self, kind: TargetKind) -> Vec<ObjectKey> {
        let name = kind.kind.clone();
        self.scopes.served(&kind);
        let news = self.kinds.get(&name).is_none_or(|old| **old != kind);
        self.kinds.insert(name.clone(), Arc::new(kind));
        self.unknown.remove(&name);
        self.gone.remove(&name);
        self.of_kind(&name)
            .filter_map(|(key, entry)| {
                let waited = entry.stop_waiting(WaitsFor::Kind);
                if news && let Some(contention) = &mut entry.contention {
                    // The server may accept with the new kind what it refused with the old one.
                    contention.refused = None;
                }
                (news || waited).then(|| key.clone())
            })
            .collect()
    }

    pub(super) fn unserve(&mut self, kind: &GroupKind, gone: bool) -> Vec<ObjectKey> {
        self.stop_writing(kind);
        self.scopes.not_served(kind);
        self.unknown.insert(kind.clone(), Cause::NoKind);
        if let Some(lists) = self.lists.get_mut(kind) {
            lists.reset();
        }
        if !gone {
            return Vec::new();
        }
        self.gone.insert(kind.clone());
        self.orphans.retain(|key| key.kind != *kind);
        let mut unwanted = Vec::new();
        for (key, entry) in self.of_kind(kind) {
            entry.lose(Live::Unknown);
            if entry.wanted.writers().next().is_none() {
                unwanted.push(key.clone());
            }
        }
        for key in &unwanted {
            self.remove(key);
        }
        unwanted
    }

    pub(super) fn cannot_look_up(&mut self, kind: GroupKind, why: &str) {
        if !self.kinds.contains_key(&kind) {
            let cause = Cause::Unavailable(why.to_owned());
            self.unknown.insert(kind, cause);
        }
    }

    /// Stops writing the objects of a kind.
    pub(super) fn stop_writing(&mut self, kind: &GroupKind) {
        self.kinds.remove(kind);
    }

    /// Whether it is known why a kind is not among the kinds.
    pub(super) fn is_unknown(&self, kind: &GroupKind) -> bool {
        self.unknown.contains_key(kind)
    }

    /// Why objects of a kind cannot be written, if it is not among the kinds.
    pub(super) fn unknown(&self, kind: &GroupKind) -> Cause {
        let known = self.unknown.get(kind).cloned();
        known.unwrap_or_else(|| Cause::Unavailable(format!("looking for the kind {}", kind.kind)))
    }

    pub(super) fn namespace_changed(&mut self, namespace: &str) -> Vec<ObjectKey> {
        let here = self.entries.iter_mut();
        let here = here.filter(|(key, _)| key.namespace() == namespace);
        let waiting = here.filter_map(|(key, entry)| {
            let waited = entry.stop_waiting(WaitsFor::Namespace);
            waited.then(|| key.clone())
        });
        waiting.collect()
    }

    pub(super) fn awaited_namespaces(&self) -> BTreeSet<String> {
        let awaited = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.awaits(WaitsFor::Namespace));
        awaited.map(|(key, _)| key.namespace().to_owned()).collect()
    }

    pub(super) fn watches_namespaces(&mut self, watched: bool) -> Vec<ObjectKey> {
        if self.namespaces_unwatched != watched {
            return Vec::new();
        }
        self.namespaces_unwatched = !watched;
        let awaited = self.awaited_namespaces();
        let awaited = awaited.iter();
        awaited
            .flat_map(|namespace| self.namespace_changed(namespace))
            .collect()
    }

    fn of_kind<'a>(
        &'a mut self,
        name: &'a GroupKind,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a mut TargetEntry)> {
        let first = ObjectKey {
            kind: name.clone(),
            name: ObjectName::new("", ""),
        };
        let from_first = self.entries.range_mut(first..);
        let of_kind = from_first.take_while(|(key, _)| key.kind == *name);
        of_kind.map(|(key, entry)| (key, entry.as_mut()))
    }

    pub(super) fn set(
        &mut self,
        key: &ObjectKey,
        controller: &str,
        desired: Option<Desired>,
    ) -> bool {
        let changed = self.set_desired(key, controller, desired);
        if changed {
            self.queued(key);
        }
        changed
    }

    fn set_desired(&mut self, key: &ObjectKey, controller: &str, desired: Option<Desired>) -> bool {
        let Some(desired) = desired else {
            let entry = self.entries.get_mut(key);
            let entry = entry.filter(|entry| !entry.is_held(controller));
            return entry.is_some_and(|entry| entry.change(|wanted| wanted.withdraw(controller)));
        };
        let synced = self.synced(&key.kind);
        let entry = self.entries.entry(key.clone()).or_insert_with(|| {
            Box::new(TargetEntry {
                live: if synced { Live::Unseen } else { Live::Unknown },
                ..TargetEntry::default()
            })
        });
        let held = entry.unhold(controller);
        entry.change(|wanted| wanted.want(desired)) || held
    }

    /// Withdraws what a controller has left on an object. If it still patches the object, only its
    /// claim is released.
    pub(super) fn withdraw(&mut self, key: &ObjectKey, controller: &str) -> bool {
        let entry = self.entries.get_mut(key);
        let patches = entry.filter(|entry| entry.wanted.is_wanted_by(controller));
        let Some(released) = patches.map(|entry| entry.change(|wanted| wanted.release(controller)))
        else {
            return self.set(key, controller, None);
        };
        if released {
            self.queued(key);
        }
        released
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.standings.leave(&entry.standing);
            if !entry.problems.is_empty() {
                self.uncleared.insert(key.clone());
            }
        }
    }

    pub(super) fn keys(&self, controller: Option<&str>) -> Vec<ObjectKey> {
        let wanted = self.entries.iter().filter(|(_, entry)| match controller {
            Some(controller) => entry.wanted.is_wanted_by(controller),
            None => !entry.wanted.is_empty(),
        });
        wanted.map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn observe(
        &mut self,
        key: ObjectKey,
        object: &Value,
        unreadable: Option<&Unreadable>,
        operator: &OperatorId,
    ) -> Option<ObjectKey> {
        self.awaited.deliver(&key);
        if self.outside(&key).is_some() {
            return None;
        }
        let lists = self.lists(&key.kind);
        if !self.entries.contains_key(&key) {
            if !is_marked(object, &key, operator) {
                return None;
            }
            self.entries.insert(key.clone(), Box::default());
        }
        let entry = self.entries.get_mut(&key)?;
        // Most events deliver the object that our own write returned.
        if matches!(&entry.live, Live::Present(known) if known.is_version_of(object)) {
            entry.shown = lists.now();
            return None;
        }
        let observed = match unreadable {
            Some(why) => Observed::unreadable(object, &operator.name, why),
            None => Observed::new(object, &operator.name),
        };
        // A list may show an older version if the cluster was restored from a backup.
        if lists.is_listing()
            && lists.missed(entry.shown)
            && matches!(&entry.live, Live::Present(known) if observed.is_older_than(known))
        {
            entry.doubt();
        }
        entry.shown = lists.now();
        entry.see(observed);
        let wanted = !entry.wanted.is_empty();
        self.note_orphan(&key, operator);
        if !wanted {
            return None;
        }
        self.queued(&key);
        Some(key)
    }

    pub(super) fn forget(
        &mut self,
        key: ObjectKey,
        object: &Value,
        operator: &OperatorId,
    ) -> Option<ObjectKey> {
        self.awaited.deliver(&key);
        let entry = self.entries.get_mut(&key)?;
        let gone = Observed::new(object, &operator.name);
        entry.overtake();
        match &entry.live {
            // A new object with the same name exists already.
            Live::Present(known) if gone.is_older_than(known) && gone.uid() != known.uid() => {
                return None;
            }
            // We have written it since. It is unknown whether the deletion came before that.
            Live::Present(known) if gone.is_older_than(known) => entry.doubt(),
            _ => {
                entry.deleted_by_others();
                entry.live = Live::Unseen;
            }
        }
        let unwanted = entry.wanted.is_empty();
        self.orphans.remove(&key);
        if unwanted {
            self.remove(&key);
            return None;
        }
        self.queued(&key);
        Some(key)
    }

    pub(super) fn listing(&mut self, kind: GroupKind) {
        self.lists.entry(kind).or_default().begin();
    }

    pub(super) fn listed(&mut self, kind: &GroupKind, operator: &OperatorId) -> Vec<ObjectKey> {
        if !self.synced(kind) {
            self.count_held_before(kind, operator);
        }
        self.awaited.deliver_all(kind);
        self.lists.entry(kind.clone()).or_default().complete();
        let lists = self.lists(kind);
        let mut gone = Vec::new();
        for (key, entry) in self.of_kind(kind) {
            let missed = lists.missed(entry.shown);
            if missed {
                entry.overtake();
            }
            match entry.live {
                Live::Present(_) if missed => {
                    entry.deleted_by_others();
                    entry.live = Live::Unseen;
                    gone.push(key.clone());
                }
                Live::Unknown if entry.shown == Shown::NEVER => entry.live = Live::Unseen,
                _ => {}
            }
        }
        for key in &gone {
            self.orphans.remove(key);
        }
        let unwanted = |key: &ObjectKey| {
            let entry = self.entries.get(key);
            entry.is_none_or(|entry| entry.wanted.is_empty())
        };
        let (over, gone): (Vec<_>, Vec<_>) = gone.into_iter().partition(unwanted);
        for key in over {
            self.remove(&key);
        }
        for key in &gone {
            self.queued(key);
        }
        gone
    }

    pub(super) fn synced(&self, kind: &GroupKind) -> bool {
        self.lists(kind).is_synced()
    }

    fn lists(&self, kind: &GroupKind) -> Lists {
        self.lists.get(kind).copied().unwrap_or_default()
    }

    /// An object was read or written. This is newer than a list that is under way, which then does
    /// not count for the object.
    pub(super) fn touch(&mut self, key: &ObjectKey, operator: &OperatorId) {
        let now = self.lists(&key.kind).now();
        if let Some(entry) = self.entries.get_mut(key) {
            entry.shown = now;
        }
        self.note_orphan(key, operator);
    }

    pub(super) fn marks(&self, key: &ObjectKey, operator: &OperatorId) -> Vec<Leftover> {
        match self.entries.get(key).map(|entry| &entry.live) {
            Some(Live::Present(observed)) => {
                leftovers(key, None, observed, &Wanted::default(), operator)
            }
            _ => Vec::new(),
        }
    }

    /// All leftovers, except those that are being removed or held.
    pub(super) fn leftovers(&self, operator: &OperatorId) -> Vec<Leftover> {
        let present = self.entries.iter().filter_map(|(key, entry)| {
            let Live::Present(observed) = &entry.live else {
                return None;
            };
            let kind = self.kind(key);
            let mut found = leftovers(key, kind.as_deref(), observed, &entry.wanted, operator);
            found.retain(|leftover| !entry.wanted.is_withdrawn(&leftover.controller));
            Some(found)
        });
        present.flatten().collect()
    }

    fn count_held_before(&mut self, name: &GroupKind, operator: &OperatorId) {
        let Some(mut counts) = self.held_before.take() else {
            return;
        };
        for (key, entry) in self.of_kind(name) {
            if let Live::Present(observed) = &entry.live {
                let all = leftovers(key, None, observed, &Wanted::default(), operator);
                for leftover in all {
                    *counts.entry(leftover.controller).or_default() += 1;
                }
            }
        }
        self.held_before = Some(counts);
    }

    /// Whether an object is deleted or a patch undone when a controller no longer wants it.
    pub(super) fn removes(&self, key: &ObjectKey, controller: &str, operator: &OperatorId) -> bool {
        let Some(entry) = self.entries.get(key) else {
            return false;
        };
        if self.outside(key).is_some() {
            return false;
        }
        let observed = match &entry.live {
            _ if entry.wanted.is_layer(controller) => return true,
            Live::Unknown => return true,
            Live::Unseen | Live::Absent => return false,
            Live::Present(observed) => observed,
        };
        let mut wanted = entry.wanted.clone();
        wanted.withdraw(controller);
        let kind = self.kind(key);
        let mut left = leftovers(key, kind.as_deref(), observed, &wanted, operator).into_iter();
        left.any(|leftover| leftover.removes && leftover.controller == controller)
    }

    pub(super) fn hold(&mut self, key: &ObjectKey, controller: &str) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.hold(controller);
        }
    }

    pub(super) fn held(&self, controller: &str) -> usize {
        let entries = self.entries.values();
        entries.filter(|entry| entry.is_held(controller)).count()
    }

    pub(super) fn release(&mut self) -> Vec<ObjectKey> {
        let mut released = Vec::new();
        for (key, entry) in &mut self.entries {
            let contention = entry.contention.as_mut();
            let held = contention.map(|contention| std::mem::take(&mut contention.held));
            for controller in held.into_iter().flatten() {
                entry.change(|wanted| wanted.withdraw(&controller));
                released.push(key.clone());
            }
        }
        released.dedup();
        released
    }

    /// Drops the entry of an object that is neither wanted nor marked. Returns whether it did.
    pub(super) fn tidy(&mut self, key: &ObjectKey, operator: &OperatorId) -> bool {
        let Some(entry) = self.entries.get(key) else {
            return false;
        };
        let marked = matches!(&entry.live, Live::Present(observed)
            if is_marked(&observed.object, key, operator));
        let drops = entry.wanted.is_empty() && !marked;
        if drops {
            self.remove(key);
        }
        drops
    }
}
