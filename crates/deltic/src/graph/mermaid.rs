//! The graph as a Mermaid flowchart.

use std::fmt::Write;

use super::model::{Graph, GraphNode, NodeKind};

pub(super) fn print(graph: &Graph) -> String {
    let mut text = String::from("flowchart LR\n");
    for (number, node) in graph.nodes.iter().enumerate() {
        let label = label(node);
        // Writing to a string cannot fail.
        let _ = match node.kind {
            NodeKind::Cluster => writeln!(text, "  n{number}[\"{label}\"]"),
            NodeKind::View => writeln!(text, "  n{number}([\"{label}\"]):::view"),
            NodeKind::Controller if node.now.failing => {
                writeln!(text, "  n{number}[[\"{label}\"]]:::failing")
            }
            NodeKind::Controller => writeln!(text, "  n{number}[[\"{label}\"]]:::controller"),
        };
    }
    for edge in &graph.edges {
        let label = match edge.label.as_str() {
            "" => String::new(),
            label => format!("|{}|", escaped(label)),
        };
        let _ = writeln!(text, "  n{} -->{label} n{}", edge.from, edge.to);
    }
    text.push_str("  classDef view stroke-dasharray: 4 3\n");
    text.push_str("  classDef controller stroke-width: 2px\n");
    if graph.nodes.iter().any(|node| node.now.failing) {
        text.push_str("  classDef failing stroke-width: 2px, stroke: #c62828\n");
    }
    text
}

fn label(node: &GraphNode) -> String {
    let mut parts = vec![format!("<b>{}</b>", escaped(&node.title))];
    if !node.subtitle.is_empty() {
        parts.push(format!("<i>{}</i>", escaped(&node.subtitle)));
    }
    parts.extend(node.lines.iter().map(|line| escaped(line)));
    if !node.now.text.is_empty() {
        parts.push(format!("<b>{}</b>", escaped(&node.now.text)));
    }
    parts.join("<br/>")
}

/// A text inside quotes. Mermaid has no backslashes: it reads entities with `#`.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '@' | '.' | ',' | ':' | '-' | '/' | '_' => {
                escaped.push(c);
            }
            c if document::is_harmful(c) => escaped.push(' '),
            c if c.is_ascii() => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
