//! What other controllers of the Operator have written to an object.

use object::ObjectKey;
use operator::spec::TargetType;
use target::Desired;
use target::live::Live;
use target::siblings::decisive;

use super::Writer;

impl Writer {
    /// The controllers that have written to an object, and on which it depends how a document is
    /// written to it; `None` before the target watch of its kind has synced.
    pub(crate) fn decisive(&self, key: &ObjectKey, desired: &Desired) -> Option<Vec<String>> {
        if desired.author.target.kind == TargetType::Updater {
            let marks = self.marks(key)?.into_iter();
            return Some(marks.map(|mark| mark.controller).collect());
        }
        let state = self.state();
        let kind = state.kind(key).filter(|_| state.synced(&key.kind))?;
        let controllers = match state.entries.get(key).map(|entry| &entry.live) {
            Some(Live::Present(observed)) => decisive(desired, key, &kind, &observed.object),
            Some(Live::Unknown | Live::Unseen | Live::Absent) | None => Vec::new(),
        };
        Some(controllers)
    }
}
