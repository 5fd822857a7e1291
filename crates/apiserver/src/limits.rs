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
    /// How many watches are open.
    pub watches: usize,
    /// How many watches of one user are open.
    pub watches_per_user: usize,
    /// After which time a watch ends if the client does not say.
    pub watch_time: Duration,
    /// How often a quiet watch gets a bookmark.
    pub bookmark_period: Duration,
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
        }
    }
}

/// The requests and watches that are still allowed.
#[derive(Debug)]
pub(crate) struct Permits {
    requests: Pool,
    watches: Pool,
}

impl Permits {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            requests: Pool::new(limits.requests, limits.requests_per_user),
            watches: Pool::new(limits.watches, limits.watches_per_user),
        }
    }

    /// A permit for one request of a user, which ends with it.
    pub(crate) fn request(&self, user: &str) -> Result<Permit, StatusError> {
        self.requests.take(user).ok_or_else(|| {
            StatusError::too_many_requests("too many requests, please try again later")
        })
    }

    /// A permit for a watch of a user, which ends with it.
    pub(crate) fn watch(&self, user: &str) -> Result<Permit, StatusError> {
        let permit = self.watches.take(user);
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

    fn take(&self, user: &str) -> Option<Permit> {
        let all = self.all.clone().try_acquire_owned().ok()?;
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let used = users.entry(user.to_owned()).or_default();
        if *used >= self.per_user {
            return None;
        }
        *used += 1;
        Some(Permit {
            _all: all,
            users: self.users.clone(),
            user: user.to_owned(),
        })
    }
}

/// Counts a request or watch as open until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _all: OwnedSemaphorePermit,
    users: Arc<Mutex<HashMap<String, usize>>>,
    user: String,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = users.get_mut(&self.user) {
            *used -= 1;
            if *used == 0 {
                users.remove(&self.user);
            }
        }
    }
}
