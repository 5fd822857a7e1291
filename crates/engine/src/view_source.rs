//! Views as sources: what happens in the store, delivered to an input.

use std::collections::BTreeSet;

use cluster::source::{Sink, Unavailable};
use document::Value;
use object::{GroupKind, ObjectName};
use store::{Event, Selector, Start, Store, Watch};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::inbox::Input;

/// A period in which a view is available, by number. No two periods have the same.
pub type Period = u64;

/// How a view stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// The period in which it is available, or why it is not.
    pub period: Result<Period, Unavailable>,
    /// Whoever has read it up to this version has all that is derived; `None` while
    /// something may be missing.
    pub settled: Option<u64>,
    /// Whether it derives from objects that a restart forgets.
    pub volatile: bool,
}

/// Lets the events of a view through as long as it is available.
#[derive(Debug)]
pub(crate) struct Gate {
    /// `None` for a view of the reader's own operator, which is always available.
    availability: Option<watch::Receiver<Availability>>,
    /// The period that is read.
    period: Period,
}

impl Gate {
    /// A gate that is closed until [`Gate::opened`]; without `availability` it is open.
    pub(crate) fn new(availability: Option<watch::Receiver<Availability>>) -> Self {
        Self {
            availability,
            period: 0,
        }
    }

    /// Waits until the view is available. Until then `tell` gets the reason why it is not.
    pub(crate) async fn opened(&mut self, tell: impl Fn(&Unavailable)) {
        loop {
            let Some(availability) = &mut self.availability else {
                return;
            };
            match &availability.borrow_and_update().period {
                Ok(period) => {
                    self.period = *period;
                    return;
                }
                Err(why) => tell(why),
            }
            self.changed().await;
        }
    }

    /// The next event; `None` if the view is not available any more, or the watch has
    /// fallen behind. `changed` is called when something else about the view changes.
    pub(crate) async fn next(&mut self, watch: &mut Watch, changed: impl Fn()) -> Option<Event> {
        loop {
            tokio::select! {
                biased;
                () = self.changed() => {
                    if !self.is_open() {
                        return None;
                    }
                    changed();
                }
                event = watch.next() => return event.ok().filter(|_| self.is_open()),
            }
        }
    }

    /// Whether the view is still available. To be asked after an event was taken: what
    /// a deleted Operator takes out of its views comes after the end of the period.
    fn is_open(&self) -> bool {
        let availability = self.availability.as_ref();
        availability.is_none_or(|availability| availability.borrow().period == Ok(self.period))
    }

    async fn changed(&mut self) {
        if let Some(availability) = &mut self.availability
            && availability.changed().await.is_ok()
        {
            return;
        }
        // Nothing will change any more.
        std::future::pending::<()>().await;
    }
}

/// A part in the watch of a view; dropping it ends it.
#[derive(Debug)]
pub struct ViewSubscription(AbortHandle);

impl Drop for ViewSubscription {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Delivers all that happens in a view to an input. With `availability`, only while the
/// view is available: when it is again, the input gets the difference. `is_bulk` tells from
/// the version of a change whether it belongs to a list, a re-list or an edit.
pub fn follow(
    store: &Store,
    collection: GroupKind,
    input: Input,
    availability: Option<watch::Receiver<Availability>>,
    is_bulk: impl Fn(u64) -> bool + Send + Sync + 'static,
) -> ViewSubscription {
    let store = store.clone();
    let task = tokio::spawn(async move {
        let mut gate = Gate::new(availability);
        let mut known = BTreeSet::new();
        loop {
            gate.opened(|why| input.unavailable(why)).await;
            let Ok(watch) = store.watch(&collection, Selector::default(), Start::Now) else {
                return;
            };
            input.listing();
            let mut follow = Follow {
                input: &input,
                is_bulk: &is_bulk,
                known: &mut known,
                listed: Some(BTreeSet::new()),
            };
            follow.run(watch, &mut gate).await;
        }
    });
    ViewSubscription(task.abort_handle())
}

/// Tells the names of the objects of a view, and then of those that change.
pub fn names(
    store: &Store,
    collection: GroupKind,
    tell: impl Fn(ObjectName) + Send + 'static,
) -> ViewSubscription {
    let store = store.clone();
    let task = tokio::spawn(async move {
        while let Ok(mut watch) = store.watch(&collection, Selector::default(), Start::Now) {
            while let Ok(event) = watch.next().await {
                let (Event::Added(object) | Event::Modified(object) | Event::Deleted(object)) =
                    event
                else {
                    continue;
                };
                ObjectName::of(&object).map(&tell);
            }
        }
    });
    ViewSubscription(task.abort_handle())
}

struct Follow<'a> {
    input: &'a Input,
    is_bulk: &'a (dyn Fn(u64) -> bool + Send + Sync),
    /// The objects that the input has got and that are not gone.
    known: &'a mut BTreeSet<ObjectName>,
    /// The objects of the first list, until it is complete.
    listed: Option<BTreeSet<ObjectName>>,
}

impl Follow<'_> {
    /// Runs until the watch has fallen behind, or the view is not available any more.
    async fn run(&mut self, mut watch: Watch, gate: &mut Gate) {
        while let Some(event) = gate.next(&mut watch, || self.input.poke()).await {
            self.event(event);
            loop {
                match watch.try_next() {
                    Ok(Some(event)) if gate.is_open() => self.event(event),
                    Ok(None) => break,
                    Ok(Some(_)) | Err(_) => return,
                }
            }
            match watch.bookmark() {
                Ok(Some(event)) if gate.is_open() => self.event(event),
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Added(object) | Event::Modified(object) => self.apply(&object),
            Event::Deleted(object) => {
                self.classify(&object);
                if let Some(name) = ObjectName::of(&object) {
                    self.known.remove(&name);
                    self.input.delete(&name, None);
                }
            }
            Event::Bookmark { version, initial } => {
                if initial && let Some(listed) = self.listed.take() {
                    for name in self.known.difference(&listed) {
                        self.input.delete(name, None);
                    }
                    *self.known = listed;
                    self.input.synced();
                }
                self.input.told(version.0);
            }
        }
    }

    fn apply(&mut self, object: &Value) {
        let Some(name) = ObjectName::of(object) else {
            return;
        };
        self.classify(object);
        self.input
            .apply_stored(&name, object, self.listed.is_some());
        if let Some(listed) = &mut self.listed {
            listed.insert(name.clone());
        }
        self.known.insert(name);
    }

    /// Says what caused the change that an object shows. A list counts as a whole.
    fn classify(&self, object: &Value) {
        if self.listed.is_none() {
            let version = object.get("metadata").get("resourceVersion");
            let version = version.as_str().and_then(|text| text.parse().ok());
            self.input.bulk(version.is_none_or(self.is_bulk));
        }
    }
}
