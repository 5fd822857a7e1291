//! Which views are available, and what may be concluded from what they lack.
//!
//! A view whose Operator does not fill it is unavailable, not empty. Engines and
//! reconcilers in Rust ask the same place:
//!
//! ```text
//! producer   starts ──▶ complete (1) ──▶ edited ─────▶ complete (2)
//! reader     waits      lists, follows   keeps all     lists again, applies the difference
//! ```
//!
//! Each time a view becomes available begins a *period* with a number of its own. A
//! reader that finds another period, or none, discards the events that it has not
//! delivered yet: they may be of a producer that was deleted together with its view.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cluster::source::Unavailable;
use object::{GroupKind, VIEW_SUFFIX};
use tokio::sync::watch;

use super::causes::Causes;
use super::patches::Patches;
use super::secrets::SecretFlows;
use crate::view_source::{Availability, Period};

/// The views of all operators of a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Views(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    registry: Mutex<Registry>,
    /// What Patchers have set on objects of users.
    patches: Patches,
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
    /// The views that have readers.
    read: BTreeMap<GroupKind, watch::Sender<Availability>>,
    /// The last number that an engine or a period got.
    last: u64,
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
}

/// What a complete view lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Basis {
    /// Whoever has read the view up to this version has all that is derived. `None` while
    /// an object upstream is in error: what it yields may be missing.
    pub(super) settled: Option<u64>,
    /// Whether it derives from objects that no controller yields, which a restart forgets.
    pub(super) volatile: bool,
}

impl Basis {
    /// Of a view that only users write to.
    const USERS: Self = Self {
        settled: Some(0),
        volatile: true,
    };
}

impl Views {
    /// This process runs no operators: views hold what users put into them, and are all
    /// available.
    pub fn without_operators(&self) {
        let mut registry = self.registry();
        registry.without_operators = true;
        registry.tell(|_| true);
    }

    /// The views of an Operator are not available, because of this.
    pub fn down(&self, operator: &str, why: impl Into<String>) {
        self.registry().stand(operator, Standing::Down(why.into()));
    }

    /// An Operator does not exist any more.
    pub fn remove(&self, operator: &str) {
        let mut registry = self.registry();
        registry.operators.remove(operator);
        registry.tell(|collection| operator_of(collection) == operator);
    }

    /// An engine of an operator starts: it will fill these views.
    pub(super) fn start(
        &self,
        operator: &str,
        yields: impl IntoIterator<Item = GroupKind>,
    ) -> Producer {
        let mut registry = self.registry();
        let engine = registry.number();
        let yields = yields.into_iter().map(|view| (view, None)).collect();
        let standing = Standing::Runs {
            engine,
            over_budget: false,
            yields,
        };
        registry.stand(operator, standing);
        Producer {
            views: self.clone(),
            operator: operator.to_owned(),
            engine,
        }
    }

    /// Whether a view is available, now and whenever that changes.
    pub(crate) fn subscribe(&self, collection: &GroupKind) -> watch::Receiver<Availability> {
        let mut registry = self.registry();
        if let Some(sender) = registry.read.get(collection) {
            return sender.subscribe();
        }
        let mut availability = registry.availability(collection);
        availability.period = availability.period.map(|_| registry.number());
        let (sender, receiver) = watch::channel(availability);
        registry.read.insert(collection.clone(), sender);
        receiver
    }

    /// What a view lacks; `None` if it is not available.
    pub(super) fn basis(&self, collection: &GroupKind) -> Option<Basis> {
        self.registry().basis(collection).ok()
    }

    pub(super) fn patches(&self) -> &Patches {
        &self.0.patches
    }

    /// Into which Operators values of Secrets flow.
    pub(crate) fn secrets(&self) -> &SecretFlows {
        &self.0.secrets
    }

