//! The graph in the language of Graphviz.

use std::fmt::Write;

use document::one_line;

use super::model::{Graph, GraphNode, NodeKind};

pub(super) fn print(graph: &Graph) -> String {
    let mut text = String::from(
        "digraph deltic {\n  rankdir=LR\n  node [fontname=\"monospace\", fontsize=11, shape=box]\n  edge [fontname=\"monospace\", fontsize=10]\n",
    );
    for (number, node) in graph.nodes.iter().enumerate() {
        let style = match node.kind {
            NodeKind::Cluster => "",
            NodeKind::View => ", style=\"rounded,dashed\"",
            NodeKind::Controller if node.now.failing => ", penwidth=2, color=\"#c62828\"",
            NodeKind::Controller => ", penwidth=2",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  n{number} [label=\"{}\"{style}]", label(node));
    }
    for edge in &graph.edges {
        let label = match edge.label.as_str() {
            "" => String::new(),
            label => format!(" [label=\"{}\"]", escaped(label)),
        };
        let _ = writeln!(text, "  n{} -> n{}{label}", edge.from, edge.to);
    }
    text.push_str("}\n");
    text
}

fn label(node: &GraphNode) -> String {
    let mut parts = vec![escaped(&node.title)];
    if !node.subtitle.is_empty() {
        parts.push(format!("({})", escaped(&node.subtitle)));
    }
    // `\l` ends a line that is aligned to the left.
    let now = [&node.now.text];
    let now = now.into_iter().filter(|now| !now.is_empty());
    let lines: Vec<String> = node
        .lines
        .iter()
        .chain(now)
        .map(|line| format!("{}\\l", escaped(line)))
        .collect();
    format!("{}\\n{}", parts.join("\\n"), lines.concat())
}

fn escaped(text: &str) -> String {
    let text = one_line(text).replace('\\', "\\\\");
    text.replace('"', "\\\"")
}
