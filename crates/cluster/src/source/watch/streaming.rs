//! Watches that begin with all objects (`sendInitialEvents`), and servers that do not support them.
//!
//! Such a watch delivers all objects, then a bookmark with the annotation
//! `k8s.io/initial-events-end`, then the changes. A server that does not support this may refuse
//! the request, or ignore the parameter, and then the bookmark never comes:
//!
//! ```text
//! supported    a, b, bookmark, changes…
//! refused      400 or 422
//! ignored      a, b, changes…      or only      changes…
//! ```
//!
//! In the last two cases the watch lists first instead. Once that list has succeeded, all watches
//! of the process do the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::runtime::watcher::InitialListStrategy;
use tokio::time::{Instant, sleep_until};

/// How long to wait for the next initial event or the bookmark.
const SILENCE: Duration = Duration::from_secs(20);
/// How long to wait for the bookmark while events arrive.
const LONGEST: Duration = Duration::from_mins(2);

/// Whether the server is known not to support such watches. Clones share this.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsupported(Arc<AtomicBool>);

/// How a watch gets its initial objects.
#[derive(Debug)]
pub(super) struct Strategy {
    server: Unsupported,
    /// Whether this watch has tried in vain to begin with all objects.
    gave_up: bool,
    /// Whether the current stream begins with all objects.
    streams: bool,
    /// When the server answered the current stream, and when its last initial event arrived;
    /// `None` before the answer and after the bookmark.
    waits: Option<(Instant, Instant)>,
}

impl Strategy {
    pub(super) fn new(server: &Unsupported) -> Self {
        Self {
            server: server.clone(),
            gave_up: false,
            streams: false,
            waits: None,
        }
    }

    /// Chooses the strategy of a new stream.
    pub(super) fn begin(&mut self) -> InitialListStrategy {
        self.waits = None;
        self.streams = !self.gave_up && !self.server.0.load(Ordering::Relaxed);
        if self.streams {
            InitialListStrategy::StreamingList
        } else {
            InitialListStrategy::ListWatch
        }
    }

    /// The server has answered, or delivered an initial event.
    pub(super) fn arrived(&mut self) {
        if self.streams {
            let now = Instant::now();
            let since = self.waits.map_or(now, |(since, _)| since);
            self.waits = Some((since, now));
        }
    }

    /// All initial objects have arrived.
    pub(super) fn listed(&mut self) {
        self.waits = None;
        if self.gave_up && !self.server.0.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the API server does not support watches that begin with all objects \
                 (sendInitialEvents): deltic lists before it watches"
            );
        }
    }

    /// Completes when the bookmark has not come for too long.
    pub(super) async fn overdue(&self) {
        match self.waits {
            Some((since, last)) => sleep_until((since + LONGEST).min(last + SILENCE)).await,
            None => std::future::pending().await,
        }
    }

    /// Whether an answer refuses a watch that begins with all objects, or may do so.
    pub(super) fn is_refused(&self, code: u16) -> bool {
        self.streams && matches!(code, 400 | 422)
    }

    /// This watch lists first from now on.
    pub(super) fn give_up(&mut self) {
        self.gave_up = true;
    }
}
