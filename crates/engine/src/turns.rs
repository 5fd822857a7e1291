//! One engine at a time for each Operator.
//!
//! An engine that has crashed, or was dropped, may still have requests under way and a batch on
//! another thread. The next engine of the same Operator starts when these have ended, so that two
//! engines never write the same objects.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// The turns of all Operators of a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<std::sync::Mutex<HashMap<String, Arc<Mutex<()>>>>>);

/// The turn of one engine. It ends when the last clone is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    _turn: Option<Arc<OwnedMutexGuard<()>>>,
}

impl Turns {
    /// Waits until no other engine of the Operator has the turn.
    pub(crate) async fn take(&self, operator: &str) -> Turn {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            turns.entry(operator.to_owned()).or_default().clone()
        };
        Turn {
            _turn: Some(Arc::new(turn.lock_owned().await)),
        }
    }
}

/// Whether an engine has to end. It interrupts a batch that runs on another thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halt {
    own: Arc<AtomicBool>,
    /// That of the supervisor.
    outer: Option<Arc<AtomicBool>>,
}

impl Halt {
    /// A halt that is also raised when this one is.
    pub(crate) fn inner(&self) -> Self {
        Self {
            own: Arc::default(),
            outer: Some(self.own.clone()),
        }
    }

    pub(crate) fn raise(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_raised(&self) -> bool {
        let raised = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        raised(&self.own) || self.outer.as_ref().is_some_and(raised)
    }
}
