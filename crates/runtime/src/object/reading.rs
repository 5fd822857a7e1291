//! Reading objects without the fields that nobody reads.
//!
//! kube reads by `Deserialize`, which has no place for what is to be read. So it is said
//! beside: while a stream is polled, [`Object`](super::Object)s that are read on this
//! thread are read as its readers want them.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use dataflow::fields::{Fields, Reader};
use document::{Excess, Key, PartSeed, Value, Whole};
use futures::Stream;
use serde::de::{DeserializeSeed, Deserializer};

thread_local! {
    static READER: RefCell<Option<Arc<Reader>>> = const { RefCell::new(None) };
}

/// Reads an object, or the part of it that is wanted here, to its end; `excess` says what
/// of it is over the limits.
pub(super) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
    excess: &Excess,
) -> Result<Value, D::Error> {
    let reader = READER.with_borrow(Clone::clone);
    match reader {
        Some(reader) => reader.noting(deserializer, excess),
        None => PartSeed::noting(Whole, excess).deserialize(deserializer),
    }
}

/// A stream whose objects have these fields, and those of [`identity`].
#[derive(Debug)]
pub struct Reading<S> {
    stream: S,
    reader: Arc<Reader>,
}

impl<S> Reading<S> {
    /// Reads these fields of the objects of a stream.
    pub fn new(stream: S, mut fields: Fields) -> Self {
        fields.add(&identity());
        let reader = Arc::new(fields.reader());
        Self { stream, reader }
    }
}

/// What tells objects and their versions apart, and whose they are: all of the metadata
/// that is there for more than the API server's own use.
pub(super) fn identity() -> Fields {
    let whole = |name: &str| (Key::new(name), Fields::all());
    let metadata = Fields {
        names: [
            "annotations",
            "creationTimestamp",
            "deletionTimestamp",
            "finalizers",
            "generation",
            "labels",
            "name",
            "namespace",
            "ownerReferences",
            "resourceVersion",
            "uid",
        ]
        .map(whole)
        .into(),
        ..Fields::default()
    };
    let mut fields = Fields {
        names: ["apiVersion", "kind"].map(whole).into(),
        ..Fields::default()
    };
    fields.names.insert(Key::new("metadata"), metadata);
    fields
}

/// Puts back what was wanted before, also when a poll panics.
struct Restore(Option<Arc<Reader>>);

impl Drop for Restore {
    fn drop(&mut self) {
        READER.set(self.0.take());
    }
}

impl<S: Stream + Unpin> Stream for Reading<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let _restore = Restore(READER.replace(Some(self.reader.clone())));
        Pin::new(&mut self.stream).poll_next(context)
    }
}

#[cfg(test)]
mod tests {
    use document::{Path, json};
    use futures::StreamExt;

    use super::*;
    use crate::object::Object;

    fn parsed() -> Value {
        let text = r#"{"kind": "A", "metadata": {"name": "a", "managedFields": [{}]},
            "spec": {"x": 1, "y": 2}, "status": {}}"#;
        let object: Object = serde_json::from_str(text).unwrap();
        object.into_value()
    }

    #[tokio::test]
    async fn only_what_is_wanted_is_read_and_only_there() {
        let mut fields = Fields::default();
        fields.add_path(Path::parse("$.spec.x").unwrap().segments(), &Fields::all());
        let stream = futures::stream::iter(0..2).map(|_| parsed());
        let read: Vec<Value> = Reading::new(stream, fields).collect().await;
        let expect = json!({"kind": "A", "metadata": {"name": "a"}, "spec": {"x": 1}});
        assert_eq!(read, [expect.clone(), expect]);
        assert_eq!(parsed().get("spec").get("y"), &json!(2));
    }
}
