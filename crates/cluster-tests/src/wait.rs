//! Waits for changes of a cluster.

use std::time::{Duration, Instant};

/// How long [`eventually`] waits, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits up to 90 seconds until `look` returns a value, and panics with `what` otherwise.
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

/// As [`eventually`], with another time limit.
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

/// Waits until `look` returns true.
pub fn await_true(what: &str, mut look: impl FnMut() -> bool) {
    await_some(what, || look().then_some(()));
}

/// Waits without an executor. Returns whether `look` returned true in time.
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
