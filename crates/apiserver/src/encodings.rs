//! The texts of changed objects, each written once for all watches that receive it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use document::Value;
use object::metadata;

/// How much text is kept. Watches that keep up need the last few changes.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// A change of an object: its version, and whether the object was deleted (or has left what a
/// watch selects). No two changes of a store have the same version.
type Change = (u64, bool);

/// The texts of the last changes.
#[derive(Debug, Default)]
pub(crate) struct Encodings(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    texts: HashMap<Change, Arc<str>>,
    /// Oldest first.
    order: VecDeque<Change>,
    bytes: usize,
}

impl Encodings {
    /// The object of a change as JSON.
    pub(crate) fn text(&self, object: &Value, deleted: bool) -> Arc<str> {
        let Ok(version) = metadata::resource_version(object).parse() else {
            return object.to_string().into();
        };
        let change = (version, deleted);
        if let Some(text) = self.recent(|recent| recent.texts.get(&change).cloned()) {
            return text;
        }
        // Without the lock: two watches may do it at the same time, which is harmless.
        let text: Arc<str> = object.to_string().into();
        self.recent(|recent| recent.add(change, text.clone()));
        text
    }

    fn recent<T>(&self, with: impl FnOnce(&mut Recent) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Recent {
    fn add(&mut self, change: Change, text: Arc<str>) {
        if text.len() > MOST_BYTES / 4 {
            return;
        }
        self.bytes += text.len();
        match self.texts.insert(change, text) {
            Some(before) => self.bytes -= before.len(),
            None => self.order.push_back(change),
        }
        while self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            let dropped = self.texts.remove(&oldest);
            self.bytes -= dropped.map_or(0, |text| text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn object(version: usize, length: usize) -> Value {
        let text = "x".repeat(length);
        json!({"metadata": {"resourceVersion": (version.to_string())}, "text": text})
    }

    #[test]
    fn a_change_is_written_once() {
        let encodings = Encodings::default();
        let one = encodings.text(&object(7, 3), false);
        assert_eq!(&*one, object(7, 3).to_string());
        assert!(Arc::ptr_eq(&one, &encodings.text(&object(7, 3), false)));
        assert!(!Arc::ptr_eq(&one, &encodings.text(&object(7, 3), true)));
    }

    #[test]
    fn old_texts_are_dropped() {
        let encodings = Encodings::default();
        for version in 0..100 {
            encodings.text(&object(version, 200_000), false);
        }
        encodings.text(&object(100, 2 * MOST_BYTES), false);
        let (texts, bytes) = encodings.recent(|recent| (recent.texts.len(), recent.bytes));
        assert!(
            texts == 20 && bytes <= MOST_BYTES,
            "{texts} texts, {bytes} bytes"
        );
    }
}
