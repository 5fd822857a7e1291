//! Kubernetes Events about Operators.
//!
//! Engines (through [`EngineEvents`]) and Operator tasks report what happens. The reports wait in
//! a queue, from which one task sends them as Events, aggregated by kube's recorder. A token
//! bucket bounds the number of Events per Operator, and a full queue drops new ones, so that a
//! slow API server never blocks an engine. Dropped Events are counted in the next one:
//!
//! ```text
//! controller web: conflict … (75 others were left out)
//! ```

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use document::one_line;
use engine::EngineEvents;
use engine::background::{Background, Chore};
use engine::status::ReportedError;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use object::{GroupKind, ObjectKey, ObjectName, abridged, bounded};
use operator::secrets::HIDDEN;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::crd;
use crate::report::{Release, text};

/// How many Events of one Operator may be sent at once.
pub const BURST: u32 = 25;
/// How long it takes until another Event may be sent after a burst.
pub const EVERY: Duration = Duration::from_secs(10);
/// How many Events wait to be sent.
const QUEUE: usize = 256;
/// How long sending one Event may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest note that the API server accepts, in bytes.
const MAX_NOTE: usize = 1024;
/// The longest reason and action that the API server accepts, in bytes.
const MAX_WORD: usize = 128;

/// Sends Events. Clones share one queue.
#[derive(Clone)]
pub struct Events(Option<mpsc::Sender<(Event, ObjectReference)>>);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    /// Starts a task that sends Events with this client; `instance` is their reporting instance.
    /// The task ends when the last handle is dropped.
    pub fn start(client: Client, instance: &str, background: Background) -> Self {
        let reporter = Reporter {
            controller: "dcontroller.io/deltic".to_owned(),
            instance: Some(bounded(instance, MAX_WORD)),
        };
        let (sender, receiver) = mpsc::channel(QUEUE);
        let recorder = Recorder::new(client, reporter);
        tokio::spawn(send(recorder, receiver, background));
        Self(Some(sender))
    }

    /// Sends no Events; everything is still logged.
    pub fn none() -> Self {
        Self(None)
    }

    /// The Events about one Operator.
    pub fn of(&self, operator: &str, uid: &str) -> Arc<OperatorEvents> {
        let resource = crd::resource();
        Arc::new(OperatorEvents {
            events: self.clone(),
            operator: operator.to_owned(),
            generation: AtomicI64::new(0),
            reference: ObjectReference {
                api_version: Some(resource.api_version),
                kind: Some(resource.kind),
                name: Some(operator.to_owned()),
                uid: Some(uid.to_owned()),
                ..ObjectReference::default()
            },
            bucket: Mutex::new(Bucket {
                left: BURST,
                at: Instant::now(),
                dropped: 0,
            }),
        })
    }
}

async fn send(
    recorder: Recorder,
    mut queue: mpsc::Receiver<(Event, ObjectReference)>,
    background: Background,
) {
    while let Some((event, reference)) = queue.recv().await {
        let sent = tokio::time::timeout(TIMEOUT, recorder.publish(&event, &reference));
        // A panic loses this Event, and not all that follow.
        match background.part(Chore::Events, sent).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::debug!(%error, reason = event.reason, "no Event"),
            Ok(Err(_)) => tracing::debug!(reason = event.reason, "no Event: no answer in time"),
            Err(error) => tracing::debug!(%error, reason = event.reason, "no Event"),
        }
    }
}

/// Events about one Operator.
#[derive(Debug)]
pub struct OperatorEvents {
    events: Events,
    operator: String,
    /// The generation of the Operator; 0 if it is given as a file.
    generation: AtomicI64,
    reference: ObjectReference,
    bucket: Mutex<Bucket>,
}

/// A token bucket: how many Events may be sent now.
#[derive(Debug)]
struct Bucket {
    left: u32,
    at: Instant,
    /// How many Events were dropped since the last one that was sent.
    dropped: u32,
}

impl Bucket {
    /// Takes a token and returns how many Events were dropped since the last one; `None` if the
    /// bucket is empty.
    fn take(&mut self) -> Option<u32> {
        let now = Instant::now();
        while self.left < BURST && now.duration_since(self.at) >= EVERY {
            self.left += 1;
            self.at += EVERY;
        }
        if self.left == BURST {
            self.at = now;
        }
        if self.left == 0 {
            self.dropped = self.dropped.saturating_add(1);
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.dropped))
    }
}

impl OperatorEvents {
    /// Sets the generation of the Operator, which some notes name.
    pub(crate) fn set_generation(&self, generation: i64) {
        self.generation.store(generation, Ordering::Relaxed);
    }

    /// Reports a problem of the Operator as a whole.
    pub fn warn(&self, reason: &str, note: &str) {
        self.send(EventType::Warning, reason, "Operator", note, None);
    }

