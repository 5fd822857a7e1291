//! How fast watches are opened again.
//!
//! A server, or a proxy before it, may close a watch as soon as it is open. That is no error, so
//! nobody waits before the next try. Here each watch waits that was opened just before, and
//! longer each time; one that has lasted is opened again at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use controller::{Backoff, Pause};
use http::Uri;
use tokio::time::Instant;

/// A watch that ends sooner has not lasted.
const QUICK: Duration = Duration::from_secs(5);
/// The pauses after watches that have not lasted.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
/// Beyond so many watches those that nobody has opened for long are forgotten.
const MANY: usize = 1_000;
/// How long that is.
const LONG: Duration = Duration::from_mins(15);

/// When each watch was opened last.
#[derive(Debug, Default)]
pub(super) struct WatchPace(Mutex<HashMap<String, Opened>>);

#[derive(Debug)]
struct Opened {
    at: Instant,
    /// How often in a row it has not lasted.
    quick: u32,
    pause: Pause,
}

impl WatchPace {
    /// How long a request has to wait.
    pub(super) fn wait(&self, uri: &Uri) -> Duration {
        let Some(watch) = watch_of(uri) else {
            return Duration::ZERO;
        };
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > MANY {
            all.retain(|_, opened| now.duration_since(opened.at) < LONG);
        }
        let opened = all.entry(watch).or_insert_with(|| Opened {
            at: now,
            quick: 0,
            pause: Pause::new(PAUSES),
        });
        let wait = opened.next(now);
        opened.at = now + wait;
        wait
    }
}

impl Opened {
    fn next(&mut self, now: Instant) -> Duration {
        if now.saturating_duration_since(self.at) >= QUICK {
            self.quick = 0;
            self.pause.reset();
        }
        self.quick = self.quick.saturating_add(1);
        // A broken connection is opened again at once, and once more after a list.
        if self.quick <= 3 {
            return Duration::ZERO;
        }
        self.pause.grow()
    }
}

/// The watch that a request opens, without the version from which it goes on; `None` for
/// other requests.
fn watch_of(uri: &Uri) -> Option<String> {
    let parameters = || uri.query().unwrap_or_default().split('&');
    parameters().find(|parameter| matches!(*parameter, "watch=true" | "watch=1"))?;
    let kept = parameters().filter(|parameter| !parameter.starts_with("resourceVersion="));
    let kept: Vec<&str> = kept.collect();
    Some(format!("{}?{}", uri.path(), kept.join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
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
        }
        assert!(start.elapsed() > Duration::from_mins(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_has_lasted_is_opened_at_once() {
        let pace = WatchPace::default();
        let pods = uri("/api/v1/pods?watch=true&resourceVersion=1");
        for _ in 0..20 {
            assert_eq!(pace.wait(&pods), Duration::ZERO);
            tokio::time::sleep(Duration::from_mins(5)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn other_watches_and_other_requests_do_not_wait() {
        let pace = WatchPace::default();
        let pods = uri("/api/v1/pods?watch=true");
        for _ in 0..10 {
            pace.wait(&pods);
        }
        assert!(pace.wait(&pods) > Duration::ZERO);
        let services = uri("/api/v1/services?watch=true");
        assert_eq!(pace.wait(&services), Duration::ZERO);
        assert_eq!(pace.wait(&uri("/api/v1/pods")), Duration::ZERO);
    }
}
