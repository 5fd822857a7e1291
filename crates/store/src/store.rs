//! The handle of a store, which all users share.

use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use document::Value;
use object::{GroupKind, ObjectName};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::completeness::{Basis, CollectionStatus, Completeness, GroupCompleteness};
use crate::error::Error;
use crate::page::{CHUNK, Cursor, Portion, Token};
use crate::selector::Selector;
use crate::state::{Objects, State};
use crate::strategy::{Strategies, Strategy};
use crate::version::Version;
use crate::views::Views;
use crate::watch::{Expired, Start, Watch};
use crate::write::{Write, Written};

/// The time and the uids for a store.
pub trait Env: Send + Sync {
    /// The time, as `YYYY-MM-DDTHH:MM:SSZ`.
    fn now(&self) -> String;
    /// A new, unique uid.
    fn uid(&self) -> String;
}

/// The configuration of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version before the first write. If a store replaces another one, it must start above
    /// the last version of that one, for example at the time in microseconds, so that readers
    /// of the old store have to list again.
    pub first_version: Version,
    /// How many changes the history of a collection has. If the collection has more objects
    /// than that, it has as many changes as objects.
    pub history: usize,
    /// The total size of the objects in the history of a collection, in bytes. The last change is
    /// kept, however large it is.
    pub history_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            first_version: Version(1),
            history: 1024,
            history_bytes: 64 * 1024 * 1024,
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
    /// The objects, ordered by namespace and name.
    pub items: Vec<Value>,
    /// The version of the list. A watch from here misses nothing.
    pub version: Version,
    /// The token that continues the list, unless this is the last page.
    pub token: Option<String>,
    /// How many objects follow on later pages, if that is known: a list with a selector does not
    /// count them.
    pub remaining: Option<usize>,
}

impl Store {
    /// An empty store of views.
    pub fn new(env: impl Env + 'static, config: Config) -> Self {
        Self::with_strategies(env, config, |_| Arc::new(Views))
    }

    /// An empty store whose collections have the strategies that `choose` returns. It is called
    /// when a collection is first used, and must always return the same strategy for it.
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

    /// The marks that the strategy of its collection keeps for an object.
    pub fn marks(&self, collection: &GroupKind, key: &ObjectName) -> Option<Value> {
        let state = self.read();
        let entry = state.collections.get(collection)?.entries.get(key)?;
        Some(entry.marks.clone())
    }

    /// The objects of a collection; an unknown collection is empty.
    pub fn list(&self, collection: &GroupKind, selector: &Selector) -> List {
        self.list_now(collection, selector, usize::MAX)
    }

    /// A page of a list: at most `limit` objects, from the beginning or from the
    /// [`token`](List::token) of the previous page. All pages show the version of the first
    /// one, although writes go on. If that version is no longer in the history, the error has a
    /// token for the newest version.
    pub fn list_page(
        &self,
        collection: &GroupKind,
        selector: &Selector,
        limit: Option<NonZeroUsize>,
        token: Option<&str>,
    ) -> Result<List, Error> {
        let most = limit.map_or(usize::MAX, NonZeroUsize::get);
        // One more, to find out whether there is another page.
        let one_more = most.saturating_add(1);
        let (list, total) = match token.map(Token::parse).transpose()? {
            None => {
                let total = self.count(collection, selector);
                (self.list_now(collection, selector, one_more), total)
            }
            Some(token) => {
                let total = token.remaining;
                let cursor = token.cursor(self.version());
                let list =
                    cursor.and_then(|cursor| self.collect(collection, selector, cursor, one_more));
                let list = list.map_err(|Expired { from }| Error::Expired {
                    from,
                    fresh: Some(token.fresh().print()),
                })?;
                (list, total)
            }
        };
        Ok(paged(list, most, total))
    }

    /// The first page of a list at an older version.
    pub fn list_at(
        &self,
        collection: &GroupKind,
        selector: &Selector,
        version: Version,
        limit: Option<NonZeroUsize>,
    ) -> Result<List, Error> {
        let most = limit.map_or(usize::MAX, NonZeroUsize::get);
        let cursor = Cursor::start(version);
        let list = self.collect(collection, selector, cursor, most.saturating_add(1));
        Ok(paged(list?, most, None))
    }

    /// The first objects of the newest version.
    fn list_now(&self, collection: &GroupKind, selector: &Selector, most: usize) -> List {
        let cursor = Cursor::start(self.version());
        let listed = self.collect(collection, selector, cursor, most);
        listed.unwrap_or_else(|_| {
            // The history has already moved on. This attempt keeps writers out.
            let state = self.read();
            let objects = state.collections.get(collection);
            let mut cursor = Cursor::start(state.version);
            let all = Portion {
                most,
                look: usize::MAX,
                bytes: usize::MAX,
            };
            let items = objects.map(|objects| objects.chunk(&mut cursor, selector, all));
            List {
                items: items.and_then(Result::ok).unwrap_or_default(),
                version: cursor.version,
                token: None,
                remaining: None,
            }
        })
    }

