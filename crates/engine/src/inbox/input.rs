//! The end of a watch: passes the objects that a source admits on to the [`Inbox`].

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cluster::object::Unreadable;
use cluster::source::{Arrival, Reads, Sink, Unavailable};
use dataflow::fields::{Header, Keep, Kept};
use document::Value;
use object::ObjectName;
use operator::predicate::Update;
use operator::spec::Source;

use super::{Inbox, Port};
use crate::echoes::EchoReader;
use crate::guard::{Boundary, Guard};

/// Which objects of a source enter the pipeline, and which of their fields.
#[derive(Debug)]
pub(crate) struct Admission {
    source: Source,
    /// The fields of an object that are stored.
    keep: Keep,
    /// The last version of each object, as far as the predicate compares it.
    seen: Mutex<HashMap<ObjectName, Header>>,
}

/// What becomes of an object that arrives.
pub(crate) enum Admittance {
    /// It enters, or leaves if this is `None`.
    Enters(Option<Kept>),
    /// The predicate drops the change.
    Dropped,
    /// It cannot be read.
    Unreadable(Unreadable),
}

impl Admission {
    pub(crate) fn new(source: Source, keep: Keep) -> Self {
        Self {
            source,
            keep,
            seen: Mutex::default(),
        }
    }

    /// Decides on a new state of an object; `kept` reads the fields that are stored.
    fn decide(
        &self,
        name: &ObjectName,
        header: &Header,
        listing: bool,
        kept: impl FnOnce() -> Result<Kept, Unreadable>,
    ) -> Admittance {
        if !self.source.admits(header) {
            self.forget(name);
            return Admittance::Enters(None);
        }
        match kept() {
            // `seen` stays: the predicate compares the next version with the last readable one.
            Err(why) => Admittance::Unreadable(why),
            Ok(kept) if self.passes(name, header, listing) => Admittance::Enters(Some(kept)),
            Ok(_) => Admittance::Dropped,
        }
    }

    /// Decides on a new state of an object of a view. The kept fields are copied, so that they do
    /// not keep the rest of the object in memory after the store has replaced it.
    pub(crate) fn decide_stored(
        &self,
        name: &ObjectName,
        object: &Value,
        listing: bool,
    ) -> Admittance {
        self.decide(name, &Header::of(object), listing, || {
            Ok(self.keep.of(object).detached())
        })
    }

    /// Whether the predicate lets this version of an object through.
    fn passes(&self, name: &ObjectName, new: &Header, listing: bool) -> bool {
        let Some(predicate) = &self.source.predicate else {
            return true;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The previous version counts, whether it passed or not.
        let old = seen.insert(name.clone(), new.detached());
        let passes = |old: &Header| {
            let whole = None;
            predicate.passes(&Update { old, new, whole })
        };
        listing || old.as_ref().is_none_or(passes)
    }

    /// The object is gone.
    pub(crate) fn forget(&self, name: &ObjectName) {
        if self.source.predicate.is_some() {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.remove(name);
        }
    }
}

/// One input of a controller: passes the objects of a watch on to the [`Inbox`].
pub struct Input {
    inbox: Arc<Inbox>,
    port: Port,
    admission: Admission,
    /// Whether the current events belong to a list, or to a batch of a view that did.
    bulk: AtomicBool,
    /// Takes back what the controller itself has set on an object, if it patches this kind.
    take_back: Option<TakeBack>,
    /// Tells which objects are as this process wrote them.
    echoes: EchoReader,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// Returns an object without the values that a controller has set on it.
pub type TakeBack = Box<dyn Fn(&ObjectName, &Value) -> Value + Send + Sync>;

impl Input {
    /// An input for a source, which stores the fields in `keep`.
    pub fn new(inbox: Arc<Inbox>, port: Port, source: Source, keep: Keep) -> Self {
        Self {
            inbox,
            port,
            admission: Admission::new(source, keep),
            bulk: AtomicBool::new(false),
            take_back: None,
            echoes: EchoReader::default(),
        }
    }

