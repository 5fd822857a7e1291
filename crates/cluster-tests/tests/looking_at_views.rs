//! The page `docs/views.md`, whose commands run as they are printed, and the views of the examples.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::path::{Path, PathBuf};
use std::process::Command;

use cluster_tests::{
    Aggregated, Binaries, Cluster, Options, Process, await_some, await_true, deltic, free_port,
    run_deltic, stop_deltic,
};
use serde_json::json;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks of a page in this language, without the indentation of their first line.
fn blocks(page: &str, language: &str) -> Vec<Vec<String>> {
    let (mut blocks, mut inside): (Vec<Vec<String>>, Option<usize>) = (Vec::new(), None);
    for line in page.lines() {
        let text = line.trim_start();
        match (inside, text.strip_prefix("```")) {
            (None, Some(found)) => {
                inside = Some(line.len() - text.len());
                if found == language {
                    blocks.push(Vec::new());
                } else {
                    // Its lines are of no interest.
                    inside = Some(usize::MAX);
                }
            }
            (Some(_), Some(_)) => inside = None,
            (Some(usize::MAX) | None, None) => {}
            (Some(indent), None) => {
                let line = line.get(indent..).unwrap_or_default().to_owned();
                blocks.last_mut().unwrap().push(line);
            }
        }
    }
    blocks
}

/// A user's shell, in a directory with the Operator of the page.
struct Shell<'a> {
    cluster: &'a Cluster,
    directory: PathBuf,
    /// The port that is used instead of the one on the page.
    port: u16,
}

impl Shell<'_> {
    fn command(&self, line: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let programs = [deltic(), Binaries::get().path("kubectl")];
        let programs = programs.map(|program| program.parent().unwrap().display().to_string());
        let line = line.replace("127.0.0.1:8443", &format!("127.0.0.1:{}", self.port));
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("set -euo pipefail; {line}")])
            .env("PATH", format!("{}:{path}", programs.join(":")))
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("HOME", &self.directory)
            .current_dir(&self.directory);
        command
    }

    /// Runs a command that ends. Returns its output.
    fn try_run(&self, line: &str) -> Result<String, String> {
        let output = self.command(line).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(format!("{line}: {}", text(&output.stderr)))
    }

    fn run(&self, line: &str) -> String {
        self.try_run(line).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a command that does not end.
    fn start(&self, line: &str) -> Process {
        self.cluster
            .process(&mut self.command(&format!("exec {line}")))
    }

    /// Runs the commands of a block, and checks that each shows the view. A watch is ended.
    fn looks(&self, block: &[String]) {
        for line in block {
            let expect = match line {
                line if line.contains(" explain ") => "KIND:       Health",
                line if line.contains(" can-i ") => "yes",
                line if line.contains(" wait ") => "condition met",
                line if line.contains("> views.yaml") => "",
                _ => "web",
            };
            // A watch shows what is there first.
            let (line, _) = line.split_once('#').unwrap_or((line, ""));
            if line.trim_end().ends_with(" -w") {
                let mut watch = self.start(line.trim_end());
                await_true(line, || watch.log().contains(expect));
                watch.kill();
            } else {
                let output = self.run(line);
                assert!(output.contains(expect), "{line}: {output}");
            }
        }
    }
}

/// An app with three pods that are ready.
fn shop(cluster: &Cluster) {
    cluster.kubectl(&["create", "namespace", "shop"]);
    for number in 1..=3 {
        let (name, ip) = (format!("web-{number}"), format!("10.0.0.{number}"));
        cluster.run_pod("shop", &name, &[("app", "web")], &ip, true);
    }
}

