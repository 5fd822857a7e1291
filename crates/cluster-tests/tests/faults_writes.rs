//! Faults of single writes: someone else writes the same object, a policy refuses some objects, a
//! kind is not served for a while. Everything else is written, failures are in the status, the
//! final state equals the output of `deltic render`, and bystanders are unchanged.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cluster_tests::{
    AuditEntry, Bystanders, Cluster, Copies, Installed, Network, await_true, copy_name, stop_deltic,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

/// The status of the only controller.
fn status(installed: &Installed, operator: &str) -> Value {
    let operator = installed
        .cluster
        .get(&["operators.dcontroller.io", operator]);
    operator["status"]["controllers"][0].clone()
}

fn errors(installed: &Installed, operator: &str) -> Vec<String> {
    let status = status(installed, operator);
    let errors = status["lastErrors"].as_array().cloned().unwrap_or_default();
    let errors = errors.iter().filter_map(|error| error.as_str());
    errors.map(str::to_owned).collect()
}

/// Writes an object as fast as it can until it is dropped.
struct Fighter {
    stop: Arc<AtomicBool>,
    writes: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Fighter {
    fn start(cluster: &Cluster, namespace: &str, name: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let writes = Arc::new(AtomicUsize::new(0));
        let (stopped, counted) = (stop.clone(), writes.clone());
        let config = cluster.admin().config();
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let client = kube::Client::try_from(config).unwrap();
                let configs: Api<ConfigMap> = Api::namespaced(client, &namespace);
                let params = PatchParams {
                    field_manager: Some("fighter".to_owned()),
                    ..PatchParams::default()
                };
                let fight = || async {
                    while !stopped.load(Ordering::SeqCst) {
                        let number = counted.fetch_add(1, Ordering::SeqCst);
                        let patch = json!({"data": {"k": format!("mine {number}")}});
                        let patch = Patch::Merge(patch);
                        let patched = configs.patch(&name, &params, &patch);
                        patched.await.unwrap();
                    }
                };
                futures::join!(fight(), fight(), fight(), fight());
            });
        });
        Self {
            stop,
            writes,
            thread: Some(thread),
        }
    }

    fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }
}

impl Drop for Fighter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let joined = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(
            joined.is_none_or(|joined| joined.is_ok()),
            "the fighter failed"
        );
    }
}

/// How long deltic takes to write the copies of changed sources.
fn derive(installed: &Installed, copies: &Copies, value: &str) -> Duration {
    let mut audit = installed.cluster.audit_tail();
    let start = Instant::now();
    installed.cluster.apply_many(&copies.sources(1..301, value));
    let fought = copy_name(0);
    let mut done = 0;
    await_true("others wait for the fight", || {
        let entries = audit.read().into_iter();
        let ours = entries.filter(|entry| entry.is_deltic_in(&copies.namespace));
        done += ours
            .filter(|entry| entry.name != fought && entry.code < 300)
            .count();
        done >= 300
    });
    start.elapsed()
}

#[test]
fn a_fight_over_one_object_costs_little_and_delays_no_other() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "fought", &json!({}));
    cluster.apply_many(&copies.sources(0..301, "one"));
    let process = installed.deltic();
    copies.converge(&installed);
    let in_peace = derive(&installed, &copies, "two");

    let mut audit = cluster.audit_tail();
    let fighter = Fighter::start(cluster, &copies.namespace, &copy_name(0));
    let start = Instant::now();
    await_true("the fight is not reported", || {
        errors(&installed, &copies.operator).iter().any(|error| {
            error.contains("fighting") && error.contains("fighter") && error.contains("data.k")
        })
    });
    let at_war = derive(&installed, &copies, "three");
    // The fighter uses a large part of two processors, so twice the time counts as equally fast.
    let limit = 3 * in_peace + Duration::from_secs(2);
    assert!(at_war < limit, "{at_war:?}, {in_peace:?} without a fight");
    await_true("the fight is too short", || {
        start.elapsed() > Duration::from_secs(10)
    });
    let fought = fighter.writes();
    drop(fighter);
    let seconds = start.elapsed().as_secs();
    let ours = |entry: &AuditEntry| entry.is_deltic_in(&copies.namespace);
    let on_it = audit.read().into_iter();
    let on_it = on_it.filter(|entry| ours(entry) && entry.name == copy_name(0));
    let on_it: Vec<_> = on_it.map(|entry| (entry.verb, entry.code)).collect();
    assert!(fought > 100, "{fought} writes are no fight");
    // Three writes at once, then after 1, 2, 4, 8 s, each with a few attempts.
    assert!(
        (3..60).contains(&on_it.len()),
        "{} writes against {fought} in {seconds} s: {on_it:?}",
        on_it.len()
    );
    let events = cluster.get(&["events", "-n", "default"]);
    let events = events["items"].as_array().unwrap().iter();
    let mut about =
        events.filter(|event| event["involvedObject"]["name"] == copies.operator.as_str());
    assert!(about.any(|event| event["reason"] == "Fighting"), "no Event");

    copies.converge(&installed);
    bystanders.assert_untouched();
    stop_deltic(process);
}

