//! Faults of deltic itself: it is killed, loses its lease, and its Operator is edited while it
//! works. The final state equals the output of `deltic render`, and bystanders are unchanged.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use cluster_tests::{Copies, Installed, Network, Process, await_some, copy_name, stop_deltic};
use k8s_openapi::jiff::Timestamp;
use seeded::Random;
use serde_json::{Value, json};

/// How many times deltic is killed.
const KILLS: usize = 30;
const OBJECTS: usize = 1000;

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let mut random = Random::new(seeded::seed(20_261_116));
    let (copies, bystanders) = Copies::install(&installed, "killed", &json!({}));
    let mut killed_at_work = 0;
    for round in 0..KILLS {
        // While deltic does not run, a tenth of the sources is deleted, others are created again,
        // and all change.
        let first = random.below(OBJECTS);
        let (gone, there): (BTreeSet<_>, BTreeSet<_>) =
            (0..OBJECTS).partition(|number| (number + OBJECTS - first) % OBJECTS < OBJECTS / 10);
        let value = format!("v{round}");
        cluster.apply_many(&copies.sources(there.iter().copied(), &value));
        cluster.delete_many(&copies.sources(gone.iter().copied(), &value));
        let mut audit = cluster.audit_tail();
        let mut process = installed.deltic();
        audit.await_writes(&copies.namespace, random.below(there.len()));
        process.kill();
        let live = copies.live(&installed);
        let done = live
            .iter()
            .filter(|copy| copy["data"]["k"] == value.as_str());
        let done = done.count();
        let stale = live.iter().any(|copy| {
            let name = copy["metadata"]["name"].as_str().unwrap();
            gone.iter().any(|number| copy_name(*number) == name)
        });
        killed_at_work += usize::from(done > 0 && (done < there.len() || stale));
    }
    assert!(
        killed_at_work * 10 >= KILLS * 8,
        "{killed_at_work} of {KILLS} kills hit a process at work"
    );
    let process = installed.deltic();
    copies.converge(&installed);
    bystanders.assert_untouched();
    stop_deltic(process);
}

/// The flags of a process that takes part in the election. It is slow enough to be still writing
/// when it loses the lease.
const CANDIDATE: [&str; 7] = [
    "--leader-elect",
    "--lease-namespace",
    "deltic",
    "--qps",
    "30",
    "--burst",
    "10",
];

/// How long a request may take from deltic to the server.
const ON_ITS_WAY: Duration = Duration::from_millis(250);

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The time of a log line.
fn logged(process: &Process, message: &str) -> Option<String> {
    let log = process.log();
    let line = log.lines().find(|line| line.contains(message))?;
    let line: Value = serde_json::from_str(line).unwrap();
    Some(line["timestamp"].as_str().unwrap().to_owned())
}

fn await_log(process: &Process, message: &str) {
    await_some(message, || logged(process, message));
}

/// Waits until a process that lost its lease has ended.
fn lost(process: &mut Process) -> ExitStatus {
    let status = process.wait(Duration::from_secs(30));
    assert!(!status.success(), "{}", process.log_end());
    let said = process.log().contains("the lease is lost");
    assert!(said, "{}", process.log_end());
    status
}

#[test]
fn after_a_lost_lease_only_the_next_leader_writes() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "lease", &json!({}));
    let proxy = cluster.proxy();
    cluster.apply_many(&copies.sources(0..300, "one"));
    let mut audit = cluster.audit_tail();
    let mut first = installed.deltic_through(&proxy, &CANDIDATE);
    await_log(&first, "leading");
    let second = installed.deltic_with(&CANDIDATE);
    await_log(&second, "standing by");
    audit.await_writes(&copies.namespace, 40);

    // The leader cannot renew the lease and gives up before another process leads.
    proxy.set(Network::Hangs);
    lost(&mut first);
    assert!(logged(&second, "leading").is_none(), "two leaders");
    await_log(&second, "leading");
    assert!(
        copies.difference(&installed).is_some(),
        "nothing was left to do"
    );
    proxy.set(Network::Up);
    copies.converge(&installed);

    // Another process takes the lease: the leader stops while it writes.
    let mut second = second;
    let mut audit = cluster.audit_tail();
    cluster.apply_many(&copies.sources(0..300, "two"));
    audit.await_writes(&copies.namespace, 20);
    let thief = json!({"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 1}});
    let patch = ["--type=merge", "-p", &thief.to_string()];
    cluster.kubectl(&[
        "patch", "lease", "deltic", "-n", "deltic", patch[0], patch[1], patch[2],
    ]);
    let status = lost(&mut second);
    assert_eq!(status.code(), Some(1));
    let difference = copies.difference(&installed);
    assert!(difference.is_some(), "nothing was left to do");
    // Requests under way arrive, and no others.
    let lost_at = logged(&second, "lost the lease: thief holds it").unwrap();
    let last = time(&lost_at) + ON_ITS_WAY;
    let late: Vec<_> = audit
        .read()
        .into_iter()
        .filter(|entry| entry.is_deltic_in(&copies.namespace) && time(&entry.received) > last)
        .collect();
    assert!(late.is_empty(), "after {lost_at}: {late:?}");

    let third = installed.deltic_with(&["--leader-elect", "--lease-namespace", "deltic"]);
    copies.converge(&installed);
    bystanders.assert_untouched();
    stop_deltic(third);
}

/// The uid of each copy.
fn uids(copies: &Copies, installed: &Installed) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let live = copies.live(installed).into_iter();
    let uids = live.map(|copy| {
        let metadata = &copy["metadata"];
        (text(&metadata["name"]), text(&metadata["uid"]))
    });
    uids.collect()
}

