//! Elections on a fake API server, in paused time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance, sleep, timeout};

use super::*;

/// An API server that stores one Lease.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    lease: Option<Value>,
    version: u64,
    mood: Mood,
    writes: usize,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Mood {
    #[default]
    Good,
    /// Answers every request with 500.
    Failing,
    /// Answers no request.
    Silent,
    /// Answers every request with 403.
    Strict,
    /// Makes whoever sends a request panic.
    Deadly,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let mood = server.inner().mood;
                match mood {
                    Mood::Silent => std::future::pending().await,
                    Mood::Deadly => panic!("as the test wants it"),
                    Mood::Good | Mood::Failing | Mood::Strict => {}
                }
                let method = request.method().clone();
                let body = request.into_body().collect_bytes().await?;
                let (code, body) = server.answer(&method, &body);
                let mut response = Response::new(Body::from(serde_json::to_vec(&body)?));
                *response.status_mut() = StatusCode::from_u16(code)?;
                Ok::<_, tower::BoxError>(response)
            }
        });
        Client::new(service, "default")
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    fn answer(&self, method: &Method, body: &[u8]) -> (u16, Value) {
        let mut inner = self.inner();
        let status = |code: u16| {
            let reason = match code {
                403 => "Forbidden",
                404 => "NotFound",
                409 => "Conflict",
                _ => "InternalError",
            };
            let status =
                json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason});
            (code, status)
        };
        match inner.mood {
            Mood::Failing => return status(500),
            Mood::Strict => return status(403),
            Mood::Good | Mood::Silent | Mood::Deadly => {}
        }
        if *method == Method::GET {
            return inner
                .lease
                .clone()
                .map_or(status(404), |lease| (200, lease));
        }
        let mut sent: Value = serde_json::from_slice(body).unwrap();
        let known = inner
            .lease
            .as_ref()
            .map(|lease| lease["metadata"]["resourceVersion"].clone());
        let expect = (*method == Method::PUT).then(|| sent["metadata"]["resourceVersion"].clone());
        if known != expect {
            return status(409);
        }
        inner.version += 1;
        inner.writes += 1;
        sent["metadata"]["resourceVersion"] = json!(inner.version.to_string());
        inner.lease = Some(sent.clone());
        (200, sent)
    }

    fn mood(&self, mood: Mood) {
        self.inner().mood = mood;
    }

    /// Changes the Lease as another client would.
    fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let mut inner = self.inner();
        inner.version += 1;
        let version = inner.version.to_string();
        let lease = inner.lease.as_mut().unwrap();
        edit(lease);
        lease["metadata"]["resourceVersion"] = json!(version);
    }

    fn lease(&self) -> Lease {
        serde_json::from_value(self.inner().lease.clone().unwrap()).unwrap()
    }

    fn holder(&self) -> String {
        let spec = self.lease().spec.unwrap_or_default();
        spec.holder_identity.unwrap_or_default()
    }
}

/// A process that takes part in the election.
struct Candidate {
    leadership: Leadership,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

fn candidate(server: &Server, identity: &str) -> Candidate {
    candidate_by(server, identity, TimeOfDay::system())
}

fn candidate_by(server: &Server, identity: &str, time_of_day: TimeOfDay) -> Candidate {
    let settings = Settings::new("kube-system", NAME, identity);
    let metrics = Metrics::default();
    let (leadership, elector) = elect_by(&server.client(), settings, metrics, time_of_day);
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(elector.run(async move {
        let _ = stopped.await;
    }));
    Candidate {
        leadership,
        task,
        stop,
    }
}

/// How long a future takes to complete; fails after a minute.
async fn took<T>(what: impl Future<Output = T>) -> Duration {
    let start = Instant::now();
    timeout(Duration::from_mins(1), what)
        .await
        .expect("it never happens");
    start.elapsed()
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn the_first_candidate_makes_the_lease_and_leads() {
    let server = Server::default();
    let a = candidate(&server, "a");
    assert!(!a.leadership.is_leader());
    took(a.leadership.acquired()).await;
    assert!(a.leadership.is_leader());
    let spec = server.lease().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("a"));
    assert_eq!(spec.lease_duration_seconds, Some(15));
    assert_eq!(spec.lease_transitions, Some(0));
    // It renews every two seconds.
    let before = server.inner().writes;
    sleep(20 * SECOND).await;
    let renewals = server.inner().writes - before;
    assert!((9..=10).contains(&renewals), "{renewals}");
    assert!(a.leadership.is_leader());
}

#[tokio::test(start_paused = true)]
async fn others_stand_by_and_know_the_leader() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    let b = candidate(&server, "b");
    sleep(60 * SECOND).await;
    assert!(a.leadership.is_leader() && !b.leadership.is_leader());
    assert_eq!(b.leadership.leader().as_deref(), Some("a"));
    assert!(!b.leadership.is_over());
}

