use std::time::Duration;

use metrics::{Ended, Metrics};

use super::*;

/// Reads the metrics of two times, a second apart.
fn window(metrics: &Metrics, between: impl FnOnce(&Metrics)) -> Window {
    let mut window = Window::default();
    let scrape = |metrics: &Metrics| Scrape::parse(&metrics.encode()).unwrap();
    window.push(Duration::from_secs(1), scrape(metrics));
    between(metrics);
    window.push(Duration::from_secs(2), scrape(metrics));
    window
}

fn shop() -> OperatorStatus {
    OperatorStatus {
        name: "shop".to_owned(),
        ready: Some(Condition {
            status: "True".to_owned(),
            reason: "Ready".to_owned(),
            message: String::new(),
        }),
        controllers: vec![ControllerStatus {
            name: "web".to_owned(),
            objects: Some(90.0),
            derived: Some(80.0),
            error_count: Some(1.0),
            errors: vec!["type: bad".to_owned()],
            ..ControllerStatus::default()
        }],
    }
}

#[test]
fn metrics_and_status_are_joined() {
    let metrics = Metrics::default();
    let web = metrics.controller("shop", "web");
    web.source("Pod", 100, true);
    web.source("Service", 5, false);
    web.target("ConfigMap", 7);
    web.standing_errors(2);
    metrics.queue("shop").depth(3);
    metrics.leading(true);
    let window = window(&metrics, |metrics| {
        web.step(12, Duration::from_millis(4));
        web.derived(6);
        web.wrote("create", 201);
        web.wrote("patch", 200);
        web.error("type");
        metrics.queue("shop").started(Duration::from_millis(2));
        web.started("ObjectUpdated");
        web.ended(Ended::Success, Duration::from_millis(10));
    });
    let snapshot = Snapshot::new(Some(&window), Some(&[shop()]));
    assert_eq!(snapshot.version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!((snapshot.leads, snapshot.requests), (Some(true), None));
    assert_eq!(snapshot.operators.len(), 1);
    let shop = &snapshot.operators[0];
    assert_eq!(shop.ready.as_ref().unwrap().reason, "Ready");
    let numbers = &shop.numbers;
    assert_eq!((numbers.objects, numbers.derived), (Some(105.0), Some(7.0)));
    assert_eq!((numbers.changes, numbers.yields), (Some(12.0), Some(6.0)));
    assert_eq!((numbers.writes, numbers.failing), (Some(2.0), Some(1.0)));
    assert_eq!((numbers.queue, numbers.errors), (Some(3.0), Some(2.0)));
    let mean = numbers.latency.mean().unwrap();
    assert!((mean - 0.016).abs() < 1e-6, "{mean}");
    let web = snapshot.controller("shop", "web").unwrap();
    assert_eq!(web.errors, ["type: bad"]);
    assert_eq!(web.sources["Service"], (5.0, false));
    assert_eq!(web.targets.get("ConfigMap"), Some(&7.0));
    assert_eq!(web.codes.get("type"), Some(&1.0));
    assert!(snapshot.controller("shop", "other").is_none());
}

#[test]
fn status_alone_has_counts_and_no_rates() {
    let snapshot = Snapshot::new(None, Some(&[shop()]));
    let numbers = &snapshot.operators[0].numbers;
    assert_eq!((numbers.objects, numbers.derived), (Some(90.0), Some(80.0)));
    assert_eq!((numbers.changes, numbers.errors), (None, Some(1.0)));
    assert_eq!(numbers.latency.mean(), None);
    assert_eq!((snapshot.version, snapshot.leads), (None, None));
}

#[test]
fn metrics_alone_have_operators() {
    let metrics = Metrics::default();
    metrics.controller("b", "c").step(1, Duration::ZERO);
    metrics.queue("a").depth(0);
    let snapshot = Snapshot::new(Some(&window(&metrics, |_| ())), None);
    let names: Vec<&str> = snapshot.operators.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let b = &snapshot.operators[1];
    assert_eq!(b.ready, None);
    // Nothing was written yet, and nothing failed.
    assert_eq!(
        (b.numbers.writes, b.numbers.failing),
        (Some(0.0), Some(0.0))
    );
    assert_eq!(snapshot.sum(|numbers| numbers.changes), Some(0.0));
}

#[test]
fn nothing_gives_nothing() {
    let empty = Window::default();
    assert!(Snapshot::new(Some(&empty), Some(&[])).operators.is_empty());
    assert!(Snapshot::new(None, None).operators.is_empty());
}

/// Every metric that is read exists, with its labels.
#[test]
fn the_metrics_exist() {
    let source = include_str!("../snapshot.rs");
    let metrics = Metrics::default();
    let known: Vec<&str> = metrics.table().iter().map(|m| m.name.as_str()).collect();
    let names = source.split('"').skip(1).step_by(2);
    let prefixes = [
        "deltic_",
        "workqueue_",
        "controller_runtime_",
        "rest_",
        "leader_",
    ];
    let used: Vec<&str> = names
        .filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    assert!(used.len() > 10, "{used:?}");
    for name in used {
        assert!(known.contains(&name), "there is no metric {name}");
    }
}
