//! Versioned objects with watches.