#[test]
fn the_commands_of_the_page_run_as_printed() {
    let page = read("docs/views.md");
    let [own_port, reads, cluster_reads, service, rights] =
        <[Vec<String>; 5]>::try_from(blocks(&page, "sh")).unwrap_or_else(|blocks| {
            panic!("this test runs five blocks, the page has {}", blocks.len())
        });
    let cluster = Cluster::start(&Options::default());
    cluster.apply(&run_deltic(&["crd"]));
    let directory = cluster.directory().join("user");
    std::fs::create_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(root().join("deploy"), directory.join("deploy")).unwrap();
    let operator = read("examples/pod-health/operator.yaml");
    std::fs::write(directory.join("operator.yaml"), &operator).unwrap();
    await_true("Operators can be created", || {
        let apply = ["apply", "--server-side", "-f", "-"];
        cluster.try_kubectl(&apply, &operator).is_ok()
    });
    shop(&cluster);
    let mut shell = Shell {
        cluster: &cluster,
        directory,
        port: free_port(),
    };

    // On a port of its own.
    assert_eq!(own_port.len(), 1);
    let process = shell.start(&own_port[0]);
    await_true("views are served", || {
        process.log().contains("serving views")
    });
    shell.run(&reads[0]);
    await_true("the view is complete", || shell.try_run(&reads[1]).is_ok());
    shell.looks(&reads);
    stop_deltic(process);

    // In the cluster's API.
    for line in service.iter().chain(&rights) {
        shell.run(line);
    }
    shell.port = free_port();
    let process = in_the_cluster(&shell, &page);
    await_true("the view is part of the cluster's API", || {
        shell.try_run(&cluster_reads[0]).is_ok() && shell.try_run("kubectl explain health").is_ok()
    });
    shell.looks(&cluster_reads);
    for role in blocks(&page, "yaml") {
        let role = role.join("\n");
        if role.contains("kind: Role") {
            cluster.apply(&role);
        }
    }
    let reader = "kubectl get health -n shop -o name --as=jane";
    assert!(shell.try_run(reader).is_err());
    shell.run("kubectl create rolebinding jane -n shop --role=health-reader --user=jane");
    await_true("the Role of the page lets a user read", || {
        shell.try_run(reader).is_ok()
    });
    let remove = "kubectl delete apiservice -l dcontroller.io/aggregation=views";
    assert!(page.contains(remove));
    stop_deltic(process);
    let removed = shell.run(remove);
    assert!(removed.contains("v1alpha1.pod-health.view"), "{removed}");
}

/// Starts deltic with the arguments of the container on the page. There is no network of pods here:
/// another Service leads to this machine, so that no `EndpointSlice` is needed.
fn in_the_cluster(shell: &Shell<'_>, page: &str) -> Process {
    let port = shell.port;
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "deltic-views", "namespace": "deltic-system"},
        "spec": {"type": "ExternalName", "externalName": "localhost"}
    });
    let replace = ["replace", "--force", "-f", "-"];
    let replaced = shell.cluster.try_kubectl(&replace, &service.to_string());
    replaced.unwrap_or_else(|failed| panic!("{}", failed.stderr));
    let args = page.lines().find_map(|line| {
        let args = line.trim_start().strip_prefix("args: [")?;
        args.strip_suffix(']')
    });
    let args = args.unwrap().split(", ").map(|arg| arg.trim_matches('"'));
    let args: Vec<&str> = args
        .map(|arg| if arg == ":8080" { "127.0.0.1:0" } else { arg })
        .collect();
    let account = shell.cluster.service_account("deltic-system", "deltic");
    let more = format!(
        "--kubeconfig {} --lease-namespace deltic-system --serve-addr 127.0.0.1:{port} \
         --aggregate-service deltic-system/deltic-views:{port}",
        account.kubeconfig().display()
    );
    shell.start(&format!("deltic {} {more}", args.join(" ")))
}

/// A definition of a kind that is not part of Kubernetes.
fn definition(group: &str, kind: &str, plural: &str) -> String {
    let singular = kind.to_lowercase();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "annotations": {
            "api-approved.kubernetes.io": "unapproved, for a test"
        }},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true
                }}
            }]
        }
    })
    .to_string()
}

