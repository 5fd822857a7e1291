//! Watches: events as lines of JSON.
//!
//! A watch reads from the store only when its client has taken what was sent before, so a slow
//! client costs no memory. If it falls behind the history of the store, it gets an error event
//! with 410, and lists again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use document::{Key, Map, Value, json};
use futures::stream;
use http::Response;
use http::header::CONTENT_TYPE;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use object::metadata::KEYS;
use store::{CollectionStatus, Event, Expired, Start, Watch};
use tokio::time::{Instant, sleep_until};

use crate::answer::{Body, JSON};
use crate::limits::Permit;
use crate::negotiate::{self, Form};
use crate::query::WatchStart;
use crate::server::ObjectRequest;
use crate::status::StatusError;
use crate::table::partial;

/// How many events are sent in one piece at most.
const BATCH: usize = 256;
/// After how many bytes a piece ends. A connection that does not read holds two pieces.
const BATCH_BYTES: usize = 256 * 1024;

/// The longest time that a watch stays open, whatever the client says.
const MAX_WATCH: Duration = Duration::from_hours(24);

/// The annotation of the bookmark that ends the initial list.
const INITIAL_END: &str = "k8s.io/initial-events-end";

impl ObjectRequest {
    /// Streams the changes of objects.
    pub(crate) fn watch(self) -> Result<Response<Body>, StatusError> {
        let form = negotiate::form(&self.headers)?;
        let selector = self.query.selector(self.route.namespace.as_deref())?;
        let start = self.query.watch_start()?;
        let permit = self.server.shared.permits.watch(&self.user.name)?;
        let kind = &self.resource.kind;
        let status = self.store().status(kind);
        self.require_complete()?;
        let (start, announce) = match start {
            WatchStart::Initial { from, bookmark } => {
                self.check_not_newer(from)?;
                (Start::Now, bookmark)
            }
            WatchStart::After(version) if version.0 == u64::MAX => {
                (Start::After(self.store().version()), false)
            }
            // A version of another replica, which this one has replaced: the reader must list again.
            WatchStart::After(from) if from > self.store().version() => {
                return Ok(response(form, ended(&too_old(Expired { from }))));
            }
            WatchStart::After(version) => (Start::After(version), false),
        };
        let watch = match self.store().watch(kind, selector, start) {
            Ok(watch) => watch,
            // As in kube-apiserver, this is an event, too.
            Err(expired) => return Ok(response(form, ended(&too_old(expired)))),
        };
        let limits = &self.server.shared.limits;
        let time = self.query.timeout().unwrap_or(limits.watch_time);
        let time = time.min(MAX_WATCH);
        let period = status.borrow().period;
        let watching = Watching {
            watch,
            status,
            period,
            form,
            announce,
            listing: start == Start::Now,
            columns_sent: false,
            ends: Instant::now() + time,
            next_bookmark: Instant::now() + limits.bookmark_period,
            bookmark_period: limits.bookmark_period,
            over: false,
            _permit: permit,
            request: self,
        };
        let lines = stream::unfold(watching, |mut watching| async move {
            let text = watching.next().await?;
            Some((Ok(Frame::data(Bytes::from(text))), watching))
        });
        Ok(response(form, StreamBody::new(lines).boxed_unsync()))
    }
}

/// A stream of events.
fn response(form: Form, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let content = match form {
        Form::Objects => JSON,
        Form::Table => "application/json;as=Table;g=meta.k8s.io;v=v1",
        Form::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    };
    let content = http::HeaderValue::from_static(content);
    response.headers_mut().insert(CONTENT_TYPE, content);
    response
}

/// A watch that consists of an error.
fn ended(error: &StatusError) -> Body {
    Full::new(Bytes::from(error_line(error))).boxed_unsync()
}

/// 410: the reader has to list again.
fn too_old(Expired { from }: Expired) -> StatusError {
    StatusError::expired(format!("too old resource version: {from}"))
}

/// An open watch.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about the watch that are independent of each other"
)]
struct Watching {
    watch: Watch,
    /// Whether the collection is complete.
    status: tokio::sync::watch::Receiver<CollectionStatus>,
    /// The period of the collection in which the watch has started.
    period: u64,
    form: Form,
    /// Whether the end of the initial list is announced.
    announce: bool,
    /// Whether the initial list is being sent.
    listing: bool,
    /// Whether the columns of a table have been sent.
    columns_sent: bool,
    ends: Instant,
    next_bookmark: Instant,
    bookmark_period: Duration,
    /// Whether the last line has been sent.
    over: bool,
    _permit: Permit,
    request: ObjectRequest,
}

