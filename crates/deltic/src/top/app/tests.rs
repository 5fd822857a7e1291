use std::path::Path;
use std::time::Duration;

use ::metrics::{Ended, Metrics};
use document::{Value, json};

use super::*;
use crate::live::{OperatorStatus, Scrape, Window};

/// Metrics and status of a small fleet: one Operator is in error, one has just been created, one is
/// busy.
fn fleet() -> Snapshot {
    let metrics = Metrics::default();
    let health = metrics.controller("pod-health", "health");
    let annotate = metrics.controller("pod-health", "annotate");
    let frontend = metrics.controller("shop-frontend-production", "config-maps");
    health.source("Pod", 1204, true);
    health.target("Health", 37);
    annotate.source("Health", 37, true);
    annotate.source("Service", 41, false);
    annotate.target("Service", 36);
    annotate.standing_errors(2);
    frontend.source("ConfigMap", 250_000, true);
    frontend.target("ConfigMap", 249_000);
    metrics.queue("pod-health").depth(0);
    metrics.queue("shop-frontend-production").depth(1290);
    metrics.leading(true);
    let mut window = Window::default();
    let scrape = |metrics: &Metrics| Scrape::parse(&metrics.encode()).unwrap();
    window.push(Duration::ZERO, scrape(&metrics));
    let millis = Duration::from_millis;
    health.step(12, Duration::from_micros(180));
    health.derived(3);
    annotate.step(3, Duration::from_micros(90));
    annotate.error("type");
    frontend.step(4800, millis(14));
    for (operator, controller, waits) in [
        ("pod-health", &annotate, 2),
        ("shop-frontend-production", &frontend, 800),
    ] {
        for _ in 0..24 {
            metrics.queue(operator).started(millis(waits));
            controller.started("ObjectUpdated");
            controller.ended(Ended::Success, millis(7));
            controller.wrote("patch", 200);
        }
    }
    window.push(Duration::from_secs(2), scrape(&metrics));
    let status: Vec<OperatorStatus> = status().iter().map(OperatorStatus::read).collect();
    Snapshot::new(Some(&window), Some(&status))
}

fn status() -> [Value; 3] {
    let ready = |status: &str, reason: &str, message: &str| json!([{"type": "Ready", "status": status, "reason": reason, "message": message}]);
    let failing = "controller annotate: 2 errors; the newest: type at pipeline.1.@project for Service shop/web, Health shop/web: $.spec.ready is null, expected a number";
    let fine = "all targets are in sync";
    [
        json!({"metadata": {"name": "pod-health"}, "status": {
        "conditions": (ready("Unknown", "ReconciliationFailed", failing)),
        "controllers": [
            {"name": "health", "conditions": (ready("True", "Ready", fine)), "lastErrors": []},
            {"name": "annotate", "conditions": (ready("Unknown", "ReconciliationFailed", failing)), "lastErrors": [
                "type at pipeline.1.@project for Service shop/web, Health shop/web: $.spec.ready is null, expected a number",
                "refused at target for Service shop/api: admission webhook \"policy.example.com\" denied the request: annotations must not contain a-very-long-word-without-any-space-that-does-not-fit-into-a-line-of-eighty-columns"
            ]}
        ]}}),
        json!({"metadata": {"name": "new"}}),
        json!({"metadata": {"name": "shop-frontend-production"}, "status": {
            "conditions": (ready("False", "Syncing", "247710 of 249000 objects are as derived: 1290 are being written")),
            "controllers": [{"name": "config-maps", "conditions": (ready("False", "Syncing", "247710 of 249000 objects are as derived: 1290 are being written"))}]}}),
    ]
}

fn app() -> App {
    let mut app = App::new("http://127.0.0.1:8080/metrics, context kind-test".to_owned());
    app.snapshot = fleet();
    app
}

fn screen(app: &mut App, width: usize, height: usize) -> String {
    let lines = app.frame(width, height);
    assert!(lines.len() <= height, "{}", lines.len());
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.plain().trim_end().to_owned())
        .collect();
    lines.join("\n") + "\n"
}

/// Compares a screen with a file; `UPDATE=1` writes it.
fn is_drawn(name: &str, app: &mut App, width: usize, height: usize) {
    let found = screen(app, width, height);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/top/app/screens");
    let path = directory.join(format!("{name}-{width}x{height}.txt"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(&path, &found).unwrap();
    }
    let expect = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expect, "{name}: UPDATE=1 writes {}", path.display());
}

#[test]
fn screens_are_as_recorded() {
    for (width, height) in [(80, 24), (200, 50)] {
        let mut app = app();
        is_drawn("operators", &mut app, width, height);
        app.press(Key::Down);
        app.press(Key::Enter);
        is_drawn("operator", &mut app, width, height);
        app.press(Key::Letter('?'));
        is_drawn("help", &mut app, width, height);
    }
    let mut app = app();
    app.notes = vec![
        "no metrics from http://127.0.0.1:8080/metrics: Connection refused (os error 111); only the status of the Operators is shown".to_owned(),
    ];
    let status: Vec<OperatorStatus> = status().iter().map(OperatorStatus::read).collect();
    app.snapshot = Snapshot::new(None, Some(&status));
    is_drawn("status-alone", &mut app, 80, 24);
}

fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        assert_eq!(app.press(Key::Letter(key)), Next::Draw);
    }
    screen(app, 80, 24);
}

/// The name of the Operator in the marked row.
fn selected(app: &mut App) -> String {
    let lines = app.frame(200, 24);
    let line = lines.iter().find(|line| line.selected).map(Line::plain);
    let line = line.unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn the_selection_stays_on_its_operator() {
    let mut app = app();
    assert_eq!(selected(&mut app), "new");
    press(&mut app, "jj");
    assert_eq!(selected(&mut app), "shop-frontend-production");
    press(&mut app, "j");
    assert_eq!(selected(&mut app), "shop-frontend-production");
    press(&mut app, "r");
    assert_eq!(selected(&mut app), "shop-frontend-production");
    press(&mut app, "j");
    assert_eq!(selected(&mut app), "pod-health");
    // It is gone.
    app.snapshot
        .operators
        .retain(|operator| operator.name != "pod-health");
    assert_eq!(selected(&mut app), "shop-frontend-production");
    app.snapshot.operators.clear();
    assert_eq!(selected(&mut app), "");
    assert_eq!(app.press(Key::Enter), Next::Draw);
    assert!(screen(&mut app, 80, 24).contains("there are no Operators"));
}

#[test]
fn keys_change_the_order() {
    let mut app = app();
    screen(&mut app, 80, 24);
    press(&mut app, "s");
    assert_eq!(app.order.column, Column::Ready);
    press(&mut app, ">>>");
    assert_eq!(app.order.column, Column::Changes);
    assert!(app.order.descending);
    let header = screen(&mut app, 80, 24);
    assert!(header.contains("CHG/S↓"), "{header}");
    let names: Vec<String> = app.names();
    assert_eq!(names, ["shop-frontend-production", "pod-health", "new"]);
    press(&mut app, "<<<<<");
    assert_eq!(app.order.column, Column::Errors);
    press(&mut app, ">");
    assert_eq!(app.order.column, Column::Name);
    // The column is not on a smaller screen.
    screen(&mut app, 200, 50);
    app.order.column = Column::Failing;
    screen(&mut app, 80, 24);
    press(&mut app, "s");
    assert_eq!(app.order.column, Column::Name);
}

#[test]
fn a_filter_is_typed() {
    let mut app = app();
    press(&mut app, "/q");
    assert!(screen(&mut app, 80, 24).ends_with("filter: q_\n"));
    assert!(screen(&mut app, 80, 24).contains("the filter admits no Operator"));
    app.press(Key::Backspace);
    press(&mut app, "SYNC");
    assert_eq!(app.names(), ["shop-frontend-production"]);
    app.press(Key::Enter);
    assert!(screen(&mut app, 80, 24).contains("filter: SYNC (esc removes it)"));
    app.press(Key::Enter);
    assert!(screen(&mut app, 80, 24).contains("Operator shop-frontend-production"));
    app.press(Key::Escape);
    app.press(Key::Escape);
    assert_eq!(app.names().len(), 3);
    press(&mut app, "/x");
    app.press(Key::Escape);
    assert_eq!(app.names().len(), 3);
}

#[test]
fn an_operator_is_opened_and_scrolled() {
    let mut app = app();
    press(&mut app, "j");
    app.press(Key::Enter);
    let top = screen(&mut app, 80, 12);
    assert!(top.contains("Operator pod-health"), "{top}");
    app.press(Key::End);
    let end = screen(&mut app, 80, 12);
    assert!(end.contains("umns"), "{end}");
    // The help leads back to where it was opened.
    app.press(Key::Letter('?'));
    assert!(screen(&mut app, 80, 12).contains("select an Operator"));
    app.press(Key::Escape);
    assert_eq!(screen(&mut app, 80, 12), end);
    app.press(Key::PageUp);
    app.press(Key::Home);
    assert_eq!(screen(&mut app, 80, 12), top);
    app.snapshot = Snapshot::default();
    assert!(screen(&mut app, 80, 12).contains("does not exist any more"));
    app.press(Key::Escape);
    assert_eq!(app.page, Page::Operators);
}

#[test]
fn quitting() {
    let mut app = app();
    assert_eq!(app.press(Key::Letter('q')), Next::Quit);
    press(&mut app, "/");
    assert_eq!(app.press(Key::Letter('q')), Next::Draw);
    assert_eq!(app.press(Key::Interrupt), Next::Quit);
}

/// Any key on a screen of any size.
#[test]
fn nothing_panics() {
    let keys = [
        Key::Up,
        Key::Down,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Left,
        Key::Right,
        Key::Enter,
        Key::Escape,
        Key::Backspace,
        Key::Letter('/'),
        Key::Letter('s'),
        Key::Letter('r'),
        Key::Letter('?'),
        Key::Letter('j'),
        Key::Letter('é'),
    ];
    let fleet = fleet();
    seeded::check(100, |random| {
        let mut app = App::new(String::new());
        app.snapshot = fleet.clone();
        for _ in 0..40 {
            let (width, height) = (random.below(90), random.below(30));
            let lines = app.frame(width, height);
            assert!(lines.len() <= height);
            app.press(*random.pick(&keys));
        }
    });
}