    /// What caused the changes of views.
    pub(crate) fn causes(&self) -> &Causes {
        &self.0.causes
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        let registry = self.0.registry.lock();
        // The registry is valid between any two statements.
        registry.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn stand(&mut self, operator: &str, standing: Standing) {
        self.operators.insert(operator.to_owned(), standing);
        self.tell(|collection| operator_of(collection) == operator);
    }

    /// Tells the readers of some views what has changed.
    fn tell(&mut self, changed: impl Fn(&GroupKind) -> bool) {
        self.read.retain(|_, sender| sender.receiver_count() > 0);
        let mut last = self.last;
        for (collection, sender) in self.read.iter().filter(|(view, _)| changed(view)) {
            let mut new = self.availability(collection);
            sender.send_if_modified(|old| {
                new.period = match (&old.period, new.period) {
                    (Ok(period), Ok(_)) => Ok(*period),
                    (Err(_), Ok(_)) => {
                        last += 1;
                        Ok(last)
                    }
                    (_, Err(why)) => Err(why),
                };
                let news = *old != new;
                *old = new;
                news
            });
        }
        self.last = last;
    }

    /// How a view stands; the number of its period is the caller's to give.
    fn availability(&self, collection: &GroupKind) -> Availability {
        match self.basis(collection) {
            Ok(Basis { settled, volatile }) => Availability {
                period: Ok(Period::default()),
                settled,
                volatile,
            },
            Err(why) => Availability {
                period: Err(unavailable(collection, why)),
                settled: None,
                volatile: false,
            },
        }
    }

    /// What a view lacks, or why it is not available.
    fn basis(&self, collection: &GroupKind) -> Result<Basis, &str> {
        if self.without_operators {
            return Ok(Basis::USERS);
        }
        match self.operators.get(operator_of(collection)) {
            None => Err("there is no such Operator"),
            Some(Standing::Down(why)) => Err(why),
            Some(Standing::Runs {
                over_budget: true, ..
            }) => Err("the Operator is over its budget"),
            Some(Standing::Runs { yields, .. }) => match yields.get(collection) {
                None => Ok(Basis::USERS),
                Some(None) => Err("it is not complete yet since the Operator started"),
                Some(Some(basis)) => Ok(*basis),
            },
        }
    }
}

fn unavailable(collection: &GroupKind, why: &str) -> Unavailable {
    let operator = operator_of(collection);
    Unavailable {
        code: "view-unavailable",
        message: format!(
            "view {} of Operator {operator} is not available: {why}",
            collection.kind
        ),
    }
}

/// The Operator that a view belongs to.
pub(super) fn operator_of(collection: &GroupKind) -> &str {
    let group = collection.group.as_str();
    group.strip_suffix(VIEW_SUFFIX).unwrap_or(group)
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
            registry.tell(|collection| operator_of(collection) == self.operator);
        }
    }

    /// The views are not available any more. To be called before anything is taken out of
    /// them that stays derived.
    pub(super) fn down(&self, why: &str) {
        let mut registry = self.views.registry();
        let standing = registry.operators.get(&self.operator);
        if standing.is_some_and(|standing| standing.is_of(self.engine)) {
            registry.stand(&self.operator, Standing::Down(why.to_owned()));
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
    use super::*;

    fn view() -> GroupKind {
        GroupKind::new("o.view.dcontroller.io", "V")
    }

    fn publish(producer: &Producer, settled: Option<u64>) {
        let basis = Basis {
            settled,
            volatile: false,
        };
        producer.publish(false, [(&view(), Some(basis))].into_iter());
    }

    /// Why the view is not available; empty if it is.
    fn why(views: &Views) -> String {
        let availability = views.subscribe(&view()).borrow().clone();
        let why = availability.period.err();
        why.map_or_else(String::new, |why| why.message)
    }

    #[test]
    fn a_view_is_available_while_a_complete_engine_runs() {
        let views = Views::default();
        let prefix = "view V of Operator o is not available: ";
        let check = |expect: &str| assert_eq!(why(&views), format!("{prefix}{expect}"));
        check("there is no such Operator");
        views.down("o", "it is too early");
        check("it is too early");
        let producer = views.start("o", [view()]);
        check("it is not complete yet since the Operator started");
        publish(&producer, Some(1));
        assert_eq!(why(&views), "");
        producer.publish(true, std::iter::empty());
        check("the Operator is over its budget");
        producer.publish(false, std::iter::empty());
        assert_eq!(why(&views), "");
        drop(producer);
        check("the Operator has stopped");
        views.remove("o");
        check("there is no such Operator");
    }

    #[test]
    fn an_engine_that_was_replaced_says_nothing_any_more() {
        let views = Views::default();
        let old = views.start("o", [view()]);
        let new = views.start("o", [view()]);
        publish(&old, Some(1));
        assert_ne!(why(&views), "");
        publish(&new, Some(1));
        drop(old);
        assert_eq!(why(&views), "");
        new.down("it is being deleted");
        publish(&new, Some(2));
        assert_ne!(why(&views), "");
    }

    #[test]
    fn each_time_a_view_becomes_available_is_another_period() {
        let views = Views::default();
        let mut availability = views.subscribe(&view());
        let mut period = || availability.borrow_and_update().period.clone();
        let first = views.start("o", [view()]);
        publish(&first, Some(1));
        let one = period().unwrap();
        publish(&first, None);
        assert_eq!(period(), Ok(one));
        drop(first);
        assert!(period().is_err());
        let second = views.start("o", [view()]);
        publish(&second, Some(1));
        assert_ne!(period(), Ok(one));
        assert!(period().is_ok());
    }

    #[test]
    fn readers_are_woken_by_what_changes_and_by_nothing_else() {
        let views = Views::default();
        let mut availability = views.subscribe(&view());
        let mut news = || {
            let news = availability.has_changed().unwrap();
            availability.mark_unchanged();
            news
        };
        views.down("p", "it is another one");
        assert!(!news());
        let producer = views.start("o", [view()]);
        assert!(news());
        publish(&producer, None);
        assert!(news());
        publish(&producer, None);
        assert!(!news());
        publish(&producer, Some(1));
        assert!(news());
    }

    #[test]
    fn a_view_that_no_controller_yields_is_available_and_volatile() {
        let views = Views::default();
        let _producer = views.start("o", []);
        assert_eq!(views.basis(&view()), Some(Basis::USERS));
        let alone = Views::default();
        assert_eq!(alone.basis(&view()), None);
        alone.without_operators();
        assert_eq!(alone.basis(&view()), Some(Basis::USERS));
    }
}
