//! Converging targets to the derived state.
