//! kubectl on views, beside kubectl on the same objects of a custom resource: what a command
//! prints and its exit code are the same, but for the differences that the documentation lists.
//!
//! The commands are in `commands/*.yaml`. Each file runs in a namespace of its own, on both sides
//! in the same order. To add a command, add it there; it needs no expectation. To run one file
//! while you work on it: `SCRIPT=get cargo test -p cluster-tests --features cluster --test kubectl`.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod door;
mod mask;
mod script;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use cluster_tests::{Cluster, Served, await_some, stop_deltic};
use door::{Door, Outcome};
use script::{Command, Script};
use serde_json::{Value, json};

/// The group of the custom resource. It is as long as that of the view, so that tables have the
/// same widths.
const TWIN: &str = "served.twin.dcontroller.io";
const VIEWS: &str = "served.view.dcontroller.io";

/// How long the commands may take on a busy machine.
const MOST_TIME: Duration = Duration::from_mins(5);

/// The most differences that may be listed.
const MOST_DIFFERENCES: usize = 10;

/// Derives a view from config maps, of which there are none: all objects are those of users.
fn operator() -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "served"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{
                "apiGroup": "", "kind": "ConfigMap",
                "labelSelector": {"matchLabels": {"role": "source"}}
            }],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "healthy": {"@eq": ["$.data.phase", "Running"]},
                "phase": "$.data.phase",
                "ready": {"@len": "$.metadata.name"}
            }}],
            "target": {"kind": "Health"}
        }]}
    })
}

/// The custom resource with the same kind.
fn twin() -> Value {
    let column =
        |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("health.{TWIN}")},
        "spec": {
            "group": TWIN, "scope": "Namespaced",
            "names": {
                "kind": "Health", "listKind": "HealthList", "plural": "health",
                "singular": "health", "categories": ["views"]
            },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "description": "Health is a view: deltic derives its objects.",
                    "properties": {
                        "healthy": {"type": "boolean"},
                        "phase": {"type": "string"},
                        "ready": {"type": "integer"}
                    }
                }},
                "additionalPrinterColumns": [
                    column("Healthy", "boolean", ".healthy"),
                    column("Phase", "string", ".phase"),
                    column("Ready", "integer", ".ready"),
                    column("Age", "date", ".metadata.creationTimestamp")
                ]
            }]
        }
    })
}

#[test]
fn views_answer_kubectl_like_custom_resources() {
    let served = Served::start(&operator().to_string(), &twin().to_string());
    let cluster = &served.installed.cluster;
    let view = format!("health.{VIEWS}");
    for (kubeconfig, resource) in [
        (served.kubeconfig(), &view),
        (cluster.kubeconfig(), &format!("health.{TWIN}")),
    ] {
        await_some("the resource is served", || {
            let get = ["get", resource, "-A"];
            cluster.kubectl_of(&kubeconfig, &get, "").ok()
        });
    }
    let door = |name: &str, kubeconfig, group: &str| {
        let directory = cluster.directory().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        Door {
            kubeconfig,
            group: group.to_owned(),
            directory,
        }
    };
    let views = door("own-port", served.kubeconfig(), VIEWS);
    let twin = door("twin", cluster.kubeconfig(), TWIN);
    compare(cluster, &views, &twin, true);
    stop_deltic(served.process);
}

/// Runs all scripts through both doors, and compares.
fn compare(cluster: &Cluster, views: &Door, twin: &Door, own_port: bool) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl/commands");
    let mut scripts = Script::all(&here);
    let only = std::env::var("SCRIPT").ok();
    scripts.retain(|script| only.as_ref().is_none_or(|only| *only == script.name));
    for script in &scripts {
        cluster.kubectl(&["create", "namespace", &script.name]);
    }
    let run = |door: &Door| -> Vec<Vec<(Outcome, Duration)>> {
        scripts.iter().map(|script| door.run(script)).collect()
    };
    let (found, expected) = thread::scope(|scope| {
        let found = scope.spawn(|| run(views));
        let expected = run(twin);
        (found.join().unwrap(), expected)
    });
    let mut report = Report::default();
    for (script, (found, expected)) in scripts.iter().zip(found.iter().zip(&expected)) {
        let outcomes = found.iter().zip(expected);
        for (command, ((found, time), (expected, _))) in script.commands.iter().zip(outcomes) {
            report.time += *time;
            report.add(script, command, found, expected, own_port);
        }
    }
    report.check(only.is_none());
}

/// What the comparison has found.
#[derive(Debug, Default)]
struct Report {
    commands: usize,
    /// The commands that fail on the custom resource.
    errors: usize,
    listed: Vec<String>,
    /// How long the commands took on views, all together.
    time: Duration,
    wrong: String,
}

impl Report {
    fn add(
        &mut self,
        script: &Script,
        command: &Command,
        found: &Outcome,
        expected: &Outcome,
        own_port: bool,
    ) {
        self.commands += 1;
        self.errors += usize::from(expected.code != Some(0));
        let on_own_port = command.differs_on_own_port.as_ref().filter(|_| own_port);
        let listed = command.differs.as_ref().or(on_own_port);
        let line = &command.kubectl;
        match (listed, found == expected) {
            (None, true) => {}
            (Some(listed), false) => self.listed.push(listed.clone()),
            (Some(listed), true) => {
                let _ = writeln!(
                    self.wrong,
                    "\n=== {}: kubectl {line}\nthe difference {listed} is listed, and there is none",
                    script.name
                );
            }
            (None, false) => {
                let _ = writeln!(
                    self.wrong,
                    "\n=== {}: kubectl {line}\n--- kube-apiserver\n{}+++ deltic\n{}",
                    script.name,
                    shown(expected),
                    shown(found)
                );
            }
        }
    }

    fn check(&self, complete: bool) {
        let number = self.wrong.matches("\n=== ").count();
        assert!(number == 0, "{number} commands differ\n{}", self.wrong);
        if complete {
            assert!(self.time < MOST_TIME, "the commands took {:?}", self.time);
            assert!(self.commands >= 200, "only {} commands", self.commands);
            assert!(self.errors >= 60, "only {} errors", self.errors);
            let listed: BTreeSet<String> = self.listed.iter().cloned().collect();
            assert!(listed.len() <= MOST_DIFFERENCES, "{listed:?}");
            assert_eq!(listed, documented(), "docs/views.md lists the differences");
        }
    }
}

fn shown(outcome: &Outcome) -> String {
    let code = outcome
        .code
        .map_or("a signal".to_owned(), |code| code.to_string());
    format!("{}{}exit code {code}\n", outcome.stdout, outcome.stderr)
}

/// The differences in the table of the documentation, by their first words.
fn documented() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/views.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("## Differences from custom resources").nth(1);
    let section = section.unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let ids = rows.filter_map(|row| row.split(" |").next());
    let ids = ids.filter(|id| !id.starts_with("---") && *id != "difference");
    ids.map(str::to_owned).collect()
}
