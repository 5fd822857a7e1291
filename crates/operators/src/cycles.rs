//! Cycles of views across Operators.
//!
//! If Operator `a` derives a view from a view of `b`, and `b` derives that one from the view of
//! `a`, then a change may circulate for ever. Inside one Operator such a cycle is bounded,
//! because its controllers run in one batch. Across Operators it is refused, at the youngest
//! Operator in it, which does not run until the cycle is gone.
//!
//! ```text
//! a: reads b/W, writes a/V        runs, because it is older
//! b: reads a/V, writes b/W        CyclicViews: b/W ─▶ a/V ─▶ b/W
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use object::{GroupKind, KindRef};
use operator::{Controller, Operator};
use tokio::sync::watch;

/// Which Operators read and write which views.
#[derive(Debug, Default)]
pub struct ViewGraph {
    graph: Mutex<Graph>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Graph {
    /// The Operators that read views of others, by name. No other Operator can be in a cycle.
    readers: BTreeMap<String, ViewReader>,
    /// The Operators that are refused, with their cycles.
    refused: BTreeMap<String, Cycle>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ViewReader {
    /// The older of two has the smaller age.
    age: String,
    controllers: Vec<Views>,
}

/// The views of one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Views {
    reads: BTreeSet<GroupKind>,
    writes: BTreeSet<GroupKind>,
}

/// The views of a cycle, each derived from the one before; the first is also the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(Vec<GroupKind>);

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let views: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(
            f,
            "its views are derived from each other across Operators: {}; it is the youngest of \
             these Operators and does not run until another one, or this one, no longer reads \
             such a view",
            views.join(" -> ")
        )
    }
}

impl Views {
    fn of(controller: &Controller) -> Self {
        let inputs = controller.inputs.iter();
        let sources = inputs.map(|input| &controller.sources[*input].resource);
        let targets = controller.targets.iter().map(|target| &target.resource);
        Self {
            reads: sources
                .filter(|kind| kind.is_view())
                .map(KindRef::group_kind)
                .collect(),
            writes: targets
                .filter(|kind| kind.is_view())
                .map(KindRef::group_kind)
                .collect(),
        }
    }
}

impl ViewGraph {
    /// Records the views of an Operator. Of two Operators the one with the smaller `age` is older;
    /// if they are equal, the one with the smaller name.
    pub fn set(&self, operator: &Operator, age: &str) {
        let controllers: Vec<Views> = operator.controllers.iter().map(Views::of).collect();
        let group = format!("{}{}", operator.name, object::VIEW_SUFFIX);
        let mut reads = controllers.iter().flat_map(|controller| &controller.reads);
        let reader = reads
            .any(|view| view.group.as_str() != group)
            .then(|| ViewReader {
                age: age.to_owned(),
                controllers,
            });
        self.change(&operator.name, reader);
    }

    /// Removes an Operator that no longer exists.
    pub fn remove(&self, operator: &str) {
        self.change(operator, None);
    }

    /// The cycle because of which an Operator may not run.
    pub fn cycle(&self, operator: &str) -> Option<Cycle> {
        self.graph().refused.get(operator).cloned()
    }