impl Watching {
    /// The next lines; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            if self.over {
                return None;
            }
            if let Some(reason) = self.interrupted() {
                self.over = true;
                return Some(error_line(&StatusError::expired(reason)));
            }
            match self.available() {
                Ok(text) if text.is_empty() => {}
                Ok(text) => return Some(text),
                Err(expired) => {
                    self.over = true;
                    return Some(error_line(&too_old(expired)));
                }
            }
            let wake = self.ends.min(self.next_bookmark);
            tokio::select! {
                biased;
                changed = self.status.changed() => {
                    if changed.is_err() {
                        return None;
                    }
                }
                () = sleep_until(wake) => {
                    if Instant::now() >= self.ends {
                        return None;
                    }
                    self.next_bookmark = Instant::now() + self.bookmark_period;
                    if self.request.query.bookmarks
                        && let Ok(Some(event)) = self.watch.bookmark()
                    {
                        return self.line(event);
                    }
                }
                event = self.watch.next() => match event {
                    Ok(event) => {
                        let mut text = self.line(event).unwrap_or_default();
                        // An error is reported by the next call.
                        if let Ok(more) = self.available() {
                            text.push_str(&more);
                        }
                        if !text.is_empty() {
                            return Some(text);
                        }
                    }
                    Err(expired) => {
                        self.over = true;
                        return Some(error_line(&too_old(expired)));
                    }
                },
            }
        }
    }

    /// The lines of all events that are there, up to a limit.
    fn available(&mut self) -> Result<String, Expired> {
        let mut text = String::new();
        for _ in 0..BATCH {
            match self.watch.try_next()? {
                Some(event) => text.push_str(&self.line(event).unwrap_or_default()),
                None => break,
            }
            if text.len() >= BATCH_BYTES {
                break;
            }
        }
        Ok(text)
    }

    /// Why the watch cannot go on: the collection is not complete, or was not in between.
    fn interrupted(&self) -> Option<String> {
        let status = self.status.borrow();
        match &status.completeness {
            store::Completeness::Incomplete(reason) => Some(format!(
                "{} is not complete: {reason}",
                self.request.resource.name()
            )),
            store::Completeness::Complete(_) if status.period != self.period => Some(format!(
                "{} was derived again; list it again",
                self.request.resource.name()
            )),
            store::Completeness::Complete(_) => None,
        }
    }

    /// The line of an event; `None` if the client does not want it.
    fn line(&mut self, event: Event) -> Option<String> {
        let (kind, object) = match event {
            Event::Added(object) => ("ADDED", self.text(object, false)),
            Event::Modified(object) => ("MODIFIED", self.text(object, false)),
            Event::Deleted(object) => ("DELETED", self.text(object, true)),
            Event::Bookmark { version, initial } => {
                self.listing &= !initial;
                let wanted = if initial {
                    self.announce
                } else {
                    self.request.query.bookmarks
                };
                if !wanted {
                    return None;
                }
                let bookmark = self.bookmark(version, initial);
                ("BOOKMARK", self.shown(bookmark).to_string().into())
            }
        };
        let mut text = String::with_capacity(object.len() + 64);
        text.push_str("{\"type\":\"");
        text.push_str(kind);
        text.push_str("\",\"object\":");
        text.push_str(&object);
        text.push_str("}\n");
        Some(text)
    }

    /// An object as JSON. Other watches receive the same changes, but not the same list.
    fn text(&mut self, object: Value, deleted: bool) -> Arc<str> {
        if self.form == Form::Objects && !self.listing {
            return self.request.server.shared.encodings.text(&object, deleted);
        }
        self.shown(object).to_string().into()
    }

    /// An object that has only a version.
    fn bookmark(&self, version: store::Version, initial: bool) -> Value {
        let version = Value::from(version.to_string());
        let mut metadata = vec![(KEYS.resource_version.clone(), version)];
        if initial {
            let annotation = Map::from_entries(vec![(Key::new(INITIAL_END), "true".into())]);
            metadata.push((KEYS.annotations.clone(), annotation.into()));
        }
        json!({
            "kind": (self.request.resource.kind.kind.as_str()),
            "apiVersion": (self.request.resource.api_version()),
            "metadata": (Value::from(Map::from_entries(metadata)))
        })
    }

    /// An object in the form that the client accepts.
    fn shown(&mut self, object: Value) -> Value {
        match self.form {
            Form::Objects => object,
            Form::Metadata => partial(&object),
            Form::Table => {
                let version = object
                    .get_key(&KEYS.metadata)
                    .get_key(&KEYS.resource_version);
                let metadata = json!({"resourceVersion": (version.clone())});
                let with_columns = !self.columns_sent;
                self.columns_sent = true;
                let form = self.request.table_form();
                form.table(&self.request.resource, &[object], metadata, with_columns)
            }
        }
    }
}

fn error_line(error: &StatusError) -> String {
    format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", error.to_value())
}
