//! The order of things that read what others write: controllers and kinds, branches and streams.
//!
//! ```text
//! a ──▶ View ──▶ b ──▶ Summary ──▶ c        order: a, b, c
//! ```
//!
//! Views are nodes of the graph as well as controllers, so that its size is that of the spec, even
//! if all controllers read and write the same view.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::hash::Hash;

/// Actors, connected by the things that they read and write.
#[derive(Debug)]
pub struct Topology {
    /// For each actor, the things that it reads, each once.
    reads: Vec<Vec<usize>>,
    /// For each actor, the things that it writes, each once.
    writes: Vec<Vec<usize>>,
    /// For each thing, the actors that read it.
    readers: Vec<Vec<usize>>,
    /// For each thing, the actors that write it.
    writers: Vec<Vec<usize>>,
}

impl Topology {
    /// The actors that read and write these things.
    pub fn new<T: Eq + Hash>(actors: impl Iterator<Item = (Vec<T>, Vec<T>)>) -> Self {
        let mut numbers = HashMap::new();
        let (reads, writes): (Vec<_>, Vec<_>) = actors
            .map(|(reads, writes)| {
                let reads = numbered(reads, &mut numbers);
                (reads, numbered(writes, &mut numbers))
            })
            .unzip();
        Self {
            readers: inverted(&reads, numbers.len()),
            writers: inverted(&writes, numbers.len()),
            reads,
            writes,
        }
    }

    /// The actors in topological order; of several that could be next, the first one. Where all
    /// that are left wait for others, the first of them is next. An actor does not wait for itself.
    pub fn order(&self) -> Vec<usize> {
        let mut queue = Queue::new(self);
        let mut order = Vec::with_capacity(self.reads.len());
        while let Some(next) = queue.next() {
            order.push(next);
        }
        order
    }

    /// The cycles: the actors that read what is derived from each other's output, or from their own,
    /// in order. `sees_itself` says whether an actor that reads what it writes sees its own output
    /// there.
    pub fn cycles(&self, sees_itself: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        // A cycle passes through a thing, so an actor in a cycle is never alone in its
        // strongly connected component. The components are found by Kosaraju's algorithm.
        let actors = self.reads.len();
        let mut seen = vec![false; actors + self.readers.len()];
        let mut finished = Vec::with_capacity(seen.len());
        for node in 0..seen.len() {
            self.visit(node, Self::after, &mut seen, &mut finished);
        }
        seen.fill(false);
        let mut cycles = Vec::new();
        for node in finished.into_iter().rev() {
            let mut component = Vec::new();
            self.visit(node, Self::before, &mut seen, &mut component);
            let cyclic = component.len() > 1;
            component.retain(|&member| member < actors);
            component.sort_unstable();
            if cyclic && (component.len() > 1 || component.iter().all(|&only| sees_itself(only))) {
                cycles.push(component);
            }
        }
        cycles.sort_unstable();
        cycles
    }

    /// For each actor the other actors that it reads from, directly or indirectly, in order.
    pub fn feeders(&self) -> Vec<Vec<usize>> {
        let actors = self.reads.len();
        let feeders = (0..actors).map(|actor| {
            let mut seen = vec![false; actors + self.readers.len()];
            let mut found = Vec::new();
            self.visit(actor, Self::before, &mut seen, &mut found);
            found.retain(|&node| node < actors && node != actor);
            found.sort_unstable();
            found
        });
        feeders.collect()
    }

    /// The nodes behind a node. Actors come first in the numbering, then things.
    fn after(&self, node: usize) -> (&[usize], usize) {
        match node.checked_sub(self.reads.len()) {
            None => (&self.writes[node], self.reads.len()),
            Some(thing) => (&self.readers[thing], 0),
        }
    }

    /// The nodes before a node.
    fn before(&self, node: usize) -> (&[usize], usize) {
        match node.checked_sub(self.reads.len()) {
            None => (&self.reads[node], self.reads.len()),
            Some(thing) => (&self.writers[thing], 0),
        }
    }

