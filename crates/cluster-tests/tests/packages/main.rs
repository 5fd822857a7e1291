//! The Helm chart and the plain manifests, with `helm` and a real control plane.
//!
//! There is no kubelet, so no pod runs. The pods that Kubernetes makes of the chart are run by
//! [`pod`]: with their arguments, environment, token and restrictions, but as a process of this
//! machine.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod chart;
mod pages;
mod pod;

use std::process::Command;

use chart::{Chart, objects, render};
use cluster_tests::{
    Cluster, Options, Process, await_some, await_true, deltic, get_health, metric, root,
    run_deltic, stop_deltic,
};
use document::Value as Document;
use operator::spec::ServiceAccount;
use process::rbac;
use serde_json::{Value, json};

const NAMESPACE: &str = "deltic-system";

/// Values that turn on everything that needs no other settings.
const EVERYTHING: &str = r#"
replicas: 3
image: {repository: registry.example.com/deltic, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
imagePullSecrets: [{name: pull}]
serviceAccount: {name: robot, annotations: {a: b}}
rbac:
  rules: [{apiGroups: [""], resources: [pods], verbs: [list, watch]}]
  clusterRoles: [view, edit]
operators: {selector: "team in (a, b)", namespace: team, requireServiceAccount: true, allowTargets: ["apps/*"], denyTargets: [/Secret]}
views: {serve: true, aggregate: true}
leaderElection: {leaseName: mine}
logLevel: info,kube=debug
extraArgs: [--max-documents=5, --grace-period=20]
extraEnv: [{name: OTEL_SDK_DISABLED, value: "true"}]
podLabels: {team: a}
podAnnotations: {note: "1"}
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{operator: Exists}]
affinity: {nodeAffinity: {}}
topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: other}}}]
podDisruptionBudget: {maxUnavailable: 50%}
metrics:
  service: {annotations: {a: b}}
  serviceMonitor: {enabled: true, labels: {release: prometheus}}
  prometheusRule: {enabled: true}
  dashboard: {enabled: true, annotations: {folder: x}}
"#;
const NOTHING: &str = "
replicas: 1
crds: {install: false}
serviceAccount: {create: false}
rbac: {create: false}
topologySpreadConstraints: []
podDisruptionBudget: {enabled: false}
metrics: {service: {enabled: false}}
";

#[test]
fn the_chart_passes_the_linter() {
    let chart = Chart::new();
    for values in ["", EVERYTHING, NOTHING] {
        let output = chart.helm(&["lint", "--strict"], values);
        assert!(output.contains("0 chart(s) failed"), "{output}");
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let chart = Chart::new();
    for (values, expect) in [
        ("replicas: two", "replicas"),
        ("replica: 2", "replica"),
        ("image: {digest: latest}", "digest"),
        ("operators: {denyTargets: [Secret]}", "denyTargets"),
        ("rbac: {rules: [{resources: [pods]}]}", "verbs"),
        ("metrics: {serviceMonitor: {interval: often}}", "interval"),
    ] {
        let error = chart.try_helm(&["template"], values).expect_err(values);
        assert!(error.contains(expect), "{values}: {error}");
    }
}

/// The roles among objects, without what names the chart.
fn roles(objects: &[Value]) -> Vec<Value> {
    let roles = objects.iter().filter(|object| {
        let kind = object["kind"].as_str().unwrap_or_default();
        kind.contains("Role") && !kind.starts_with("Custom")
    });
    let mut roles: Vec<Value> = roles.cloned().collect();
    for role in &mut roles {
        role["metadata"].as_object_mut().unwrap().remove("labels");
    }
    // `deltic rbac` prints each role with its binding, in the order of namespaces.
    roles.sort_by_key(|role| {
        let metadata = &role["metadata"];
        (metadata["namespace"].to_string(), role["kind"].to_string())
    });
    roles
}

#[test]
fn the_roles_of_the_chart_are_those_that_deltic_needs() {
    let chart = Chart::new();
    let account = ServiceAccount {
        namespace: NAMESPACE.to_owned(),
        name: "deltic".to_owned(),
    };
    for (serve, aggregate) in [(false, false), (true, false), (false, true), (true, true)] {
        let options = rbac::Options {
            account: Some(&account),
            serve,
            aggregate: aggregate.then_some(None),
            ..rbac::Options::default()
        };
        let needed = rbac::base("deltic", &options);
        let needed: Vec<Value> = needed
            .iter()
            .map(|role: &Document| serde_json::from_str(&role.to_string()).unwrap())
            .collect();
        let values = format!("views: {{serve: {serve}, aggregate: {aggregate}}}");
        let printed = objects(&chart.template(&values));
        assert_eq!(roles(&printed), roles(&needed), "{values}");
    }
}

#[test]
fn the_plain_manifests_are_those_of_the_chart() {
    let chart = Chart::new();
    for (file, values, flags) in [
        ("deploy/deltic.yaml", "", &[][..]),
        (
            "deploy/deltic-views.yaml",
            "views: {aggregate: true}",
            &["--aggregate"][..],
        ),
    ] {
        let rendered = render(&chart.template(values));
        let path = root().join(file);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &rendered).unwrap();
            continue;
        }
        let stored = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            stored, rendered,
            "{file} is out of date; UPDATE=1 rewrites it"
        );
        let args = [&["install", "--manifests"], flags].concat();
        let (definitions, others): (Vec<Value>, Vec<Value>) = objects(&run_deltic(&args))
            .into_iter()
            .partition(chart::defines_operators);
        assert_eq!(others, objects(&rendered));
        let of_chart = objects(&chart.template(values)).into_iter();
        let of_chart: Vec<Value> = of_chart.filter(chart::defines_operators).collect();
        assert_eq!(definitions[0]["spec"], of_chart[0]["spec"]);
    }
}

