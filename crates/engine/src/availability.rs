//! Which views are available, and since when.
//!
//! A view that its Operator has not filled is *unavailable*, which is not the same as empty: a
//! reader that took it for empty would delete everything that it has derived from it. The rules
//! are here. Their result is stored as the completeness of the view's collection in the store,
//! and all readers look there: engines, reconcilers in Rust, and the server of views.
//!
//! | the Operator | views that it yields | other views of its group |
//! |---|---|---|
//! | does not exist, or does not run | incomplete | incomplete |
//! | starts | incomplete | complete |
//! | has filled a view | complete | complete |
//! | is over its budget | incomplete | incomplete |
//!
//! An engine is registered with [`Views::start`] and reports through its [`Producer`]. A
//! restarted Operator has a new engine, and reports of the old one are ignored.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::{GroupKind, VIEW_SUFFIX};
use operator::ViewShape;
use store::{Basis, Completeness, GroupCompleteness, Store};
use tokio::sync::{mpsc, watch};

use super::causes::Causes;
use super::secrets::SecretFlows;
use super::snapshot::{Asked, NoSnapshot, Questions};
use super::views::write::Memories;

/// The views that are served, by API group, with their shapes: those of the group that each Operator
/// yields or reads, or did when it ran last. An Operator without views has an empty map; one that has
/// not run yet has none.
pub type ServedViews = BTreeMap<String, Arc<BTreeMap<GroupKind, ViewShape>>>;

/// The views of all Operators of a process. Clones share their state.
#[derive(Clone, Debug)]
pub struct Views(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Holds the views and their completeness.
    store: Store,
    registry: Mutex<Registry>,
    /// The fields that writers have set on objects of views.
    memories: Memories,
    /// Which changes of views count for `maxDeletions`.
    causes: Causes,
    /// Which Operators read Secrets, directly or through views.
    secrets: SecretFlows,
    served: watch::Sender<ServedViews>,
}

#[derive(Debug, Default)]
struct Registry {
    /// Whether all views are available, because this process runs no Operators.
    without_operators: bool,
    operators: BTreeMap<String, ProducerState>,
    /// The number of the last engine.
    engines: u64,
}

/// The state of an Operator, as far as its views depend on it.
#[derive(Debug)]
enum ProducerState {
    /// It does not run, for this reason.
    Down(String),
    /// It has a running engine.
    Runs {
        /// The number of the engine.
        engine: u64,
        over_budget: bool,
        /// The views that it yields; `None` until they are complete.
        yields: BTreeMap<GroupKind, Option<Basis>>,
        /// Asks for its objects.
        questions: Questions,
        /// All views of its group that can be served: also those that it only reads.
        shapes: Arc<BTreeMap<GroupKind, ViewShape>>,
    },
}

impl ProducerState {
    /// Whether the engine with this number runs.
    fn is_of(&self, number: u64) -> bool {
        matches!(self, Self::Runs { engine, .. } if *engine == number)
    }

    /// The completeness of the Operator's views.
    fn completeness(&self) -> GroupCompleteness {
        let none = |why: &str| GroupCompleteness {
            collections: BTreeMap::new(),
            others: Completeness::Incomplete(why.to_owned()),
        };
        match self {
            Self::Down(why) => none(why),
            Self::Runs {
                over_budget: true, ..
            } => none("the Operator is over its budget"),
            Self::Runs { yields, .. } => GroupCompleteness {
                collections: yields
                    .iter()
                    .map(|(view, basis)| (view.clone(), yielded(*basis)))
                    .collect(),
                others: Completeness::Complete(Basis::USERS),
            },
        }
    }
}

/// The completeness of a view that a running engine yields.
fn yielded(basis: Option<Basis>) -> Completeness {
    let why = || "the Operator has started and has not filled it yet".to_owned();
    basis.map_or_else(|| Completeness::Incomplete(why()), Completeness::Complete)
}

impl Views {
    /// The views of this store. A view is unavailable until its Operator runs.
    pub fn new(store: &Store) -> Self {
        Self(Arc::new(Shared {
            store: store.clone(),
            registry: Mutex::default(),
            memories: Memories::default(),
            causes: Causes::default(),
            secrets: SecretFlows::default(),
            served: watch::Sender::default(),
        }))
    }

    /// The views that are served, and a notification when they change.
    pub fn served(&self) -> watch::Receiver<ServedViews> {
        self.0.served.subscribe()
    }

    /// Makes all views available, because this process runs no Operators and views contain only
    /// what users write.
    pub fn without_operators(&self) {
        let mut registry = self.registry();
        registry.without_operators = true;
        for operator in registry.operators.keys() {
            self.0.store.set_completeness(&group(operator), None);
        }
        let complete = Completeness::Complete(Basis::USERS);
        self.0.store.set_default_completeness(complete);
    }