/// A policy that refuses `ConfigMap`s of a namespace whose number ends with 7.
fn policy(namespace: &str) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "no-sevens"},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                    "operations": ["CREATE", "UPDATE"]
                }]},
                "validations": [{
                    "expression": "!object.metadata.name.endsWith('7-copy')",
                    "message": "sevens are not wanted"
                }]
            }
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "no-sevens"},
            "spec": {
                "policyName": "no-sevens", "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": namespace}
                }}
            }
        }
    ]})
    .to_string()
}

#[test]
fn objects_that_a_policy_refuses_are_reported_and_the_others_are_written() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let retry = json!({"retry": {"initial": "500ms", "max": "1s"}});
    let (copies, bystanders) = Copies::install(&installed, "refused", &retry);
    cluster.apply(&policy(&copies.namespace));
    let probe = [
        "create",
        "configmap",
        "x7-copy",
        "-n",
        &copies.namespace,
        "--dry-run=server",
    ];
    await_true("the policy is not in force", || {
        let denied = cluster.try_kubectl(&probe, "");
        denied.is_err_and(|failed| failed.stderr.contains("sevens are not wanted"))
    });
    cluster.apply_many(&copies.sources(0..200, "one"));
    let mut audit = cluster.audit_tail();
    let process = installed.deltic();
    await_true("the others are not written", || {
        copies.live(&installed).len() == 180
    });
    await_true("the refusals are not reported", || {
        let status = status(&installed, &copies.operator);
        let told = errors(&installed, &copies.operator);
        let all = told
            .iter()
            .all(|error| error.contains("sevens are not wanted"));
        status["counts"]["errors"] == 20 && told.len() == 10 && all
    });
    let refused = audit.read().into_iter();
    let refused =
        refused.filter(|entry| entry.is_deltic_in(&copies.namespace) && entry.code >= 400);
    assert!(refused.count() >= 20);
    assert!(copies.difference(&installed).is_some());

    cluster.kubectl(&[
        "delete",
        "validatingadmissionpolicybinding,validatingadmissionpolicy",
        "no-sevens",
    ]);
    copies.converge(&installed);
    await_true("the errors stay in the status", || {
        errors(&installed, &copies.operator).is_empty()
    });
    bystanders.assert_untouched();
    stop_deltic(process);
}

const GROUP: &str = "kinds.deltic.dev";

fn definition(kind: &str) -> Value {
    let name = kind.to_lowercase();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{name}s.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "plural": format!("{name}s"), "singular": name},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true
                }}
            }]
        }
    })
}

/// An Operator that derives `ConfigMap`s from Widgets and Gadgets from `ConfigMap`s.
fn kinds_operator(namespace: &str) -> String {
    let project = |data: &str| {
        json!([{"@project": {
            "metadata": {
                "name": {"@concat": ["$.metadata.name", "-copy"]}, "namespace": "$.metadata.namespace"
            },
            (data): "$.data"
        }}])
    };
    json!({
        "apiVersion": "dcontroller.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "kinds"},
        "spec": {"controllers": [
            {
                "name": "widgets",
                "sources": [{"apiGroup": GROUP, "kind": "Widget", "namespace": namespace}],
                "pipeline": project("data"),
                "target": {"apiGroup": "", "kind": "ConfigMap"}
            },
            {
                "name": "gadgets",
                "sources": [{
                    "apiGroup": "", "kind": "ConfigMap", "namespace": namespace,
                    "labelSelector": {"matchLabels": {"role": "source"}}
                }],
                "pipeline": project("spec"),
                "target": {"apiGroup": GROUP, "kind": "Gadget"}
            }
        ]}
    })
    .to_string()
}

/// The test of kinds that are removed.
struct Kinds<'a> {
    installed: &'a Installed,
    namespace: String,
    bystanders: Bystanders,
}

