//! Watches: the changes of the objects of a selection, as a stream of lines.
//!
//! A watch starts at a version, or with all objects (`sendInitialEvents`) and a bookmark after
//! them. It ends after `timeoutSeconds`, when all watches are cut, or with a fault.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use document::{Value, json};
use hyper::body::{Bytes, Frame};
use tokio::time::{Instant, sleep, sleep_until};

use super::refusal::Refusal;
use super::route::Query;
use super::select::Selection;
use super::store::Event;
use super::{CLIENT_TIMEOUT, Caller, Server, State, list};
use crate::faults::Cut;
use crate::fields::set;

/// The maximum time between bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(2);
/// The default duration of a watch in seconds.
const DEFAULT_SECONDS: u64 = 1800;

/// How the server answers a watch that shall begin with all objects (`sendInitialEvents`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamingLists {
    /// With the objects, and a bookmark after them.
    Supported,
    /// With status 422.
    Refused,
    /// With the objects, but without the bookmark.
    NoBookmark,
    /// With neither: it ignores the parameter.
    Ignored,
}

impl StreamingLists {
    /// The next variant, in turn.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Supported => Self::Refused,
            Self::Refused => Self::NoBookmark,
            Self::NoBookmark => Self::Ignored,
            Self::Ignored => Self::Supported,
        }
    }
}

/// An open watch.
pub(super) struct Watch {
    server: Server,
    caller: Caller,
    selection: Selection,
    /// All changes up to this version have been sent.
    position: u64,
    /// Lines to send before any change.
    first: VecDeque<Value>,
    bookmarks: Option<Instant>,
    ends: Instant,
    /// After how many lines it breaks, and how.
    cut: Option<(u64, Cut)>,
    /// The watch is cut when the epoch of the server differs.
    epoch: u64,
}

/// The next line.
enum Next {
    Line(Value),
    /// The last line.
    Last(Value),
    Wait(Instant),
    Break,
    End,
}

/// A line, or a broken connection.
pub(super) type Line = Result<Frame<Bytes>, std::io::Error>;

impl Watch {
    /// Opens a watch.
    pub(super) fn open(
        server: &Server,
        state: &mut State,
        caller: &Caller,
        selection: Selection,
        query: &Query,
    ) -> Result<Self, Refusal> {
        let from = query.number("resourceVersion").unwrap_or(0);
        let streams = query.is("sendInitialEvents");
        let lists = state.streaming_lists;
        if streams && lists == StreamingLists::Refused {
            let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
            return Err(Refusal::invalid("sendInitialEvents", why));
        }
        let (position, first) = if streams && lists == StreamingLists::Ignored {
            (state.store.version(), VecDeque::new())
        } else if streams || from == 0 {
            let version = state.store.version();
            let objects = list::selected(&state.store, &selection).into_iter();
            let mut lines: VecDeque<Value> = objects.map(|o| line("ADDED", o)).collect();
            if streams && lists == StreamingLists::Supported {
                lines.push_back(bookmark(&selection, version, true));
            }
            (version, lines)
        } else if state.store.remembers(selection.kind.name, from) {
            (from, VecDeque::new())
        } else if state.faults.chance(50) {
            return Err(Refusal::expired());
        } else {
            // A real server, too, answers before it finds out.
            (from, VecDeque::new())
        };
        let duration =
            Duration::from_secs(query.number("timeoutSeconds").unwrap_or(DEFAULT_SECONDS));
        let lines = first.len() as u64;
        caller.watches(1);
        Ok(Self {
            server: server.clone(),
            caller: caller.clone(),
            selection,
            position,
            first,
            bookmarks: query
                .is("allowWatchBookmarks")
                .then(|| Instant::now() + BOOKMARK_INTERVAL),
            ends: Instant::now() + duration,
            cut: state.faults.cut(lines),
            epoch: state.epoch,
        })
    }

