//! What happens on a connection, so that one that is not used can be closed.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use apiserver::Body;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

use crate::limits::ConnectionLimits;
use crate::streams::Progress;

/// What happens on a connection. Clones are the same connection.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Whether a request had a valid login.
    known: bool,
    /// How many requests are being answered.
    open: usize,
    /// When the connection began, or the last request ended.
    since: Instant,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            known: false,
            open: 0,
            since: Instant::now(),
        })))
    }

    /// A request begins; it ends when the result is dropped.
    pub(crate) fn begin(&self) -> Open {
        self.edit(|state| state.open += 1);
        Open(self.clone())
    }

    /// A request has a valid login.
    pub(crate) fn known(&self) {
        self.edit(|state| state.known = true);
    }

    /// Completes when the connection has not been used for too long.
    pub(crate) async fn unused(&self, limits: &ConnectionLimits) {
        loop {
            let deadline = self.edit(|state| match state {
                State {
                    known: false,
                    since,
                    ..
                } => *since + limits.login,
                State { open: 0, since, .. } => *since + limits.idle,
                State { .. } => Instant::now() + limits.idle,
            });
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut State) -> T) -> T {
        edit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Open(Activity);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.edit(|state| {
            state.open -= 1;
            if state.known {
                state.since = Instant::now();
            }
        });
    }
}

/// A body that keeps something until it has been sent or dropped, and notes when its client has to
/// take a part of it.
pub(crate) struct Guarded<G> {
    body: Body,
    progress: Option<Progress>,
    _guard: G,
}

impl<G> Guarded<G> {
    pub(crate) fn new(body: Body, guard: G) -> Self {
        let progress = Progress::of_this_stream();
        if let Some(progress) = &progress {
            progress.waits_for_client();
        }
        Self {
            body,
            progress,
            _guard: guard,
        }
    }
}

impl<G: Unpin> http_body::Body for Guarded<G> {
    type Data = <Body as http_body::Body>::Data;
    type Error = <Body as http_body::Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Some(progress) = &self.progress {
            match &polled {
                Poll::Pending => progress.waits_for_us(),
                Poll::Ready(_) => progress.waits_for_client(),
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
