//! The alerts and the dashboard of the chart name metrics and labels that exist, and the page about
//! monitoring lists all metrics.
#![allow(clippy::unwrap_used)]

mod query;
mod token;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use document::Value;
use metrics::{MetricKind, Metrics};
use query::{Labels, SCRAPED, Series, labels};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The series that deltic has, with the labels that Prometheus adds.
fn series() -> Series {
    let metrics = Metrics::default();
    let all = metrics.table().iter().flat_map(metrics::Metric::series);
    all.map(|(name, labels)| {
        let labels = labels.into_iter().chain(SCRAPED).map(str::to_owned);
        (name, labels.collect())
    })
    .collect()
}

fn list(value: &Value) -> Vec<Value> {
    let list = value.as_list().map(document::ListRef::to_vec);
    list.unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The names after each occurrence of a prefix.
fn named<'a>(text: &'a str, prefix: &str) -> Vec<&'a str> {
    let parts = text.split(prefix).skip(1);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    parts
        .map(|part| &part[..part.find(|c| !is_name(c)).unwrap_or(part.len())])
        .collect()
}

#[test]
fn a_query_with_a_wrong_name_is_found() {
    let series = series();
    for (query, wrong) in [
        ("deltic_orphan", "no metric deltic_orphan"),
        ("rate(deltic_writes[5m])", "no metric deltic_writes"),
        ("deltic_step_duration_seconds", "no metric"),
        ("deltic_orphans{operatr=\"a\"}", "no label operatr"),
        ("sum by (kind) (deltic_orphans)", "no label kind"),
        (
            "sum(deltic_orphans) > on (operator) deltic_orphans",
            "no label operator",
        ),
        (
            "deltic_orphans and on (source) deltic_orphans",
            "no label source",
        ),
        ("histogram_quantile(0.9, deltic_orphans)", "no label le"),
        (
            "histogram_quantile(0.9, sum by (operator) (deltic_step_duration_seconds_bucket))",
            "no label le",
        ),
        ("rte(deltic_orphans[5m])", "unknown function rte"),
        ("label_values(deltic_orphans, kind)", "no label kind"),
        ("deltic_orphans{operator=1}", "bad matcher"),
        ("sum by (operator (deltic_orphans)", "expected )"),
        ("deltic_orphans 1", "unexpected"),
        ("deltic_orphans >", "unexpected end"),
        ("\"a", "does not end"),
        ("a ; b", "unexpected ;"),
    ] {
        let error = labels(query, &series).expect_err(query);
        assert!(error.contains(wrong), "{query}: {error}");
    }
}

#[test]
fn a_query_has_the_labels_of_its_aggregation() {
    for (query, expect) in [
        (
            "deltic_operators",
            &["instance", "job", "namespace", "pod"][..],
        ),
        ("sum(deltic_orphans)", &[]),
        (
            "sum by (operator) (deltic_orphans{job=~\"$job\"}) > 0",
            &["operator"],
        ),
        (
            "histogram_quantile(0.99, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket[$__range])))",
            &["name"],
        ),
        ("count(deltic_orphans == 0) or vector(0)", &[]),
        ("absent(deltic_orphans)", &[]),
    ] {
        let expect: Labels = expect.iter().map(|label| (*label).to_owned()).collect();
        assert_eq!(labels(query, &series()), Ok(expect), "{query}");
    }
}

#[test]
fn alerts_name_metrics_and_labels_that_exist() {
    let yaml = read("charts/deltic/files/alerts.yaml");
    let alerts = manifest::parse_bytes("alerts.yaml", yaml.into_bytes()).unwrap();
    let groups = list(alerts[0].value.get("groups"));
    let rules: Vec<Value> = groups
        .iter()
        .flat_map(|group| list(group.get("rules")))
        .collect();
    assert!(rules.len() >= 10, "{}", rules.len());
    for rule in rules {
        let alert = text(rule.get("alert")).to_owned();
        let labels = labels(text(rule.get("expr")), &series());
        let labels = labels.unwrap_or_else(|error| panic!("{alert}: {error}"));
        let annotations = rule.get("annotations");
        for part in ["summary", "description"] {
            let words = text(annotations.get(part));
            assert!(!words.is_empty(), "{alert} has no {part}");
            for label in named(words, "$labels.") {
                assert!(
                    labels.contains(label),
                    "{alert}: no label {label} in {labels:?}"
                );
            }
        }
        let severity = text(rule.get("labels").get("severity"));
        assert!(
            ["info", "warning", "critical"].contains(&severity),
            "{alert}"
        );
    }
}