    /// Sets a function that takes back what the controller itself has set on an object. Such an
    /// input needs whole objects.
    #[must_use]
    pub fn taking_back(mut self, take_back: Option<TakeBack>) -> Self {
        self.take_back = take_back;
        self
    }

    /// Sets what tells which objects are as this process wrote them.
    pub(crate) fn echoing(self, echoes: EchoReader) -> Self {
        Self { echoes, ..self }
    }

    /// Sets whether the following events are bulk, and not single watch events.
    pub(crate) fn bulk(&self, bulk: bool) {
        self.bulk.store(bulk, Ordering::SeqCst);
    }

    /// Adds the state of an object. `version` is `None` if it was deleted.
    fn put(&self, name: &ObjectName, object: Option<Kept>, version: Option<&str>) {
        let bulk = self.bulk.load(Ordering::SeqCst);
        let shown = self.echoes.depth(name, version);
        let causes = shown.map(|depth| depth.saturating_add(1));
        self.inbox
            .put_caused(self.port, name.clone(), object, bulk, causes);
    }

    /// Delivers an object that is in memory.
    pub(crate) fn apply_stored(&self, name: &ObjectName, object: &Value, listing: bool) {
        let version = object.get("metadata").get("resourceVersion");
        let admitted = self.admission.decide_stored(name, object, listing);
        self.deliver(name, version.as_str().unwrap_or_default(), admitted);
    }

    /// Records that all changes of the view up to this version have been delivered.
    pub(crate) fn told(&self, version: u64) {
        self.inbox.set(self.port, |state| state.version = version);
    }

    /// A list begins: all objects are delivered again.
    pub(crate) fn begin_list(&self) {
        self.bulk(true);
        self.inbox.set(self.port, |state| state.listing = true);
    }

    /// Wakes the Operator's task.
    pub(crate) fn poke(&self) {
        self.inbox.poke();
    }

    pub(crate) fn guard(&self) -> &Guard {
        self.inbox.guard()
    }

    /// Puts an object into the inbox if it is admitted.
    fn update(
        &self,
        name: &ObjectName,
        header: &Header,
        listing: bool,
        kept: impl FnOnce() -> Result<Kept, Unreadable>,
    ) {
        let version = header.resource_version.as_str().unwrap_or_default();
        let admitted = self.admission.decide(name, header, listing, kept);
        self.deliver(name, version, admitted);
    }

    fn deliver(&self, name: &ObjectName, version: &str, admitted: Admittance) {
        match admitted {
            Admittance::Enters(kept) => self.put(name, kept, Some(version)),
            Admittance::Dropped => self.inbox.put_readable(self.port, name),
            Admittance::Unreadable(why) => {
                self.inbox.put_unreadable(self.port, name.clone(), why);
            }
        }
    }
}

impl Sink for Input {
    fn reads(&self) -> Reads {
        match self.take_back {
            Some(_) => Reads::Everything,
            None => {
                let Admission { keep, source, .. } = &self.admission;
                Reads::Kept(keep.clone(), source.header())
            }
        }
    }

    fn apply(&self, name: &ObjectName, object: &Arrival, listing: bool) {
        let Some(take_back) = &self.take_back else {
            let kept = || object.kept(&self.admission.keep);
            return self.update(name, &object.header, listing, kept);
        };
        match object.whole() {
            Ok(whole) => self.apply_stored(name, &take_back(name, &whole), listing),
            Err(why) => self.update(name, &object.header, listing, || Err(why)),
        }
    }

    fn delete(&self, name: &ObjectName, _last: Option<&Arrival>) {
        self.admission.forget(name);
        self.put(name, None, None);
    }

    fn listing(&self) {
        self.guard().pass(Boundary::Source);
        self.begin_list();
    }

    fn synced(&self) {
        self.bulk(false);
        self.inbox.set(self.port, |state| {
            state.listed = true;
            state.listing = false;
            state.unavailable = None;
        });
    }

    fn unavailable(&self, why: &Unavailable) {
        self.inbox
            .set(self.port, |state| state.unavailable = Some(why.clone()));
    }

    fn crashed(&self) {
        self.guard().crashed(Boundary::Source);
    }
}