    /// The next line, for `futures::stream::unfold`.
    pub(super) async fn next(mut self) -> Option<(Line, Self)> {
        loop {
            self.caller.reachable().await;
            let server = self.server.clone();
            let mut changed = pin!(server.changed());
            changed.as_mut().enable();
            let (next, delay) = server.with(|state| {
                let next = self.look(state);
                (next, state.faults.delay())
            });
            match next {
                Next::Line(value) => {
                    sleep(delay).await;
                    self.caller.reachable().await;
                    return Some((Ok(server.with(|state| state.frame(&value))), self));
                }
                Next::Last(value) => {
                    self.ends = Instant::now();
                    return Some((Ok(server.with(|state| state.frame(&value))), self));
                }
                Next::Wait(until) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = sleep_until(until) => {}
                    }
                }
                Next::Break => {
                    self.ends = Instant::now();
                    let error = std::io::Error::other("connection reset");
                    return Some((Err(error), self));
                }
                Next::End => return None,
            }
        }
    }

    fn look(&mut self, state: &State) -> Next {
        if state.refused.contains_key(self.selection.kind.name) {
            return Next::Break;
        }
        let now = Instant::now();
        if self.ends <= now {
            return Next::End;
        }
        if self.epoch != state.epoch {
            return Next::Break;
        }
        if let Some((lines, cut)) = &mut self.cut {
            match (lines.checked_sub(1), cut) {
                (Some(left), _) => *lines = left,
                (None, Cut::Error) => return Next::Break,
                (None, Cut::End) => return Next::End,
                (None, Cut::Silence) => return Next::Wait(now + CLIENT_TIMEOUT),
            }
        }
        if let Some(line) = self.first.pop_front() {
            return Next::Line(line);
        }
        if !state
            .store
            .remembers(self.selection.kind.name, self.position)
        {
            return Next::Last(line("ERROR", Refusal::expired().status()));
        }
        for event in state.store.since(self.position) {
            self.position = event.version;
            if let Some(line) = self.line(event) {
                return Next::Line(line);
            }
        }
        let Some(due) = self.bookmarks else {
            return Next::Wait(self.ends);
        };
        if due > now {
            return Next::Wait(due.min(self.ends));
        }
        self.bookmarks = Some(now + BOOKMARK_INTERVAL);
        self.position = state.store.version();
        Next::Line(bookmark(&self.selection, self.position, false))
    }

    /// The line of an event: an object that no longer matches the labels counts as deleted.
    fn line(&self, event: &Event) -> Option<Value> {
        if !self.selection.covers(&event.key) {
            return None;
        }
        let admits = |object: &Value| self.selection.admits(object);
        let was = event.old.as_ref().is_some_and(admits);
        let is = !event.gone && admits(&event.new);
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return None,
        };
        // The last matching state, with the version of the change.
        let last = event.old.as_ref().filter(|_| was && !is && !event.gone);
        let object = last.map_or_else(
            || event.new.clone(),
            |last| {
                let version = event.version.to_string().into();
                set(last, &["metadata", "resourceVersion"], version)
            },
        );
        Some(line(kind, object))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.caller.watches(-1);
    }
}

fn line(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

fn bookmark(selection: &Selection, version: u64, initial: bool) -> Value {
    let kind = selection.kind;
    let mut object = json!({
        "kind": (kind.name), "apiVersion": (kind.api_version()),
        "metadata": {"resourceVersion": (version.to_string())},
    });
    if initial {
        let path = ["metadata", "annotations", "k8s.io/initial-events-end"];
        object = set(&object, &path, "true".into());
    }
    line("BOOKMARK", object)
}

impl State {
    /// An event as it is sent, with the type first.
    fn frame(&self, event: &Value) -> Frame<Bytes> {
        let (kind, object) = (event.get("type"), self.sent(event.get("object")));
        let line = format!("{{\"type\":{kind},\"object\":{object}}}\n");
        Frame::data(Bytes::from(line))
    }
}
