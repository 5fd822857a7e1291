//! Clients: one for each identity, all behind one fence and one rate limit.
//!
//! [`Clients`] wraps a [`kube::Client`]. Its clients act as a service account. Requests are sent at
//! a limited rate, and only so many at the same time, because each needs a connection. A watch that
//! the server keeps closing is opened again after a pause (`pace.rs`). No request is sent after
//! [`Clients::fence`], or when this process no longer leads. A replica that stands by may read, but
//! not write.

mod no_answer;
mod pace;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Method, Request, Uri};
use kube::Client;
use kube::client::Body;
use operator::spec::ServiceAccount;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::lease::Leadership;
use no_answer::NoAnswer;
pub(crate) use no_answer::too_many_files;
use pace::WatchPace;

/// The identity that sends a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Identity {
    /// deltic itself.
    #[default]
    Own,
    /// A service account that is impersonated.
    Account {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl From<Option<&ServiceAccount>> for Identity {
    fn from(account: Option<&ServiceAccount>) -> Self {
        match account {
            None => Self::Own,
            Some(account) => Self::Account {
                namespace: account.namespace.clone(),
                name: account.name.clone(),
            },
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("deltic"),
            Self::Account { namespace, name } => {
                write!(f, "system:serviceaccount:{namespace}:{name}")
            }
        }
    }
}

/// A limit on the rate of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The average number of requests per second; 0 for no limit.
    pub per_second: f64,
    /// How many requests may be sent at once.
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            per_second: 0.0,
            burst: 1,
        }
    }
}

/// Creates clients. Clones share the fence and the rate limit.
#[derive(Clone)]
pub struct Clients {
    base: Client,
    gate: Arc<Gate>,
    made: Arc<Mutex<HashMap<Identity, Client>>>,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").finish_non_exhaustive()
    }
}

/// The checks before every request.
struct Gate {
    fenced: watch::Sender<bool>,
    /// Checked before every request: a process that was suspended may have lost the lead without
    /// having noticed it yet.
    leadership: Leadership,
    rate: Rate,
    bucket: Mutex<Bucket>,
    /// The requests that may be under way, apart from watches.
    requests: Arc<Semaphore>,
}

/// How many requests may be under way, apart from watches. With their connections, a process stays
/// below the usual limit of 1,024 open files.
const MAX_REQUESTS: usize = 512;

/// The tokens that are left, and when they were counted.
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// The error of a request that is not sent: after [`Clients::fence`], after this process has lost
/// the lead, or a write before it leads.
#[derive(Debug, thiserror::Error)]
#[error("this process does not lead: the request is not sent")]
pub struct Fenced;

impl Clients {
    /// Clients that send through `base`, as long as this process leads.
    pub fn new(base: Client, rate: Rate, leadership: Leadership) -> Self {
        let bucket = Bucket {
            tokens: f64::from(rate.burst.max(1)),
            at: Instant::now(),
        };
        Self {
            base,
            gate: Arc::new(Gate {
                fenced: watch::Sender::new(false),
                leadership,
                rate,
                bucket: Mutex::new(bucket),
                requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            }),
            made: Arc::default(),
        }
    }

    /// Fails all requests from now on, and aborts writes under way.
    pub fn fence(&self) {
        self.gate.fenced.send_replace(true);
    }

    /// The client of an identity.
    pub fn of(&self, identity: &Identity) -> Client {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = made.get(identity) {
            return client.clone();
        }
        let client = self.make(identity);
        made.insert(identity.clone(), client.clone());
        client
    }