#[tokio::test(start_paused = true)]
async fn a_silent_leader_is_replaced_when_its_lease_expires() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    let b = candidate(&server, "b");
    sleep(10 * SECOND).await;
    a.task.abort();
    let took = took(b.leadership.acquired()).await;
    assert!(took > 12 * SECOND && took < 20 * SECOND, "{took:?}");
    assert_eq!(server.holder(), "b");
    assert_eq!(server.lease().spec.unwrap().lease_transitions, Some(1));
    assert!(!a.leadership.is_leader() && a.leadership.is_over());
}

#[tokio::test(start_paused = true)]
async fn the_renew_time_of_another_machine_is_ignored() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    a.task.abort();
    server.edit(|lease| lease["spec"]["renewTime"] = json!("1999-01-01T00:00:00.000000Z"));
    let b = candidate(&server, "b");
    let took = took(b.leadership.acquired()).await;
    assert!(took >= 15 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_once() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    let b = candidate(&server, "b");
    sleep(5 * SECOND).await;
    a.stop.send(()).unwrap();
    a.task.await.unwrap();
    assert_eq!(server.holder(), "");
    assert!(!a.leadership.is_leader() && a.leadership.is_over());
    let took = took(b.leadership.acquired()).await;
    assert!(took < 5 * SECOND, "{took:?}");
    // A released Lease is not a lost one.
    assert!(timeout(60 * SECOND, a.leadership.lost()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_lease_is_lost_before_another_can_take_it() {
    for mood in [Mood::Failing, Mood::Silent, Mood::Strict] {
        let server = Server::default();
        let a = candidate(&server, "a");
        took(a.leadership.acquired()).await;
        sleep(5 * SECOND).await;
        server.mood(mood);
        let took = took(a.leadership.lost()).await;
        // Ten seconds after the last renewal, which is up to two seconds ago.
        assert!(took > 7 * SECOND && took <= 10 * SECOND, "{took:?}");
        assert!(!a.leadership.is_leader() && a.leadership.is_over());
        timeout(SECOND, a.task).await.unwrap().unwrap();
    }
}

/// The pause between two renewals is two seconds.
#[tokio::test(start_paused = true)]
async fn a_leader_whose_elector_panics_gives_up_at_once() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    sleep(5 * SECOND).await;
    server.mood(Mood::Deadly);
    let lost = timeout(2 * SECOND, a.leadership.lost()).await;
    assert_eq!(lost, Ok(Loss::Panic));
    assert!(!a.leadership.is_leader() && a.leadership.is_over());
    a.task.await.unwrap();
    assert_eq!(server.holder(), "a", "its last requests may still arrive");
}

#[tokio::test(start_paused = true)]
async fn a_replica_whose_elector_panics_while_it_stands_by_can_never_lead() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    let b = candidate(&server, "b");
    sleep(5 * SECOND).await;
    server.mood(Mood::Deadly);
    let lost = timeout(2 * SECOND, b.leadership.lost()).await;
    assert_eq!(lost, Ok(Loss::Panic));
    // Those that wait for it to lead must not wait forever.
    took(b.leadership.acquired()).await;
    assert!(!b.leadership.is_leader() && b.leadership.is_over());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_suspended_knows_that_it_lost_the_lease() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    assert!(a.leadership.is_leader());
    // The elector does not run in between.
    advance(11 * SECOND).await;
    assert!(!a.leadership.is_leader() && a.leadership.is_over());
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_suspended_stops_before_its_elector_runs() {
    let server = Server::default();
    let suspended = Arc::new(Mutex::new(Duration::ZERO));
    let asleep = suspended.clone();
    let start = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
    let since = Instant::now();
    // While the machine is suspended, only the time of day goes on.
    let now = move || start + since.elapsed() + *asleep.lock().unwrap();
    let a = candidate_by(&server, "a", TimeOfDay(Arc::new(now)));
    took(a.leadership.acquired()).await;
    sleep(20 * SECOND).await;
    assert!(a.leadership.is_leader());
    *suspended.lock().unwrap() = Duration::from_hours(1);
    assert!(!a.leadership.is_leader() && a.leadership.is_over());
    // Nobody has taken the Lease: it is renewed, and the process leads again.
    sleep(3 * SECOND).await;
    assert!(a.leadership.is_leader());
    *suspended.lock().unwrap() = Duration::from_hours(2);
    server.edit(|lease| lease["spec"]["holderIdentity"] = json!("b"));
    for _ in 0..10 {
        assert!(!a.leadership.is_leader() && a.leadership.is_over());
        sleep(SECOND).await;
    }
    timeout(SECOND, a.task).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_another_took_is_lost_at_once() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    server.edit(|lease| lease["spec"]["holderIdentity"] = json!("thief"));
    let took = took(a.leadership.lost()).await;
    assert!(took < 5 * SECOND, "{took:?}");
    assert_eq!(server.holder(), "thief");
}

#[tokio::test(start_paused = true)]
async fn a_short_failure_and_a_write_by_someone_else_are_survived() {
    let server = Server::default();
    let a = candidate(&server, "a");
    took(a.leadership.acquired()).await;
    server.mood(Mood::Failing);
    sleep(7 * SECOND).await;
    server.mood(Mood::Good);
    sleep(10 * SECOND).await;
    assert!(a.leadership.is_leader());
    server.edit(|lease| lease["metadata"]["annotations"] = json!({"x": "y"}));
    sleep(20 * SECOND).await;
    assert!(a.leadership.is_leader());
    assert_eq!(
        server.inner().lease.as_ref().unwrap()["metadata"]["annotations"]["x"],
        "y"
    );
}

#[tokio::test(start_paused = true)]
async fn at_most_one_of_many_leads() {
    let server = Server::default();
    let mut candidates: Vec<_> = (0..5)
        .map(|i| candidate(&server, &format!("c{i}")))
        .collect();
    let mut leaders = std::collections::BTreeSet::new();
    for second in 0..600_u32 {
        sleep(SECOND).await;
        server.mood(if second % 60 < 12 {
            Mood::Failing
        } else {
            Mood::Good
        });
        let leading = candidates.iter().filter(|c| c.leadership.is_leader());
        assert!(leading.count() <= 1);
        for (i, process) in candidates.iter_mut().enumerate() {
            if process.leadership.is_leader() {
                leaders.insert(i);
            }
            // A process that lost the Lease is replaced by a new one.
            if process.task.is_finished() {
                *process = candidate(&server, &format!("c{i}-{second}"));
            }
        }
    }
    assert!(leaders.len() > 1, "{leaders:?}");
}

#[tokio::test(start_paused = true)]
async fn a_process_without_an_election_always_leads() {
    let always = Leadership::always();
    always.acquired().await;
    sleep(100 * SECOND).await;
    assert!(always.is_leader() && !always.is_over());
    assert!(timeout(SECOND, always.lost()).await.is_err());
}
