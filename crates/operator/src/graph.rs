//! The graph of controllers: which of them read the kinds that others write.
//!
//! ```text
//! a ──▶ View ──▶ b ──▶ Summary ──▶ c        order: a, b, c
//! ```
//!
//! Kinds are nodes of the graph, so that its size is that of the spec, even if all controllers
//! read and write the same kind.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use object::GroupKind;

use crate::spec::Controller;

/// The controllers of an Operator, connected by the kinds that they read and write.
#[derive(Debug)]
pub struct Graph {
    /// For each controller, the kinds that it reads, each once.
    reads: Vec<Vec<usize>>,
    /// For each controller, the kinds that it writes, each once.
    writes: Vec<Vec<usize>>,
    /// For each kind, the controllers that read it.
    readers: Vec<Vec<usize>>,
    /// For each kind, the controllers that write it.
    writers: Vec<Vec<usize>>,
}

impl Graph {
    /// The graph of these controllers.
    pub fn new(controllers: &[Controller]) -> Self {
        let mut kinds = HashMap::new();
        let reads = controllers.iter().map(|controller| {
            let inputs = controller.inputs.iter();
            inputs
                .map(|input| controller.sources[*input].resource.group_kind())
                .collect::<Vec<GroupKind>>()
        });
        let reads = numbered(reads, &mut kinds);
        let writes = controllers.iter().map(|controller| {
            let targets = controller.targets.iter();
            targets
                .map(|target| target.resource.group_kind())
                .collect::<Vec<GroupKind>>()
        });
        let writes = numbered(writes, &mut kinds);
        Self {
            readers: inverted(&reads, kinds.len()),
            writers: inverted(&writes, kinds.len()),
            reads,
            writes,
        }
    }

    /// The controllers in topological order; of several that could be next, the first of the spec.
    /// Where all that are left wait for each other, the first of them is next.
    pub fn order(&self) -> Vec<usize> {
        let mut queue = Queue::new(self);
        let mut order = Vec::with_capacity(self.reads.len());
        while let Some(next) = queue.next() {
            order.push(next);
        }
        order
    }

    /// For each controller, whether it reads what is derived from its own output.
    pub fn in_cycles(&self) -> Vec<bool> {
        // A cycle passes through a kind, so a controller in a cycle is never alone in its
        // strongly connected component. The components are found by Kosaraju's algorithm.
        let controllers = self.reads.len();
        let mut seen = vec![false; controllers + self.readers.len()];
        let mut finished = Vec::with_capacity(seen.len());
        for node in 0..seen.len() {
            self.visit(node, Self::after, &mut seen, &mut finished);
        }
        seen.fill(false);
        let mut in_cycles = vec![false; controllers];
        for node in finished.into_iter().rev() {
            let mut component = Vec::new();
            self.visit(node, Self::before, &mut seen, &mut component);
            let cyclic = component.len() > 1;
            for member in component.into_iter().filter(|&member| member < controllers) {
                in_cycles[member] = cyclic;
            }
        }
        in_cycles
    }

    /// The nodes behind a node. Controllers come first in the numbering, then kinds.
    fn after(&self, node: usize) -> (&[usize], usize) {
        match node.checked_sub(self.reads.len()) {
            None => (&self.writes[node], self.reads.len()),
            Some(kind) => (&self.readers[kind], 0),
        }
    }

    /// The nodes before a node.
    fn before(&self, node: usize) -> (&[usize], usize) {
        match node.checked_sub(self.reads.len()) {
            None => (&self.reads[node], self.reads.len()),
            Some(kind) => (&self.writers[kind], 0),
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

/// Replaces kinds by numbers.
fn numbered(
    kinds: impl Iterator<Item = Vec<GroupKind>>,
    numbers: &mut HashMap<GroupKind, usize>,
) -> Vec<Vec<usize>> {
    kinds
        .map(|kinds| {
            let numbers = kinds.into_iter().map(|kind| {
                let next = numbers.len();
                *numbers.entry(kind).or_insert(next)
            });
            numbers.collect::<BTreeSet<_>>().into_iter().collect()
        })
        .collect()
}

/// For each kind, the controllers that have it.
fn inverted(kinds: &[Vec<usize>], count: usize) -> Vec<Vec<usize>> {
    let mut controllers = vec![Vec::new(); count];
    for (controller, kinds) in kinds.iter().enumerate() {
        for &kind in kinds {
            controllers[kind].push(controller);
        }
    }
    controllers
}

/// The controllers that are not yet in the order.
struct Queue<'a> {
    graph: &'a Graph,
    waiting: BTreeSet<usize>,
    /// Those that no other waiting controller feeds.
    ready: BinaryHeap<Reverse<usize>>,
    /// For each controller, how many of the kinds that it reads others still have to write.
    blocked: Vec<usize>,
    /// For each kind, how many waiting controllers write it.
    writers: Vec<usize>,
}

impl<'a> Queue<'a> {
    fn new(graph: &'a Graph) -> Self {
        let blocked: Vec<usize> = (graph.reads.iter().enumerate())
            .map(|(controller, kinds)| {
                let others = |kind: &&usize| {
                    let writers = &graph.writers[**kind];
                    writers.iter().take(2).any(|&writer| writer != controller)
                };
                kinds.iter().filter(others).count()
            })
            .collect();
        let waiting: BTreeSet<usize> = (0..blocked.len()).collect();
        let ready = waiting.iter().filter(|&&number| blocked[number] == 0);
        Self {
            graph,
            ready: ready.copied().map(Reverse).collect(),
            waiting,
            blocked,
            writers: graph.writers.iter().map(Vec::len).collect(),
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
        for &kind in &self.graph.writes[next] {
            self.writers[kind] -= 1;
            self.unblock(kind);
        }
        Some(next)
    }

    /// Unblocks the readers of a kind that one controller less has to write.
    fn unblock(&mut self, kind: usize) {
        let writers = &self.graph.writers[kind];
        let readers = match self.writers[kind] {
            0 => &self.graph.readers[kind][..],
            // A controller does not wait for itself.
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
            let reads = self.graph.reads[reader].binary_search(&kind).is_ok();
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
