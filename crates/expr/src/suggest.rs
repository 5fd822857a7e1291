//! The most similar name, for "did you mean …?".

pub use document::nearest;