    /// Appends all nodes that are reached from `start` and not yet seen, each after those that are
    /// reached from it.
    fn visit(
        &self,
        start: usize,
        neighbours: fn(&Self, usize) -> (&[usize], usize),
        seen: &mut [bool],
        finished: &mut Vec<usize>,
    ) {
        if std::mem::replace(&mut seen[start], true) {
            return;
        }
        let mut stack = vec![(start, 0)];
        while let Some((node, position)) = stack.last_mut() {
            let (nodes, offset) = neighbours(self, *node);
            let Some(next) = nodes.get(*position) else {
                finished.push(*node);
                stack.pop();
                continue;
            };
            *position += 1;
            let next = offset + next;
            if !std::mem::replace(&mut seen[next], true) {
                stack.push((next, 0));
            }
        }
    }
}

/// Replaces things by numbers.
fn numbered<T: Eq + Hash>(things: Vec<T>, numbers: &mut HashMap<T, usize>) -> Vec<usize> {
    let numbers = things.into_iter().map(|thing| {
        let next = numbers.len();
        *numbers.entry(thing).or_insert(next)
    });
    numbers.collect::<BTreeSet<_>>().into_iter().collect()
}

/// For each thing, the actors that have it.
fn inverted(things: &[Vec<usize>], count: usize) -> Vec<Vec<usize>> {
    let mut actors = vec![Vec::new(); count];
    for (actor, things) in things.iter().enumerate() {
        for &thing in things {
            actors[thing].push(actor);
        }
    }
    actors
}

/// The actors that are not yet in the order.
struct Queue<'a> {
    topology: &'a Topology,
    waiting: BTreeSet<usize>,
    /// Those that no other waiting actor feeds.
    ready: BinaryHeap<Reverse<usize>>,
    /// For each actor, how many of the things that it reads others still have to write.
    blocked: Vec<usize>,
    /// For each thing, how many waiting actors write it.
    writers: Vec<usize>,
}

impl<'a> Queue<'a> {
    fn new(topology: &'a Topology) -> Self {
        let blocked: Vec<usize> = (topology.reads.iter().enumerate())
            .map(|(actor, things)| {
                let others = |thing: &&usize| {
                    let writers = &topology.writers[**thing];
                    writers.iter().take(2).any(|&writer| writer != actor)
                };
                things.iter().filter(others).count()
            })
            .collect();
        let waiting: BTreeSet<usize> = (0..blocked.len()).collect();
        let ready = waiting.iter().filter(|&&number| blocked[number] == 0);
        Self {
            topology,
            ready: ready.copied().map(Reverse).collect(),
            waiting,
            blocked,
            writers: topology.writers.iter().map(Vec::len).collect(),
        }
    }

    fn next(&mut self) -> Option<usize> {
        let next = loop {
            match self.ready.pop() {
                // It was taken out of a cycle before.
                Some(Reverse(next)) if !self.waiting.contains(&next) => {}
                Some(Reverse(next)) => break next,
                None => break *self.waiting.first()?,
            }
        };
        self.waiting.remove(&next);
        for &thing in &self.topology.writes[next] {
            self.writers[thing] -= 1;
            self.unblock(thing);
        }
        Some(next)
    }

    /// Unblocks the readers of a thing that one actor less has to write.
    fn unblock(&mut self, thing: usize) {
        let writers = &self.topology.writers[thing];
        let readers = match self.writers[thing] {
            0 => &self.topology.readers[thing][..],
            // An actor does not wait for itself.
            1 => match writers
                .iter()
                .position(|writer| self.waiting.contains(writer))
            {
                Some(last) => &writers[last..=last],
                None => &[],
            },
            _ => &[],
        };
        for &reader in readers {
            let reads = self.topology.reads[reader].binary_search(&thing).is_ok();
            if reads && self.waiting.contains(&reader) {
                self.blocked[reader] -= 1;
                if self.blocked[reader] == 0 {
                    self.ready.push(Reverse(reader));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
