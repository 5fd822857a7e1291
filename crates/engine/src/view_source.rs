//! Views as sources: the events of a view in the store are delivered to an input.
//!
//! A [`Gate`] lets the events through while the view is complete and the account of the reader is
//! permitted to read it. When the view becomes complete
//! again, it is listed again, and the input gets the difference:
//!
//! ```text
//! view    complete                 incomplete      complete
//! input   listing, a, b, synced    unavailable     listing, a, delete b, synced
//! ```

use std::sync::Arc;

use cluster::access::Permission;
use cluster::source::{Sink, Unavailable};
use document::Value;
use object::relist::Known;
use object::{GroupKind, ObjectName, VIEW_SUFFIX};
use store::{CollectionStatus, Completeness, Event, NO_OPERATOR, Selector, Start, Store, Watch};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use crate::guard::Boundary;
use crate::inbox::Input;

/// Lets the events of a view through as long as it is complete.
#[derive(Debug)]
pub(crate) struct Gate {
    collection: GroupKind,
    status: watch::Receiver<CollectionStatus>,
    /// The permission of the account that reads; `None` if it needs none.
    permission: Option<Permission>,
    /// The period that is read.
    period: u64,
}

impl Gate {
    /// A gate that is closed until the view is complete.
    pub(crate) fn closed(store: &Store, collection: &GroupKind) -> Self {
        Self {
            collection: collection.clone(),
            status: store.status(collection),
            permission: None,
            period: 0,
        }
    }

    /// Is also closed while the account that reads is not permitted to.
    #[must_use]
    pub(crate) fn permitted(mut self, permission: Option<Permission>) -> Self {
        self.permission = permission;
        self
    }

    /// Waits until the view is complete. Until then `tell` gets the reasons why it is not.
    pub(crate) async fn opened(&mut self, tell: impl Fn(&Unavailable)) {
        loop {
            let CollectionStatus {
                completeness,
                period,
            } = self.status.borrow_and_update().clone();
            let permission = self.permission.as_mut();
            let refusal = permission.and_then(Permission::refusal);
            let Some(why) = why_closed(&self.collection, refusal, completeness) else {
                self.period = period;
                return;
            };
            tell(&why);
            self.changed().await;
        }
    }

    /// The next event; `None` if the view is no longer available or the watch has fallen
    /// behind. `changed` is called when the status of the view changes otherwise.
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

    /// Whether the view is still available. It must be called after an event was received: when an
    /// Operator is deleted, the period of its views ends before their objects are removed.
    fn is_open(&self) -> bool {
        let status = self.status.borrow();
        let permission = self.permission.as_ref();
        status.basis().is_some()
            && status.period == self.period
            && permission.is_none_or(Permission::is_granted)
    }

    async fn changed(&mut self) {
        tokio::select! {
            biased;
            () = permission_changed(self.permission.as_mut()) => {}
            () = status_changed(&mut self.status) => {}
        }
    }
}

async fn permission_changed(permission: Option<&mut Permission>) {
    match permission {
        Some(permission) => permission.changed().await,
        None => std::future::pending().await,
    }
}

async fn status_changed(status: &mut watch::Receiver<CollectionStatus>) {
    if status.changed().await.is_err() {
        // The status will not change again.
        std::future::pending::<()>().await;
    }
}

/// Why a view cannot be read; `None` if it can. A permission on the views of an Operator that does not
/// exist would be of no use.
fn why_closed(
    collection: &GroupKind,
    refusal: Option<String>,
    completeness: Completeness,
) -> Option<Unavailable> {
    match (refusal, completeness) {
        (Some(_), Completeness::Incomplete(why)) if why == NO_OPERATOR => {
            Some(unavailable(collection, &why))
        }
        (Some(why), _) => Some(Unavailable {
            code: "forbidden",
            ..unavailable(collection, &why)
        }),
        (None, Completeness::Complete(_)) => None,
        (None, Completeness::Incomplete(why)) => Some(unavailable(collection, &why)),
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
pub(crate) fn operator_of(collection: &GroupKind) -> &str {
    let group = collection.group.as_str();
    group.strip_suffix(VIEW_SUFFIX).unwrap_or(group)
}

/// A reader of a view. Dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct ViewSubscription(AbortHandle);

impl ViewSubscription {
    /// Ends this task when it is dropped.
    pub(crate) fn new(task: &JoinHandle<()>) -> Self {
        Self(task.abort_handle())
    }
}

impl Drop for ViewSubscription {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Delivers the events of a view to an input while the gate is open. When the gate opens again, the
/// input gets the difference. `is_bulk` returns for the version of a change whether a list, a
/// re-list or an edit caused it.
pub(crate) fn follow(
    store: &Store,
    mut gate: Gate,
    input: Arc<Input>,
    is_bulk: impl Fn(u64) -> bool + Send + Sync + 'static,
) -> ViewSubscription {
    let store = store.clone();
    let guard = input.guard().clone();
    let passed = guard.clone();
    let task = guard.spawn(Boundary::View, async move {
        let collection = gate.collection.clone();
        let mut known = Known::default();
        loop {
            gate.opened(|why| input.unavailable(why)).await;
            let Ok(watch) = store.watch(&collection, Selector::default(), Start::Now) else {
                return;
            };
            passed.pass(Boundary::View);
            input.begin_list();
            known.begin();
            let mut follow = Follow {
                input: &input,
                is_bulk: &is_bulk,
                known: &mut known,
            };
            follow.run(watch, &mut gate).await;
        }
    });
    ViewSubscription::new(&task)
}

struct Follow<'a> {
    input: &'a Input,
    is_bulk: &'a (dyn Fn(u64) -> bool + Send + Sync),
    /// The objects that the input has received and that still exist.
    known: &'a mut Known<ObjectName>,
}

impl Follow<'_> {
    /// Runs until the watch falls behind or the view is no longer available.
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
                if initial && let Some(gone) = self.known.complete() {
                    for name in &gone {
                        self.input.delete(name, None);
                    }
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
            .apply_stored(&name, object, self.known.is_listing());
        self.known.show(name);
    }

    /// Tells the input whether this change is a bulk change. A list always is.
    fn classify(&self, object: &Value) {
        if !self.known.is_listing() {
            let version = object.get("metadata").get("resourceVersion");
            let version = version.as_str().and_then(|text| text.parse().ok());
            self.input.bulk(version.is_none_or(self.is_bulk));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_of_an_operator_that_does_not_exist_needs_no_permission() {
        let collection = GroupKind::new("shop.view.dcontroller.io", "App");
        let check = |refusal: Option<&str>, incomplete: &str, code: &str, expect: &str| {
            let refusal = refusal.map(str::to_owned);
            let incomplete = Completeness::Incomplete(incomplete.to_owned());
            let why = why_closed(&collection, refusal, incomplete).unwrap();
            let message = format!("view App of Operator shop is not available: {expect}");
            assert_eq!((why.code, why.message), (code, message));
        };
        check(
            Some("may not"),
            NO_OPERATOR,
            "view-unavailable",
            NO_OPERATOR,
        );
        check(Some("may not"), "starting", "forbidden", "may not");
        check(None, "starting", "view-unavailable", "starting");
    }
}
