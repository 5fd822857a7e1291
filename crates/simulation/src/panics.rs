//! Panics of tasks. The runtime catches them, and a run would go on without the task.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// What panicked on this thread while it runs a simulation.
    static PANICKED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Notes the panics of this thread from now on, instead of printing them.
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

/// What panicked since [`watch`], if anything.
pub(crate) fn taken() -> Option<String> {
    let panicked = PANICKED.take().unwrap_or_default();
    (!panicked.is_empty()).then(|| panicked.join("\n"))
}