#[test]
fn an_edit_keeps_objects_that_are_still_derived() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "edited", &json!({}));
    let objects = 400;
    let mut sources = copies.sources(0..objects, "one");
    for source in sources.iter_mut().step_by(4) {
        source["metadata"]["labels"]["kept"] = json!("no");
    }
    cluster.apply_many(&sources);
    let mut audit = cluster.audit_tail();
    let process = installed.deltic_with(&["--qps", "100"]);
    let mut all = audit.await_writes(&copies.namespace, 150);

    // The edit renames the controller, changes the document, and drops a quarter of the objects. A
    // second edit follows before the first is complete.
    let mut edited = copies.manifest(&json!({}));
    let controller = &mut edited["spec"]["controllers"][0];
    controller["name"] = json!("renamed");
    controller["pipeline"][0]["@project"]["data"] = json!({"k": "$.data.k", "edited": "1"});
    let select = json!({"@select": {"@not": {"@eq": ["$.metadata.labels.kept", "no"]}}});
    controller["pipeline"]
        .as_array_mut()
        .unwrap()
        .insert(0, select);
    let before = uids(&copies, &installed);
    assert!(before.len() < objects, "all was written before the edit");
    installed.install(&edited.to_string());
    all.extend(audit.await_writes(&copies.namespace, 100));
    assert!(
        copies.difference(&installed).is_some(),
        "the second edit came late"
    );
    let project = &mut edited["spec"]["controllers"][0]["pipeline"][1]["@project"];
    project["data"]["edited"] = json!("2");
    installed.install(&edited.to_string());
    copies.converge(&installed);

    let after = uids(&copies, &installed);
    let kept = |name: &str| {
        let number = name.trim_start_matches('c').trim_end_matches("-copy");
        number.parse::<usize>().unwrap() % 4 != 0
    };
    assert_eq!(after.len(), objects / 4 * 3);
    assert!(after.keys().all(|name| kept(name)));
    let stayed: Vec<_> = before.iter().filter(|(name, _)| kept(name)).collect();
    assert!(stayed.len() > 50, "too few were written before the edit");
    for (name, uid) in stayed {
        assert_eq!(after.get(name), Some(uid), "{name} is another one");
    }
    all.extend(audit.read());
    let deleted = all
        .iter()
        .filter(|entry| entry.is_deltic_in(&copies.namespace) && entry.verb == "delete");
    let deleted: Vec<_> = deleted.map(|entry| entry.name.as_str()).collect();
    assert!(!deleted.is_empty());
    assert!(!deleted.iter().any(|name| kept(name)), "{deleted:?}");
    bystanders.assert_untouched();
    let stopping = Instant::now();
    stop_deltic(process);
    assert!(stopping.elapsed() < Duration::from_secs(25));
}

/// Two processes without an election apply the same objects. Each may find what the other has just
/// created, and both know that it is theirs.
#[test]
fn what_two_processes_apply_is_deleted_with_its_source() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "applied-twice", &json!({}));
    let mut applier = copies.manifest(&json!({}));
    applier["spec"]["controllers"][0]["target"]["type"] = json!("Applier");
    installed.install(&applier.to_string());
    let processes = [installed.deltic(), installed.deltic()];
    let sources = copies.sources(0..200, "one");
    cluster.apply_many(&sources);
    copies.converge(&installed);
    let [one, two] = processes;
    stop_deltic(one);
    cluster.delete_many(&sources);
    await_some("no copy", || {
        let list = cluster.get(&["configmaps", "-n", &copies.namespace]);
        let items = list["items"].as_array().unwrap().iter();
        let mut names = items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default());
        (!names.any(|name| name.ends_with("-copy"))).then_some(())
    });
    bystanders.assert_untouched();
    stop_deltic(two);
}
