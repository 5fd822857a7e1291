//! Waiting for what a cluster does in its own time.

use std::time::{Duration, Instant};

/// How long [`eventually`] waits: what takes longer on a busy machine is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// How often it looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits up to 90 seconds until `look` gives something, and panics with `what` otherwise.
///
/// ```no_run
/// # async fn example(pods: kube::Api<kube::api::DynamicObject>) {
/// let pod = cluster_tests::eventually("the pod appears", async || {
///     pods.get_opt("web").await.unwrap()
/// })
/// .await;
/// # }
/// ```
pub async fn eventually<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_with(PATIENCE, what, look).await
}

/// As [`eventually`], with a patience of one's own.
pub async fn eventually_with<T>(
    patience: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {patience:?}: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// As [`eventually`], without an executor.
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    wait_until(PATIENCE, || {
        found = look();
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("waited {PATIENCE:?}: {what}"))
}

/// Waits until something is true.
pub fn await_true(what: &str, mut look: impl FnMut() -> bool) {
    await_some(what, || look().then_some(()));
}

/// Waits without an executor; gives whether it came true.
pub(crate) fn wait_until(patience: Duration, mut look: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !look() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}
