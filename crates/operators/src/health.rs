//! Liveness and readiness of the process, as `/healthz` and `/readyz` report them.

use std::sync::{Arc, Mutex, PoisonError};

/// The health of the process: at first it is alive and not ready. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Why the process must be restarted.
    broken: Option<String>,
    /// Why the process is not ready.
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
    /// Marks the process as ready.
    pub fn ready(&self) {
        self.edit(|state| state.waiting = None);
    }

    /// Marks the process as not ready, with the reason.
    pub fn not_ready(&self, why: impl Into<String>) {
        self.edit(|state| state.waiting = Some(why.into()));
    }

    /// Marks the process as broken, with the reason: the kubelet should restart it.
    pub fn broken(&self, why: impl Into<String>) {
        self.edit(|state| state.broken = Some(why.into()));
    }

    /// Whether the process is ready; otherwise the reason.
    pub fn readiness(&self) -> Result<(), String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.broken.as_ref().or(state.waiting.as_ref()) {
            Some(why) => Err(why.clone()),
            None => Ok(()),
        }
    }

    /// Whether the process is alive; otherwise why it must be restarted.
    pub fn liveness(&self) -> Result<(), String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.broken.clone().map_or(Ok(()), Err)
    }

    fn edit(&self, edit: impl FnOnce(&mut State)) {
        edit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