    /// Makes the views of an Operator unavailable, for this reason.
    pub fn down(&self, operator: &str, why: impl Into<String>) {
        self.set(
            &mut self.registry(),
            operator,
            Some(ProducerState::Down(why.into())),
        );
    }

    /// Removes an Operator that no longer exists.
    pub fn remove(&self, operator: &str) {
        self.set(&mut self.registry(), operator, None);
    }

    /// Registers a new engine of an Operator, which will fill the views `yields`. `shapes` are all
    /// views of its group.
    pub(super) fn start(
        &self,
        operator: &str,
        yields: impl IntoIterator<Item = GroupKind>,
        shapes: BTreeMap<GroupKind, ViewShape>,
    ) -> Producer {
        let mut registry = self.registry();
        registry.engines += 1;
        let engine = registry.engines;
        let (questions, asked) = mpsc::unbounded_channel();
        let state = ProducerState::Runs {
            engine,
            over_budget: false,
            yields: yields.into_iter().map(|view| (view, None)).collect(),
            questions,
            shapes: Arc::new(shapes),
        };
        self.set(&mut registry, operator, Some(state));
        Producer {
            views: self.clone(),
            operator: operator.to_owned(),
            engine,
            asked: Some(asked),
        }
    }

    /// Where the engine of an Operator is asked for its objects.
    pub(super) fn questions(&self, operator: &str) -> Result<Questions, NoSnapshot> {
        match self.registry().operators.get(operator) {
            None => Err(NoSnapshot::NoOperator),
            Some(ProducerState::Down(why)) => Err(NoSnapshot::Unavailable(why.clone())),
            Some(ProducerState::Runs { questions, .. }) => Ok(questions.clone()),
        }
    }

    pub(super) fn memories(&self) -> &Memories {
        &self.0.memories
    }

    /// Which Operators values of Secrets can reach.
    pub(crate) fn secrets(&self) -> &SecretFlows {
        &self.0.secrets
    }

    /// Which changes of views count for `maxDeletions`.
    pub(crate) fn causes(&self) -> &Causes {
        &self.0.causes
    }

    fn set(&self, registry: &mut Registry, operator: &str, state: Option<ProducerState>) {
        match state {
            Some(state) => registry.operators.insert(operator.to_owned(), state),
            None => registry.operators.remove(operator),
        };
        self.publish(registry, operator);
    }

    /// Stores the completeness of an Operator's views. The caller keeps the registry locked, so
    /// that concurrent updates reach the store in order.
    fn publish(&self, registry: &Registry, operator: &str) {
        if registry.without_operators {
            return;
        }
        let state = registry.operators.get(operator);
        self.serve(operator, state);
        let completeness = state.map(ProducerState::completeness);
        self.0
            .store
            .set_completeness(&group(operator), completeness);
    }

