//! The commands that use a cluster, tested without one.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use document::Value;

use crate::common::{DOUBLE, Files, Run, deltic, run};

/// A kubeconfig with a server that does not answer.
pub(crate) const NOWHERE: &str = "
apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: 'https://127.0.0.1:1' } }]
users: [{ name: u, user: { token: t } }]
contexts: [{ name: nowhere, context: { cluster: c, user: u } }]
current-context: nowhere
";

/// The command in a directory with a kubeconfig, without the variables of the environment.
pub(crate) fn command(files: &Files, args: &[&str]) -> Command {
    let mut command = files.command();
    for variable in ["KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST"] {
        command.env_remove(variable);
    }
    command.env("KUBECONFIG", "kubeconfig").args(args);
    command
}

fn on_nowhere(name: &str, args: &[&str]) -> Run {
    let files = Files::new(&format!("operations-{name}"))
        .with("kubeconfig", NOWHERE)
        .with("operator.yaml", DOUBLE);
    run(&mut command(&files, args), b"")
}

#[test]
fn every_command_has_help_with_an_example() {
    for name in ["run", "crd", "rbac", "install", "uninstall", "orphans"] {
        let help = deltic(&[name, "--help"]).ended(0).stdout;
        assert!(help.contains("Example"), "{help}");
        assert!(help.contains(&format!("deltic {name}")), "{help}");
    }
}

#[test]
fn the_definition_is_printed() {
    let yaml = deltic(&["crd"]).ended(0).stdout;
    assert!(
        yaml.contains("\n  name: operators.dcontroller.io\n"),
        "{yaml}"
    );
    // Not every YAML parser supports anchors.
    assert!(!yaml.contains(": &") && !yaml.contains(": *"), "{yaml}");
    let json: Value = deltic(&["crd", "-o", "json"])
        .ended(0)
        .stdout
        .parse()
        .unwrap();
    let parsed = manifest::parse_bytes("crd", yaml.into_bytes()).unwrap();
    assert_eq!(parsed[0].value, json);
}

const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: copy }
spec:
  controllers:
  - name: copy
    sources: [{ apiGroup: "", kind: Secret, namespace: team }]
    pipeline: { "@project": { metadata: { name: $.metadata.name } } }
    target: { apiGroup: example.com, kind: Policy, type: Patcher }
"#;

#[test]
fn roles_are_printed() {
    let files = Files::new("operations-rbac").with("operator.yaml", OPERATOR);
    let args = ["rbac", "-f", "operator.yaml"];
    let plain = files.deltic(&args).ended(0).stdout;
    let kinds: Vec<_> = plain
        .lines()
        .filter(|line| line.starts_with("kind:"))
        .collect();
    assert_eq!(kinds, ["kind: ClusterRole", "kind: Role", "kind: Role"]);
    assert!(plain.contains("- policies\n"), "{plain}");
    // Targets are watched in all namespaces, whatever namespace the pipeline yields.
    let comment =
        "# Operator copy writes policies, and deltic watches what it writes in all namespaces.\n";
    assert!(plain.starts_with(comment), "{plain}");
    assert!(
        plain.contains(" with --namespace.\napiVersion: "),
        "{plain}"
    );
    let narrow = ["rbac", "-f", "operator.yaml", "--namespace", "team"];
    let narrow = files.deltic(&narrow).ended(0).stdout;
    assert!(!narrow.contains('#'), "{narrow}");
    let bound = [
        &args[..],
        &["--service-account", "system/deltic", "-o", "json"],
    ]
    .concat();
    let list: Value = files.deltic(&bound).ended(0).stdout.parse().unwrap();
    assert_eq!(list.get("kind").as_str(), Some("List"));
    let items = list.get("items").as_list().unwrap().to_vec();
    let bindings = items.iter().filter(|item| {
        item.get("kind")
            .as_str()
            .is_some_and(|kind| kind.ends_with("Binding"))
    });
    assert_eq!((items.len(), bindings.count()), (8, 4));
}