#[test]
fn the_dashboard_names_metrics_and_labels_that_exist() {
    let dashboard: Value = read("charts/deltic/files/dashboard.json").parse().unwrap();
    let variables = list(dashboard.get("templating").get("list"));
    let names: Vec<&str> = variables.iter().map(|it| text(it.get("name"))).collect();
    let known = |query: &str| {
        for name in named(query, "$")
            .into_iter()
            .filter(|it| !it.starts_with("__"))
        {
            assert!(names.contains(&name), "no variable {name} for {query}");
        }
    };
    for variable in variables
        .iter()
        .filter(|it| text(it.get("type")) == "query")
    {
        let query = text(variable.get("definition"));
        known(query);
        labels(query, &series()).unwrap_or_else(|error| panic!("{query}: {error}"));
    }
    let mut count = 0;
    for panel in list(dashboard.get("panels")) {
        let title = text(panel.get("title")).to_owned();
        for target in list(panel.get("targets")) {
            let query = text(target.get("expr"));
            known(query);
            let labels = labels(query, &series());
            let labels = labels.unwrap_or_else(|error| panic!("{title}: {error}"));
            for label in named(text(target.get("legendFormat")), "{{") {
                assert!(
                    labels.contains(label),
                    "{title}: no label {label} in {labels:?}"
                );
            }
            count += 1;
        }
    }
    assert!(count >= 20, "{count}");
}

/// The table of all metrics, as the page about monitoring has it.
fn table() -> String {
    let mut table = "| metric | labels | |\n|---|---|---|\n".to_owned();
    for metric in Metrics::default().table() {
        let labels = metric.labels.iter().map(|label| format!("`{label}`"));
        let labels = labels.collect::<Vec<_>>().join(", ");
        let help = metric.help;
        let kind = match metric.kind {
            MetricKind::Counter | MetricKind::Gauge | MetricKind::Info => "",
            MetricKind::Histogram => " (histogram)",
        };
        writeln!(table, "| `{}` | {labels} | {help}{kind} |", metric.name).unwrap();
    }
    table
}

#[test]
fn the_page_lists_all_metrics() {
    let path = "docs/monitor.md";
    let (begin, end) = ("<!-- metrics:begin -->\n", "<!-- metrics:end -->");
    let page = read(path);
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let fresh = format!("{before}{begin}{}{end}{after}", table());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join(path), fresh).unwrap();
    } else {
        assert_eq!(page, fresh, "{path} is out of date; UPDATE=1 rewrites it");
    }
}

/// What a scrape has is in the table, under the same names.
#[test]
fn the_table_has_what_a_scrape_has() {
    let metrics = Metrics::default();
    let controller = metrics.controller("op", "c");
    controller.source("Pod", 1, true);
    controller.target("ConfigMap", 1);
    controller.step(1, std::time::Duration::ZERO);
    controller.wrote("create", 201);
    metrics.queue("op").added();
    metrics.request(&http::Method::GET, 200);
    metrics.listed("", "Pod", "first");
    let series = series();
    for line in metrics
        .encode()
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let labels = series
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in the table"));
        let used = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        for pair in used
            .map_or("", |(used, _)| used)
            .split("\",")
            .filter(|it| !it.is_empty())
        {
            let (label, _) = pair.split_once('=').unwrap();
            assert!(labels.contains(label), "no label {label} in {name}");
        }
    }
}
