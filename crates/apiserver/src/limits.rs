//! Limits on what clients may use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::status::StatusError;

/// Limits on what clients may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How many requests are answered at the same time, without watches.
    pub requests: usize,
    /// How many of them may be of one user.
    pub requests_per_user: usize,
    /// How many watches may be open.
    pub watches: usize,
    /// How many of them may be of one user.
    pub watches_per_user: usize,
    /// How long a watch lasts if the client does not say.
    pub watch_time: Duration,
    /// How often a quiet watch gets a bookmark.
    pub bookmark_period: Duration,
    /// How many lists and large writes are worked on at the same time. Others wait.
    pub turns: usize,
    /// The total size, in bytes, of the answers to reads that clients have not received yet.
    pub answer_bytes: usize,
    /// The total size of those for one user.
    pub answer_bytes_per_user: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 3 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            requests: 400,
            requests_per_user: 100,
            watches: 20_000,
            watches_per_user: 10_000,
            watch_time: Duration::from_mins(30),
            bookmark_period: Duration::from_mins(1),
            turns: 4,
            answer_bytes: 512 * 1024 * 1024,
            answer_bytes_per_user: 256 * 1024 * 1024,
        }
    }
}

/// The requests and watches that are still allowed.
#[derive(Debug)]
pub(crate) struct Permits {
    requests: Pool,
    watches: Pool,
    /// In units of [`UNIT`] bytes.
    answers: Pool,
    turns: Arc<Semaphore>,
}

/// The unit in which answers are counted, in bytes.
const UNIT: usize = 1024;

impl Permits {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            requests: Pool::new(limits.requests, limits.requests_per_user),
            watches: Pool::new(limits.watches, limits.watches_per_user),
            answers: Pool::new(
                limits.answer_bytes / UNIT,
                limits.answer_bytes_per_user / UNIT,
            ),
            turns: Arc::new(Semaphore::new(limits.turns)),
        }
    }

    /// Waits until something large can be worked on. The turn ends with the result.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.turns.clone().acquire_owned().await.ok()
    }

    /// A permit to send an answer of this size to a user, which ends with the answer. One that is
    /// larger than the limit is sent if it is the only one.
    pub(crate) fn answer(&self, user: &str, bytes: usize) -> Result<Permit, StatusError> {
        let units = (bytes / UNIT).clamp(1, self.answers.per_user);
        self.answers.take(user, units).ok_or_else(|| {
            StatusError::too_many_requests(
                "too many large answers are being sent, please try again later",
            )
        })
    }

    /// A permit for one request of a user, which ends with it.
    pub(crate) fn request(&self, user: &str) -> Result<Permit, StatusError> {
        self.requests.take(user, 1).ok_or_else(|| {
            StatusError::too_many_requests("too many requests, please try again later")
        })
    }

    /// A permit for a watch of a user, which ends with it.
    pub(crate) fn watch(&self, user: &str) -> Result<Permit, StatusError> {
        let permit = self.watches.take(user, 1);
        permit.ok_or_else(|| StatusError::too_many_requests("too many watches are open"))
    }
}

/// A number of permits, of which one user gets only a part.
#[derive(Debug)]
struct Pool {
    all: Arc<Semaphore>,
    users: Arc<Mutex<HashMap<String, usize>>>,
    per_user: usize,
}

impl Pool {
    fn new(all: usize, per_user: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            users: Arc::default(),
            per_user,
        }
    }

    /// Takes a number of permits for a user.
    fn take(&self, user: &str, count: usize) -> Option<Permit> {
        let all = u32::try_from(count).ok()?;
        let all = self.all.clone().try_acquire_many_owned(all).ok()?;
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let used = users.get(user).copied().unwrap_or_default();
        if used + count > self.per_user {
            return None;
        }
        users.insert(user.to_owned(), used + count);
        Some(Permit {
            _all: all,
            users: self.users.clone(),
            user: user.to_owned(),
            count,
        })
    }
}

/// Counts a request, a watch or an answer as open until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _all: OwnedSemaphorePermit,
    users: Arc<Mutex<HashMap<String, usize>>>,
    user: String,
    count: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = users.get_mut(&self.user) {
            *used -= self.count;
            if *used == 0 {
                users.remove(&self.user);
            }
        }
    }
}
