//! Whether a controller has read everything that it derives from.
//!
//! A target that is no longer derived is deleted only if no object upstream can still derive
//! it. Right after a restart that is uncertain in two cases. While an object upstream is in
//! error, its last good output is gone, because the restart has lost it. And once the error is
//! corrected, its output still has to pass through every view on the way:
//!
//! ```text
//! Pod b ──▶ producer ──▶ view ──▶ reader ──▶ ConfigMap b
//!           no error     has b    has not read b yet: ConfigMap b stays
//! ```
//!
//! So for each of its views an engine publishes the version up to which a reader must have
//! read it ([`Basis::settled`]). A reader that has read that far publishes the same for the
//! views that it fills itself.

use std::collections::BTreeMap;

use object::GroupKind;
use operator::Operator;
use store::{Basis, Lost, Version};

use super::Task;
use super::controller_task::ControllerTask;
use super::unread::combines;
use super::views::{Outputs, view_of};
use crate::view_source::operator_of;

/// Whether the inputs of a controller are complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Upstream {
    /// Why an object that it derives from may be missing.
    pub(super) missing: Option<String>,
    /// Why its own output may be incomplete.
    pub(super) failure: Option<String>,
    /// Whether it derives from objects that no controller yields, such as those that a user put
    /// into a view. A restart loses them, so that their absence proves nothing.
    pub(super) volatile: bool,
}

/// How the controllers of an Operator depend on each other and on views.
#[derive(Debug)]
pub(super) struct Graph {
    /// For each controller the other controllers that it reads from, directly or indirectly.
    feeders: Vec<Vec<usize>>,
    /// For each controller those of its inputs that are views.
    views: Vec<Vec<ViewInput>>,
    /// For each complete view of this Operator, its version when it became complete.
    settled: BTreeMap<GroupKind, u64>,
    /// For each view of this Operator that has lost nothing since the start, its version when that
    /// became so.
    whole: BTreeMap<GroupKind, u64>,
    /// What views of other Operators have lost, by controller and input, as last known.
    lost: BTreeMap<(usize, usize), Loss>,
}

/// What the output of a controller lacks because of objects that have been in error, or have not been
/// read, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loss {
    #[default]
    Nothing,
    /// Some documents may be missing.
    Objects,
    /// Documents may be derived from fewer objects than before, for example in a group.
    Contents,
}

#[derive(Clone, Debug)]
struct ViewInput {
    input: usize,
    view: GroupKind,
    /// Whether it is a view of the same Operator.
    own: bool,
}

impl Graph {
    pub(super) fn new(operator: &Operator) -> Self {
        let numbers = 0..operator.controllers.len();
        Self {
            feeders: operator.feeders(),
            views: numbers.map(|n| view_inputs(operator, n)).collect(),
            settled: BTreeMap::new(),
            whole: BTreeMap::new(),
            lost: BTreeMap::new(),
        }
    }

    /// The other controllers that this one reads from, directly or indirectly.
    pub(super) fn feeders(&self, number: usize) -> &[usize] {
        &self.feeders[number]
    }

    /// The version at which a view of this Operator became complete; `None` if it is not.
    fn settle(
        &mut self,
        view: &GroupKind,
        views: &Outputs,
        tasks: &[ControllerTask],
        upstream: &[Upstream],
    ) -> Option<u64> {
        let mut producers = views.producers(view).iter();
        let complete = producers.all(|producer| {
            let Upstream {
                missing, failure, ..
            } = &upstream[*producer];
            tasks[*producer].open && missing.is_none() && failure.is_none()
        });
        since(&mut self.settled, complete, view, views)
    }

    /// What a view of this Operator has lost.
    fn lost(&mut self, view: &GroupKind, views: &Outputs, losses: &[Loss]) -> Lost {
        let producers = views.producers(view).iter();
        let loss = producers.map(|producer| losses[*producer]).max();
        let loss = loss.unwrap_or_default();
        let whole = since(&mut self.whole, loss == Loss::Nothing, view, views);
        match (loss, whole) {
            (Loss::Nothing, version) => Lost::Nothing(Version(version.unwrap_or_default())),
            (Loss::Objects, _) => Lost::Objects,
            (Loss::Contents, _) => Lost::Contents,
        }
    }
}

/// The version of a view since which something holds; `None` if it does not.
fn since(
    known: &mut BTreeMap<GroupKind, u64>,
    holds: bool,
    view: &GroupKind,
    views: &Outputs,
) -> Option<u64> {
    if !holds {
        known.remove(view);
        return None;
    }
    let version = known.entry(view.clone());
    Some(*version.or_insert_with(|| views.version(view)))
}

fn view_inputs(operator: &Operator, number: usize) -> Vec<ViewInput> {
    let controller = &operator.controllers[number];
    let inputs = controller.inputs.iter().enumerate();
    let views = inputs.filter_map(|(input, source)| {
        let view = view_of(&controller.sources[*source])?;
        Some(ViewInput {
            input,
            own: operator_of(&view) == operator.name,
            view,
        })
    });
    views.collect()
}

