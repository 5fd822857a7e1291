//! The requests of a connection over HTTP/2, each on a task of its own. One whose client takes
//! nothing for too long is reset, and the others go on: kube-apiserver forwards the requests of all
//! users on few connections.
//!
//! A slow client of HTTP/1.1 blocks its connection, which [`crate::write_timeout`] notices. A
//! slow client of HTTP/2 merely does not enlarge the window of its stream: no write blocks, and the
//! body is not polled.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Instant, sleep_until};

tokio::task_local! {
    /// The stream of the request that this task answers.
    static STREAM: Progress;
}

/// Runs the streams of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams {
    /// How long a client may take nothing.
    pub(crate) stalled: Duration,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let (progress, stalled) = (Progress::default(), self.stalled);
        tokio::spawn(STREAM.scope(progress.clone(), async move {
            tokio::select! {
                biased;
                () = stream => {}
                // What is dropped before its end is reset.
                () = progress.stalled(stalled) => {}
            }
        }));
    }
}

/// How far the answer on a stream has got. Clones are the same stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<Mutex<Option<Instant>>>);

impl Progress {
    /// The stream of the request that this task answers; `None` over HTTP/1.1.
    pub(crate) fn of_this_stream() -> Option<Self> {
        STREAM.try_with(Clone::clone).ok()
    }

    /// The client has to take what there is.
    pub(crate) fn waits_for_client(&self) {
        self.set(Some(Instant::now()));
    }

    /// The client has taken what there was.
    pub(crate) fn waits_for_us(&self) {
        self.set(None);
    }

    /// Completes when the client has received nothing for this long; it may take up to twice as long
    /// to notice.
    async fn stalled(&self, time: Duration) {
        loop {
            let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let until = since.map_or(now, |since| since) + time;
            if until <= now {
                return;
            }
            sleep_until(until).await;
        }
    }

    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_client_can_stall_a_stream() {
        let progress = Progress::default();
        let minute = Duration::from_mins(1);
        let waits = |time| tokio::time::timeout(time, progress.stalled(minute));
        assert!(
            waits(minute * 10).await.is_err(),
            "there is nothing to take"
        );
        progress.waits_for_client();
        progress.waits_for_us();
        assert!(waits(minute * 10).await.is_err(), "it has been taken");
        progress.waits_for_client();
        assert!(waits(minute * 2).await.is_ok());
    }
}
