//! `@unwind`, `@project` and `@gather` by hand: the endpoints of each service.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::{Value, json};
use hashbrown::hash_map::Entry;

use super::typed::EndpointSlice;
use super::w1::SERVICE_NAME;
use super::{Change, HashMap, Key, Target};
use crate::generate::Object;
use crate::peer::{Outcome, Peer, read_event};
use crate::workload::Workload;

/// The controller of W3.
#[derive(Debug, Default)]
pub struct W3 {
    /// The service of each slice.
    services: HashMap<Key, Arc<str>>,
    groups: HashMap<Arc<str>, Group>,
    /// The groups that changed in this batch.
    dirty: Vec<Arc<str>>,
}

/// The endpoints of one service. All endpoints of a slice are in the group of its service,
/// so they are kept together, and in order.
#[derive(Debug, Default)]
struct Group {
    /// No slice here is without endpoints.
    members: BTreeMap<Key, Vec<Arc<Member>>>,
    output: Option<Arc<Backends>>,
    /// Whether it is in the list of those that changed.
    dirty: bool,
}

/// What is kept of an endpoint.
#[derive(Debug, PartialEq)]
struct Member {
    address: Option<String>,
    node: String,
    ready: bool,
}

/// The target object.
#[derive(Debug, PartialEq)]
pub struct Backends {
    key: Key,
    service: Arc<str>,
    members: Vec<Arc<Member>>,
}

/// A slice.
#[derive(Clone, Debug)]
pub struct Input(Box<EndpointSlice>);

impl W3 {
    fn slice(&mut self, slice: EndpointSlice) {
        let (key, mut labels) = slice.metadata.into_parts();
        let service = labels.remove(SERVICE_NAME);
        let old = self.services.get(&key).cloned();
        if let Some(old) = &old
            && service.as_deref() != Some(&**old)
        {
            self.services.remove(&key);
            self.replace(old.clone(), key.clone(), Vec::new());
        }
        let Some(service) = service else { return };
        let service = match old {
            Some(old) if *old == *service => old,
            _ => self.join(&key, service),
        };
        let members = slice.endpoints.into_iter().map(|endpoint| Member {
            address: endpoint.addresses.into_iter().next(),
            node: endpoint.node_name,
            ready: endpoint.conditions.ready,
        });
        self.replace(service, key, members.collect());
    }

    /// Notes the service of a slice; the name is shared with its group.
    fn join(&mut self, slice: &Key, service: String) -> Arc<str> {
        let service = match self.groups.get_key_value(service.as_str()) {
            Some((known, _)) => known.clone(),
            None => Arc::from(service),
        };
        self.services.insert(slice.clone(), service.clone());
        service
    }

    /// Replaces the members of a slice in a group.
    fn replace(&mut self, service: Arc<str>, slice: Key, members: Vec<Member>) {
        let group = self.groups.entry(service.clone()).or_default();
        if group.replace(slice, members) && !group.dirty {
            group.dirty = true;
            self.dirty.push(service);
        }
    }

    /// Builds the target objects of the groups that changed, once each.
    fn rebuild(&mut self, changes: &mut Vec<Change<Backends>>) {
        for service in self.dirty.drain(..) {
            let Entry::Occupied(mut entry) = self.groups.entry(service) else {
                continue;
            };
            let new = entry.get().build(entry.key());
            let group = entry.get_mut();
            group.dirty = false;
            let old = std::mem::replace(&mut group.output, new.clone());
            if new.is_none() {
                entry.remove();
            }
            report(old, new, changes);
        }
    }
}

/// A group whose first member changed has another name: one target object goes, one comes.
fn report(
    old: Option<Arc<Backends>>,
    new: Option<Arc<Backends>>,
    changes: &mut Vec<Change<Backends>>,
) {
    match (old, new) {
        (None, None) => {}
        (Some(old), Some(new)) if old.key != new.key => {
            let [old, new] = [Some(old), Some(new)];
            changes.push(Change { old, new: None });
            changes.push(Change { old: None, new });
        }
        (old, new) => changes.push(Change { old, new }),
    }
}

impl Group {
    /// Replaces the members of a slice; says whether anything changed. Members that stay
    /// the same stay where they are.
    fn replace(&mut self, slice: Key, members: Vec<Member>) -> bool {
        if members.is_empty() {
            return self.members.remove(&slice).is_some();
        }
        let stored = self.members.entry(slice).or_default();
        let mut changed = stored.len() != members.len();
        stored.truncate(members.len());
        for (place, member) in members.into_iter().enumerate() {
            match stored.get_mut(place) {
                Some(old) if **old == member => {}
                Some(old) => {
                    *old = Arc::new(member);
                    changed = true;
                }
                None => stored.push(Arc::new(member)),
            }
        }
        changed
    }

    /// The target object; none without members.
    fn build(&self, service: &Arc<str>) -> Option<Arc<Backends>> {
        let (first, _) = self.members.first_key_value()?;
        let count = self.members.values().map(Vec::len).sum();
        let mut members = Vec::with_capacity(count);
        members.extend(self.members.values().flatten().cloned());
        Some(Arc::new(Backends {
            key: first.sibling(&format!("{}-0", first.name)),
            service: service.clone(),
            members,
        }))
    }
}

impl Target for Backends {
    fn key(&self) -> &Key {
        &self.key
    }

    fn document(&self) -> Value {
        let member = |member: &Arc<Member>| {
            json!({
                "address": (member.address.as_ref().map_or(Value::NULL, Value::from)),
                "node": (&member.node),
                "ready": (member.ready)
            })
        };
        json!({
            "metadata": {"name": (&self.key.name), "namespace": (&self.key.namespace)},
            "service": (&*self.service),
            "endpoint": (self.members.iter().map(member).collect::<Value>())
        })
    }
}

impl Peer for W3 {
    type Input = Input;
    type Change = Change<Backends>;

    fn new(_: Workload) -> Self {
        Self::default()
    }

    fn reader(_: Workload) -> impl Fn(&Object) -> Input {
        |object| Input(Box::new(read_event(object)))
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<Change<Backends>>)
    where
        I: IntoIterator<Item = Input>,
    {
        for object in objects {
            self.slice(*object.0);
        }
        self.rebuild(changes);
    }

    fn key(change: &Change<Backends>) -> (String, String) {
        change.key()
    }

    fn outcome(change: &Change<Backends>) -> Outcome {
        change.outcome()
    }
}