    /// Notifies when Operators are refused, or no longer.
    pub(crate) fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn change(&self, operator: &str, reader: Option<ViewReader>) {
        let mut graph = self.graph();
        if graph.readers.get(operator) == reader.as_ref() {
            return;
        }
        match reader {
            Some(reader) => graph.readers.insert(operator.to_owned(), reader),
            None => graph.readers.remove(operator),
        };
        let refused = graph.decide();
        let changed = refused != graph.refused;
        graph.refused = refused;
        drop(graph);
        if changed {
            self.changed.send_replace(());
        }
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Graph {
    /// The Operators to refuse: from the oldest to the youngest, those that close a cycle with
    /// those before.
    fn decide(&self) -> BTreeMap<String, Cycle> {
        let mut by_age: Vec<(&String, &ViewReader)> = self.readers.iter().collect();
        by_age.sort_by_key(|(name, reader)| (&reader.age, *name));
        let mut nodes: Vec<(&str, &Views)> = Vec::new();
        let mut refused = BTreeMap::new();
        for (name, reader) in by_age {
            let before = nodes.len();
            let controllers = reader.controllers.iter();
            nodes.extend(controllers.map(|views| (name.as_str(), views)));
            let mut new = before..nodes.len();
            if let Some(cycle) = new.find_map(|start| cycle(&nodes, start)) {
                nodes.truncate(before);
                refused.insert(name.clone(), cycle);
            }
        }
        refused
    }
}

/// A step of a path: a controller, and whether the path has left the Operator of its start.
type PathStep = (usize, bool);

/// For each step the one before it, and the view between them.
type Steps = BTreeMap<PathStep, (PathStep, GroupKind)>;

/// A cycle through this controller that leaves its Operator.
fn cycle(nodes: &[(&str, &Views)], start: usize) -> Option<Cycle> {
    let mut from = Steps::new();
    let mut todo: VecDeque<PathStep> = [(start, false)].into();
    while let Some(step) = todo.pop_front() {
        for view in &nodes[step.0].1.writes {
            for (reader, (operator, views)) in nodes.iter().enumerate() {
                if !views.reads.contains(view) {
                    continue;
                }
                let next = (reader, step.1 || *operator != nodes[start].0);
                if from.contains_key(&next) {
                    continue;
                }
                from.insert(next, (step, view.clone()));
                if next == (start, true) {
                    return Some(path(&from, start));
                }
                todo.push_back(next);
            }
        }
    }
    None
}

/// The views on the way back to the start.
fn path(from: &Steps, start: usize) -> Cycle {
    let mut views = Vec::new();
    let mut at = (start, true);
    while let Some((before, view)) = from.get(&at) {
        views.push(view.clone());
        at = *before;
        if at == (start, false) {
            break;
        }
    }
    views.reverse();
    views.extend(views.first().cloned());
    Cycle(views)
}

#[cfg(test)]
mod tests {
    use document::{Value, json};

    use super::*;

    /// An Operator whose controllers derive a view of their own from another one.
    fn operator(name: &str, controllers: &[(&str, &str)]) -> Operator {
        let controllers = controllers.iter().enumerate().map(|(i, (reads, writes))| {
            let (of, kind) = reads.split_once('/').unwrap();
            json!({
                "name": (format!("c{i}")),
                "sources": [{"apiGroup": (format!("{of}.view.dcontroller.io")), "kind": kind}],
                "target": {"kind": (*writes)},
            })
        });
        let controllers: Value = controllers.collect();
        let object = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": name}, "spec": {"controllers": (controllers)},
        });
        let (operator, problems) = operator::read(&object, &expr::Functions::builtin());
        operator.unwrap_or_else(|| panic!("{problems:?}"))
    }

    fn refused(graph: &ViewGraph) -> Vec<String> {
        graph.graph().refused.keys().cloned().collect()
    }

    #[test]
    fn the_youngest_operator_of_a_cycle_is_refused() {
        let graph = ViewGraph::default();
        graph.set(&operator("a", &[("b/W", "V")]), "3");
        graph.set(&operator("b", &[("a/V", "W")]), "2");
        assert_eq!(refused(&graph), ["a"]);
        let cycle = graph.cycle("a").unwrap().to_string();
        let expect = "V.a.view.dcontroller.io";
        assert!(cycle.contains(expect), "{cycle}");
        // The older one is edited: nobody is refused.
        graph.set(&operator("b", &[("b/X", "W")]), "2");
        assert_eq!(refused(&graph), [""; 0]);
        graph.set(&operator("b", &[("a/V", "W")]), "4");
        assert_eq!(refused(&graph), ["b"]);
        graph.remove("a");
        assert_eq!(refused(&graph), [""; 0]);
    }

    #[test]
    fn a_cycle_of_three_is_found() {
        let graph = ViewGraph::default();
        graph.set(&operator("a", &[("c/V", "V")]), "1");
        graph.set(&operator("b", &[("a/V", "V")]), "2");
        assert_eq!(refused(&graph), [""; 0]);
        graph.set(&operator("c", &[("b/V", "V")]), "3");
        assert_eq!(refused(&graph), ["c"]);
    }

    #[test]
    fn operators_that_read_each_other_without_a_cycle_run() {
        let graph = ViewGraph::default();
        // a/In ─▶ b/Mid ─▶ a/Out, and nothing leads back.
        graph.set(&operator("a", &[("a/User", "In"), ("b/Mid", "Out")]), "1");
        graph.set(&operator("b", &[("a/In", "Mid")]), "2");
        assert_eq!(refused(&graph), [""; 0]);
        // A cycle inside one Operator is allowed.
        graph.set(
            &operator("c", &[("c/A", "B"), ("c/B", "A"), ("a/Out", "X")]),
            "3",
        );
        assert_eq!(refused(&graph), [""; 0]);
    }
}
