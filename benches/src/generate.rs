//! Kubernetes-like objects from a seed, and updates of them.
//!
//! An object is a pure function of its index and revision, so nothing is remembered and a
//! load can be made page by page. Nothing but their number changes with N: namespaces hold
//! about 50 objects, gateways have about 10 routes, groups about 10 members, at every N
//! (the hot group of W3 is 5% of all members, as it says).

mod object;

use std::collections::HashMap;

use seeded::Random;

use crate::workload::Workload;

/// One object as it comes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Which of [`Workload::sources`] it belongs to.
    pub source: usize,
    /// The line of a watch that says that it is there, or that it is another now.
    pub line: String,
}

/// Which objects a sequence of updates hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sequence {
    /// Any object of the workload.
    Any,
    /// Members of the hot group of W3 only.
    Hot,
    /// Any object, one in a while: other work has taken the caches in between.
    Cold,
}

/// How many updates a sequence has.
pub const UPDATES: usize = 2_000;

/// The cold sequence is this many times shorter.
pub const COLD: usize = 10;

/// Namespaces hold about this many objects.
const NAMESPACE: usize = 50;

/// One in this many slices of W3 belongs to the hot group: 5%.
const HOT_EVERY: usize = 20;

/// How many endpoints a slice of W3 has.
const ENDPOINTS: usize = 8;

/// Gateways per namespace; each has nine times as many routes.
const GATEWAYS: usize = NAMESPACE / 10;

/// The objects of one workload at one size.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    workload: Workload,
    count: usize,
}

impl Generator {
    /// `count` objects of a workload.
    pub fn new(workload: Workload, count: usize) -> Self {
        Self { workload, count }
    }

    /// How many objects there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All objects, source by source, as a list request gives them.
    pub fn objects(self) -> impl ExactSizeIterator<Item = Object> {
        (0..self.count).map(move |index| self.object(index, 0))
    }

    /// The sequences of updates of this workload, in the order in which they are run. Each
    /// update is a whole object that differs from its last version in the output too.
    pub fn updates(self, length: usize) -> Vec<(Sequence, Vec<Object>)> {
        let mut revisions = HashMap::new();
        let mut sequence = |sequence, length| {
            let mut random = Random::of(&[7, self.workload as u64, sequence as u64]);
            let objects = (0..length).map(|_| {
                let index = self.target(sequence, &mut random);
                let revision = revisions.entry(index).or_insert(0);
                *revision += 1;
                self.object(index, *revision)
            });
            (sequence, objects.collect())
        };
        let mut sequences = vec![sequence(Sequence::Any, length)];
        if self.workload == Workload::W3 {
            sequences.push(sequence(Sequence::Hot, length));
        }
        sequences.push(sequence(Sequence::Cold, length / COLD));
        sequences
    }

    /// The index of an object whose update changes an output.
    fn target(&self, sequence: Sequence, random: &mut Random) -> usize {
        loop {
            let index = random.below(self.count);
            let fits = match (self.workload, sequence) {
                (Workload::W1 | Workload::Whole, _) => {
                    index >= self.services() || self.has_slice(index)
                }
                (Workload::W3, Sequence::Hot) => is_hot(index),
                _ => true,
            };
            if fits {
                return index;
            }
        }
    }

    /// The object at `index`, in its `revision`th version.
    fn object(&self, index: usize, revision: u32) -> Object {
        let (source, mut value) = match self.workload {
            Workload::W1 | Workload::Whole if index < self.services() => {
                (0, object::service(&service_of(index), revision))
            }
            Workload::W1 | Workload::Whole => {
                let slice = index - self.services();
                let service = service_of(self.service_of_slice(slice));
                (1, object::slice(slice, &service, 3, revision))
            }
            Workload::W2 if index < self.gateways() => {
                (0, object::gateway(&gateway_of(index), revision))
            }
            Workload::W2 => (1, self.route(index - self.gateways(), revision)),
            Workload::W3 => {
                let service = group_of(index);
                (0, object::endpoints(index, &service, ENDPOINTS, revision))
            }
        };
        if self.workload == Workload::Whole
            && let Some(metadata) = value["metadata"].as_object_mut()
        {
            // A source hides them from a pipeline that does not name them.
            metadata.remove("resourceVersion");
            metadata.remove("generation");
        }
        let kind = if revision == 0 { "ADDED" } else { "MODIFIED" };
        let line = format!(r#"{{"type":"{kind}","object":{value}}}"#);
        Object { source, line }
    }

    fn services(&self) -> usize {
        self.count / 2
    }

    fn gateways(&self) -> usize {
        (self.count / 10).max(1)
    }

    /// The service of a slice: blocks of four services share four slices, unevenly.
    fn service_of_slice(&self, slice: usize) -> usize {
        let (block, place) = (slice / 4, slice % 4);
        if block * 4 + 4 > self.services() {
            return slice.min(self.services() - 1);
        }
        block * 4 + shares(block)[place]
    }

    fn has_slice(&self, service: usize) -> bool {
        let block = service / 4;
        block * 4 + 4 > self.services() || shares(block).contains(&(service % 4))
    }

    fn route(&self, route: usize, revision: u32) -> serde_json::Value {
        let first = (route / 9).min(self.gateways() - 1);
        let mut parents = vec![gateway_of(first)];
        let mut random = Random::of(&[5, route as u64]);
        if random.below(10) == 0 {
            // Another gateway of the same namespace.
            let start = first - first % GATEWAYS;
            let other = start + (first % GATEWAYS + 1 + random.below(GATEWAYS - 1)) % GATEWAYS;
            if other < self.gateways() {
                parents.push(gateway_of(other));
            }
        }
        object::route(route, &parents, revision)
    }
}

/// Which services of a block of four its four slices belong to.
fn shares(block: usize) -> [usize; 4] {
    match Random::of(&[4, block as u64]).below(4) {
        0 => [0, 0, 0, 2],
        1 => [0, 1, 3, 3],
        _ => [0, 1, 2, 3],
    }
}

/// Whether a slice of W3 belongs to the hot group.
fn is_hot(slice: usize) -> bool {
    slice % HOT_EVERY == HOT_EVERY / 2
}

/// The service that a slice of W3 belongs to: five slices, four services; 10 members each
/// on average.
fn group_of(slice: usize) -> object::Owner {
    if is_hot(slice) {
        return object::Owner::new(2, usize::MAX, usize::MAX);
    }
    // The slice's rank among those that are not hot.
    let rank = slice - (slice + HOT_EVERY / 2) / HOT_EVERY;
    let service = rank / 5 * 4 + (rank % 5).min(3);
    object::Owner::new(2, service, rank / NAMESPACE)
}

fn service_of(service: usize) -> object::Owner {
    object::Owner::new(0, service, service / (NAMESPACE / 2))
}

fn gateway_of(gateway: usize) -> object::Owner {
    object::Owner::new(1, gateway, gateway / GATEWAYS)
}

#[cfg(test)]
mod tests;
