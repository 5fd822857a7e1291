//! The trace of a run: a line for each request, and for each action.

use std::collections::{BTreeMap, VecDeque};

use crate::api::{ApiRequest, Caller};
use crate::clock::Virtual;
use crate::faults::Fault;

/// How many lines and requests are kept.
const MAX_KEPT: usize = 400;

/// A request and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The HTTP status; 0 if the request was not carried out and got no answer.
    pub code: u16,
}

/// The last lines, and a hash of all lines.
#[derive(Debug)]
pub struct Trace {
    clock: Virtual,
    lines: VecDeque<String>,
    hash: u64,
    counts: BTreeMap<String, u64>,
    writes: u64,
    requests: u64,
    /// The requests since the last [`Trace::take_sent`].
    sent: VecDeque<Sent>,
}

impl Trace {
    /// An empty trace.
    pub fn new(clock: Virtual) -> Self {
        Self {
            clock,
            lines: VecDeque::new(),
            hash: 0,
            counts: BTreeMap::new(),
            writes: 0,
            requests: 0,
            sent: VecDeque::new(),
        }
    }

    /// Adds a line.
    pub fn note(&mut self, text: &str) {
        let seconds = self.clock.elapsed().as_secs_f64();
        let line = format!("{seconds:9.3} {text}");
        self.hash = document::stable_hash(&format!("{:x}{line}", self.hash));
        keep(&mut self.lines, line);
    }

    /// Counts an event.
    pub fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Adds a request and its status.
    pub(crate) fn request(
        &mut self,
        caller: &Caller,
        request: &ApiRequest,
        code: u16,
        fault: Fault,
    ) {
        let sent = Sent {
            method: request.method.to_string(),
            path: request.path.clone(),
            code,
        };
        // Leases are renewed all the time.
        let renewal = request.path.contains("/leases");
        // Writes that a policy refuses, or that have no namespace, are retried now and then.
        let refused = matches!(code, 403 | 404 | 422);
        // A review is a question, although it is sent by POST.
        let review = request.path.contains("accessreviews");
        self.writes += u64::from(request.is_write() && !refused && !renewal && !review);
        self.requests += u64::from(!renewal && !review);
        self.count("requests");
        if request.is_watch() {
            self.count(&format!("{} {}", verb(request), request.path));
        }
        if renewal && code == 200 && fault == Fault::None {
            return;
        }
        self.count(&code.to_string());
        let mut fault_text = String::new();
        if fault != Fault::None {
            fault_text = format!(" {fault:?}");
            let name = fault_text.split('(').next().unwrap_or_default();
            self.count(name.trim());
        }
        let (name, what) = (&caller.name, what(request));
        self.note(&format!("{name} {what} -> {code}{fault_text}"));
        keep(&mut self.sent, sent);
    }

    /// The last lines, oldest first.
    pub fn last(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// A hash of all lines.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How often each kind of event occurred: requests, answers with a status, faults, and watches
    /// by path (`STREAM` for those that begin with all objects, `WATCH` for others).
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// The number of requests, without those for leases and access reviews.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The number of writes that were not refused, without those of leases.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// The requests since the last call.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        self.sent.drain(..).collect()
    }
}

fn keep<T>(items: &mut VecDeque<T>, item: T) {
    if items.len() == MAX_KEPT {
        items.pop_front();
    }
    items.push_back(item);
}

fn verb(request: &ApiRequest) -> &str {
    match request.method.as_str() {
        "GET" if request.is_watch() && request.query.is("sendInitialEvents") => "STREAM",
        "GET" if request.is_watch() => "WATCH",
        "PATCH" if request.content.contains("apply") => "APPLY",
        verb => verb,
    }
}

/// A request in short form.
fn what(request: &ApiRequest) -> String {
    let verb = verb(request);
    // The names of Events contain the time of the machine.
    let path = match request.path.find("/events/") {
        Some(end) => &request.path[..end],
        None => &request.path,
    };
    match request.query.get("resourceVersion") {
        "" => format!("{verb} {path}"),
        version => format!("{verb} {path} from {version}"),
    }
}
