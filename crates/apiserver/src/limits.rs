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
    /// How many requests are answered at the same time, without watches.
    pub requests: usize,
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
            requests: 400,
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
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    users: Arc<Mutex<HashMap<String, usize>>>,
    per_user: usize,
}

impl Permits {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(limits.requests)),
            watches: Arc::new(Semaphore::new(limits.watches)),
            users: Arc::default(),
            per_user: limits.watches_per_user,
        }
    }

    /// A permit for one request, which ends with it.
    pub(crate) fn request(&self) -> Result<OwnedSemaphorePermit, StatusError> {
        self.requests.clone().try_acquire_owned().map_err(|_| {
            StatusError::too_many_requests("too many requests, please try again later")
        })
    }

    /// A permit for a watch of a user, which ends with it.
    pub(crate) fn watch(&self, user: &str) -> Result<WatchPermit, StatusError> {
        let all = self.watches.clone().try_acquire_owned();
        let all = all.map_err(|_| StatusError::too_many_requests("too many watches are open"))?;
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let open = users.entry(user.to_owned()).or_default();
        if *open >= self.per_user {
            return Err(StatusError::too_many_requests(format!(
                "user {user:?} has too many open watches"
            )));
        }
        *open += 1;
        Ok(WatchPermit {
            _all: all,
            users: self.users.clone(),
            user: user.to_owned(),
        })
    }
}

/// Counts a watch as open until it is dropped.
#[derive(Debug)]
pub(crate) struct WatchPermit {
    _all: OwnedSemaphorePermit,
    users: Arc<Mutex<HashMap<String, usize>>>,
    user: String,
}

impl Drop for WatchPermit {
    fn drop(&mut self) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = users.get_mut(&self.user) {
            *open -= 1;
            if *open == 0 {
                users.remove(&self.user);
            }
        }
    }
}