    /// Updates the views that are served. Those of an Operator that is down still are: requests
    /// for their objects get the reason.
    fn serve(&self, operator: &str, state: Option<&ProducerState>) {
        let group = group(operator);
        let views = match state {
            Some(ProducerState::Runs { shapes, .. }) => Some(shapes.clone()),
            Some(ProducerState::Down(_)) => return,
            None => None,
        };
        self.0.served.send_if_modified(|served| match views {
            Some(views) => served.insert(group, views.clone()) != Some(views),
            None => served.remove(&group).is_some(),
        });
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        let registry = self.0.registry.lock();
        // The registry is valid between any two statements.
        registry.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The API group of the views of an Operator.
fn group(operator: &str) -> String {
    format!("{operator}{VIEW_SUFFIX}")
}

/// The handle of an engine that fills views. Dropping it makes them unavailable.
#[derive(Debug)]
pub(super) struct Producer {
    views: Views,
    operator: String,
    engine: u64,
    /// Who asks for the objects of the engine, until it starts to answer.
    asked: Option<mpsc::UnboundedReceiver<Asked>>,
}

impl Producer {
    /// Who asks for the objects of the engine.
    pub(super) fn take_asked(&mut self) -> Option<mpsc::UnboundedReceiver<Asked>> {
        self.asked.take()
    }

    /// Publishes the state of the views that the engine yields. Call it after their objects
    /// have been written to the store.
    pub(super) fn publish<'a>(
        &self,
        over: bool,
        views: impl Iterator<Item = (&'a GroupKind, Option<Basis>)>,
    ) {
        let mut registry = self.views.registry();
        let state = registry.operators.get_mut(&self.operator);
        let Some(ProducerState::Runs {
            over_budget,
            yields,
            ..
        }) = state.filter(|state| state.is_of(self.engine))
        else {
            return;
        };
        let mut changed = std::mem::replace(over_budget, over) != over;
        for (view, basis) in views {
            if let Some(known) = yields.get_mut(view) {
                changed |= std::mem::replace(known, basis) != basis;
            }
        }
        if changed {
            self.views.publish(&registry, &self.operator);
        }
    }

    /// Makes the views unavailable. Call it before removing objects from them that are still
    /// derived.
    pub(super) fn down(&self, why: &str) {
        let mut registry = self.views.registry();
        let state = registry.operators.get(&self.operator);
        if state.is_some_and(|state| state.is_of(self.engine)) {
            let down = ProducerState::Down(why.to_owned());
            self.views.set(&mut registry, &self.operator, Some(down));
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.down("the Operator has stopped");
    }
}

#[cfg(test)]
mod tests {
    use store::Version;

    use super::*;

    fn view() -> GroupKind {
        GroupKind::new("o.view.dcontroller.io", "V")
    }

    fn views() -> Views {
        Views::new(&Store::new(crate::clock::System, store::Config::default()))
    }

    fn publish(producer: &Producer, settled: Option<u64>) {
        let basis = Basis {
            settled: settled.map(Version),
            volatile: false,
            lost: store::Lost::Nothing(Version(0)),
        };
        producer.publish(false, [(&view(), Some(basis))].into_iter());
    }

    fn check(views: &Views, expect: Result<Basis, &str>) {
        let found = match views.0.store.require_complete(&view()) {
            Err(store::Error::Incomplete { reason, .. }) => Err(reason),
            other => Ok(other.unwrap()),
        };
        assert_eq!(found, expect.map_err(str::to_owned));
    }

    #[test]
    fn views_are_served_until_their_operator_is_gone() {
        let views = views();
        let served = views.served();
        let shapes = BTreeMap::from([(view(), ViewShape::default())]);
        let producer = views.start("o", [], shapes.clone());
        let group = "o.view.dcontroller.io";
        let known = Arc::new(shapes);
        assert_eq!(served.borrow().get(group), Some(&known));
        drop(producer);
        assert_eq!(served.borrow().get(group), Some(&known));
        let _without_views = views.start("o", [], BTreeMap::new());
        assert_eq!(served.borrow().get(group), Some(&Arc::default()));
        views.remove("o");
        assert!(served.borrow().is_empty());
        views.down("o", "it has not started yet");
        assert!(served.borrow().is_empty());
    }

    #[test]
    fn a_view_is_available_while_a_complete_engine_runs() {
        let views = views();
        let basis = Basis {
            settled: Some(Version(1)),
            volatile: false,
            lost: store::Lost::Nothing(Version(0)),
        };
        check(&views, Err("there is no such Operator"));
        views.down("o", "it is too early");
        check(&views, Err("it is too early"));
        let producer = views.start("o", [view()], BTreeMap::new());
        let starting = "the Operator has started and has not filled it yet";
        check(&views, Err(starting));
        publish(&producer, Some(1));
        check(&views, Ok(basis));
        producer.publish(true, std::iter::empty());
        check(&views, Err("the Operator is over its budget"));
        producer.publish(false, std::iter::empty());
        check(&views, Ok(basis));
        drop(producer);
        check(&views, Err("the Operator has stopped"));
        views.remove("o");
        check(&views, Err("there is no such Operator"));
    }

    #[test]
    fn a_replaced_engine_changes_nothing() {
        let views = views();
        let available = || views.0.store.require_complete(&view()).is_ok();
        let old = views.start("o", [view()], BTreeMap::new());
        let new = views.start("o", [view()], BTreeMap::new());
        publish(&old, Some(1));
        assert!(!available());
        publish(&new, Some(1));
        drop(old);
        assert!(available());
        new.down("it is being deleted");
        publish(&new, Some(2));
        assert!(!available());
    }

    #[test]
    fn each_engine_that_completes_a_view_starts_a_new_period() {
        let views = views();
        let status = views.0.store.status(&view());
        let period = || {
            let status = status.borrow();
            status.basis().map(|_| status.period)
        };
        let first = views.start("o", [view()], BTreeMap::new());
        publish(&first, Some(1));
        assert_eq!(period(), Some(1));
        publish(&first, None);
        assert_eq!(period(), Some(1));
        drop(first);
        assert_eq!(period(), None);
        let second = views.start("o", [view()], BTreeMap::new());
        publish(&second, Some(1));
        assert_eq!(period(), Some(2));
    }

    #[test]
    fn a_view_that_no_controller_yields_is_complete_and_volatile() {
        let running = views();
        let _producer = running.start("o", [], BTreeMap::new());
        check(&running, Ok(Basis::USERS));
        let alone = views();
        alone.down("o", "it has not started yet");
        check(&alone, Err("it has not started yet"));
        alone.without_operators();
        check(&alone, Ok(Basis::USERS));
        alone.down("o", "it has not started yet");
        check(&alone, Ok(Basis::USERS));
    }
}
