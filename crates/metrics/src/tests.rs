use std::time::Duration;

use super::*;

/// The lines about one metric, sorted.
fn lines(metrics: &Metrics, name: &str) -> Vec<String> {
    let text = metrics.encode();
    let lines = text.lines().filter(|line| line.starts_with(name));
    let mut lines: Vec<_> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_controller_is_named_as_others_name_theirs() {
    let metrics = Metrics::default();
    let controller = metrics.controller("op", "c");
    controller.started("ObjectUpdated");
    controller.ended(Ended::Error, Duration::from_millis(20));
    assert_eq!(
        lines(&metrics, "controller_runtime_reconcile_total"),
        [r#"controller_runtime_reconcile_total{controller="op/c",result="error"} 1"#]
    );
    assert_eq!(
        lines(&metrics, "controller_runtime_active_workers"),
        [r#"controller_runtime_active_workers{controller="op/c"} 0"#]
    );
    assert_eq!(
        lines(&metrics, "deltic_reconcile_reasons_total"),
        [
            r#"deltic_reconcile_reasons_total{operator="op",controller="c",reason="ObjectUpdated"} 1"#
        ]
    );
}

#[test]
fn a_queue_is_named_as_others_name_theirs() {
    let metrics = Metrics::default();
    let queue = metrics.queue("op");
    queue.added();
    queue.added();
    queue.depth(2);
    queue.started(Duration::from_millis(3));
    queue.ended(Duration::from_millis(20));
    queue.retried();
    for line in [
        r#"workqueue_depth{name="op"} 2"#,
        r#"workqueue_adds_total{name="op"} 2"#,
        r#"workqueue_retries_total{name="op"} 1"#,
        r#"workqueue_queue_duration_seconds_count{name="op"} 1"#,
        r#"workqueue_work_duration_seconds_count{name="op"} 1"#,
    ] {
        assert_eq!(lines(&metrics, line), [line]);
    }
}

#[test]
fn what_is_counted_shows() {
    let metrics = Metrics::default();
    let controller = metrics.controller("op", "c");
    controller.source("Pod", 7, true);
    controller.target("ConfigMap", 3);
    controller.error("type");
    controller.step(5, Duration::from_micros(100));
    controller.derived(4);
    controller.wrote("create", 201);
    metrics.request(&http::Method::GET, 200);
    metrics.listed("", "Pod", "expired");
    metrics.leading(true);
    metrics.operators(2);
    for line in [
        r#"deltic_source_objects{operator="op",controller="c",source="Pod"} 7"#,
        r#"deltic_source_synced{operator="op",controller="c",source="Pod"} 1"#,
        r#"deltic_source_changes_total{operator="op",controller="c"} 5"#,
        r#"deltic_target_objects{operator="op",controller="c",target="ConfigMap"} 3"#,
        r#"deltic_target_changes_total{operator="op",controller="c"} 4"#,
        r#"deltic_errors_total{operator="op",controller="c",code="type"} 1"#,
        r#"deltic_steps_total{operator="op",controller="c"} 1"#,
        r#"deltic_step_duration_seconds_count{operator="op",controller="c"} 1"#,
        r#"deltic_writes_total{operator="op",controller="c",verb="create",code="201"} 1"#,
        r#"rest_client_requests_total{method="GET",code="200"} 1"#,
        r#"deltic_lists_total{group="",kind="Pod",reason="expired"} 1"#,
        "leader_election_master_status 1",
        "deltic_operators 2",
    ] {
        assert_eq!(lines(&metrics, line), [line]);
    }
}

#[test]
fn an_operator_that_is_gone_leaves_no_series() {
    let metrics = Metrics::default();
    let (gone, stays) = (
        metrics.controller("op", "c"),
        metrics.controller("op-2", "c"),
    );
    for controller in [&gone, &stays] {
        controller.started("ObjectUpdated");
        controller.ended(Ended::Success, Duration::ZERO);
        controller.source("Pod", 1, true);
        controller.error("type");
        controller.wrote("patch", 0);
    }
    for operator in ["op", "op-2"] {
        let queue = metrics.queue(operator);
        queue.added();
        queue.ended(Duration::ZERO);
    }
    metrics.forget("op");
    let text = metrics.encode();
    assert!(
        !text.contains("\"op\"") && !text.contains("\"op/c\""),
        "{text}"
    );
    assert!(
        text.contains("\"op-2\"") && text.contains("\"op-2/c\""),
        "{text}"
    );
}

#[test]
fn requests_for_views_have_the_names_of_kube_apiserver() {
    let metrics = Metrics::default();
    let request = ServedRequest {
        verb: "LIST",
        group: "shop.view.dcontroller.io".to_owned(),
        version: "v1alpha1".to_owned(),
        resource: "health".to_owned(),
        scope: "cluster",
        ..ServedRequest::default()
    };
    metrics.answered(&request, 200);
    metrics.took(&request, Duration::from_millis(3));
    let watch = ServedRequest {
        verb: "WATCH",
        ..request
    };
    let open = metrics.watching(&watch);
    let of = "group=\"shop.view.dcontroller.io\",version=\"v1alpha1\",resource=\"health\",\
              subresource=\"\",scope=\"cluster\",component=\"deltic\"";
    let running = |count: u8| {
        let line = format!("apiserver_longrunning_requests{{verb=\"WATCH\",{of}}} {count}");
        assert_eq!(lines(&metrics, &line), [line]);
    };
    running(1);
    drop(open);
    running(0);
    for line in [
        format!("apiserver_request_total{{verb=\"LIST\",{of},dry_run=\"\",code=\"200\"}} 1"),
        format!("apiserver_request_duration_seconds_count{{verb=\"LIST\",{of},dry_run=\"\"}} 1"),
    ] {
        assert_eq!(lines(&metrics, &line), [line]);
    }
    metrics.forget("shop");
    assert!(!metrics.encode().contains("shop.view"));
}
