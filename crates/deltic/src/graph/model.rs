//! The graph of Operators: kinds and controllers as nodes, and who reads and writes what.
//!
//! It has no cycles. A kind that a controller writes and that leads back to the controller gets a
//! second node, which is only written:
//!
//! ```text
//! Service ──▶ annotate ──▶ Service ↺
//! ```

use std::collections::BTreeMap;

use dataflow::pipeline::{Branch, Input};
use object::{GroupKind, KindRef, VIEW_SUFFIX};
use operator::Operator;
use operator::spec::{Controller, SourceKind, TargetType};

use super::counts::{Counts, NodeState, number};

/// Nodes, and edges between them.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<GraphNode>,
    pub(super) edges: Vec<GraphEdge>,
}

/// A box of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GraphNode {
    pub(super) kind: NodeKind,
    /// The Kind, or the name of the controller.
    pub(super) title: String,
    /// The group of a kind, or the Operator of a controller, if there are several.
    pub(super) subtitle: String,
    /// The stages of a controller, or its branches.
    pub(super) lines: Vec<String>,
    /// What it is now, if deltic runs.
    pub(super) now: NodeState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// A kind of objects on the cluster.
    Cluster,
    /// A kind of objects in memory.
    View,
    Controller,
}

/// An arrow of the picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GraphEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// How objects are read or written, if not in the usual way; and how many, if that is not the
    /// number of the kind.
    pub(super) label: String,
    /// How many objects each source or target has.
    counts: Vec<f64>,
}

/// How many stages of a controller are shown.
const MAX_LINES: usize = 9;

impl Graph {
    pub(super) fn new(operators: &[Operator], counts: &Counts) -> Self {
        let mut builder = Builder {
            graph: Self::default(),
            kinds: BTreeMap::new(),
            controllers: Vec::new(),
            counts,
        };
        for operator in operators {
            for number in operator.order() {
                let several = operators.len() > 1;
                builder.reads(operator, &operator.controllers[number], several);
            }
        }
        let mut controllers = builder.controllers.clone().into_iter();
        for operator in operators {
            for number in operator.order() {
                if let Some(node) = controllers.next() {
                    builder.writes(operator, &operator.controllers[number], node);
                }
            }
        }
        builder.graph.count();
        builder.graph
    }

    /// Whether it has numbers.
    pub(super) fn is_live(&self) -> bool {
        self.nodes.iter().any(|node| !node.now.text.is_empty())
    }

    /// Adds the numbers of kinds, and those of arrows that have another one. A kind that is read has
    /// as many objects as its largest source; one that is only written has what is derived.
    fn count(&mut self) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].kind == NodeKind::Controller {
                continue;
            }
            let numbers = |edge: &&GraphEdge| edge.counts.clone();
            let readers = self.edges.iter().filter(|edge| edge.from == node);
            let read = readers.flat_map(|edge| numbers(&edge)).reduce(f64::max);
            let writers = self.edges.iter().filter(|edge| edge.to == node);
            let written = writers.flat_map(|edge| numbers(&edge)).reduce(|a, b| a + b);
            let Some(objects) = read.or(written) else {
                continue;
            };
            self.nodes[node].now = NodeState::objects(objects);
            let objects = vec![number(objects)];
            for edge in &mut self.edges {
                let counts: Vec<String> = edge.counts.iter().copied().map(number).collect();
                if (edge.from == node || edge.to == node) && counts != objects {
                    let label = [edge.label.clone(), counts.join(", ")];
                    let label = label.iter().filter(|part| !part.is_empty());
                    edge.label = label.cloned().collect::<Vec<_>>().join(" ");
                }
            }
        }
    }

    /// Whether there is a way from one node to another.
    fn leads(&self, from: usize, to: usize) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut reached[node], true) {
                continue;
            }
            let next = self.edges.iter().filter(|edge| edge.from == node);
            open.extend(next.map(|edge| edge.to));
        }
        reached[to]
    }
}

struct Builder<'a> {
    graph: Graph,
    /// The node of each kind; `true` for the one that is only written.
    kinds: BTreeMap<(GroupKind, bool), usize>,
    /// The nodes of the controllers, in the order in which they run.
    controllers: Vec<usize>,
    counts: &'a Counts,
}