#[test]
fn without_a_cluster_nothing_runs_yet() {
    on_nowhere("embedded", &["run", "-f", "operator.yaml"])
        .ended(2)
        .mentioned(&["error[usage]", "--cluster", "not available yet"]);
}

#[test]
fn bad_arguments_are_refused() {
    for args in [
        &["run", "--cluster", "--health-addr", "8080"][..],
        &["run", "--cluster", "--qps", "-1"],
        &["run", "--cluster", "--qps", "NaN"],
        &["run", "--cluster", "--log-level", "loud"],
        &["run", "--cluster", "--allow-target", "apps/v1/Deployment"],
        &["run", "--cluster", "--grace-period", "soon"],
        &["run", "--cluster", "-f", "missing.yaml"],
        &["run", "--cluster", "--context", "other"],
        &["run", "--cluster", "--kubeconfig", "missing"],
        &["run", "--cluster", "--instance", "x"],
        &[
            "run",
            "--cluster",
            "-f",
            "operator.yaml",
            "--instance",
            "A b",
        ],
        &[
            "run",
            "--cluster",
            "-f",
            "operator.yaml",
            "--instance",
            "-a",
        ],
        &["orphans", "--yes"],
        &["orphans", "--context", "other"],
        &["rbac"],
        &["rbac", "-f", "operator.yaml", "--service-account", "deltic"],
        &["crd", "-o", "xml"],
        &["install", "--kubeconfig", "missing", "--yes"],
        &["uninstall", "--context", "other", "--yes"],
    ] {
        let run = on_nowhere("arguments", args).ended(2);
        assert_eq!(run.stdout, "", "{args:?}");
        assert_ne!(run.stderr, "", "{args:?}");
    }
}

#[test]
fn flags_about_views_that_do_not_fit_are_refused() {
    for (flags, expect) in [
        ("--aggregate-service a/b", "--aggregate"),
        ("--aggregate-address 10.0.0.1", "--aggregate"),
        (
            "--aggregate --aggregate-service b",
            "expected NAMESPACE/NAME",
        ),
        (
            "--aggregate --aggregate-address localhost",
            "invalid IP address",
        ),
        (
            "--aggregate --aggregate-ca-file ca.crt",
            "--serve-cert-file",
        ),
        (
            "--aggregate --serve-cert-file a --serve-key-file b",
            "needs --aggregate-ca-file",
        ),
        (
            "--aggregate --serve-addr 127.0.0.1:0 --serve-insecure-without-login",
            "cannot be used with",
        ),
        ("--serve-name a", "--serve-addr"),
    ] {
        let args: Vec<&str> = ["run", "--cluster"]
            .into_iter()
            .chain(flags.split(' '))
            .collect();
        let run = on_nowhere("views", &args).ended(2);
        assert!(run.stderr.contains(expect), "{flags}: {}", run.stderr);
    }
    let args = ["rbac", "-f", "operator.yaml", "--aggregate-service", "a/b"];
    on_nowhere("views", &args)
        .ended(2)
        .mentioned(&["--aggregate"]);
}

#[test]
fn the_cluster_is_printed_before_the_confirmation() {
    let named = "context: nowhere\nserver:  https://127.0.0.1:1\n";
    for command in ["install", "uninstall"] {
        // There is no terminal to ask for confirmation.
        let asked = on_nowhere("asked", &[command]);
        assert!(asked.stderr.starts_with(named), "{}", asked.stderr);
        let sent = on_nowhere("sent", &[command, "--yes"]).ended(1);
        assert!(sent.stderr.starts_with(named), "{}", sent.stderr);
        assert!(sent.stderr.contains("refused"), "{}", sent.stderr);
        assert_eq!(sent.stdout, "");
    }
    let listed = on_nowhere("orphans", &["orphans"]).ended(1);
    assert!(listed.stderr.starts_with(named), "{}", listed.stderr);
    on_nowhere("install", &["install"])
        .ended(2)
        .mentioned(&["error[usage]", "use --yes"]);
}

