//! "Did you mean …?"

pub use document::nearest;
