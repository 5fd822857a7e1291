//! A Kubernetes API server in memory, with the behaviour that deltic depends on: versions and
//! conflicts, watches with bookmarks, expired versions (410), finalizers, field managers, the
//! status as a subresource, admission, and faults.
//!
//! ```text
//! kube::Client ─▶ Server ─▶ faults ─▶ Route ─┬▶ discovery
//!                                            ├▶ list, watch ─┐
//!                                            └▶ write ───────┴▶ Store
//! ```
//!
//! A request waits a little before it is carried out, and again before its answer arrives, so
//! that requests overtake each other as on a network:
//!
//! ```text
//! deltic    PUT a ─────────────────────────────▶ carried out, 409
//! user             PUT a ──▶ carried out, 200
//! ```
//!
//! The crate `apiserver` is another API server in memory, which serves views and the copies of
//! `deltic plan`. This one implements versions, conflicts and field managers anew, so that it is an
//! independent oracle, and it can fail.
//!
//! [`Faults`] decides on the delays and on what goes wrong, from a random sequence of its own,
//! so that a seed determines the order of all requests.

mod caller;
mod discovery;
mod elements;
mod exchange;
pub mod kind;
mod list;
pub mod managers;
pub mod policy;
pub mod refusal;
mod route;
mod select;
pub mod store;
mod users;
mod watch;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use caller::{Caller, Partition};
use document::Value;
use futures::stream::BoxStream;
use http::{Method, Request, Response};
use http_body_util::StreamBody;
use kind::{KINDS, Kind};
use kube::Client;
use kube::client::Body;
use object::ObjectKey;
use policy::{Access, POLICIES, Policy};
use refusal::Refusal;
use route::Query;
use store::Store;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::{Instant, sleep};
pub use users::NAMESPACES;
use watch::Line;
pub use watch::StreamingLists;

use crate::clock::Virtual;
use crate::faults::{Fault, Faults};
use crate::trace::Trace;

/// How often a request that gets no answer for now is checked.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a client waits on a silent connection, as that of `cluster::connect` does.
const CLIENT_TIMEOUT: Duration = Duration::from_mins(5);

type Reply = Result<(u16, Value), Refusal>;
type Answer = Response<StreamBody<BoxStream<'static, Line>>>;

/// The server. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Wakes watches, in the order in which they wait.
    changed: Notify,
}

/// The state of the server.
pub struct State {
    /// The objects.
    pub store: Store,
    /// Decides on faults.
    pub faults: Faults,
    /// Records requests and actions.
    pub trace: Trace,
    /// The kinds that are served.
    pub kinds: Vec<&'static Kind>,
    /// Decide which objects are refused.
    pub policies: Vec<Policy>,
    /// Answers access reviews. A new server allows everything.
    pub access: Access,
    /// Whether a watch may begin with all objects.
    pub streaming_lists: StreamingLists,
    /// Texts that are replaced in answers, to send JSON that no document can contain.
    pub sent_as: Vec<(&'static str, String)>,
    /// A merge patch for every object that is created.
    pub webhook: Value,
    /// Kinds whose lists get no answer for now.
    pub unanswered: BTreeSet<&'static str>,
    /// Kinds whose requests are all refused for now.
    pub refused: BTreeMap<&'static str, Refusal>,
    /// Kinds that service accounts may not read or write for now; [`policy::VIEWS`] for all views.
    pub denied: BTreeSet<&'static str>,
    /// Until when the server is down: all requests fail.
    pub down_until: Option<Instant>,
    /// Merge patches that somebody applies to an object right before its next write.
    pub races: Vec<(ObjectKey, Value)>,
    /// Checks every request when it is sent.
    inspector: Option<Inspector>,
    /// Checks every write of a caller.
    guard: Option<Guard>,
    /// The errors of the guard.
    violations: Vec<String>,
    /// How often all watches were cut.
    epoch: u64,
    pages: list::Pages,
}

/// A request.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The parameters.
    pub query: Query,
    /// The content type of the body.
    pub content: String,
    /// The service account that it impersonates; empty if there is none.
    pub account: String,
    /// The body; null if there is none.
    pub body: Value,
}

/// A write request that was processed, whether or not it changed the object.
#[derive(Debug)]
pub struct ProcessedWrite<'a> {
    /// Who sent it.
    pub caller: &'a Caller,
    /// The request.
    pub request: &'a ApiRequest,
    /// The object.
    pub key: &'a ObjectKey,
    /// The object before.
    pub old: Option<Value>,
    /// The object after; `None` if it is gone.
    pub new: Option<Value>,
    /// The HTTP status.
    pub code: u16,
    /// The fault of its answer.
    pub fault: Fault,
}