#[test]
fn a_kubeconfig_that_cannot_be_made_names_the_fix() {
    let refused = on_nowhere("kubeconfig", &["kubeconfig"]).ended(1);
    let refused = refused.mentioned(&[
        "error[cluster]: cannot use the Secret deltic-serving in namespace default: ",
        "refused",
        "--certificate-authority",
    ]);
    for foreign in ["--serve-cert-file", "Error", "{"] {
        assert!(!refused.stderr.contains(foreign), "{}", refused.stderr);
    }
    let named = ["kubeconfig", "--certificate-authority", "operator.yaml"];
    on_nowhere("kubeconfig", &named)
        .ended(1)
        .mentioned(&["operator.yaml has no certificate in PEM form"]);
    on_nowhere("kubeconfig", &["kubeconfig", "--context", "other"])
        .ended(2)
        .mentioned(&["cannot use the kubeconfig: it has no context other"]);
    on_nowhere("kubeconfig", &["kubeconfig", "--kubeconfig", "gone"])
        .ended(2)
        .mentioned(&["cannot use the kubeconfig: cannot read gone: No such file"]);
    let files = Files::new("operations-kubeconfig-user").with(
        "kubeconfig",
        &NOWHERE.replace("cluster: c, user: u }", "cluster: c, user: other }"),
    );
    run(&mut command(&files, &["kubeconfig"]), b"")
        .ended(2)
        .mentioned(&["cannot use the kubeconfig: its context nowhere has no user"]);
    on_nowhere("kubeconfig", &["kubeconfig", "--server", "a b"])
        .ended(2)
        .mentioned(&["expected a URL such as https://127.0.0.1:8443"]);
}

#[test]
fn what_lands_in_manifests_is_checked() {
    for image in ["", "a b", "a\nb: c", "\u{202e}gnp"] {
        deltic(&["install", "--manifests", "--image", image])
            .ended(2)
            .mentioned(&["expected an image such as registry.example/deltic:1.2"]);
    }
    for namespace in ["", "a\n", "A"] {
        deltic(&["install", "--manifests", "--namespace", namespace])
            .ended(2)
            .mentioned(&["expected lower-case letters, digits and -"]);
    }
}

/// A `deltic run` on a server that does not answer, and its log.
struct Running {
    child: Child,
    log: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

fn start(name: &str, args: &[&str]) -> Running {
    let files = Files::new(&format!("operations-{name}"))
        .with("kubeconfig", NOWHERE)
        .with("operator.yaml", DOUBLE);
    let args = [&["run", "--cluster"], args].concat();
    let mut child = command(&files, &args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap()).lines();
    Running { child, log }
}

impl Running {
    fn line(&mut self) -> Value {
        let line = self.log.next().expect("a line of the log").unwrap();
        line.parse().unwrap_or_else(|_| panic!("no JSON: {line}"))
    }
}

#[test]
fn the_cluster_is_logged_first() {
    let mut running = start("logged", &["--log-level", "error"]);
    let line = running.line();
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    assert_eq!(line.get("context").as_str(), Some("nowhere"));
    assert_eq!(line.get("server").as_str(), Some("https://127.0.0.1:1"));
}

#[test]
fn an_address_in_use_is_an_error_at_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    on_nowhere("taken", &["run", "--cluster", "--health-addr", &address])
        .ended(2)
        .mentioned(&["error[health-addr]", &address]);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_with_success() {
    for signal in ["-TERM", "-INT"] {
        let mut running = start("signal", &["--health-addr", "127.0.0.1:0"]);
        // Signal handlers are installed before the Operators are requested.
        while !running.line().to_string().contains("Operators") {}
        let id = running.child.id().to_string();
        Command::new("kill").args([signal, &id]).status().unwrap();
        assert_eq!(running.child.wait().unwrap().code(), Some(0), "{signal}");
    }
}
