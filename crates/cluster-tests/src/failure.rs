//! Keeps the logs of all running clusters when a test panics, and prints their path.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

static RUNNING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();

/// Registers the directory of a cluster.
pub(crate) fn begin(directory: &Path) {
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            previous(panic);
            keep_logs();
        }));
    });
    running().push(directory.to_owned());
}

/// Removes the directory of a cluster that has stopped.
pub(crate) fn end(directory: &Path) {
    running().retain(|running| running != directory);
}

fn running() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::print_stderr, reason = "a test that fails says where to look")]
fn keep_logs() {
    for directory in running().iter() {
        // If the directory cannot be written, the panic must still be shown.
        let _ = std::fs::write(directory.join("keep"), "");
        eprintln!("logs of the control plane: {}", directory.display());
    }
}
