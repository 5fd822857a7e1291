//! Whose objects are: the uid of the Operator at every moment.
//!
//! An Operator that is deleted and created again has another uid. What it derived before is not
//! its own, until it derives it again:
//!
//! ```text
//! created (u1) ── derives a, b ── deleted, created (u2) ── derives a: takes it over
//!                                                          b: stays, and is not deleted
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use target::claim::Claim;
use tokio::time::Instant;

/// How long an engine may work for an Operator that was deleted, because it does not know yet.
const LATE: Duration = Duration::from_mins(15);

/// The uid of the Operator. Clones share it.
#[derive(Clone, Debug)]
pub struct Identity(Arc<Mutex<Lifetime>>);

#[derive(Debug)]
struct Lifetime {
    uid: String,
    /// When the Operator with this uid was created.
    created: Instant,
    /// When the process started.
    started: Instant,
}

impl Identity {
    /// No Operator yet.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Lifetime {
            uid: String::new(),
            created: Instant::now(),
            started: Instant::now(),
        })))
    }

    fn lifetime(&self) -> MutexGuard<'_, Lifetime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Operator was created.
    pub fn created(&self, uid: &str) {
        let mut lifetime = self.lifetime();
        uid.clone_into(&mut lifetime.uid);
        lifetime.created = Instant::now();
    }

    /// The uid of the Operator.
    pub(crate) fn uid(&self) -> String {
        self.lifetime().uid.clone()
    }

    /// A process starts.
    pub fn start(&self) {
        self.lifetime().started = Instant::now();
    }

    /// Whether a claim is that of the current Operator.
    pub fn is_own(&self, claim: &Claim) -> bool {
        claim.uid.as_ref() == Some(&self.lifetime().uid)
    }

    /// Whether an object with this claim may be deleted now.
    pub fn may_delete(&self, claim: &Claim) -> bool {
        let lifetime = self.lifetime();
        let ignorant = lifetime.started < lifetime.created && lifetime.created.elapsed() < LATE;
        claim.uid.as_ref() == Some(&lifetime.uid) || ignorant
    }
}

impl Default for Identity {
    fn default() -> Self {
        Self::new()
    }
}