    /// How many objects a list has now, unless it would have to visit them to find out.
    fn count(&self, collection: &GroupKind, selector: &Selector) -> Option<usize> {
        let state = self.read();
        let objects = state.collections.get(collection)?;
        match (&selector.namespace, selector.is_of_namespace()) {
            (_, false) => None,
            (None, true) => Some(objects.entries.len()),
            (Some(namespace), true) => objects.namespaces.get(namespace.as_str()).copied(),
        }
    }

    /// The next objects of a list, at most `most`. Writers wait for one chunk at most.
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
            let portion = Portion {
                most: most - items.len(),
                look: CHUNK,
                bytes: usize::MAX,
            };
            items.extend(objects.chunk(&mut cursor, selector, portion)?);
        }
        Ok(List {
            items,
            version: cursor.version,
            token: None,
            remaining: None,
        })
    }

    /// The collections that were ever written to or watched, in order.
    pub fn collections(&self) -> Vec<GroupKind> {
        self.read().collections.keys().cloned().collect()
    }

    /// Whether a collection is complete, and a notification whenever that changes.
    pub fn status(&self, collection: &GroupKind) -> watch::Receiver<CollectionStatus> {
        self.with(collection, |_, objects| objects.status.subscribe())
    }

    /// The basis of a collection, or an error if it is incomplete. Call this before presenting
    /// a list as complete.
    pub fn require_complete(&self, collection: &GroupKind) -> Result<Basis, Error> {
        let status = self.with(collection, |_, objects| objects.status.value().clone());
        match status.completeness {
            Completeness::Complete(basis) => Ok(basis),
            Completeness::Incomplete(reason) => Err(Error::Incomplete {
                collection: collection.clone(),
                reason,
            }),
        }
    }

    /// Sets the completeness of all collections of an API group; `None` if the group has no
    /// producer any more. A producer calls this after it has written the objects, and before it
    /// removes objects that are still derived.
    pub fn set_completeness(&self, group: &str, completeness: Option<GroupCompleteness>) {
        let mut state = self.state();
        state.set_completeness(|all| all.set_group(group, completeness));
    }

    /// Sets the completeness of all collections without a producer, overriding their
    /// strategies.
    pub fn set_default_completeness(&self, completeness: Completeness) {
        let mut state = self.state();
        state.set_completeness(|all| all.set_default(completeness));
    }

    /// Carries out one write. A write that changes nothing creates no version and no event.
    pub fn write(
        &self,
        caller: &Caller,
        collection: &GroupKind,
        write: &Write,
    ) -> Result<Written, Error> {
        let env = &*self.shared.env;
        self.state().write(env, caller, collection, write)
    }

    /// Stores an object as another server has it, with its uid, generation and timestamps. Only
    /// its version is a new one. An object of the same name is replaced.
    pub fn import(&self, collection: &GroupKind, object: &Value) -> Result<Written, Error> {
        self.state().import(collection, object)
    }

    /// The result that a write would have now. Nothing is changed, and the uid of a new object is
    /// another one when it is written.
    pub fn dry_run(
        &self,
        caller: &Caller,
        collection: &GroupKind,
        write: &Write,
    ) -> Result<Written, Error> {
        let env = &*self.shared.env;
        let effect = self.read().effect(env, caller, collection, write);
        effect.map(|effect| effect.written)
    }

    /// Watches a collection. An unknown collection is created, so the caller has to check
    /// whether the name is served.
    pub fn watch(
        &self,
        collection: &GroupKind,
        selector: Selector,
        start: Start,
    ) -> Result<Watch, Expired> {
        Watch::new(self.clone(), collection.clone(), selector, start)
    }

    /// Calls `look` with a collection, which is created if it is unknown.
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
        // After a panic elsewhere the state is consistent: a write is decided before it changes
        // anything.
        let state = self.shared.state.read();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> RwLockWriteGuard<'_, State> {
        let state = self.shared.state.write();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The list with at most this many objects, and a token if there are more. `total` is how many
/// there were before this page, if that is known.
fn paged(mut list: List, most: usize, total: Option<usize>) -> List {
    if list.items.len() > most {
        list.items.truncate(most);
        // At least one, because there is another page: objects may have changed since they were
        // counted.
        list.remaining = total.map(|total| total.saturating_sub(most).max(1));
        let token = list.items.last();
        let token = token.and_then(|last| Token::after(list.version, last));
        list.token = token.map(|mut token| {
            token.remaining = list.remaining;
            token.print()
        });
    }
    list
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
