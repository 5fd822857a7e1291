//! The signals that stop a process: interrupt (Ctrl+C) and, on Unix, terminate.

use std::io;

/// Completes when the process has received `times` signals since the first poll: one is for a
/// graceful shutdown, two for a forced one.
///
/// From the first poll on, the signals no longer end the process by themselves. If no handler can
/// be installed, a warning is logged and this never completes.
pub async fn received(times: u32) {
    if let Err(error) = listen(times).await {
        tracing::warn!(%error, "cannot listen to signals: they end the process at once");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn listen(times: u32) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    for _ in 0..times {
        tokio::select! {
            biased;
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
    Ok(())
}

#[cfg(not(unix))]
async fn listen(times: u32) -> io::Result<()> {
    for _ in 0..times {
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}
