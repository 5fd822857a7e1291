//! kubectl on views, beside kubectl on the same objects of a custom resource: what a command
//! prints and its exit code are the same, but for the differences that the documentation lists.
//! Views are reached on deltic's own port and through the cluster's API.
//!
//! The commands are in `commands/*.yaml`. Each file runs in a namespace of its own, through all
//! doors in the same order. To add a command, add it there; it needs no expectation. To run one file
//! while you work on it: `SCRIPT=get cargo test -p cluster-tests --features cluster --test kubectl`.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod door;
mod mask;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cluster_tests::{
    Aggregated, Cluster, Served, TWIN, VIEWS, await_some, health_operator, health_twin, stop_deltic,
};
use door::{Door, Outcome};
use script::{Command, Script, Way};

/// How long the commands may take on a busy machine.
const MOST_TIME: Duration = Duration::from_mins(5);

/// The most differences that may be listed.
const MOST_DIFFERENCES: usize = 10;

#[test]
fn views_answer_kubectl_like_custom_resources() {
    // On one cluster, the view and the custom resource would have the same short name.
    let (served, (aggregated, process)) = thread::scope(|scope| {
        let aggregated = scope.spawn(|| {
            let aggregated = Aggregated::with(&health_operator());
            let process = aggregated.start(&[]);
            (aggregated, process)
        });
        let served = Served::start(&health_operator(), &health_twin());
        (served, aggregated.join().unwrap())
    });
    let (first, second) = (&served.installed.cluster, aggregated.cluster());
    let doors = Doors {
        own_port: Door::new(first, "own-port", served.kubeconfig(), VIEWS),
        cluster: Door::new(second, "cluster", second.kubeconfig(), VIEWS),
        twin: Door::new(first, "twin", first.kubeconfig(), TWIN),
    };
    for (cluster, door) in [
        (first, &doors.own_port),
        (first, &doors.twin),
        (second, &doors.cluster),
    ] {
        await_some("the resource is served, and described", || {
            let run = |args: &[&str]| cluster.kubectl_of(&door.kubeconfig, args, "").ok();
            run(&["get", &format!("health.{}", door.group), "-A"])?;
            run(&["explain", "health.phase"])
        });
    }
    doors.compare(&[first, second]);
    stop_deltic(served.process);
    stop_deltic(process);
}

/// The ways to reach the view, and the custom resource that it is compared with.
struct Doors {
    own_port: Door,
    cluster: Door,
    twin: Door,
}

impl Doors {
    /// Runs all scripts through all doors, and compares.
    fn compare(&self, clusters: &[&Cluster]) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl/commands");
        let mut scripts = Script::all(&here);
        let only = std::env::var("SCRIPT").ok();
        scripts.retain(|script| only.as_ref().is_none_or(|only| *only == script.name));
        let names = scripts.iter().map(|script| script.name.as_str());
        for cluster in clusters {
            for name in names.clone() {
                cluster.kubectl(&["create", "namespace", name]);
            }
        }
        let run = |door: &Door| -> Vec<Outcome> {
            let start = Instant::now();
            let outcomes = scripts.iter().flat_map(|script| door.run(script)).collect();
            let time = start.elapsed();
            assert!(time < MOST_TIME, "the commands took {time:?}");
            outcomes
        };
        let [own_port, cluster, twin] = thread::scope(|scope| {
            let all = [&self.own_port, &self.cluster, &self.twin];
            let running = all.map(|door| scope.spawn(|| run(door)));
            running.map(|door| door.join().unwrap())
        });
        let mut report = Report::default();
        for (way, found) in [(Way::OwnPort, own_port), (Way::Cluster, cluster)] {
            let commands = scripts
                .iter()
                .flat_map(|script| script.commands.iter().map(move |command| (script, command)));
            let outcomes = found.iter().zip(&twin);
            for ((script, command), (found, expected)) in commands.zip(outcomes) {
                report.add(way, script, command, found, expected);
            }
        }
        report.check(only.is_none());
    }
}

/// What the comparison has found.
#[derive(Debug, Default)]
struct Report {
    commands: BTreeMap<Way, usize>,
    /// The commands that fail on the custom resource.
    errors: BTreeMap<Way, usize>,
    listed: BTreeSet<String>,
    wrong: String,
}

impl Report {
    fn add(
        &mut self,
        way: Way,
        script: &Script,
        command: &Command,
        found: &Outcome,
        expected: &Outcome,
    ) {
        *self.commands.entry(way).or_default() += 1;
        *self.errors.entry(way).or_default() += usize::from(expected.code != Some(0));
        let title = format!(
            "\n=== {}, {way:?}: kubectl {}",
            script.name, command.kubectl
        );
        match (command.listed(way), found == expected) {
            (None, true) => {}
            (Some(listed), false) => {
                self.listed.insert(listed.to_owned());
            }
            (Some(listed), true) => {
                let _ = writeln!(
                    self.wrong,
                    "{title}\nthe difference {listed} is listed, and there is none"
                );
            }
            (None, false) => {
                let _ = writeln!(
                    self.wrong,
                    "{title}\n--- kube-apiserver\n{}+++ deltic\n{}",
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
            for way in [Way::OwnPort, Way::Cluster] {
                let (commands, errors) = (self.commands[&way], self.errors[&way]);
                assert!(commands >= 200, "only {commands} commands");
                assert!(errors >= 60, "only {errors} errors");
            }
            let listed = &self.listed;
            assert!(listed.len() <= MOST_DIFFERENCES, "{listed:?}");
            assert_eq!(*listed, documented(), "docs/views.md lists the differences");
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
