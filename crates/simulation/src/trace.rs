//! What happened in a run: a line for each request, and for everything that was done.

use std::collections::{BTreeMap, VecDeque};

use crate::api::{Asked, Caller};
use crate::clock::Virtual;
use crate::faults::Fault;

/// So many lines and requests are kept.
const KEPT: usize = 400;

/// A request that was answered, or was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The verb of HTTP.
    pub method: String,
    /// The path.
    pub path: String,
    /// The status; 0 if nothing was done, and no answer came.
    pub code: u16,
}

/// The last lines, and a hash of all.
#[derive(Debug)]
pub struct Trace {
    clock: Virtual,
    lines: VecDeque<String>,
    hash: u64,
    counts: BTreeMap<String, u64>,
    writes: u64,
    /// What was sent since somebody looked.
    sent: VecDeque<Sent>,
}

impl Trace {
    /// Nothing has happened.
    pub fn new(clock: Virtual) -> Self {
        Self {
            clock,
            lines: VecDeque::new(),
            hash: 0,
            counts: BTreeMap::new(),
            writes: 0,
            sent: VecDeque::new(),
        }
    }

    /// Something happens now.
    pub fn note(&mut self, text: &str) {
        let seconds = self.clock.elapsed().as_secs_f64();
        let line = format!("{seconds:9.3} {text}");
        self.hash = document::stable_hash(&format!("{:x}{line}", self.hash));
        keep(&mut self.lines, line);
    }

    /// Counts something.
    pub fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// A request is answered, or is not.
    pub(crate) fn request(&mut self, caller: &Caller, asked: &Asked, code: u16, fault: Fault) {
        let sent = Sent {
            method: asked.method.to_string(),
            path: asked.path.clone(),
            code,
        };
        // What a policy refuses, or has no namespace, is tried again now and then.
        let refused = matches!(code, 403 | 404 | 422);
        self.writes += u64::from(asked.is_write() && !refused);
        self.count("requests");
        self.count(&code.to_string());
        let mut trouble = String::new();
        if fault != Fault::None {
            trouble = format!(" {fault:?}");
            let name = trouble.split('(').next().unwrap_or_default();
            self.count(name.trim());
        }
        let (name, what) = (&caller.name, what(asked));
        self.note(&format!("{name} {what} -> {code}{trouble}"));
        keep(&mut self.sent, sent);
    }

    /// The last lines, oldest first.
    pub fn last(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// A hash of all that happened.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How often things happened, by what they are.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// How many writes there were that were not refused.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// What was sent since the last call.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        self.sent.drain(..).collect()
    }
}

fn keep<T>(items: &mut VecDeque<T>, item: T) {
    if items.len() == KEPT {
        items.pop_front();
    }
    items.push_back(item);
}

/// A request in a few words.
fn what(asked: &Asked) -> String {
    let verb = match asked.method.as_str() {
        "GET" if asked.is_watch() && asked.query.is("sendInitialEvents") => "STREAM",
        "GET" if asked.is_watch() => "WATCH",
        "PATCH" if asked.content.contains("apply") => "APPLY",
        verb => verb,
    };
    // The names of Events have the time of the machine in them.
    let path = match asked.path.find("/events/") {
        Some(end) => &asked.path[..end],
        None => &asked.path,
    };
    match asked.query.get("resourceVersion") {
        "" => format!("{verb} {path}"),
        version => format!("{verb} {path} from {version}"),
    }
}