    fn send(
        &self,
        kind: EventType,
        reason: &str,
        action: &str,
        note: &str,
        related: Option<ObjectReference>,
    ) {
        let operator = &self.operator;
        let note = &*one_line(note);
        let taken = self
            .bucket
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(dropped) = taken else {
            tracing::debug!(operator, reason, action, note, "left out");
            return;
        };
        match kind {
            EventType::Warning => tracing::warn!(operator, reason, action, note, dropped),
            EventType::Normal => tracing::info!(operator, reason, action, note, dropped),
        }
        let more = match dropped {
            0 => String::new(),
            dropped => format!(" ({dropped} others were left out)"),
        };
        let note = abridged(note, MAX_NOTE - more.len());
        let event = Event {
            type_: kind,
            reason: bounded(reason, MAX_WORD),
            note: Some(format!("{note}{more}")),
            action: bounded(action, MAX_WORD),
            secondary: related,
        };
        if let Some(queue) = &self.events.0 {
            // If the queue is full, the server is slow. The message has been logged.
            let _ = queue.try_send((event, self.reference.clone()));
        }
    }
}

impl EngineEvents for OperatorEvents {
    fn adopted(&self, kind: &GroupKind, name: Option<&ObjectName>, controller: &str) {
        let key = name.map(|name| ObjectKey {
            kind: kind.clone(),
            name: name.clone(),
        });
        let object = match &key {
            Some(key) => key.to_string(),
            None => format!("{kind}/{HIDDEN}"),
        };
        let note = format!("{object} already existed and is now managed; it will never be deleted");
        let related = key.as_ref().map(reference);
        self.send(EventType::Normal, "Adopted", controller, &note, related);
    }

    fn reported(&self, controller: &str, reported: &ReportedError) {
        let release = match self.generation.load(Ordering::Relaxed) {
            0 => Release::File,
            generation => Release::Annotation(&self.operator, generation),
        };
        let note = format!("controller {controller}: {}", text(reported, release));
        self.send(
            EventType::Warning,
            &reason(&reported.code),
            controller,
            &note,
            None,
        );
    }

    fn crashed(&self, message: &str) {
        self.warn("Crashed", message);
    }
}

fn reference(key: &ObjectKey) -> ObjectReference {
    let namespace = Some(key.namespace()).filter(|namespace| !namespace.is_empty());
    ObjectReference {
        kind: Some(key.kind.kind.as_str().to_owned()),
        name: Some(key.object_name().to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ObjectReference::default()
    }
}

/// Turns a code into the reason of an Event: `deletion-held` becomes `DeletionHeld`.
fn reason(code: &str) -> String {
    let words = code.split(['-', '_', ' ']).filter(|word| !word.is_empty());
    let words = words.map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters).collect::<String>()
    });
    let reason: String = words.collect();
    if reason.is_empty() {
        "Error".to_owned()
    } else {
        reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_reasons() {
        let cases = [
            ("fighting", "Fighting"),
            ("deletion-held", "DeletionHeld"),
            ("", "Error"),
        ];
        for (code, expect) in cases {
            assert_eq!(reason(code), expect);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_bounded_and_those_left_out_are_counted() {
        let (sender, mut receiver) = mpsc::channel(1000);
        let events = Events(Some(sender)).of("op", "uid");
        for _ in 0..100 {
            events.warn("Invalid", "x");
        }
        assert_eq!(receiver.len(), BURST as usize);
        tokio::time::advance(EVERY).await;
        events.warn("Invalid", "y");
        events.warn("Invalid", "z");
        assert_eq!(receiver.len(), BURST as usize + 1);
        let mut last = None;
        while let Ok((event, _)) = receiver.try_recv() {
            last = event.note;
        }
        assert_eq!(last.as_deref(), Some("y (75 others were left out)"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_held_removal_names_the_current_generation() {
        let (sender, mut receiver) = mpsc::channel(10);
        let events = Events(Some(sender)).of("op", "uid");
        let held = ReportedError {
            code: engine::DELETION_HELD.to_owned(),
            stage: "target".to_owned(),
            origin: document::Value::list([]),
            message: "held".to_owned(),
        };
        events.set_generation(7);
        events.reported("c", &held);
        let (event, _) = receiver.try_recv().unwrap();
        let command = ": kubectl annotate dop op dcontroller.io/allow-deletions=7 --overwrite";
        let note = event.note.unwrap();
        assert!(note.ends_with(command), "{note}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_related_object_is_named() {
        let (sender, mut receiver) = mpsc::channel(10);
        let events = Events(Some(sender)).of("op", "uid");
        let kind = GroupKind::new("apps", "Deployment");
        events.adopted(&kind, Some(&ObjectName::new("n", "web")), "c");
        let (event, about) = receiver.try_recv().unwrap();
        assert_eq!(event.reason, "Adopted");
        assert_eq!(event.secondary.unwrap().namespace.as_deref(), Some("n"));
        assert_eq!(about.uid.as_deref(), Some("uid"));
    }

    #[tokio::test(start_paused = true)]
    async fn names_cannot_change_how_a_note_is_shown() {
        let (sender, mut receiver) = mpsc::channel(10);
        let events = Events(Some(sender)).of("op", "uid");
        let kind = GroupKind::new("", "ConfigMap");
        events.adopted(&kind, Some(&ObjectName::new("n", "a\n\u{202e}b")), "c");
        let (event, _) = receiver.try_recv().unwrap();
        let note = event.note.unwrap();
        assert!(note.contains(r"/a \u{202e}b already"), "{note}");
    }
}
