//! What other controllers of the Operator have written to an object.

use object::ObjectKey;
use operator::spec::TargetType;
use target::Desired;
use target::live::{Leftover, Live};
use target::siblings::decisive;

use super::Writer;

impl Writer {
    /// The marks of the controllers that have written to an object, and on which it depends how a
    /// document is written to it; `None` before the target watch of its kind has synced.
    pub(crate) fn decisive(&self, key: &ObjectKey, desired: &Desired) -> Option<Vec<Leftover>> {
        let mut marks = self.marks(key)?;
        if desired.author.target.kind == TargetType::Updater {
            return Some(marks);
        }
        let state = self.state();
        let kind = state.kind(key)?;
        let controllers = match state.entries.get(key).map(|entry| &entry.live) {
            Some(Live::Present(observed)) => decisive(desired, key, &kind, &observed.object),
            Some(Live::Unknown | Live::Unseen | Live::Absent) | None => Vec::new(),
        };
        marks.retain(|mark| controllers.contains(&mark.controller));
        Some(marks)
    }
}