impl Task {
    /// The state of each controller's inputs, after the batches taken so far.
    pub(super) fn upstream(&mut self) -> Vec<Upstream> {
        let numbers = 0..self.controllers.len();
        let outside: Vec<Upstream> = numbers.map(|number| self.outside(number)).collect();
        let mut all = outside.clone();
        for position in 0..self.order.len() {
            let number = self.order[position];
            let mut upstream = outside[number].clone();
            for feeder in self.graph.feeders(number) {
                let feeder = &outside[*feeder];
                upstream.volatile |= feeder.volatile;
                let why = feeder.failure.as_ref().or(feeder.missing.as_ref());
                upstream.missing = upstream.missing.or_else(|| why.cloned());
            }
            all[number] = upstream;
        }
        all
    }

    /// Publishes which views are complete.
    pub(super) fn publish(&mut self, upstream: &[Upstream]) {
        let losses = self.losses();
        let (views, tasks, graph) = (&self.views, &self.controllers, &mut self.graph);
        let over_budget = tasks.iter().any(|task| task.stopped.is_some());
        views.publish(over_budget, |view| {
            let producers = views.producers(view);
            let complete = producers.iter().all(|number| tasks[*number].open);
            let volatile = producers.iter().any(|number| upstream[*number].volatile);
            complete.then(|| Basis {
                settled: graph.settle(view, views, tasks, upstream).map(Version),
                volatile: volatile || !views.yields(view),
                lost: graph.lost(view, views, &losses),
            })
        });
    }

    /// The state of a controller without the views of its own Operator: its own errors, and the
    /// views of other Operators and of users.
    fn outside(&self, number: usize) -> Upstream {
        let mut upstream = Upstream {
            failure: self.failure(number),
            ..Upstream::default()
        };
        for ViewInput { input, view, own } in &self.graph.views[number] {
            if *own {
                upstream.volatile |= !self.views.yields(view);
                continue;
            }
            let (kind, operator) = (&view.kind, operator_of(view));
            let basis = self.context.store.require_complete(view).ok();
            upstream.volatile |= basis.is_some_and(|basis| basis.volatile);
            let why = match basis.map(|basis| basis.settled) {
                None => "is not available",
                Some(None) => "derives from objects in error",
                Some(Some(Version(version))) if self.read(number, *input) < version => {
                    "is being read"
                }
                Some(Some(_)) => continue,
            };
            upstream.missing = Some(format!("view {kind} of Operator {operator} {why}"));
        }
        upstream
    }

    /// What the output of each controller lacks.
    pub(super) fn losses(&mut self) -> Vec<Loss> {
        let numbers = 0..self.controllers.len();
        let upstream: Vec<Loss> = numbers.map(|number| self.lost_by_views(number)).collect();
        let own = |number: usize| self.lost_by_errors(number);
        let numbers = 0..self.controllers.len();
        let losses = numbers.map(|number| {
            let feeders = self.graph.feeders(number).iter();
            let fed = feeders.map(|feeder| own(*feeder).max(upstream[*feeder]));
            let missing = fed.max().unwrap_or_default().max(upstream[number]);
            let feeders = self.graph.feeders(number).iter().copied();
            let mut chain = std::iter::once(number).chain(feeders);
            let controllers = &self.operator.controllers;
            let combined =
                missing == Loss::Objects && chain.any(|number| combines(&controllers[number]));
            let missing = if combined { Loss::Contents } else { missing };
            missing.max(own(number))
        });
        losses.collect()
    }

    /// What the views of other Operators that a controller reads have lost. While a view is not
    /// available, the answer stays the same.
    fn lost_by_views(&mut self, number: usize) -> Loss {
        let views = self.graph.views[number].clone();
        let others = views.into_iter().filter(|view| !view.own);
        let lost = others.map(|ViewInput { input, view, .. }| {
            let known = self.context.store.require_complete(&view).ok();
            let known = known.map(|basis| match basis.lost {
                Lost::Nothing(Version(version)) if self.read(number, input) >= version => {
                    Loss::Nothing
                }
                Lost::Objects => Loss::Objects,
                // What it lacked may be on its way.
                Lost::Nothing(_) | Lost::Contents => Loss::Contents,
            });
            let last = self.graph.lost.entry((number, input)).or_default();
            *last = known.unwrap_or(*last);
            *last
        });
        lost.max().unwrap_or_default()
    }

    /// Why the output of a controller may be incomplete.
    fn failure(&self, number: usize) -> Option<String> {
        let name = &self.operator.controllers[number].name;
        let task = &self.controllers[number];
        if task.stopped.is_some() {
            return Some(format!("controller {name} is over its budget"));
        }
        task.hides()
            .then(|| format!("controller {name} has objects in error"))
    }

    /// The version up to which a controller has read a view.
    fn read(&self, number: usize, input: usize) -> u64 {
        let state = self.ports.get(&(number, input));
        state.map_or(0, |state| state.version)
    }
}

