//! The store: a handle that all share.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use document::Value;
use object::{GroupKind, ObjectName};
use tokio::sync::watch;

use crate::caller::{Caller, ControllerName};
use crate::completeness::{Basis, CollectionStatus, Completeness, GroupCompleteness};
use crate::error::{Error, Holder};
use crate::selector::Selector;
use crate::state::State;
use crate::version::Version;
use crate::watch::{Expired, Start, Watch};
use crate::write::{Write, Written};

/// Where the store gets what it cannot compute.
pub trait Env: Send + Sync {
    /// The time, as `YYYY-MM-DDTHH:MM:SSZ`.
    fn now(&self) -> String;
    /// A uid that was never given before.
    fn uid(&self) -> String;
}

/// How a store is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version before the first write. A store that starts empty after another one
    /// starts above it, for example at the time in microseconds, so that a reader of the
    /// old one is told to list again.
    pub first_version: Version,
    /// How many changes a collection remembers for its watches; a collection with more
    /// objects remembers as many changes as it has objects.
    pub history: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            first_version: Version(1),
            history: 1024,
        }
    }
}

/// Objects in memory. Clones share them.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    env: Box<dyn Env>,
    state: RwLock<State>,
}

/// The objects of a collection at one version.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The objects, by namespace and name.
    pub items: Vec<Value>,
    /// The version of the list: a watch from here misses nothing.
    pub version: Version,
}

/// An object that a controller yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yielded {
    /// Its collection.
    pub collection: GroupKind,
    /// Its key.
    pub key: ObjectName,
    /// The controller that last yielded it.
    pub controller: String,
}

impl Store {
    /// An empty store.
    pub fn new(env: impl Env + 'static, config: Config) -> Self {
        let state = State::new(config.first_version, config.history);
        Self {
            shared: Arc::new(Shared {
                env: Box::new(env),
                state: RwLock::new(state),
            }),
        }
    }

    /// The version of the last write.
    pub fn version(&self) -> Version {
        self.read().version
    }

    /// One object.
    pub fn get(&self, collection: &GroupKind, key: &ObjectName) -> Option<Value> {
        let state = self.read();
        let objects = state.collections.get(collection)?;
        objects.entries.get(key).map(|entry| entry.object.clone())
    }

    /// Who holds an object; `None` if there is none.
    pub fn holder(&self, collection: &GroupKind, key: &ObjectName) -> Option<Holder> {
        let state = self.read();
        let entry = state.collections.get(collection)?.entries.get(key)?;
        Some(Holder::of(entry.owner.as_ref()))
    }

    /// The objects of a collection; of one that was never written to, none.
    pub fn list(&self, collection: &GroupKind, selector: &Selector) -> List {
        let state = self.read();
        let objects = state.collections.get(collection);
        List {
            items: objects
                .into_iter()
                .flat_map(|objects| objects.select(selector))
                .cloned()
                .collect(),
            version: state.version,
        }
    }

    /// The collections that were written to or watched, in order.
    pub fn collections(&self) -> Vec<GroupKind> {
        self.read().collections.keys().cloned().collect()
    }

    /// All that an operator's controllers yield, by collection and key.
    pub fn yielded(&self, operator: &str) -> Vec<Yielded> {
        let state = self.read();
        let mut all = Vec::new();
        for (collection, objects) in &state.collections {
            for (key, entry) in &objects.entries {
                let owner = entry.owner.as_ref();
                let own = |by: &&ControllerName| by.operator == operator;
                if let Some(by) = owner.map(|owner| &owner.controller).filter(own) {
                    all.push(Yielded {
                        collection: collection.clone(),
                        key: key.clone(),
                        controller: by.controller.clone(),
                    });
                }
            }
        }
        all
    }

    /// Whether a collection is complete, now and whenever that changes.
    pub fn status(&self, collection: &GroupKind) -> watch::Receiver<CollectionStatus> {
        if let Some(objects) = self.read().collections.get(collection) {
            return objects.status.subscribe();
        }
        self.state().objects(collection).status.subscribe()
    }

    /// What a complete collection rests on. Whoever shows a list as all there is asks
    /// here first.
    pub fn require_complete(&self, collection: &GroupKind) -> Result<Basis, Error> {
        match &self.status(collection).borrow().completeness {
            Completeness::Complete(basis) => Ok(*basis),
            Completeness::Incomplete(reason) => Err(Error::Incomplete {
                collection: collection.clone(),
                reason: reason.clone(),
            }),
        }
    }

    /// The producer of an API group says how its collections stand; `None` if it has none
    /// any more. To be called after what they hold has been written, and before anything
    /// is removed that stays derived.
    pub fn set_completeness(&self, group: &str, completeness: Option<GroupCompleteness>) {
        let mut state = self.state();
        state.set_completeness(|all| all.set_group(group, completeness));
    }

    /// How collections stand whose group has no producer. At first they are complete: users
    /// fill them.
    pub fn set_default_completeness(&self, completeness: Completeness) {
        let mut state = self.state();
        state.set_completeness(|all| all.set_default(completeness));
    }

    /// Does one write. One that changes nothing makes no version and no event.
    pub fn write(
        &self,
        caller: &Caller,
        collection: &GroupKind,
        write: &Write,
    ) -> Result<Written, Error> {
        let env = &*self.shared.env;
        self.state().write(env, caller, collection, write)
    }

    /// Watches a collection. One that was never seen before is remembered from now on,
    /// so the caller decides which names are served.
    pub fn watch(
        &self,
        collection: &GroupKind,
        selector: Selector,
        start: Start,
    ) -> Result<Watch, Expired> {
        Watch::new(self.clone(), collection.clone(), selector, start)
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        // A panic elsewhere leaves whole objects behind: a write is decided before it
        // changes anything.
        let state = self.shared.state.read();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> RwLockWriteGuard<'_, State> {
        let state = self.shared.state.write();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
