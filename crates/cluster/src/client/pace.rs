//! Pauses before watches are opened again, and before lists are repeated.
//!
//! A server that is busy answers 429 or 503 and says with `Retry-After` when to come again. Watches
//! and lists of that collection wait as long, but at most five minutes.
//!
//! A server, or a proxy in front of it, may close a watch right after it was opened. That is not an
//! error, so kube's watcher opens the next one without a pause. This module adds pauses: if the
//! server has closed a watch early several times in a row, the next request waits, longer each
//! time. A watch that its reader drops does not count, and several readers may have the same watch
//! open.
//!
//! ```text
//! open ─▶ closed after 1 ms ─▶ open ─▶ closed after 1 ms ─▶ … ─▶ pause ─▶ open ─▶ lasts: reset
//! ```

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use controller::Backoff;
use http::{Response, Uri};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// A watch that the server closes sooner than this is closed early.
const QUICK: Duration = Duration::from_secs(5);
/// How many early ends in a row cause no pause: a connection may break, or a list may follow.
const PATIENCE: u32 = 3;
/// The pauses after that.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// The longest `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(5);

/// The watches and lists that have to wait.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchPace(Arc<Mutex<Waits>>);

#[derive(Debug, Default)]
struct Waits {
    /// How often in a row the server has closed each watch early. Other watches have no entry.
    closed: HashMap<String, u32>,
    /// Until when the server wants no watch or list of these paths.
    busy: HashMap<String, Instant>,
}

impl WatchPace {
    /// How long a request has to wait.
    pub(super) fn wait(&self, uri: &Uri) -> Duration {
        let mut waits = self.waits();
        let closed = watch_of(uri).and_then(|watch| waits.closed.get(&watch).copied());
        let pause = PAUSES.after(closed.unwrap_or_default().saturating_sub(PATIENCE));
        if !reads_collection(uri) || waits.busy.is_empty() {
            return pause;
        }
        let now = Instant::now();
        waits.busy.retain(|_, until| *until > now);
        let until = waits.busy.get(uri.path());
        pause.max(until.map_or(Duration::ZERO, |until| *until - now))
    }

    /// Notes how long the server wants no further watch or list of this path.
    fn busy<B>(&self, uri: &Uri, answer: &Response<B>) {
        let busy = matches!(answer.status().as_u16(), 429 | 503) && reads_collection(uri);
        let after = answer.headers().get(http::header::RETRY_AFTER);
        let seconds = after.and_then(|after| after.to_str().ok()?.parse().ok());
        if let Some(seconds) = seconds.filter(|_| busy) {
            let pause = Duration::from_secs(seconds).min(MAX_RETRY_AFTER);
            let until = Instant::now() + pause;
            self.waits().busy.insert(uri.path().to_owned(), until);
        }
    }

