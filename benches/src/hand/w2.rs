//! Gateway × `UDPRoute` by hand.

use std::collections::BTreeSet;

use document::{Value, json};
use hashbrown::hash_map::Entry;

use super::typed::{BackendRef, Gateway, Listener, Rule, UdpRoute};
use super::{Change, HashMap, Key, Outputs, Target};
use crate::generate::Object;
use crate::peer::{Outcome, Peer, read_event};
use crate::workload::Workload;

/// The controller of W2.
#[derive(Debug, Default)]
pub struct W2 {
    gateways: HashMap<Key, Listening>,
    routes: HashMap<Key, Routing>,
    /// The names of the routes that refer to each gateway, which are in its namespace.
    routes_of: HashMap<Key, BTreeSet<String>>,
    outputs: Outputs<Attachment>,
}

/// What is kept of a gateway.
#[derive(Debug, PartialEq)]
struct Listening {
    class: String,
    listeners: Vec<Listener>,
}

/// What is kept of a route.
#[derive(Debug, PartialEq)]
struct Routing {
    /// The gateways it refers to, sorted, each once.
    parents: Vec<String>,
    rules: Vec<Rule>,
}

/// The target object.
#[derive(Debug, PartialEq)]
pub struct Attachment {
    key: Key,
    gateway: String,
    class: String,
    listeners: Vec<Listener>,
    route: String,
    rules: Vec<Rule>,
}

/// An object of either source.
#[derive(Clone, Debug)]
pub struct Input(Source);

#[derive(Clone, Debug)]
enum Source {
    Gateway(Box<Gateway>),
    Route(Box<UdpRoute>),
}

impl W2 {
    fn gateway(&mut self, gateway: Gateway, changes: &mut Vec<Change<Attachment>>) {
        let (key, _) = gateway.metadata.into_parts();
        let listening = Listening {
            class: gateway.spec.gateway_class_name,
            listeners: gateway.spec.listeners,
        };
        match self.gateways.entry(key.clone()) {
            Entry::Occupied(entry) if *entry.get() == listening => return,
            Entry::Occupied(mut entry) => drop(entry.insert(listening)),
            Entry::Vacant(entry) => drop(entry.insert(listening)),
        }
        let listening = &self.gateways[&key];
        for name in self.routes_of.get(&key).into_iter().flatten() {
            let route = key.sibling(name);
            let attachment = attach(&key, listening, &route, &self.routes[&route]);
            let target = attachment.key.clone();
            self.outputs.set(target, Some(attachment), changes);
        }
    }

    fn route(&mut self, route: UdpRoute, changes: &mut Vec<Change<Attachment>>) {
        let (key, _) = route.metadata.into_parts();
        let mut parents: Vec<_> = route.spec.parent_refs.into_iter().map(|p| p.name).collect();
        parents.sort_unstable();
        parents.dedup();
        let routing = Routing {
            parents,
            rules: route.spec.rules,
        };
        if let Some(old) = self.routes.get(&key) {
            if *old == routing {
                return;
            }
            let gone = |parent: &&String| !routing.parents.contains(parent);
            for parent in old.parents.iter().filter(gone) {
                let gateway = key.sibling(parent);
                if let Entry::Occupied(mut entry) = self.routes_of.entry(gateway) {
                    entry.get_mut().remove(&key.name);
                    if entry.get().is_empty() {
                        entry.remove();
                    }
                }
                self.outputs.set(target(&key, parent), None, changes);
            }
        }
        for parent in &routing.parents {
            let gateway = key.sibling(parent);
            let attachment = self
                .gateways
                .get(&gateway)
                .map(|listening| attach(&gateway, listening, &key, &routing));
            let routes = self.routes_of.entry(gateway).or_default();
            if !routes.contains(&key.name) {
                routes.insert(key.name.clone());
            }
            self.outputs.set(target(&key, parent), attachment, changes);
        }
        self.routes.insert(key, routing);
    }
}

/// The key of the target object of a route and a gateway.
fn target(route: &Key, gateway: &str) -> Key {
    route.sibling(&format!("{}-{gateway}", route.name))
}

fn attach(gateway: &Key, listening: &Listening, route: &Key, routing: &Routing) -> Attachment {
    Attachment {
        key: target(route, &gateway.name),
        gateway: gateway.name.clone(),
        class: listening.class.clone(),
        listeners: listening.listeners.clone(),
        route: route.name.clone(),
        rules: routing.rules.clone(),
    }
}

impl Target for Attachment {
    fn key(&self) -> &Key {
        &self.key
    }

    fn document(&self) -> Value {
        let listener = |listener: &Listener| {
            json!({
                "name": (&listener.name),
                "port": (i32::from(listener.port)),
                "protocol": (&listener.protocol),
                "allowedRoutes": {
                    "namespaces": {"from": (&listener.allowed_routes.namespaces.from)}
                }
            })
        };
        let backend = |backend: &BackendRef| {
            json!({
                "name": (&backend.name),
                "port": (i32::from(backend.port)),
                "weight": (backend.weight)
            })
        };
        let rule = |rule: &Rule| {
            let backends: Value = rule.backend_refs.iter().map(backend).collect();
            json!({"backendRefs": backends})
        };
        json!({
            "metadata": {"name": (&self.key.name), "namespace": (&self.key.namespace)},
            "gateway": (&self.gateway),
            "class": (&self.class),
            "listeners": (self.listeners.iter().map(listener).collect::<Value>()),
            "route": (&self.route),
            "rules": (self.rules.iter().map(rule).collect::<Value>())
        })
    }
}

impl Peer for W2 {
    type Input = Input;
    type Change = Change<Attachment>;

    fn new(_: Workload) -> Self {
        Self::default()
    }

    fn reader(_: Workload) -> impl Fn(&Object) -> Input {
        |object| {
            Input(match object.source {
                0 => Source::Gateway(Box::new(read_event(object))),
                _ => Source::Route(Box::new(read_event(object))),
            })
        }
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<Change<Attachment>>)
    where
        I: IntoIterator<Item = Input>,
    {
        for object in objects {
            match object.0 {
                Source::Gateway(gateway) => self.gateway(*gateway, changes),
                Source::Route(route) => self.route(*route, changes),
            }
        }
    }

    fn key(change: &Change<Attachment>) -> (String, String) {
        change.key()
    }

    fn outcome(change: &Change<Attachment>) -> Outcome {
        change.outcome()
    }
}
