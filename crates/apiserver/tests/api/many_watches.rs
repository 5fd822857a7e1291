//! Ten thousand watches.

use std::time::Duration;

use apiserver::{AllowAll, Body, Limits};
use futures::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use store::Config;

use crate::common::{Api, SHOP};

const WATCHES: usize = 10_000;
/// One of this many does not read.
const SLOW: usize = 100;
const CHANGES: i64 = 15;

/// The resident memory of the process, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[cfg(not(target_os = "linux"))]
fn resident() -> usize {
    0
}

/// The lines that can be read now. `None` if the watch has ended.
fn read(body: &mut Body) -> Option<String> {
    let mut text = String::new();
    // This task reads from all watches, more than the runtime lets a task do in one go.
    while let Some(frame) = tokio::task::unconstrained(body.frame()).now_or_never() {
        let data = frame?.unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&data).unwrap());
    }
    Some(text)
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_watches_need_no_more_memory_after_a_minute() {
    let config = Config {
        history: 8,
        ..Config::default()
    };
    let api = Api::with_config(std::sync::Arc::new(AllowAll), Limits::default(), config);
    api.derive("web", 0);
    let version = api.store.version();
    let mut watches = Vec::new();
    for _ in 0..WATCHES {
        let path = format!("{SHOP}?watch=1&resourceVersion={version}");
        let request = http::Request::get(path).body(Full::default()).unwrap();
        let response = api.send(request).await;
        assert_eq!(response.status(), 200);
        watches.push(response.into_body());
    }
    let mut before = 0;
    for change in 1..=CHANGES {
        api.derive("web", change);
        tokio::time::advance(Duration::from_secs(4)).await;
        for (number, watch) in watches.iter_mut().enumerate() {
            if number % SLOW > 0 {
                let text = read(watch).unwrap();
                assert_eq!(text.lines().count(), 1, "{text}");
            }
        }
        if change == 3 {
            before = resident();
        }
    }
    let grown = resident().saturating_sub(before);
    // A byte kept for each event would be a hundred times as much as one for each watch.
    assert!(grown < 8_000_000, "{grown} bytes more after a minute");
    // Those that did not read are behind the history: each gets an error, and ends.
    for watch in watches.iter_mut().step_by(SLOW) {
        let frame = watch.frame().await.unwrap().unwrap();
        let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
        assert!(
            text.contains("\"type\":\"ERROR\"") && text.contains("410"),
            "{text}"
        );
        assert!(watch.frame().await.is_none());
    }
}
