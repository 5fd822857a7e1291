//! Objects as they arrive from a watch, read in one pass.
//!
//! A watch with one sink reads each object in the form that the sink stores. A watch with several
//! sinks reads the fields that any of them needs, and each sink copies its part:
//!
//! ```text
//! sinks                         read from the JSON      stored
//! spec.x                        spec.x                  as it was read
//! spec.x and spec.x             spec.x                  as it was read, once for both
//! spec.x and spec.y             spec.x, spec.y          a copy of spec.x, a copy of spec.y
//! spec.x and a target's sink    everything              a copy of spec.x; the target's state
//! ```
//!
//! kube parses objects with `Deserialize`, which takes no argument. So the fields to read are
//! passed in a thread-local: [`Reading::run`] sets it while a function parses [`Arrival`]s.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use dataflow::fields::{Fields, Header, HeaderFields, Keep, Kept, ObjectReader};
use document::{Excess, Value};
use futures::Stream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::discovery::ApiResource;
use serde::{Deserialize, Deserializer};

use crate::object::{Unreadable, bare, without_managed_fields};

/// The parts of objects that a sink reads.
#[derive(Clone, Debug)]
pub enum Reads {
    /// The part that a source stores, and the header fields that it needs.
    Kept(Keep, HeaderFields),
    /// The whole object.
    Everything,
}

/// How the objects of a watch are read.
#[derive(Clone, Debug)]
pub struct Reading(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reader: ObjectReader,
    /// Whether all sinks read the same part. Then each of them stores an object as it was read.
    is_own: bool,
}

thread_local! {
    static READING: RefCell<Option<Reading>> = const { RefCell::new(None) };
}

impl Reading {
    /// A reading of the parts that these sinks need.
    pub fn new(sinks: &[Reads]) -> Self {
        let header = sinks.iter().map(|reads| match reads {
            Reads::Kept(_, header) => *header,
            Reads::Everything => HeaderFields::ALL,
        });
        let header = header.fold(HeaderFields::default(), HeaderFields::or);
        let kept = sinks.iter().map(|reads| match reads {
            Reads::Kept(keep, _) => Some(keep),
            Reads::Everything => None,
        });
        let (keep, is_own) = match kept.collect::<Option<Vec<&Keep>>>().as_deref() {
            Some([keep, rest @ ..]) if rest.iter().all(|other| other == keep) => {
                (Keep::clone(keep), true)
            }
            Some(keeps) => (Keep::union(keeps.iter().copied()), false),
            None => (Keep::fields(&Fields::all()), false),
        };
        let reader = ObjectReader::new(keep, header);
        Self(Arc::new(Inner { reader, is_own }))
    }

    /// This reading for objects of one kind. It adds `apiVersion` and `kind`, which the elements
    /// of a list lack.
    #[must_use]
    pub fn of_kind(&self, resource: &ApiResource) -> Self {
        let reader = self.0.reader.clone();
        Self(Arc::new(Inner {
            reader: reader.with_types(&resource.api_version, &resource.kind),
            is_own: self.0.is_own,
        }))
    }

    /// Runs a function. The [`Arrival`]s that it parses are read with this reading.
    pub fn run<T>(&self, function: impl FnOnce() -> T) -> T {
        let _restore = Restore(READING.replace(Some(self.clone())));
        function()
    }

    /// Wraps a stream, so that the objects it parses are read with this reading.
    pub fn stream<S>(self, stream: S) -> ReadingStream<S> {
        ReadingStream {
            stream,
            reading: self,
        }
    }
}

/// Restores the reading that was set before, also after a panic.
struct Restore(Option<Reading>);

impl Drop for Restore {
    fn drop(&mut self) {
        READING.set(self.0.take());
    }
}

/// A stream whose objects are read with a [`Reading`].
#[derive(Debug)]
pub struct ReadingStream<S> {
    stream: S,
    reading: Reading,
}

impl<S: Stream + Unpin> Stream for ReadingStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = &mut *self;
        this.reading
            .run(|| Pin::new(&mut this.stream).poll_next(context))
    }
}

/// An object as it arrives from a watch.
#[derive(Clone)]
pub struct Arrival {
    /// The name and version of the object.
    pub header: Header,
    kept: Kept,
    /// Whether each sink stores `kept` as it is.
    is_own: bool,
    /// Whether a part of it is over the limits and was left out.
    is_over: bool,
    /// Made from the header when kube asks for it.
    meta: OnceLock<Box<ObjectMeta>>,
}

impl Arrival {
    /// The part of the object that a sink with this `Keep` stores; an error if that part was over
    /// the limits.
    pub fn kept(&self, keep: &Keep) -> Result<Kept, Unreadable> {
        let kept = if self.is_own {
            self.kept.clone()
        } else {
            // Detached, so that the rest of the object is freed with the `Arrival`.
            keep.of(self.kept.document()).detached()
        };
        self.check(kept.document())?;
        Ok(kept)
    }

    /// The whole object, for sinks that read everything.
    pub fn whole(&self) -> Result<Cow<'_, Value>, Unreadable> {
        let whole = self.kept.document();
        if !self.is_over {
            return Ok(Cow::Borrowed(whole));
        }
        // managedFields do not count: they are always nested deeper than the rest of the object.
        let whole = without_managed_fields(whole.clone());
        self.check(&whole)?;
        Ok(Cow::Owned(whole))
    }

    /// The type and the metadata, without managedFields, of an object that was read whole.
    pub fn bare(&self) -> Value {
        bare(self.kept.document())
    }

    fn check(&self, document: &Value) -> Result<(), Unreadable> {
        match Some(document)
            .filter(|_| self.is_over)
            .and_then(Unreadable::of)
        {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for Arrival {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        READING.with_borrow(|reading| {
            let everything;
            let Reading(inner) = match reading {
                Some(reading) => reading,
                None => {
                    everything = Reading::new(&[Reads::Everything]);
                    &everything
                }
            };
            inner.read(deserializer)
        })
    }
}

impl Inner {
    fn read<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<Arrival, D::Error> {
        let excess = Excess::default();
        let (header, kept) = self.reader.noting(deserializer, &excess)?;
        Ok(Arrival {
            header,
            kept,
            is_own: self.is_own,
            is_over: Unreadable::is_over(&excess),
            meta: OnceLock::new(),
        })
    }
}

/// Prints the name only: the content may be secret.
impl fmt::Debug for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival")
            .field("namespace", &self.header.namespace)
            .field("name", &self.header.name)
            .finish_non_exhaustive()
    }
}

impl kube::Resource for Arrival {
    crate::of_any_kind!();

    /// Name, namespace and resourceVersion, which are all that kube's watcher reads.
    fn meta(&self) -> &ObjectMeta {
        self.meta.get_or_init(|| Box::new(meta(&self.header)))
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.meta.get_or_init(|| Box::new(meta(&self.header)));
        self.meta.get_mut().expect("get_or_init has set it")
    }
}

fn meta(header: &Header) -> ObjectMeta {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    ObjectMeta {
        name: text(&header.name),
        namespace: text(&header.namespace),
        resource_version: text(&header.resource_version),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests;
