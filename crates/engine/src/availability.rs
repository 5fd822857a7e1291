//! Who makes which view available, and when.
//!
//! A view whose Operator does not fill it is unavailable, not empty. The rules are here;
//! what they say is kept in the store, as the completeness of its collections, and every
//! reader asks there: engines, reconcilers in Rust, and whoever serves views.
//!
//! | the Operator | its views |
//! |---|---|
//! | does not exist, does not run | incomplete |
//! | runs | those that it yields: complete once it says so; all others: complete |
//! | runs over its budget | incomplete |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::{GroupKind, VIEW_SUFFIX};
use store::{Basis, Completeness, GroupCompleteness, Store};

use super::causes::Causes;
use super::secrets::SecretFlows;
use super::views::write::Memories;

/// The views of all operators of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct Views(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Where readers ask.
    store: Store,
    registry: Mutex<Registry>,
    /// What Patchers have set on objects of users.
    memories: Memories,
    /// What caused the changes of views.
    causes: Causes,
    /// Who reads which of them, and Secrets.
    secrets: SecretFlows,
}

#[derive(Debug, Default)]
struct Registry {
    /// Whether views need no Operator, because this process runs none.
    without_operators: bool,
    operators: BTreeMap<String, Standing>,
    /// The number of the last engine.
    engines: u64,
}

/// How an Operator stands, as far as its views depend on it.
#[derive(Debug)]
enum Standing {
    /// Its views are not available, because of this.
    Down(String),
    /// An engine runs.
    Runs {
        /// Which engine.
        engine: u64,
        over_budget: bool,
        /// The views that it yields; `None` until they are complete.
        yields: BTreeMap<GroupKind, Option<Basis>>,
    },
}

impl Standing {
    /// Whether this engine runs.
    fn is_of(&self, number: u64) -> bool {
        matches!(self, Self::Runs { engine, .. } if *engine == number)
    }

    /// What readers of the views are to know.
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

/// How a view stands that an engine yields.
fn yielded(basis: Option<Basis>) -> Completeness {
    let why = || "it is not complete yet since the Operator started".to_owned();
    basis.map_or_else(|| Completeness::Incomplete(why()), Completeness::Complete)
}

impl Views {
    /// The views of this store. They are not available before their operators run.
    pub fn new(store: &Store) -> Self {
        Self(Arc::new(Shared {
            store: store.clone(),
            registry: Mutex::default(),
            memories: Memories::default(),
            causes: Causes::default(),
            secrets: SecretFlows::default(),
        }))
    }

    /// This process runs no operators: views hold what users put into them, and are all
    /// available.
    pub fn without_operators(&self) {
        let mut registry = self.registry();
        registry.without_operators = true;
        for operator in registry.operators.keys() {
            self.0.store.set_completeness(&group(operator), None);
        }
        let complete = Completeness::Complete(Basis::USERS);
        self.0.store.set_default_completeness(complete);
    }

    /// The views of an Operator are not available, because of this.
    pub fn down(&self, operator: &str, why: impl Into<String>) {
        self.stand(
            &mut self.registry(),
            operator,
            Some(Standing::Down(why.into())),
        );
    }

    /// An Operator does not exist any more.
    pub fn remove(&self, operator: &str) {
        self.stand(&mut self.registry(), operator, None);
    }

    /// An engine of an operator starts: it will fill these views.
    pub(super) fn start(
        &self,
        operator: &str,
        yields: impl IntoIterator<Item = GroupKind>,
    ) -> Producer {
        let mut registry = self.registry();
        registry.engines += 1;
        let engine = registry.engines;
        let standing = Standing::Runs {
            engine,
            over_budget: false,
            yields: yields.into_iter().map(|view| (view, None)).collect(),
        };
        self.stand(&mut registry, operator, Some(standing));
        Producer {
            views: self.clone(),
            operator: operator.to_owned(),
            engine,
        }
    }

    pub(super) fn memories(&self) -> &Memories {
        &self.0.memories
    }

    /// Into which Operators values of Secrets flow.
    pub(crate) fn secrets(&self) -> &SecretFlows {
        &self.0.secrets
    }

    /// What caused the changes of views.
    pub(crate) fn causes(&self) -> &Causes {
        &self.0.causes
    }

    fn stand(&self, registry: &mut Registry, operator: &str, standing: Option<Standing>) {
        match standing {
            Some(standing) => registry.operators.insert(operator.to_owned(), standing),
            None => registry.operators.remove(operator),
        };
        self.publish(registry, operator);
    }

    /// Says in the store how the views of an Operator stand. The registry is locked
    /// meanwhile, so that the last word in the store is the last one here.
    fn publish(&self, registry: &Registry, operator: &str) {
        if registry.without_operators {
            return;
        }
        let standing = registry.operators.get(operator);
        let completeness = standing.map(Standing::completeness);
        self.0
            .store
            .set_completeness(&group(operator), completeness);
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

/// An engine that fills views. When it is dropped, they are not available any more.
#[derive(Debug)]
pub(super) struct Producer {
    views: Views,
    operator: String,
    engine: u64,
}

impl Producer {
    /// How the views stand that the engine yields. To be called after what they hold has
    /// been written.
    pub(super) fn publish<'a>(
        &self,
        over: bool,
        views: impl Iterator<Item = (&'a GroupKind, Option<Basis>)>,
    ) {
        let mut registry = self.views.registry();
        let standing = registry.operators.get_mut(&self.operator);
        let Some(Standing::Runs {
            over_budget,
            yields,
            ..
        }) = standing.filter(|standing| standing.is_of(self.engine))
        else {
            return;
        };
        let mut news = std::mem::replace(over_budget, over) != over;
        for (view, basis) in views {
            if let Some(known) = yields.get_mut(view) {
                news |= std::mem::replace(known, basis) != basis;
            }
        }
        if news {
            self.views.publish(&registry, &self.operator);
        }
    }

    /// The views are not available any more. To be called before anything is taken out of
    /// them that stays derived.
    pub(super) fn down(&self, why: &str) {
        let mut registry = self.views.registry();
        let standing = registry.operators.get(&self.operator);
        if standing.is_some_and(|standing| standing.is_of(self.engine)) {
            let down = Standing::Down(why.to_owned());
            self.views.stand(&mut registry, &self.operator, Some(down));
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
    fn a_view_is_available_while_a_complete_engine_runs() {
        let views = views();
        let basis = Basis {
            settled: Some(Version(1)),
            volatile: false,
        };
        check(&views, Err("there is no such Operator"));
        views.down("o", "it is too early");
        check(&views, Err("it is too early"));
        let producer = views.start("o", [view()]);
        let starting = "it is not complete yet since the Operator started";
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
    fn an_engine_that_was_replaced_says_nothing_any_more() {
        let views = views();
        let available = || views.0.store.require_complete(&view()).is_ok();
        let old = views.start("o", [view()]);
        let new = views.start("o", [view()]);
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
    fn each_engine_that_completes_a_view_begins_a_period() {
        let views = views();
        let status = views.0.store.status(&view());
        let period = || {
            let status = status.borrow();
            status.basis().map(|_| status.period)
        };
        let first = views.start("o", [view()]);
        publish(&first, Some(1));
        assert_eq!(period(), Some(1));
        publish(&first, None);
        assert_eq!(period(), Some(1));
        drop(first);
        assert_eq!(period(), None);
        let second = views.start("o", [view()]);
        publish(&second, Some(1));
        assert_eq!(period(), Some(2));
    }

    #[test]
    fn a_view_that_no_controller_yields_is_available_and_volatile() {
        let running = views();
        let _producer = running.start("o", []);
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
