//! Triggers, scheduler and runner: from a change to the call of a reconciler.