    fn make(&self, identity: &Identity) -> Client {
        let headers = headers(identity);
        let (base, gate) = (self.base.clone(), self.gate.clone());
        let pace = WatchPace::default();
        let service = tower::service_fn(move |mut request: Request<Body>| {
            for (name, value) in &headers {
                request.headers_mut().append(*name, value.clone());
            }
            let (base, gate, pace) = (base.clone(), gate.clone(), pace.clone());
            async move {
                let uri = request.uri().clone();
                let wait = pace.wait(&uri);
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                let permit = gate.permit(&uri).await;
                let writes = is_write(&request);
                gate.pass(writes).await?;
                let answer = tokio::select! {
                    biased;
                    answer = base.send(request) => answer,
                    // The server may carry it out nevertheless, but not much later.
                    () = gate.closed(), if writes => return Err(Fenced.into()),
                };
                match answer {
                    Ok(answer) => Ok(pace.follow(&uri, answer, permit)),
                    Err(error) => Err(tower::BoxError::from(NoAnswer::new(error))),
                }
            }
        });
        Client::new(service, self.base.default_namespace())
    }
}

/// The header that impersonates a service account. The server adds the groups of the account;
/// a header for them would need the permission to impersonate groups.
fn headers(identity: &Identity) -> Vec<(&'static str, HeaderValue)> {
    if *identity == Identity::Own {
        return Vec::new();
    }
    // The names were checked when the Operator was read, so that the conversion does not fail.
    let user = HeaderValue::try_from(identity.to_string());
    user.map(|user| ("Impersonate-User", user))
        .into_iter()
        .collect()
}

/// Whether a request may change the cluster. Reviews of access are sent with POST, and only read.
fn is_write(request: &Request<Body>) -> bool {
    let is_review = || {
        request
            .uri()
            .path()
            .starts_with("/apis/authorization.k8s.io/")
    };
    request.method() != Method::GET && !is_review()
}

impl Gate {
    /// Waits until few enough requests are under way. `None` for a watch, which needs no permit.
    async fn permit(&self, uri: &Uri) -> Option<OwnedSemaphorePermit> {
        if pace::watch_of(uri).is_some() {
            return None;
        }
        // The semaphore is never closed.
        self.requests.clone().acquire_owned().await.ok()
    }

