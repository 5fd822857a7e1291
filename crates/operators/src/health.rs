//! Whether the process is alive and ready.

use std::sync::{Arc, Mutex, PoisonError};

/// What the process says about itself. Clones are handles to the same.
///
/// At first it is alive, and not ready.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Why it must be restarted.
    broken: Option<String>,
    /// Why it is not ready.
    waiting: Option<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            broken: None,
            waiting: Some("starting".to_owned()),
        }
    }
}

impl Health {
    /// It does its work from now on.
    pub fn ready(&self) {
        self.edit(|state| state.waiting = None);
    }

    /// It does not do its work yet, or no longer, and why.
    pub fn not_ready(&self, why: impl Into<String>) {
        self.edit(|state| state.waiting = Some(why.into()));
    }

    /// It cannot go on: whoever looks after it should restart it.
    pub fn broken(&self, why: impl Into<String>) {
        self.edit(|state| state.broken = Some(why.into()));
    }

    /// Whether it does its work, or why not.
    pub fn readiness(&self) -> Result<(), String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.broken.as_ref().or(state.waiting.as_ref()) {
            Some(why) => Err(why.clone()),
            None => Ok(()),
        }
    }

    /// Whether it can go on, or why not.
    pub fn liveness(&self) -> Result<(), String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.broken.clone().map_or(Ok(()), Err)
    }

    fn edit(&self, edit: impl FnOnce(&mut State)) {
        edit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