#[cfg(test)]
mod tests {
    use document::{Value, json};

    use super::*;
    use crate::availability::Producer;
    use crate::inbox::PortState;

    /// An Operator whose controllers are open.
    fn task(controllers: &[Value]) -> Task {
        let mut task = crate::task::fixture::task(controllers);
        task.controllers.iter_mut().for_each(|c| c.open = true);
        task
    }

    fn controller(name: &str, source: Value, target: &str) -> Value {
        json!({
            "name": name, "sources": [(source)], "pipeline": [{"@select": true}],
            "target": {"kind": target},
        })
    }

    fn read(task: &mut Task, number: usize, version: u64) {
        let state = PortState {
            listed: true,
            version,
            ..PortState::default()
        };
        task.ports.insert((number, 0), state);
    }

    fn missing(task: &mut Task, number: usize) -> String {
        let upstream = task.upstream();
        upstream[number].missing.clone().unwrap_or_default()
    }

    fn other() -> GroupKind {
        GroupKind::new("p.view.dcontroller.io", "V")
    }

    fn settle(producer: &Producer, settled: Option<u64>) {
        let basis = Basis {
            settled: settled.map(Version),
            volatile: false,
            lost: Lost::Nothing(Version(0)),
        };
        producer.publish(false, [(&other(), Some(basis))].into_iter());
    }

    #[tokio::test]
    async fn a_view_of_another_operator_must_be_read_up_to_its_settled_version() {
        let source = json!({"apiGroup": "p.view.dcontroller.io", "kind": "V"});
        let mut task = task(&[controller("c", source, "W")]);
        read(&mut task, 0, 4);
        let view = "view V of Operator p";
        assert_eq!(missing(&mut task, 0), format!("{view} is not available"));
        let producer = task.context.views.start("p", [other()], BTreeMap::new());
        settle(&producer, None);
        let failing = format!("{view} derives from objects in error");
        assert_eq!(missing(&mut task, 0), failing);
        settle(&producer, Some(5));
        assert_eq!(missing(&mut task, 0), format!("{view} is being read"));
        read(&mut task, 0, 5);
        assert_eq!(missing(&mut task, 0), "");
    }

    #[tokio::test]
    async fn an_incomplete_input_makes_the_own_views_incomplete() {
        let source = json!({"apiGroup": "p.view.dcontroller.io", "kind": "V"});
        let last = controller("last", json!({"kind": "W"}), "X");
        let mut task = task(&[last, controller("first", source, "W")]);
        read(&mut task, 1, 4);
        let producer = task.context.views.start("p", [other()], BTreeMap::new());
        settle(&producer, Some(5));
        let expect = "view V of Operator p is being read";
        assert_eq!(missing(&mut task, 0), expect);
        let settled = |task: &mut Task, kind: &str| {
            let upstream = task.upstream();
            task.publish(&upstream);
            let view = GroupKind::new("o.view.dcontroller.io", kind);
            let basis = task.context.store.require_complete(&view).unwrap();
            basis.settled.map(|version| version.0)
        };
        assert_eq!(settled(&mut task, "X"), None);
        read(&mut task, 1, 5);
        assert_eq!(missing(&mut task, 0), "");
        assert_eq!(settled(&mut task, "X"), Some(0));
    }

    /// Neither controller waits for the other.
    #[tokio::test]
    async fn a_cycle_settles() {
        let one = controller("one", json!({"kind": "B"}), "A");
        let two = controller("two", json!({"kind": "A"}), "B");
        let mut task = task(&[one, two]);
        assert_eq!(missing(&mut task, 0), "");
        assert_eq!(missing(&mut task, 1), "");
    }

    /// A chain of as many controllers as the CRD allows, connected by as many views. If each were
    /// compared with each, for each reader, this would take minutes.
    #[test]
    fn planning_a_long_chain_takes_a_moment() {
        const CONTROLLERS: usize = 255;
        let kinds = |number: usize, count: usize| {
            (0..count).map(move |view| json!({"kind": (format!("V{number}x{view}"))}))
        };
        let controllers = (0..CONTROLLERS).map(|number| {
            let branches = kinds(number, 32).zip(kinds(number + 1, 32));
            let branches = branches.map(|(source, target)| {
                let (input, output) = (source.get("kind").clone(), target.get("kind").clone());
                json!([{"@inputs": [input]}, {"@output": output}])
            });
            json!({
                "name": (format!("c{number}")),
                "sources": (kinds(number, 32).collect::<Value>()),
                "pipeline": (branches.collect::<Value>()),
                "targets": (kinds(number + 1, 32).collect::<Value>()),
            })
        });
        let operator = crate::task::fixture::operator(controllers.collect());
        let start = std::time::Instant::now();
        let graph = Graph::new(&operator);
        let took = start.elapsed();
        assert_eq!(graph.feeders(0), [0; 0]);
        assert_eq!(graph.feeders(254), (0..254).collect::<Vec<_>>());
        assert!(took < std::time::Duration::from_secs(5), "{took:?}");
    }
}