#[test]
fn the_server_accepts_the_chart() {
    let cluster = Cluster::shared();
    let chart = Chart::new();
    for kind in ["ServiceMonitor", "PrometheusRule"] {
        cluster.apply(&chart::monitoring_definition(kind));
    }
    let names = ["servicemonitors", "prometheusrules"]
        .map(|name| format!("crd/{name}.monitoring.coreos.com"));
    let established = ["--for=condition=Established", "--timeout=60s"];
    cluster.kubectl(&[&["wait", &names[0], &names[1]], &established[..]].concat());
    let namespace = cluster.namespace("accepted");
    for values in ["", EVERYTHING, NOTHING, "views: {serve: true}"] {
        let yaml = chart.template_in(&namespace, values);
        let dry = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
            "-f",
            "-",
        ];
        let applied = cluster.try_kubectl(&dry, &yaml);
        let applied = applied.unwrap_or_else(|failed| panic!("{values}: {}", failed.stderr));
        assert!(applied.contains("deployment.apps/"), "{applied}");
        arguments_are_known(&objects(&yaml));
    }
}

/// deltic knows the arguments of the Deployment: it fails because there is no cluster.
fn arguments_are_known(objects: &[Value]) {
    let deployment = objects.iter().find(|it| it["kind"] == "Deployment");
    let container = &deployment.unwrap()["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().unwrap().iter();
    let args = args.map(|arg| arg.as_str().unwrap().replace("$(POD_NAMESPACE)", NAMESPACE));
    let run = Command::new(deltic())
        .args(args)
        .args(["--kubeconfig", "/nowhere/kubeconfig"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(error.contains("cannot use the kubeconfig"), "{error}");
}

/// Installs the plain manifests, and waits for the pods that Kubernetes makes of them. The namespace
/// admits only pods of the restricted profile.
fn installed() -> (Cluster, Vec<Value>) {
    let options = Options {
        audit: true,
        ..Options::default()
    };
    let cluster = Cluster::start(&options);
    cluster.apply(&run_deltic(&["install", "--manifests"]));
    let pods = await_some("Kubernetes creates two pods", || {
        let pods = cluster.get(&["pods", "-n", NAMESPACE]);
        let pods = pods["items"].as_array()?.clone();
        (pods.len() == 2).then_some(pods)
    });
    (cluster, pods)
}

const EXAMPLE: &str = "examples/config-fan-out";

fn ready(cluster: &Cluster) -> Value {
    let dop = cluster.get(&["dop", "config-fan-out"]);
    let conditions = dop["status"]["conditions"].as_array().cloned();
    let mut conditions = conditions.unwrap_or_default().into_iter();
    conditions
        .find(|it| it["type"] == "Ready")
        .unwrap_or_default()
}

fn leads(replica: &Process) -> bool {
    metric(replica, "leader_election_master_status", "") > 0.5
}

#[test]
fn the_pods_run_an_operator_with_the_least_permissions() {
    let (cluster, pods) = installed();
    let replicas = [
        pod::start(&cluster, &pods[0]),
        pod::start(&cluster, &pods[1]),
    ];
    for replica in &replicas {
        await_true("the replica is ready", || {
            get_health(replica, "/readyz").is_ok()
        });
        get_health(replica, "/healthz").unwrap();
    }
    let file = root().join(EXAMPLE).join("operator.yaml");
    let file = file.to_str().unwrap();
    let operator = std::fs::read_to_string(file).unwrap();
    cluster.apply(&operator);
    // The account may do nothing about objects yet, and the status says so.
    await_true("the status names a permission that is missing", || {
        let message = ready(&cluster)["message"].to_string();
        message.contains("list") && message.contains("configmaps")
    });
    let rights = [
        "rbac",
        "-f",
        file,
        "--service-account",
        "deltic-system/deltic",
    ];
    cluster.apply(&run_deltic(&rights));
    let objects = std::fs::read_to_string(root().join(EXAMPLE).join("objects.yaml")).unwrap();
    cluster.kubectl(&["create", "namespace", "platform"]);
    cluster.apply(&objects);
    await_true("the Operator is ready", || {
        ready(&cluster)["status"] == "True"
    });
    let copied = [
        "get",
        "configmaps",
        "-A",
        "-o",
        "name",
        "-l",
        "example.com/copied-from=platform",
    ];
    let copies = cluster.kubectl(&copied).lines().count();
    assert!(copies >= 2, "{copies}");

    // One of the replicas leads. The other one takes over.
    assert_eq!(replicas.iter().filter(|replica| leads(replica)).count(), 1);
    let [first, second] = replicas;
    let (leader, standby) = if leads(&first) {
        (first, second)
    } else {
        (second, first)
    };
    stop_deltic(leader);
    await_true("the other replica leads", || leads(&standby));
    cluster.kubectl(&[
        "delete",
        "configmaps",
        "-A",
        "-l",
        "example.com/copied-from=platform",
    ]);
    await_true("the copies are back", || {
        cluster.kubectl(&copied).lines().count() == copies
    });
    stop_deltic(standby);
}

#[test]
fn helm_installs_and_uninstalls_without_deleting_operators() {
    let cluster = Cluster::shared();
    let chart = Chart::new();
    let admin = cluster.kubeconfig();
    let namespace = cluster.namespace("release");
    let of = [
        "--kubeconfig",
        admin.to_str().unwrap(),
        "--namespace",
        &namespace,
    ];
    let notes = chart.helm(
        &[&["install", "deltic"], &of[..]].concat(),
        "views: {aggregate: true}",
    );
    let account = format!("--service-account {namespace}/deltic");
    assert!(
        notes.contains(&account) && notes.contains("--aggregate-service"),
        "{notes}"
    );
    cluster.kubectl(&["get", "-n", &namespace, "service", "deltic-views"]);
    let upgraded = chart.helm(&[&["upgrade", "deltic"], &of[..]].concat(), "replicas: 1");
    assert!(upgraded.contains("REVISION: 2"), "{upgraded}");
    let operator = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "stays"},
        "spec": {"controllers": [{
            "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "target": {"kind": "V"}
        }]}
    });
    cluster.apply(&operator.to_string());
    chart.run(&[&["uninstall", "deltic"], &of[..]].concat());
    cluster.kubectl(&["get", "dop", "stays"]);
    let left = cluster.try_kubectl(&["get", "-n", &namespace, "deployment", "deltic"], "");
    assert!(left.is_err());
}

