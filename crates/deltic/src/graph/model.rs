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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GraphEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// How objects are read or written, if not in the usual way.
    pub(super) label: String,
}

/// How many stages of a controller are shown.
const MAX_LINES: usize = 9;

impl Graph {
    pub(super) fn new(operators: &[Operator]) -> Self {
        let mut builder = Builder::default();
        for operator in operators {
            for number in operator.order() {
                let several = operators.len() > 1;
                let name = several.then_some(operator.name.as_str());
                builder.reads(&operator.controllers[number], name);
            }
        }
        let mut controllers = builder.controllers.clone().into_iter();
        for operator in operators {
            for number in operator.order() {
                if let Some(node) = controllers.next() {
                    builder.writes(&operator.controllers[number], node);
                }
            }
        }
        builder.graph
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

#[derive(Default)]
struct Builder {
    graph: Graph,
    /// The node of each kind; `true` for the one that is only written.
    kinds: BTreeMap<(GroupKind, bool), usize>,
    /// The nodes of the controllers, in the order in which they run.
    controllers: Vec<usize>,
}

impl Builder {
    /// Adds a controller and what it reads.
    fn reads(&mut self, controller: &Controller, operator: Option<&str>) {
        let sources = controller.sources.iter();
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
            subtitle: operator.unwrap_or_default().to_owned(),
            lines: lines(controller),
        });
        self.controllers.push(node);
        for (from, label) in sources {
            self.edge(from, node, label);
        }
    }

    /// Adds what a controller writes.
    fn writes(&mut self, controller: &Controller, node: usize) {
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
            self.edge(node, to, label.to_owned());
        }
    }

    /// A node for the ticks of a Periodic source, which delivers no objects.
    fn timer(&mut self, kind: &KindRef, subtitle: String) -> usize {
        self.add(GraphNode {
            kind: NodeKind::Cluster,
            title: kind.kind.clone(),
            subtitle,
            lines: Vec::new(),
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
        });
        self.kinds.insert(key, node);
        node
    }

    fn add(&mut self, node: GraphNode) -> usize {
        self.graph.nodes.push(node);
        self.graph.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, label: String) {
        let edge = GraphEdge { from, to, label };
        // Two sources of one kind are one arrow.
        if !self.graph.edges.contains(&edge) {
            self.graph.edges.push(edge);
        }
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
    let stream = |number: usize| format!("stream {number}");
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