impl Builder<'_> {
    /// Adds a controller and what it reads.
    fn reads(&mut self, operator: &Operator, controller: &Controller, several: bool) {
        let place = (operator.name.clone(), controller.name.clone());
        let counts = self.counts;
        let count = |source: &str| {
            let place = (place.0.clone(), place.1.clone(), source.to_owned());
            counts.sources.get(&place).copied()
        };
        let sources = controller.sources.iter();
        let numbers = sources.clone().map(|source| count(&source.name));
        let numbers: Vec<Option<f64>> = numbers.collect();
        let sources: Vec<(usize, String)> = sources
            .map(|source| match source.kind {
                SourceKind::Watcher => (self.kind(&source.resource, false), String::new()),
                SourceKind::OneShot => (self.kind(&source.resource, false), "once".to_owned()),
                SourceKind::Periodic(period) => {
                    let subtitle = format!("every {}s", period.as_secs_f64());
                    (self.timer(&source.resource, subtitle), String::new())
                }
            })
            .collect();
        let node = self.add(GraphNode {
            kind: NodeKind::Controller,
            title: controller.name.clone(),
            subtitle: if several {
                operator.name.clone()
            } else {
                String::new()
            },
            lines: lines(controller),
            now: self
                .counts
                .controllers
                .get(&place)
                .cloned()
                .unwrap_or_default(),
        });
        self.controllers.push(node);
        for ((from, label), count) in sources.into_iter().zip(numbers) {
            self.edge(from, node, label, count);
        }
    }

    /// Adds what a controller writes.
    fn writes(&mut self, operator: &Operator, controller: &Controller, node: usize) {
        for target in &controller.targets {
            let label = match target.kind {
                TargetType::Updater => "",
                TargetType::Patcher => "patch",
                TargetType::Applier => "apply",
            };
            let kind = self.kind(&target.resource, false);
            let to = if self.graph.leads(kind, node) {
                self.kind(&target.resource, true)
            } else {
                kind
            };
            let (operator, name) = (operator.name.clone(), controller.name.clone());
            let place = (operator, name, target.resource.kind.clone());
            let count = self.counts.targets.get(&place).copied();
            self.edge(node, to, label.to_owned(), count);
        }
    }

    /// A node for the ticks of a Periodic source, which delivers no objects.
    fn timer(&mut self, kind: &KindRef, subtitle: String) -> usize {
        self.add(GraphNode {
            kind: NodeKind::Cluster,
            title: kind.kind.clone(),
            subtitle,
            lines: Vec::new(),
            now: NodeState::default(),
        })
    }

    /// The node of a kind.
    fn kind(&mut self, kind: &KindRef, only_written: bool) -> usize {
        let key = (kind.group_kind(), only_written);
        if let Some(node) = self.kinds.get(&key) {
            return *node;
        }
        let again = if only_written { " ↺" } else { "" };
        let (node_kind, group) = match kind.group.strip_suffix(VIEW_SUFFIX) {
            Some(operator) => (NodeKind::View, format!("view of {operator}")),
            None if kind.group.is_empty() => (NodeKind::Cluster, "core".to_owned()),
            None => (NodeKind::Cluster, kind.group.clone()),
        };
        let node = self.add(GraphNode {
            kind: node_kind,
            title: format!("{}{again}", kind.kind),
            subtitle: group,
            lines: Vec::new(),
            now: NodeState::default(),
        });
        self.kinds.insert(key, node);
        node
    }

    fn add(&mut self, node: GraphNode) -> usize {
        self.graph.nodes.push(node);
        self.graph.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, label: String, count: Option<f64>) {
        let mut edges = self.graph.edges.iter_mut();
        // Two sources of one kind are one arrow.
        let same = edges.find(|edge| (edge.from, edge.to, &edge.label) == (from, to, &label));
        if let Some(edge) = same {
            edge.counts.extend(count);
            return;
        }
        self.graph.edges.push(GraphEdge {
            from,
            to,
            label,
            counts: count.into_iter().collect(),
        });
    }
}

/// The stages of a controller, or a line for each of its branches.
fn lines(controller: &Controller) -> Vec<String> {
    let mut lines: Vec<String> = match controller.pipeline.branches.as_slice() {
        [branch] if branch.stages.is_empty() => vec!["copy".to_owned()],
        [branch] => branch
            .stages
            .iter()
            .map(|stage| stage.kind.name().to_owned())
            .collect(),
        branches => branches
            .iter()
            .map(|branch| branch_line(controller, branch))
            .collect(),
    };
    if lines.len() > MAX_LINES {
        let hidden = lines.len() - (MAX_LINES - 1);
        lines.truncate(MAX_LINES - 1);
        lines.push(format!("… {hidden} more"));
    }
    lines
}

/// `Pod, Node: @join @project → Report`
fn branch_line(controller: &Controller, branch: &Branch) -> String {
    let stream = |number: usize| controller.pipeline.streams[number].clone();
    let input = |input: &Input| match *input {
        Input::Source(source) => controller.pipeline.sources[source].clone(),
        Input::Stream(number) => stream(number),
    };
    let inputs: Vec<String> = branch.inputs.iter().map(input).collect();
    let stages: Vec<&str> = branch
        .stages
        .iter()
        .map(|stage| stage.kind.name())
        .collect();
    let target = branch
        .output
        .target
        .map(|target| controller.targets[target].resource.kind.clone());
    let output = target.or_else(|| branch.output.stream.map(stream));
    let stages = if stages.is_empty() {
        "copy".to_owned()
    } else {
        stages.join(" ")
    };
    format!(
        "{}: {stages} → {}",
        inputs.join(", "),
        output.unwrap_or_default()
    )
}
