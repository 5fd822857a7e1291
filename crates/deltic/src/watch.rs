//! Reads Kubernetes watch events: `{"type":"ADDED","object":{…}}`.

use document::{Value, one_line};
use object::ObjectName;
use offline::{Event, EventType};
use operator::Report;

use crate::time::Time;

/// A document of a stream.
#[derive(Debug)]
pub(crate) enum WatchDocument {
    /// Events that arrive together.
    Events(Batch),
    /// `{"type": "TICK", "time": …}`: the time moves on.
    Tick(Time),
}

/// The events of one document of a stream.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The events, without bookmarks.
    pub(crate) events: Vec<Event>,
    /// The errors of objects without a name, which are skipped.
    pub(crate) nameless: Vec<Report>,
}

/// Why a document is not an event.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum WatchError {
    #[error("expected a watch event or a list of them, found {0}")]
    NoEvent(document::Kind),
    #[error("expected a watch event, found an object without a type")]
    NoType,
    #[error("expected the type ADDED, MODIFIED, DELETED, BOOKMARK or TICK, found \"{0}\"")]
    UnknownType(String),
    #[error("the watch ended with an error: {0}")]
    Error(String),
    #[error("the object of an event must be a map, found {0}")]
    NoObject(document::Kind),
    #[error("a TICK is a batch of its own and cannot be part of a list")]
    TickInList,
    #[error("a TICK needs a time such as 2026-01-02T03:04:05Z")]
    TickWithoutTime,
}

/// What reads objects instead of events.
pub(crate) const OBJECTS: &str = "`deltic render` reads objects, as YAML or JSON";

impl WatchError {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Error(_) => "watch-error",
            Self::TickInList | Self::TickWithoutTime => "bad-tick",
            Self::NoEvent(_) | Self::NoType | Self::UnknownType(_) | Self::NoObject(_) => {
                "bad-event"
            }
        }
    }

    pub(crate) fn help(&self) -> Option<String> {
        matches!(self, Self::NoType).then(|| {
            format!(
                "print events with kubectl get … --watch --output-watch-events -o json; {OBJECTS}"
            )
        })
    }
}

/// Reads a document: one event, a list of them, or a tick. An error comes with the position of the
/// event in the list.
pub(crate) fn read(document: &Value) -> Result<WatchDocument, (Option<usize>, WatchError)> {
    if document.get("type").as_str() == Some("TICK") {
        let time = document
            .get("time")
            .as_str()
            .and_then(|time| time.parse().ok());
        let time = time.ok_or((None, WatchError::TickWithoutTime))?;
        return Ok(WatchDocument::Tick(time));
    }
    let mut batch = Batch::default();
    let Some(list) = document.as_list() else {
        batch.add(document, None).map_err(|error| (None, error))?;
        return Ok(WatchDocument::Events(batch));
    };
    for (i, event) in list.iter().enumerate() {
        batch
            .add(event, Some(i))
            .map_err(|error| (Some(i), error))?;
    }
    Ok(WatchDocument::Events(batch))
}

impl Batch {
    fn add(&mut self, event: &Value, position: Option<usize>) -> Result<(), WatchError> {
        if event.as_map().is_none() {
            return Err(WatchError::NoEvent(event.kind()));
        }
        let object = event.get("object");
        let kind = match event.get("type").as_str() {
            Some("ADDED") => EventType::Added,
            Some("MODIFIED") => EventType::Modified,
            Some("DELETED") => EventType::Deleted,
            Some("BOOKMARK") => return Ok(()),
            Some("TICK") => return Err(WatchError::TickInList),
            Some("ERROR") => return Err(WatchError::Error(status(object))),
            Some(other) => return Err(WatchError::UnknownType(shorten(other))),
            None => return Err(WatchError::NoType),
        };
        if object.as_map().is_none() {
            return Err(WatchError::NoObject(object.kind()));
        }
        if has_name(object) {
            let object = object.clone();
            self.events.push(Event { kind, object });
        } else {
            self.nameless.push(nameless(object, position));
        }
        Ok(())
    }
}

/// Whether an object has a kind and a name.
pub(crate) fn has_name(object: &Value) -> bool {
    object.get("kind").as_str().is_some() && ObjectName::of(object).is_some()
}

fn nameless(object: &Value, position: Option<usize>) -> Report {
    let message = match position {
        Some(position) => format!("event {}: {}", position + 1, no_name(object)),
        None => no_name(object),
    };
    Report {
        controller: String::new(),
        stage: String::new(),
        origin: Value::list([]),
        code: "no-name",
        message,
    }
}

/// The message about an object without a kind or a name.
pub(crate) fn no_name(object: &Value) -> String {
    let kind = object.get("kind").as_str().is_some();
    let missing = match (kind, ObjectName::of(object).is_some()) {
        (false, true) => "it has no kind",
        (true, _) => "it has no name",
        (false, false) => "it has neither",
    };
    format!("an object needs a kind and a metadata.name: {missing}")
}

/// The message of an ERROR event.
fn status(object: &Value) -> String {
    let message = object.get("message").as_str();
    let reason = object.get("reason").as_str();
    shorten(message.or(reason).unwrap_or("no message"))
}

/// Shortens a text from outside for a message.
fn shorten(text: &str) -> String {
    let short: String = text.chars().take(200).collect();
    one_line(&short).into_owned()
}
