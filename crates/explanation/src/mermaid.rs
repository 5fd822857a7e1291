//! The way back as a Mermaid diagram: from the sources at the top to the derived object.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::way_back::Node;

/// A flowchart of these trees. An object that occurs several times is drawn once.
pub(crate) fn diagram<'a>(trees: impl Iterator<Item = &'a Node>) -> String {
    let mut diagram = Diagram {
        text: "flowchart TD\n".to_owned(),
        objects: BTreeMap::new(),
        nodes: 0,
    };
    for tree in trees {
        diagram.add(tree);
    }
    diagram.text
}

struct Diagram {
    text: String,
    /// The node of each object.
    objects: BTreeMap<String, usize>,
    nodes: usize,
}

impl Diagram {
    /// Adds a node and everything before it. Returns its number.
    fn add(&mut self, node: &Node) -> usize {
        if let Some(known) = self.objects.get(&node.label).filter(|_| node.is_object) {
            return *known;
        }
        let number = self.nodes;
        self.nodes += 1;
        let label = escaped(&node.label);
        let shape = if node.is_object {
            self.objects.insert(node.label.clone(), number);
            format!("[\"{label}\"]")
        } else {
            format!("([\"{label}\"])")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "  n{number}{shape}");
        for before in &node.from {
            let before = self.add(before);
            let _ = writeln!(self.text, "  n{before} --> n{number}");
        }
        number
    }
}

/// Mermaid reads entities in quoted labels.
fn escaped(label: &str) -> String {
    label
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
