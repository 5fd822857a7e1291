//! What other controllers of the Operator have written to an object.

use object::ObjectKey;
use operator::spec::TargetType;
use target::Desired;
use target::live::Live;
use target::siblings::overwritten;

use super::Writer;

impl Writer {
    /// The controllers whose values on an object a document would replace; `None` before the target
    /// watch of its kind has synced.
    pub(crate) fn replaced(&self, key: &ObjectKey, desired: &Desired) -> Option<Vec<String>> {
        if desired.author.target.kind == TargetType::Updater {
            let marks = self.marks(key)?.into_iter();
            return Some(marks.map(|mark| mark.controller).collect());
        }
        let state = self.state();
        let kind = state.kind(key).filter(|_| state.synced(&key.kind))?;
        let replaced = match state.entries.get(key).map(|entry| &entry.live) {
            Some(Live::Present(observed)) => overwritten(desired, key, &kind, &observed.object),
            Some(Live::Unknown | Live::Unseen | Live::Absent) | None => Vec::new(),
        };
        Some(replaced)
    }
}
