//! Panics in tasks. Without this, the runtime would catch them, and a run would go on without
//! the task.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// The panics on this thread while it runs a simulation.
    static PANICKED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// From now on, collects the panics of this thread instead of printing them.
pub(crate) fn watch() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let noted = PANICKED.with_borrow_mut(|panicked| {
                let panicked = panicked.as_mut();
                panicked.map(|panicked| panicked.push(info.to_string()))
            });
            if noted.is_none() {
                usual(info);
            }
        }));
    });
    PANICKED.set(Some(Vec::new()));
}

/// The panics since [`watch`], if any.
pub(crate) fn take() -> Option<String> {
    let panicked = PANICKED.take().unwrap_or_default();
    (!panicked.is_empty()).then(|| panicked.join("\n"))
}