    /// Waits until a request may be sent.
    async fn pass(&self, is_write: bool) -> Result<(), Fenced> {
        loop {
            let stands_by = is_write && !self.leadership.is_leader();
            if stands_by || *self.fenced.borrow() || self.leadership.is_over() {
                return Err(Fenced);
            }
            let wait = self.take();
            if wait.is_zero() {
                return Ok(());
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Completes when no request may be sent any more.
    async fn closed(&self) {
        let mut fenced = self.fenced.subscribe();
        tokio::select! {
            biased;
            // The sender is in `self`.
            _ = fenced.wait_for(|fenced| *fenced) => {}
            _ = self.leadership.lost() => {}
        }
    }

    /// Takes a token. Returns zero, or how long to wait if there is none.
    fn take(&self) -> Duration {
        if self.rate.per_second <= 0.0 {
            return Duration::ZERO;
        }
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let earned = now.duration_since(bucket.at).as_secs_f64() * self.rate.per_second;
        bucket.tokens = (bucket.tokens + earned).min(f64::from(self.rate.burst.max(1)));
        bucket.at = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Duration::ZERO;
        }
        let wait = (1.0 - bucket.tokens) / self.rate.per_second;
        // The conversion fails for a very small rate.
        Duration::try_from_secs_f64(wait).unwrap_or(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn gate(per_second: f64, burst: u32) -> Gate {
        Gate {
            fenced: watch::Sender::new(false),
            leadership: Leadership::always(),
            rate: Rate { per_second, burst },
            bucket: Mutex::new(Bucket {
                tokens: f64::from(burst),
                at: Instant::now(),
            }),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let gate = gate(10.0, 5);
        let start = Instant::now();
        for _ in 0..5 {
            gate.pass(true).await.unwrap();
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..10 {
            gate.pass(true).await.unwrap();
        }
        let took = start.elapsed().as_secs_f64();
        assert!((0.95..1.2).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_passes_a_fence() {
        let gate = gate(0.0, 1);
        gate.pass(true).await.unwrap();
        gate.fenced.send_replace(true);
        assert!(gate.pass(true).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_closes_watches_at_once_gets_few_requests() {
        use futures::StreamExt;
        use k8s_openapi::api::core::v1::ConfigMap;

        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let before = counted.fetch_add(1, Ordering::SeqCst);
            assert!(before < 1_000, "requests without a pause");
            let body = if request.uri().query().unwrap_or_default().contains("watch=") {
                String::new()
            } else {
                r#"{"metadata": {"resourceVersion": "1"}, "items": []}"#.to_owned()
            };
            async move {
                Ok::<_, std::convert::Infallible>(http::Response::new(Body::from(
                    body.into_bytes(),
                )))
            }
        });
        let clients = Clients::new(
            Client::new(service, "default"),
            Rate::default(),
            Leadership::always(),
        );
        let api: kube::Api<ConfigMap> = kube::Api::all(clients.of(&Identity::Own));
        let events = kube::runtime::watcher(api, kube::runtime::watcher::Config::default());
        let follow = events.for_each(|_| async {});
        let minute = tokio::time::timeout(Duration::from_mins(1), follow).await;
        assert!(minute.is_err(), "the watch goes on");
        let sent = requests.load(Ordering::SeqCst);
        assert!((5..20).contains(&sent), "{sent} requests in a minute");
    }

    #[tokio::test(start_paused = true)]
    async fn a_fence_aborts_writes_under_way() {
        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<http::Response<Body>, std::convert::Infallible>>()
        });
        let client = Client::new(silent, "default");
        let clients = Clients::new(client, Rate::default(), Leadership::always());
        let client = clients.of(&Identity::Own);
        let send = |method: Method| {
            let client = client.clone();
            let request = Request::builder().method(method).uri("/api/v1/pods/a");
            let request = request.body(Vec::new()).unwrap();
            tokio::spawn(async move { client.request_text(request).await })
        };
        let (write, read) = (send(Method::PATCH), send(Method::GET));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!write.is_finished());
        clients.fence();
        let error = write.await.unwrap().unwrap_err().to_string();
        assert!(error.contains("does not lead"), "{error}");
        assert!(!read.is_finished());
        read.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn requests_under_way_are_limited_and_watches_are_not_counted() {
        let open = Arc::new(AtomicUsize::new(0));
        let (counted, peak) = (open.clone(), Arc::new(AtomicUsize::new(0)));
        let most = peak.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (open, most) = (counted.clone(), most.clone());
            async move {
                if pace::watch_of(request.uri()).is_some() {
                    std::future::pending::<()>().await;
                }
                most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                open.fetch_sub(1, Ordering::SeqCst);
                let body = Body::from(b"{}".to_vec());
                Ok::<_, std::convert::Infallible>(http::Response::new(body))
            }
        });
        let clients = Clients::new(
            Client::new(service, "default"),
            Rate::default(),
            Leadership::always(),
        );
        let client = clients.of(&Identity::Own);
        let send = |path: &str| {
            let request = Request::get(path).body(Vec::new()).unwrap();
            let client = client.clone();
            tokio::spawn(async move { client.request_text(request).await })
        };
        let watches: Vec<_> = (0..500).map(|_| send("/api/v1/pods?watch=true")).collect();
        let requests: Vec<_> = (0..1000).map(|_| send("/api/v1/pods/a")).collect();
        for request in requests {
            request.await.unwrap().unwrap();
        }
        assert_eq!(peak.load(Ordering::SeqCst), MAX_REQUESTS);
        watches.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[test]
    fn an_account_is_impersonated_by_its_name_alone() {
        let identity = Identity::Account {
            namespace: "ns".to_owned(),
            name: "bot".to_owned(),
        };
        let user = HeaderValue::from_static("system:serviceaccount:ns:bot");
        assert_eq!(headers(&identity), [("Impersonate-User", user)]);
        assert_eq!(headers(&Identity::Own), []);
    }
}