    /// Wraps the answer to a request, so that the end of a watch is noticed. The permit is returned
    /// with the end of the body.
    pub(super) fn follow<B>(
        &self,
        uri: &Uri,
        answer: Response<B>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Response<PacedBody<B>> {
        self.busy(uri, &answer);
        let watch = watch_of(uri).filter(|_| answer.status().is_success());
        let open = watch.map(|watch| OpenWatch {
            watch,
            since: Instant::now(),
            pace: self.clone(),
        });
        answer.map(|body| PacedBody {
            body,
            open,
            _permit: permit,
        })
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct OpenWatch {
    watch: String,
    since: Instant,
    pace: WatchPace,
}

impl OpenWatch {
    /// The server has closed the watch.
    fn ended(self) {
        let closed = &mut self.pace.waits().closed;
        if self.since.elapsed() >= QUICK {
            closed.remove(&self.watch);
            return;
        }
        let times = closed.entry(self.watch).or_default();
        *times = times.saturating_add(1);
    }
}

/// The body of an answer. It records when the server ends a watch.
#[derive(Debug)]
pub(super) struct PacedBody<B> {
    body: B,
    /// `None` if this is not a watch, or if the watch has ended.
    open: Option<OpenWatch>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl<B: Body + Unpin> Body for PacedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if !matches!(frame, Some(Ok(_)))
            && let Some(open) = self.open.take()
        {
            open.ended();
        }
        Poll::Ready(frame)
    }

    // A body whose end is known is not polled again, so its end would not be recorded.
    fn is_end_stream(&self) -> bool {
        self.open.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Identifies the watch that a request opens: its path and query without the version at which it
/// starts. `None` for other requests.
pub(super) fn watch_of(uri: &Uri) -> Option<String> {
    let parameters = || uri.query().unwrap_or_default().split('&');
    parameters().find(|parameter| matches!(*parameter, "watch=true" | "watch=1"))?;
    let kept = parameters().filter(|parameter| !parameter.starts_with("resourceVersion="));
    let kept: Vec<&str> = kept.collect();
    Some(format!("{}?{}", uri.path(), kept.join("&")))
}

/// Whether a request lists or watches a collection. Lists have a limit.
fn reads_collection(uri: &Uri) -> bool {
    let mut parameters = uri.query().unwrap_or_default().split('&');
    parameters.any(|parameter| parameter.starts_with("watch=") || parameter.starts_with("limit="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    fn open(pace: &WatchPace, uri: &Uri) -> OpenWatch {
        let answer = pace.follow(uri, Response::new(()), None);
        answer.into_body().open.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn watches_and_lists_honour_retry_after_up_to_five_minutes() {
        let pace = WatchPace::default();
        let busy = |uri: &Uri, code: u16, after: &str| {
            let answer = Response::builder()
                .status(code)
                .header("Retry-After", after);
            pace.follow(uri, answer.body(()).unwrap(), None);
        };
        let pods = uri("/api/v1/pods?limit=500");
        let watch = uri("/api/v1/pods?watch=true&resourceVersion=7");
        let nodes = uri("/api/v1/nodes?watch=true");
        busy(&pods, 429, "7");
        busy(&nodes, 503, "15552000");
        // A single object, and an answer that has another reason.
        busy(&uri("/api/v1/services/a"), 429, "7");
        busy(&uri("/api/v1/services?limit=500"), 500, "7");
        for (uri, seconds) in [
            (&pods, 7),
            (&watch, 7),
            (&nodes, 300),
            (&uri("/api/v1/services?limit=500"), 0),
            (&uri("/api/v1/pods/a"), 0),
        ] {
            assert_eq!(pace.wait(uri).as_secs(), seconds, "{uri}");
        }
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(pace.wait(&watch), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_closed_at_once_waits_longer_each_time() {
        let pace = WatchPace::default();
        let start = Instant::now();
        for version in 0..20 {
            let uri = uri(&format!(
                "/api/v1/pods?watch=true&resourceVersion={version}"
            ));
            tokio::time::sleep(pace.wait(&uri)).await;
            open(&pace, &uri).ended();
        }
        assert!(start.elapsed() > Duration::from_mins(4));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_lasts_is_opened_again_at_once() {
        let pace = WatchPace::default();
        let pods = uri("/api/v1/pods?watch=true");
        for _ in 0..10 {
            open(&pace, &pods).ended();
        }
        assert!(pace.wait(&pods) > Duration::ZERO);
        let watch = open(&pace, &pods);
        tokio::time::sleep(QUICK).await;
        watch.ended();
        assert_eq!(pace.wait(&pods), Duration::ZERO);
        assert!(pace.waits().closed.is_empty(), "nothing is kept of it");
    }

    #[tokio::test(start_paused = true)]
    async fn many_readers_of_the_same_do_not_wait_for_each_other() {
        let pace = WatchPace::default();
        let namespaces = uri("/api/v1/namespaces?watch=true");
        let open: Vec<OpenWatch> = (0..100).map(|_| open(&pace, &namespaces)).collect();
        assert_eq!(pace.wait(&namespaces), Duration::ZERO);
        // The readers have closed these watches, not the server.
        drop(open);
        assert_eq!(pace.wait(&namespaces), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn other_watches_and_other_requests_do_not_wait() {
        let pace = WatchPace::default();
        for _ in 0..10 {
            open(&pace, &uri("/api/v1/pods?watch=true")).ended();
        }
        let services = uri("/api/v1/services?watch=true");
        assert_eq!(pace.wait(&services), Duration::ZERO);
        assert_eq!(pace.wait(&uri("/api/v1/pods")), Duration::ZERO);
        let refused = Response::builder().status(403).body(()).unwrap();
        let refused = pace.follow(&services, refused, None);
        assert!(refused.into_body().open.is_none());
    }
}
