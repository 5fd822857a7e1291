//! Views as sources: what happens in the store, told to an input.

use std::collections::BTreeSet;

use dataflow::ObjectName;
use document::Value;
use store::{Collection, Event, Expired, Selector, Start, Store, Watch};
use tokio::task::AbortHandle;

use super::{Input, Sink};

/// A part in the watch of a view; dropping it ends it.
#[derive(Debug)]
pub struct ViewSubscription(AbortHandle);

impl Drop for ViewSubscription {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells an input all that happens in a view.
pub fn follow(store: &Store, collection: Collection, input: Input) -> ViewSubscription {
    let store = store.clone();
    let task = tokio::spawn(async move {
        // A watch that falls behind starts anew; what went meanwhile is told from `known`.
        let mut known = BTreeSet::new();
        while let Ok(watch) = store.watch(&collection, Selector::default(), Start::Now) {
            let mut follow = Follow {
                input: &input,
                known: &mut known,
                listed: Some(BTreeSet::new()),
            };
            let Expired { .. } = follow.run(watch).await;
        }
    });
    ViewSubscription(task.abort_handle())
}

/// Tells the names of the objects of a view, and then of those that change.
pub fn names(
    store: &Store,
    collection: Collection,
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
    known: &'a mut BTreeSet<ObjectName>,
    /// The objects of the first list, while it is told.
    listed: Option<BTreeSet<ObjectName>>,
}

impl Follow<'_> {
    /// Runs until the watch has fallen behind.
    async fn run(&mut self, mut watch: Watch) -> Expired {
        loop {
            let event = match watch.next().await {
                Ok(event) => event,
                Err(expired) => return expired,
            };
            self.event(event);
            loop {
                match watch.try_next() {
                    Ok(Some(event)) => self.event(event),
                    Ok(None) => break,
                    Err(expired) => return expired,
                }
            }
            match watch.bookmark() {
                Ok(Some(event)) => self.event(event),
                Ok(None) => {}
                Err(expired) => return expired,
            }
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Added(object) | Event::Modified(object) => self.apply(&object),
            Event::Deleted(object) => {
                if let Some(name) = ObjectName::of(&object) {
                    self.known.remove(&name);
                    self.input.delete(&name, Some(&object));
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
        let listing = self.listed.is_some();
        self.input.apply(&name, object, listing);
        match &mut self.listed {
            Some(listed) => listed.insert(name),
            None => self.known.insert(name),
        };
    }
}