#[test]
fn the_commands_of_the_pages_work() {
    let cluster = Cluster::start(&Options::default());
    let terminal = pages::Terminal::new(&cluster);
    pages::quick_start(&terminal);
    let lines = pages::lines("docs/deploy.md");
    let helm = lines.iter().find(|line| line.starts_with("helm install"));
    terminal.succeeds(helm.expect("the page installs the chart"));
    terminal.succeeds("kubectl get deployment deltic -n deltic-system");
    terminal.succeeds("helm uninstall deltic -n deltic-system");
    let manifests = lines.iter().find(|line| line.contains("--manifests"));
    terminal.succeeds(manifests.expect("the page applies the manifests"));
    the_policy_of_the_page_refuses(&cluster);
}

/// The admission policy of the page about tenants: an account of a team may use only accounts of its
/// own namespace.
fn the_policy_of_the_page_refuses(cluster: &Cluster) {
    let page = std::fs::read_to_string(root().join("docs/tenants.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    let mut blocks = blocks.filter_map(|block| block.split_once("```").map(|(block, _)| block));
    let (operator, policy) = (blocks.next().unwrap(), blocks.next().unwrap());
    cluster.apply(policy);
    let everybody = [
        "create",
        "clusterrolebinding",
        "all",
        "--clusterrole=cluster-admin",
    ];
    cluster.kubectl(&[&everybody[..], &["--group=system:serviceaccounts"]].concat());
    let apply_as = |team: &str| {
        let user = format!("--as=system:serviceaccount:{team}:builder");
        let group = "--as-group=system:serviceaccounts";
        let dry = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
        cluster.try_kubectl(&[&dry[..], &[&user, group]].concat(), operator)
    };
    // A policy takes effect a moment after it was created.
    await_true("another team may not use the account", || {
        let refused = apply_as("team-b").err();
        refused.is_some_and(|failed| failed.stderr.contains("an account of its tenant"))
    });
    assert!(apply_as("team-a").is_ok());
}

#[test]
fn kubectl_finds_deltic_as_a_plugin() {
    let directory = Cluster::shared().directory().join("plugins");
    std::fs::create_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(deltic(), directory.join("kubectl-deltic")).unwrap();
    let kubectl = cluster_tests::Binaries::get().path("kubectl");
    let run = |args: &[&str]| {
        let path = format!("{}:/usr/bin:/bin", directory.display());
        let output = Command::new(&kubectl)
            .args(args)
            .env("PATH", path)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run(&["deltic", "version"]).starts_with("deltic "));
    let help = run(&["deltic", "check", "--help"]);
    assert!(help.contains("Usage: kubectl deltic check"), "{help}");
    assert!(
        help.contains("\n  kubectl deltic check operator.yaml"),
        "{help}"
    );
}