impl<'a> Kinds<'a> {
    fn install(installed: &'a Installed) -> Self {
        let cluster = &installed.cluster;
        let namespace = cluster.namespace("kinds");
        for kind in ["Widget", "Gadget"] {
            define(cluster, kind);
        }
        installed.install(&kinds_operator(&namespace));
        let like = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "w1-copy", "namespace": namespace}, "data": {"k": "v"}
        });
        let bystanders = cluster.bystanders("kinds", &[like], 50);
        Self {
            installed,
            namespace,
            bystanders,
        }
    }

    fn widgets(&self, numbers: std::ops::Range<usize>, value: &str) -> Vec<Value> {
        let widget = |number: usize| {
            json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "Widget",
                "metadata": {"name": format!("w{number}"), "namespace": self.namespace},
                "data": {"k": value}
            })
        };
        numbers.map(widget).collect()
    }

    fn configs(&self, numbers: std::ops::Range<usize>, value: &str) -> Vec<Value> {
        let copies = Copies {
            operator: "kinds".to_owned(),
            namespace: self.namespace.clone(),
        };
        copies.sources(numbers, value)
    }

    fn converge(&self) {
        let (widgets, gadgets) = (format!("widgets.{GROUP}"), format!("gadgets.{GROUP}"));
        let sources = ["configmaps", widgets.as_str()];
        self.installed.converge(&sources, "configmaps", "ConfigMap");
        self.installed.converge(&sources, &gadgets, "Gadget");
    }

    /// The uids of the derived `ConfigMap`s.
    fn derived(&self) -> BTreeMap<String, String> {
        let label = "dcontroller.io/operator=kinds";
        let list = self
            .installed
            .cluster
            .get(&["configmaps", "-n", &self.namespace, "-l", label]);
        let items = list["items"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let uids = items.map(|item| {
            (
                text(&item["metadata"]["name"]),
                text(&item["metadata"]["uid"]),
            )
        });
        uids.filter(|(name, _)| name.ends_with("-copy")).collect()
    }

    fn gadgets(&self) -> usize {
        let list =
            self.installed
                .cluster
                .get(&[&format!("gadgets.{GROUP}"), "-n", &self.namespace]);
        list["items"].as_array().unwrap().len()
    }

    /// Why a controller is not ready.
    fn complaint(&self, controller: usize) -> String {
        let operator = self
            .installed
            .cluster
            .get(&["operators.dcontroller.io", "kinds"]);
        let controller = &operator["status"]["controllers"][controller];
        let ready = &controller["conditions"][0];
        format!(
            "{} {} {}",
            ready["reason"], ready["message"], controller["lastErrors"]
        )
    }
}

fn define(cluster: &Cluster, kind: &str) {
    cluster.apply(&definition(kind).to_string());
    let name = format!("crd/{}s.{GROUP}", kind.to_lowercase());
    cluster.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        &name,
    ]);
    let resource = format!("{}s.{GROUP}", kind.to_lowercase());
    await_true("the kind is not served", || {
        cluster.try_kubectl(&["get", "-A", &resource], "").is_ok()
    });
}

fn undefine(cluster: &Cluster, kind: &str) {
    let name = format!("{}s.{GROUP}", kind.to_lowercase());
    cluster.kubectl(&["delete", "crd", &name, "--wait=true"]);
}

#[test]
fn a_kind_that_is_removed_and_added_again_loses_nothing() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let kinds = Kinds::install(&installed);
    cluster.apply_many(&kinds.widgets(0..50, "one"));
    cluster.apply_many(&kinds.configs(0..50, "one"));
    let proxy = cluster.proxy();
    let process = installed.deltic_through(&proxy, &[]);
    kinds.converge();
    let derived = kinds.derived();
    assert_eq!(derived.len(), 50);

    // The source's kind is removed without events of its objects' deletion.
    let mut audit = cluster.audit_tail();
    proxy.set(Network::Cut);
    undefine(cluster, "Widget");
    proxy.set(Network::Up);
    await_true("the missing kind is not reported", || {
        kinds.complaint(0).contains("NotReady") && kinds.complaint(0).contains("Widget")
    });
    // The other controller goes on.
    cluster.apply_many(&kinds.configs(50..60, "one"));
    await_true("the other controller waits", || kinds.gadgets() == 60);
    assert_eq!(kinds.derived(), derived);
    proxy.set(Network::Cut);
    define(cluster, "Widget");
    cluster.apply_many(&kinds.widgets(5..55, "two"));
    proxy.set(Network::Up);
    kinds.converge();
    let after = kinds.derived();
    let stayed = |name: &String| (5..50).any(|number| *name == format!("w{number}-copy"));
    for (name, uid) in derived.iter().filter(|(name, _)| stayed(name)) {
        assert_eq!(after.get(name), Some(uid), "{name} is another one");
    }
    let deletes = audit.read().into_iter();
    let deletes =
        deletes.filter(|entry| entry.is_deltic_in(&kinds.namespace) && entry.verb == "delete");
    let deletes: Vec<_> = deletes.map(|entry| entry.name).collect();
    assert_eq!(deletes.len(), 5, "{deletes:?}");

    // The target's kind is removed with all its objects, and added again.
    undefine(cluster, "Gadget");
    cluster.apply_many(&kinds.configs(0..20, "two"));
    await_true("the missing kind is not reported", || {
        kinds.complaint(1).contains("waiting for the kind")
    });
    define(cluster, "Gadget");
    kinds.converge();
    // The same without a pause.
    undefine(cluster, "Gadget");
    define(cluster, "Gadget");
    kinds.converge();

    // The source's kind is removed while deltic watches: its objects are deleted, and with them the
    // objects that are derived from them.
    undefine(cluster, "Widget");
    await_true("deleted objects leave something behind", || {
        kinds.derived().is_empty()
    });
    define(cluster, "Widget");
    cluster.apply_many(&kinds.widgets(0..50, "three"));
    kinds.converge();
    assert_eq!(kinds.derived().len(), 50);
    kinds.bystanders.assert_untouched();
    stop_deltic(process);
}
