//! Service × `EndpointSlice` by hand.

use std::collections::BTreeSet;

use document::{Value, json};
use hashbrown::hash_map::Entry;

use super::typed::{EndpointSlice, Service, ServicePort};
use super::{Change, HashMap, Key, Outputs, Target};
use crate::generate::Object;
use crate::peer::{Outcome, Peer, read_event};
use crate::workload::Workload;

/// The label of a slice that names its service.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The controller of W1.
#[derive(Debug, Default)]
pub struct W1 {
    services: HashMap<Key, Exposed>,
    slices: HashMap<Key, Backing>,
    /// The names of the slices of each service, which are in its namespace.
    slices_of: HashMap<Key, BTreeSet<String>>,
    outputs: Outputs<Binding>,
}

/// What is kept of a service.
#[derive(Debug, PartialEq)]
struct Exposed {
    cluster_ip: String,
    ports: Vec<ServicePort>,
}

/// What is kept of a slice.
#[derive(Debug, PartialEq)]
struct Backing {
    service: Option<String>,
    addresses: Vec<String>,
}

/// The target object.
#[derive(Debug, PartialEq)]
pub struct Binding {
    key: Key,
    service: String,
    cluster_ip: String,
    ports: Vec<ServicePort>,
    addresses: Vec<String>,
}

/// An object of either source.
#[derive(Clone, Debug)]
pub struct Input(Source);

#[derive(Clone, Debug)]
enum Source {
    Service(Box<Service>),
    Slice(Box<EndpointSlice>),
}

impl W1 {
    fn service(&mut self, service: Service, changes: &mut Vec<Change<Binding>>) {
        let (key, _) = service.metadata.into_parts();
        let exposed = Exposed {
            cluster_ip: service.spec.cluster_ip,
            ports: service.spec.ports,
        };
        match self.services.entry(key.clone()) {
            Entry::Occupied(entry) if *entry.get() == exposed => return,
            Entry::Occupied(mut entry) => drop(entry.insert(exposed)),
            Entry::Vacant(entry) => drop(entry.insert(exposed)),
        }
        let exposed = &self.services[&key];
        for name in self.slices_of.get(&key).into_iter().flatten() {
            let slice = key.sibling(name);
            let binding = bind(&key, exposed, &slice, &self.slices[&slice]);
            self.outputs.set(slice, Some(binding), changes);
        }
    }

    fn slice(&mut self, slice: EndpointSlice, changes: &mut Vec<Change<Binding>>) {
        let (key, mut labels) = slice.metadata.into_parts();
        let backing = Backing {
            service: labels.remove(SERVICE_NAME),
            addresses: slice.endpoints.into_iter().filter_map(first).collect(),
        };
        let old = match self.slices.get(&key) {
            Some(old) if *old == backing => return,
            Some(old) => old.service.clone(),
            None => None,
        };
        if old != backing.service {
            self.reindex(&key, old.as_deref(), backing.service.as_deref());
        }
        let binding = backing.service.as_ref().and_then(|service| {
            let service = key.sibling(service);
            let exposed = self.services.get(&service)?;
            Some(bind(&service, exposed, &key, &backing))
        });
        self.outputs.set(key.clone(), binding, changes);
        self.slices.insert(key, backing);
    }

    /// Moves a slice from one service to another.
    fn reindex(&mut self, slice: &Key, old: Option<&str>, new: Option<&str>) {
        if let Some(old) = old
            && let Entry::Occupied(mut entry) = self.slices_of.entry(slice.sibling(old))
        {
            entry.get_mut().remove(&slice.name);
            if entry.get().is_empty() {
                entry.remove();
            }
        }
        if let Some(new) = new {
            let slices = self.slices_of.entry(slice.sibling(new)).or_default();
            slices.insert(slice.name.clone());
        }
    }
}

/// The first address of an endpoint.
fn first(endpoint: super::typed::Endpoint) -> Option<String> {
    endpoint.addresses.into_iter().next()
}

fn bind(service: &Key, exposed: &Exposed, slice: &Key, backing: &Backing) -> Binding {
    Binding {
        key: slice.clone(),
        service: service.name.clone(),
        cluster_ip: exposed.cluster_ip.clone(),
        ports: exposed.ports.clone(),
        addresses: backing.addresses.clone(),
    }
}

impl Target for Binding {
    fn key(&self) -> &Key {
        &self.key
    }

    fn document(&self) -> Value {
        let port = |port: &ServicePort| {
            json!({
                "name": (&port.name),
                "port": (i32::from(port.port)),
                "protocol": (&port.protocol),
                "targetPort": (&port.target_port)
            })
        };
        json!({
            "metadata": {"name": (&self.key.name), "namespace": (&self.key.namespace)},
            "service": (&self.service),
            "clusterIP": (&self.cluster_ip),
            "ports": (self.ports.iter().map(port).collect::<Value>()),
            "addresses": (self.addresses.iter().map(Value::from).collect::<Value>())
        })
    }
}

impl Peer for W1 {
    type Input = Input;
    type Change = Change<Binding>;

    fn new(_: Workload) -> Self {
        Self::default()
    }

    fn reader(_: Workload) -> impl Fn(&Object) -> Input {
        |object| {
            Input(match object.source {
                0 => Source::Service(Box::new(read_event(object))),
                _ => Source::Slice(Box::new(read_event(object))),
            })
        }
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<Change<Binding>>)
    where
        I: IntoIterator<Item = Input>,
    {
        for object in objects {
            match object.0 {
                Source::Service(service) => self.service(*service, changes),
                Source::Slice(slice) => self.slice(*slice, changes),
            }
        }
    }

    fn key(change: &Change<Binding>) -> (String, String) {
        change.key()
    }

    fn outcome(change: &Change<Binding>) -> Outcome {
        change.outcome()
    }
}
