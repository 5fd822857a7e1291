//! The limit on the number of regular expressions.

/// How many more regular expressions a spec may contain. Even a short one may take a
/// megabyte and several milliseconds to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patterns {
    left: usize,
    /// Whether there were too many. The error is reported once, and no further one is compiled.
    refused: bool,
}

impl Patterns {
    /// How many a spec may contain.
    pub const MOST: usize = 256;

    /// Counts the regular expressions that the text of a path may contain. Returns whether
    /// they are within the limit.
    pub(super) fn take_for(&mut self, path: &str) -> bool {
        let functions = ["=~", "match(", "search("];
        let found = functions.iter().map(|token| path.matches(token).count());
        self.take(found.sum())
    }

    pub(super) fn take(&mut self, count: usize) -> bool {
        let left = self.left.checked_sub(count);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Records that there were too many. Returns whether this is the first time.
    pub(super) fn refuse(&mut self) -> bool {
        !std::mem::replace(&mut self.refused, true)
    }
}

impl Default for Patterns {
    fn default() -> Self {
        Self {
            left: Self::MOST,
            refused: false,
        }
    }
}
