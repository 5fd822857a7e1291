//! The store: a handle that all share.

use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use document::Value;
use object::{GroupKind, ObjectName};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::completeness::{Basis, CollectionStatus, Completeness, GroupCompleteness};
use crate::error::Error;
use crate::page::{CHUNK, Cursor, Token};
use crate::selector::Selector;
use crate::state::{Objects, State};
use crate::strategy::{Strategies, Strategy};
use crate::version::Version;
use crate::views::Views;
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
    /// Where the list goes on, if this is a part of it and not the last one.
    pub token: Option<String>,
}

impl Store {
    /// An empty store of views.
    pub fn new(env: impl Env + 'static, config: Config) -> Self {
        Self::with_strategies(env, config, |_| Arc::new(Views))
    }

    /// An empty store whose collections have these strategies. `choose` is asked before a
    /// collection is used for the first time, and always gives the same for it.
    pub fn with_strategies(
        env: impl Env + 'static,
        config: Config,
        choose: impl Fn(&GroupKind) -> Arc<dyn Strategy> + Send + Sync + 'static,
    ) -> Self {
        let state = State::new(config, Strategies::new(choose));
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

    /// What the strategy of its collection keeps beside an object.
    pub fn marks(&self, collection: &GroupKind, key: &ObjectName) -> Option<Value> {
        let state = self.read();
        let entry = state.collections.get(collection)?.entries.get(key)?;
        Some(entry.marks.clone())
    }

    /// The objects of a collection; of one that was never written to, none.
    pub fn list(&self, collection: &GroupKind, selector: &Selector) -> List {
        self.list_now(collection, selector, usize::MAX)
    }

    /// A part of a list: at most `limit` objects, from the beginning or from where `token`
    /// says, which is the [`token`](List::token) of the part before. All parts are of the
    /// version of the first one, though writes go on. That works as long as this version is
    /// remembered; then the error has a fresh token.
    pub fn list_page(
        &self,
        collection: &GroupKind,
        selector: &Selector,
        limit: Option<NonZeroUsize>,
        token: Option<&str>,
    ) -> Result<List, Error> {
        let most = limit.map_or(usize::MAX, NonZeroUsize::get);
        // One more, to see whether there is more.
        let one_more = most.saturating_add(1);
        let mut list = match token.map(Token::parse).transpose()? {
            None => self.list_now(collection, selector, one_more),
            Some(token) => {
                let cursor = token.cursor(self.version());
                let list =
                    cursor.and_then(|cursor| self.collect(collection, selector, cursor, one_more));
                list.map_err(|Expired { from }| Error::Expired {
                    from,
                    fresh: Some(token.fresh().print()),
                })?
            }
        };
        if list.items.len() > most {
            list.items.truncate(most);
            let token = list.items.last();
            let token = token.and_then(|last| Token::after(list.version, last));
            list.token = token.map(|token| token.print());
        }
        Ok(list)
    }

    /// The first objects of the newest version.
    fn list_now(&self, collection: &GroupKind, selector: &Selector, most: usize) -> List {
        let cursor = Cursor::start(self.version());
        let listed = self.collect(collection, selector, cursor, most);
        listed.unwrap_or_else(|_| {
            // More was written meanwhile than is remembered: nothing is written now.
            let state = self.read();
            let objects = state.collections.get(collection);
            let mut cursor = Cursor::start(state.version);
            let items =
                objects.map(|objects| objects.chunk(&mut cursor, selector, most, usize::MAX));
            List {
                items: items.and_then(Result::ok).unwrap_or_default(),
                version: cursor.version,
                token: None,
            }
        })
    }

    /// The next objects of a list, at most `most`. Writers wait for a chunk at most.
    fn collect(
        &self,
        collection: &GroupKind,
        selector: &Selector,
        mut cursor: Cursor,
        most: usize,
    ) -> Result<List, Expired> {
        let mut items = Vec::new();
        while !cursor.done && items.len() < most {
            let state = self.read();
            let Some(objects) = state.collections.get(collection) else {
                break;
            };
            items.extend(objects.chunk(&mut cursor, selector, most - items.len(), CHUNK)?);
        }
        Ok(List {
            items,
            version: cursor.version,
            token: None,
        })
    }

    /// The collections that were written to or watched, in order.
    pub fn collections(&self) -> Vec<GroupKind> {
        self.read().collections.keys().cloned().collect()
    }

    /// Whether a collection is complete, now and whenever that changes.
    pub fn status(&self, collection: &GroupKind) -> watch::Receiver<CollectionStatus> {
        self.with(collection, |_, objects| objects.status.subscribe())
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

    /// How all collections stand whose group has no producer, whatever their strategies
    /// say.
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

    /// Looks at a collection, which is made if it was never seen before.
    pub(crate) fn with<T>(
        &self,
        collection: &GroupKind,
        look: impl FnOnce(Version, &Objects) -> T,
    ) -> T {
        let state = self.read();
        if let Some(objects) = state.collections.get(collection) {
            return look(state.version, objects);
        }
        drop(state);
        let mut state = self.state();
        let version = state.version;
        look(version, state.objects(collection))
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