/// The files of objects of the examples whose kinds are built in can be applied as they are.
#[test]
fn the_objects_of_the_examples_can_be_applied() {
    let cluster = Cluster::start(&Options::default());
    for namespace in ["jobs", "search", "shop", "shop-test"] {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    for example in [
        "endpoints",
        "image-policy",
        "in-place",
        "native-reconciler",
        "pod-health",
        "team-quota",
        "unready",
    ] {
        let objects = read(&format!("examples/{example}/objects.yaml"));
        let apply = ["apply", "--dry-run=server", "-f", "-"];
        let applied = cluster.try_kubectl(&apply, &objects);
        assert!(applied.is_ok(), "{example}: {applied:?}");
    }
}

/// The objects that the examples read: as in their files, but with what a cluster adds.
fn sources(cluster: &Cluster) {
    shop(cluster);
    let gateways = "gateway.networking.k8s.io";
    for (kind, plural) in [("Gateway", "gateways"), ("HTTPRoute", "httproutes")] {
        cluster.apply(&definition(gateways, kind, plural));
    }
    cluster.kubectl(&["create", "namespace", "infra"]);
    let routes = read("examples/gateway-routes/objects.yaml");
    await_some("routes can be created", || {
        let apply = ["apply", "--server-side", "-f", "-"];
        cluster.try_kubectl(&apply, &routes).ok()
    });
    let label = |resource: &str, label: &str| {
        cluster.kubectl(&["label", "-n", "shop", resource, label]);
    };
    label("namespace/shop", "team=storefront");
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]}
    });
    cluster.apply(&service.to_string());
    label("service/web", "deltic.dev/endpoints=true");
    let hard = "--hard=requests.cpu=8,requests.memory=16Gi";
    cluster.kubectl(&["create", "quota", "compute", "-n", "shop", hard]);
    let image = "--image=none";
    let deployment = [
        "create",
        "deployment",
        "web",
        "-n",
        "shop",
        image,
        "--replicas=0",
    ];
    cluster.kubectl(&deployment);
    label("deployment/web", "example.deltic.dev/credentials=wanted");
}

/// An example with views, the resources that it reads, and its views.
type Example = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const EXAMPLES: [Example; 5] = [
    ("pod-health", &["pods", "services"], &["Health"]),
    (
        "endpoints",
        &["services", "endpointslices.discovery.k8s.io"],
        &["ServicePort", "ServiceEndpoints"],
    ),
    (
        "gateway-routes",
        &[
            "gateways.gateway.networking.k8s.io",
            "httproutes.gateway.networking.k8s.io",
        ],
        &["Attachment", "Listener"],
    ),
    ("native-reconciler", &["deployments"], &["Credential"]),
    (
        "team-quota",
        &["namespaces", "resourcequotas"],
        &["TeamUsage"],
    ),
];

/// Each view of the examples, as kubectl reads it, has the objects that `deltic render` derives from
/// what kubectl reads of the sources.
#[test]
fn the_views_of_the_examples_are_read_with_kubectl() {
    let operator = |example: &str| read(&format!("examples/{example}/operator.yaml"));
    let aggregated = Aggregated::with(&operator("pod-health"));
    let cluster = aggregated.cluster();
    sources(cluster);
    let process = aggregated.start(&[]);
    for (example, sources, views) in EXAMPLES {
        let operator = operator(example);
        aggregated.install(&operator);
        let name = operator
            .lines()
            .find_map(|line| line.strip_prefix("  name: "));
        let group = format!("{}.view.dcontroller.io", name.unwrap());
        for view in views {
            let resource = format!("{}.{group}", view.to_lowercase());
            await_some(&format!("{resource} has objects"), || {
                let get = ["get", &resource, "-A", "-o", "name"];
                let names = cluster.try_kubectl(&get, "").ok()?;
                (!names.is_empty()).then_some(())
            });
            aggregated.installed.converge(sources, &resource, view);
        }
    }
    let all = cluster.kubectl(&["get", "views", "-A", "-o", "name"]);
    for (_, _, views) in EXAMPLES {
        for view in views {
            assert!(all.contains(&view.to_lowercase()), "{view}: {all}");
        }
    }
    stop_deltic(process);
}
