//! A Kubernetes API server in memory, as far as deltic uses one.
//!
//! ```text
//! kube::Client ─▶ Server ─▶ faults ─▶ Route ─┬▶ discovery
//!                                            ├▶ list, watch ─┐
//!                                            └▶ write ───────┴▶ Store
//! ```
//!
//! Every request waits a little before it is done and before its answer arrives, so that
//! requests overtake each other as they do on a network. How long, and what goes wrong, is
//! decided by [`Faults`] with its own random numbers: one seed, one order.

mod caller;
mod discovery;
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

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use caller::Caller;
use document::Value;
use futures::stream::BoxStream;
use http::{Method, Request, Response};
use http_body_util::StreamBody;
use kind::{KINDS, Kind};
use kube::Client;
use kube::client::Body;
use object::ObjectKey;
use policy::{POLICIES, Policy};
use refusal::Refusal;
use route::Query;
use store::Store;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::sleep;
pub use users::NAMESPACES;
use watch::Line;

use crate::clock::Virtual;
use crate::faults::{Fault, Faults};
use crate::trace::Trace;

/// How often a request that is not answered for now is looked at.
const HELD_UP: Duration = Duration::from_millis(100);

/// A client gives a connection up on which it hears nothing for so long, as the one of
/// `cluster::connect` does.
const SILENCE: Duration = Duration::from_mins(5);

type Reply = Result<(u16, Value), Refusal>;
type Answer = Response<StreamBody<BoxStream<'static, Line>>>;

/// The server. Clones are the same one.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Wakes watches, in the order in which they wait.
    changed: Notify,
}

/// All that the server holds.
pub struct State {
    /// The objects.
    pub store: Store,
    /// What goes wrong.
    pub faults: Faults,
    /// What happened.
    pub trace: Trace,
    /// The kinds that are served.
    pub kinds: Vec<&'static Kind>,
    /// What is refused.
    pub policies: Vec<Policy>,
    /// Whether a watch may begin with all objects.
    pub streaming_lists: bool,
    /// Texts that are sent as something else, which no document can hold.
    pub sent_as: Vec<(&'static str, String)>,
    /// What is merged into every object that is created.
    pub webhook: Value,
    /// Lists of these kinds are not answered for now.
    pub unanswered: BTreeSet<&'static str>,
    /// What somebody merges into an object right before the next write of it is done.
    pub races: Vec<(ObjectKey, Value)>,
    /// Called with every change that a caller makes.
    guard: Option<Guard>,
    /// What a guard had to say.
    violations: Vec<String>,
    /// Counts how often all watches were cut.
    epoch: u64,
    pages: list::Pages,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The verb of HTTP.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The parameters.
    pub query: Query,
    /// The content type of the body.
    pub content: String,
    /// The body; null if there is none.
    pub body: Value,
}

/// A change that a caller has made, or a request that could have made one and did not.
#[derive(Debug)]
pub struct Done<'a> {
    /// Who did it.
    pub caller: &'a Caller,
    /// The request.
    pub asked: &'a Asked,
    /// The object.
    pub key: &'a ObjectKey,
    /// What it was.
    pub old: Option<Value>,
    /// What it is; `None` if it is gone.
    pub new: Option<Value>,
    /// The HTTP status.
    pub code: u16,
    /// What goes wrong with the answer.
    pub fault: Fault,
}

/// Looks at every write that is done, and says what is wrong with it.
pub type Guard = Box<dyn FnMut(&Done<'_>) -> Result<(), String> + Send>;

impl Asked {
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
    /// A server with the namespaces [`NAMESPACES`] and nothing else.
    pub fn new(clock: Virtual, seed: u64) -> Self {
        let state = State {
            store: Store::new(clock),
            faults: Faults::new(seed),
            trace: Trace::new(clock),
            kinds: KINDS.iter().collect(),
            policies: POLICIES.to_vec(),
            streaming_lists: true,
            sent_as: Vec::new(),
            webhook: Value::NULL,
            unanswered: BTreeSet::new(),
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

    /// Looks at the state, or changes it, and wakes the watches.
    pub fn with<T>(&self, see: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let before = (state.store.version(), state.epoch);
        let result = see(&mut state);
        let after = (state.store.version(), state.epoch);
        drop(state);
        if before != after {
            self.0.changed.notify_waiters();
        }
        result
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
        let asked = read(request).await?;
        while self.with(|state| state.is_unanswered(&asked)) {
            sleep(HELD_UP).await;
        }
        caller.dead_is_silent().await;
        let (fault, before) =
            self.with(|state| (state.faults.decide(&asked), state.faults.delay()));
        let (slow, slow_answer) = fault.slowness();
        sleep(before + slow).await;
        caller.dead_is_silent().await;
        let (answer, after) = self.with(|state| {
            let answer = state.exchange(self, caller, &asked, fault);
            (answer, state.faults.delay())
        });
        sleep(after + slow_answer).await;
        if fault.is_crash() {
            caller.die();
        }
        if fault.is_silent() {
            sleep(SILENCE).await;
        }
        caller.dead_is_silent().await;
        if fault.breaks() || fault.is_silent() {
            return Err(std::io::Error::other("connection reset"));
        }
        Ok(answer)
    }
}

async fn read(request: Request<Body>) -> Result<Asked, std::io::Error> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect_bytes().await.map_err(std::io::Error::other)?;
    let content = parts.headers.get(http::header::CONTENT_TYPE);
    let content = content.and_then(|value| value.to_str().ok());
    Ok(Asked {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: Query::of(parts.uri.query().unwrap_or_default()),
        content: content.unwrap_or_default().to_owned(),
        body: Value::from_json(&bytes).unwrap_or_default(),
    })
}

impl State {
    /// A value as it is sent.
    fn sent(&self, value: &Value) -> String {
        let mut text = value.to_string();
        for (mark, content) in &self.sent_as {
            if text.contains(mark) {
                text = text.replace(&format!("\"{mark}\""), content);
            }
        }
        text
    }

    /// Calls this with every write from now on.
    pub fn guard(&mut self, guard: Guard) {
        self.guard = Some(guard);
    }

    /// What the guard had to say so far.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Forgets what happened until now: lists cannot be continued, and watches not be
    /// resumed.
    pub fn compact(&mut self) {
        self.store.compact();
        self.pages.clear();
    }

    /// Forgets what happened to the objects of a kind: its watches end, and have to list
    /// again.
    pub fn expire(&mut self, kind: &str) {
        self.store.expire(kind);
    }

    /// Breaks the connections of all watches.
    pub fn cut_watches(&mut self) {
        self.epoch += 1;
    }
}