/// Checks a write after it was processed. Returns an error if it is wrong.
pub type Guard = Box<dyn FnMut(&ProcessedWrite<'_>) -> Result<(), String> + Send>;

/// Checks a request when a process sends it, before any delay. Returns an error if it must not
/// be sent.
pub type Inspector = Box<dyn FnMut(&Caller, &ApiRequest, &Store) -> Result<(), String> + Send>;

impl ApiRequest {
    /// Whether it writes an object.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Whether it opens a watch.
    pub fn is_watch(&self) -> bool {
        self.query.is("watch")
    }
}

impl Server {
    /// A server with only the namespaces [`NAMESPACES`].
    pub fn new(clock: Virtual, seed: u64) -> Self {
        let state = State {
            store: Store::new(clock),
            faults: Faults::new(seed),
            trace: Trace::new(clock),
            kinds: KINDS.iter().collect(),
            policies: POLICIES.to_vec(),
            access: Box::new(|_| true),
            streaming_lists: StreamingLists::Supported,
            sent_as: Vec::new(),
            webhook: Value::NULL,
            unanswered: BTreeSet::new(),
            refused: BTreeMap::new(),
            denied: BTreeSet::new(),
            down_until: None,
            inspector: None,
            races: Vec::new(),
            guard: None,
            violations: Vec::new(),
            epoch: 0,
            pages: list::Pages::default(),
        };
        let server = Self(Arc::new(Shared {
            state: Mutex::new(state),
            changed: Notify::new(),
        }));
        server.create_namespaces();
        server
    }

    /// A client for a caller.
    pub fn client(&self, caller: &Caller) -> Client {
        let (server, caller) = (self.clone(), caller.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, caller) = (server.clone(), caller.clone());
            async move { server.answer(&caller, request).await }
        });
        Client::new(service, "default")
    }

    /// Reads or changes the state, and wakes the watches.
    pub fn with<T>(&self, see: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let before = (state.store.shown(), state.epoch);
        let result = see(&mut state);
        let after = (state.store.shown(), state.epoch);
        drop(state);
        if before != after {
            self.0.changed.notify_waiters();
        }
        result
    }

    /// Records a step of a history.
    pub fn note_step(&self, step: &impl Debug) {
        let text = format!("{step:?}");
        let name = text.split('(').next().unwrap_or_default();
        self.with(|state| {
            state.trace.note(&text);
            state.trace.count(name);
        });
    }

    /// Whether all invariants hold so far; otherwise the first violation.
    pub fn is_obeyed(&self) -> Result<(), String> {
        let first = self.with(|state| state.violations().first().cloned());
        first.map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    async fn answer(
        &self,
        caller: &Caller,
        request: Request<Body>,
    ) -> Result<Answer, std::io::Error> {
        let request = read(request).await?;
        self.with(|state| state.inspect_sent(caller, &request));
        if self.with(|state| !state.violations.is_empty()) {
            // The run has failed, and a process that sends requests without end would keep it
            // from ending.
            std::future::pending::<()>().await;
        }
        while self.with(|state| state.is_unanswered(&request)) {
            sleep(RECHECK_INTERVAL).await;
        }
        if caller.partitioned().is_some_and(|cut| cut.refuses) {
            sleep(RECHECK_INTERVAL).await;
            return Err(std::io::Error::other("no route to host"));
        }
        caller.reachable().await;
        let (fault, before) = self.with(|state| (state.fault(&request), state.faults.delay()));
        let (slow, slow_answer) = fault.slowness();
        sleep(before + slow).await;
        caller.reachable().await;
        let (answer, after) = self.with(|state| {
            let answer = state.exchange(self, caller, &request, fault);
            (answer, state.faults.delay())
        });
        sleep(after + slow_answer).await;
        if fault.is_crash() {
            caller.die();
        }
        if fault.is_silent() {
            sleep(CLIENT_TIMEOUT).await;
        }
        caller.reachable().await;
        if fault.breaks() || fault.is_silent() {
            return Err(std::io::Error::other("connection reset"));
        }
        Ok(answer)
    }
}

async fn read(request: Request<Body>) -> Result<ApiRequest, std::io::Error> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect_bytes().await.map_err(std::io::Error::other)?;
    let header = |name: &str| {
        let value = parts.headers.get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let content = header("content-type").unwrap_or_default();
    let account = header("impersonate-user").unwrap_or_default();
    Ok(ApiRequest {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: Query::of(parts.uri.query().unwrap_or_default()),
        content,
        account,
        body: Value::from_json(&bytes).unwrap_or_default(),
    })
}

impl State {
    /// A value as JSON, with the replacements of [`State::sent_as`].
    fn sent(&self, value: &Value) -> String {
        let mut text = value.to_string();
        for (mark, content) in &self.sent_as {
            if text.contains(mark) {
                text = text.replace(&format!("\"{mark}\""), content);
            }
        }
        text
    }

    /// Sets the guard, which checks every write from now on.
    pub fn guard(&mut self, guard: Guard) {
        self.guard = Some(guard);
    }

    /// Sets the inspector, which checks every request from now on.
    pub fn inspector(&mut self, inspector: Inspector) {
        self.inspector = Some(inspector);
    }

    fn inspect_sent(&mut self, caller: &Caller, request: &ApiRequest) {
        let store = &self.store;
        let inspected = self.inspector.as_mut().map(|i| i(caller, request, store));
        if let Some(Err(violation)) = inspected {
            self.violate(violation);
        }
    }

    /// Records that something happened that must not happen.
    pub fn violate(&mut self, violation: String) {
        self.trace.note(&format!("VIOLATION: {violation}"));
        self.violations.push(violation);
    }

    /// The fault of a request. A server that is down breaks all connections.
    fn fault(&mut self, request: &ApiRequest) -> Fault {
        if self.down_until.is_some_and(|until| until > Instant::now()) {
            return Fault::Lost;
        }
        self.faults.decide(request)
    }

    /// The server goes down for a while and loses its history.
    pub fn restart(&mut self, down: Duration) {
        self.down_until = Some(Instant::now() + down);
        self.compact();
        self.cut_watches();
    }

    /// The errors of the guard so far.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Drops the history: lists cannot be continued, and watches cannot be resumed.
    pub fn compact(&mut self) {
        self.store.compact();
        self.pages.clear();
    }

    /// Drops the history of a kind: its watches end, and have to list again.
    pub fn expire(&mut self, kind: &str) {
        self.store.expire(kind);
    }

    /// Breaks the connections of all watches.
    pub fn cut_watches(&mut self) {
        self.epoch += 1;
    }
}
