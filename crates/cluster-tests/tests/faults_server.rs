//! Faults between deltic and the cluster: servers that restart, a compacted history, a network that
//! is cut or hangs. deltic goes on in the same process; the final state equals the output of
//! `deltic render`, and bystanders are unchanged.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::BTreeSet;

use cluster_tests::{
    AuditTail, Bystanders, Copies, Installed, Network, Process, await_true, copy_name, metric,
    stop_deltic,
};
use serde_json::json;

const OBJECTS: usize = 1000;

/// Options with short pauses, so that tests need not wait long.
fn soon() -> serde_json::Value {
    json!({"retry": {"initial": "100ms", "max": "2s"}})
}

/// Panics if the process has ended.
fn assert_runs(process: &mut Process) {
    assert!(process.ended().is_none(), "{}", process.log_end());
}

/// The number of writes that were answered with this code; 0: without an answer.
fn writes(process: &Process, copies: &Copies, code: u16) -> f64 {
    let of_operator = format!("operator=\"{}\"", copies.operator);
    let code = format!("code=\"{code}\"");
    let all = cluster_tests::metrics(process);
    let lines = all.lines().filter(|line| {
        line.starts_with("deltic_writes_total{")
            && line.contains(&of_operator)
            && line.contains(&code)
    });
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[test]
fn servers_that_restart_are_waited_for() {
    let mut installed = Installed::shared();
    let (copies, bystanders) = Copies::install(&installed, "restart", &soon());
    installed
        .cluster
        .apply_many(&copies.sources(0..OBJECTS, "one"));
    let mut audit = installed.cluster.audit_tail();
    let mut process = installed.deltic();
    let mut written = audit.await_writes(&copies.namespace, 200);
    installed.cluster.kill_api_server();
    written.extend(audit.read());
    let done = written
        .iter()
        .filter(|entry| entry.is_deltic_in(&copies.namespace));
    assert!(done.count() < OBJECTS, "it was killed too late");
    await_true("no write failed", || writes(&process, &copies, 0) > 0.0);
    assert_runs(&mut process);
    installed.cluster.start_api_server();
    // While deltic reconnects.
    installed.cluster.delete_many(&copies.sources(0..100, ""));
    installed
        .cluster
        .apply_many(&copies.sources(900..1100, "two"));
    copies.converge(&installed);

    // The same for etcd.
    let mut audit = installed.cluster.audit_tail();
    installed
        .cluster
        .apply_many(&copies.sources(100..1100, "three"));
    audit.await_writes(&copies.namespace, 100);
    installed.cluster.restart_etcd();
    installed
        .cluster
        .apply_many(&copies.sources(500..600, "four"));
    copies.converge(&installed);
    assert_runs(&mut process);
    bystanders.assert_untouched();
    stop_deltic(process);
}

/// The copies that were written.
fn written(audit: &mut AuditTail, copies: &Copies) -> BTreeSet<String> {
    let entries = audit.read().into_iter();
    let ours = entries.filter(|entry| entry.is_deltic_in(&copies.namespace));
    // The log has no name for a create.
    ours.map(|entry| entry.name).collect()
}

/// An Operator that may not delete anything after a list, with its objects.
fn careful(installed: &Installed) -> (Copies, Bystanders) {
    let mut options = soon();
    options["maxDeletions"] = json!(0);
    let (copies, bystanders) = Copies::install(installed, "careful", &options);
    installed.cluster.apply_many(&copies.sources(0..20, "one"));
    (copies, bystanders)
}

#[test]
fn an_expired_watch_costs_one_list_and_no_write() {
    let mut installed = Installed::shared();
    let (careful, its_bystanders) = careful(&installed);
    let (copies, bystanders) = Copies::install(&installed, "forgotten", &soon());
    let proxy = installed.cluster.proxy();
    installed.cluster.apply_many(&copies.sources(0..300, "one"));
    let mut process = installed.deltic_through(&proxy, &[]);
    copies.converge(&installed);
    await_true("the careful one copies", || {
        careful.live(&installed).len() == 20
    });
    let before = careful.live(&installed);
    let expired = |process: &Process| metric(process, "deltic_lists_total", "reason=\"expired\"");
    assert!(expired(&process) == 0.0);

    // deltic receives nothing while sources change and the history is compacted.
    proxy.set(Network::Cut);
    installed.cluster.apply_many(&copies.sources(0..10, "two"));
    installed.cluster.delete_many(&copies.sources(10..15, ""));
    installed
        .cluster
        .apply_many(&copies.sources(300..305, "new"));
    installed.cluster.delete_many(&careful.sources(0..10, ""));
    installed
        .cluster
        .apply_many(&careful.sources(20..21, "new"));
    installed.cluster.compact();
    installed.cluster.restart_api_server();
    let mut audit = installed.cluster.audit_tail();
    proxy.set(Network::Up);
    await_true("no watch has expired", || expired(&process) > 0.0);
    copies.converge(&installed);
    let changed: BTreeSet<String> = (0..15).map(copy_name).chain([String::new()]).collect();
    let created: BTreeSet<String> = (300..305).map(copy_name).collect();
    let written = written(&mut audit, &copies);
    let known = |name: &String| changed.contains(name) || created.contains(name);
    assert!(written.iter().all(known), "{written:?}");
    assert!(written.len() >= 15, "{written:?}");

    // All that was missing from the list is held, and what is new is written.
    let message = installed.await_reason("careful", "ReconciliationFailed");
    assert!(message.contains("deletion-held"), "{message}");
    await_true("all ten are held", || {
        installed.controller("careful", "copy")["counts"]["held"] == 10
    });
    await_true("the new one is copied", || {
        careful.live(&installed).len() == 21
    });
    let after = careful.live(&installed);
    assert!(before.iter().all(|copy| after.contains(copy)), "{after:?}");
    assert_runs(&mut process);
    bystanders.assert_untouched();
    its_bystanders.assert_untouched();
    stop_deltic(process);
}

#[test]
fn a_network_that_is_cut_or_hangs_is_waited_for() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "network", &soon());
    let proxy = cluster.proxy();
    cluster.apply_many(&copies.sources(0..OBJECTS, "one"));
    let mut audit = cluster.audit_tail();
    let mut process = installed.deltic_through(&proxy, &[]);
    audit.await_writes(&copies.namespace, 100);
    proxy.set(Network::Cut);
    await_true("no write failed", || writes(&process, &copies, 0) > 0.0);
    assert!(
        copies.difference(&installed).is_some(),
        "it was cut too late"
    );
    cluster.apply_many(&copies.sources(0..100, "two"));
    cluster.delete_many(&copies.sources(100..200, ""));
    let before = proxy.connections();
    proxy.set(Network::Up);
    copies.converge(&installed);
    assert!(proxy.connections() > before);

    // Only timeouts detect a network that drops everything.
    let mut audit = cluster.audit_tail();
    let lost = writes(&process, &copies, 0);
    cluster.apply_many(&copies.sources(200..OBJECTS, "three"));
    audit.await_writes(&copies.namespace, 100);
    proxy.set(Network::Hangs);
    await_true("no write timed out", || writes(&process, &copies, 0) > lost);
    assert!(copies.difference(&installed).is_some(), "it hung too late");
    cluster.apply_many(&copies.sources(0..100, "four"));
    cluster.delete_many(&copies.sources(500..600, ""));
    proxy.set(Network::Up);
    copies.converge(&installed);
    assert_runs(&mut process);
    bystanders.assert_untouched();
    stop_deltic(process);
}
