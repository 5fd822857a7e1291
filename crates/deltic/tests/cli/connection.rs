//! The messages of commands that get no answer of the cluster, or only a refusal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use crate::common::{DOUBLE, Files, Run, run};
use crate::operations::{NOWHERE, command};

/// An Operator that reads a kind of the cluster.
const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: test }
spec:
  controllers:
  - name: copy
    sources: [{ apiGroup: "", kind: Pod }]
    pipeline:
    - "@project": { metadata: { name: $.metadata.name } }
    target: { kind: Copy }
"#;

/// Each command that asks the cluster, with its exit code and what it could not do.
const COMMANDS: [(&[&str], i32, &str); 9] = [
    (
        &["orphans"],
        1,
        "it is not known which Operators exist: discovery of Operator in dcontroller.io failed: ",
    ),
    (
        &["check", "--cluster", "operator.yaml"],
        1,
        "cannot list CustomResourceDefinitions: ",
    ),
    (
        &["rbac", "--discover", "-f", "operator.yaml"],
        0,
        "discovery of Pod in the core group failed: ",
    ),
    (
        &["install", "--yes"],
        1,
        "a request to the cluster failed: ",
    ),
    (
        &["uninstall", "--yes"],
        1,
        "a request to the cluster failed: ",
    ),
    (
        &["plan", "-f", "operator.yaml"],
        2,
        "cannot read the Operators of the cluster: ",
    ),
    (
        &["kubeconfig"],
        1,
        "cannot use the Secret deltic-serving in namespace default: ",
    ),
    (&["why", "pod/shop/web"], 1, ""),
    (&["top", "--once", "--metrics-addr", "127.0.0.1:1"], 1, ""),
];

/// Serves answers, each a status with a body, made from the path of the request. Returns the address.
fn serve(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (code, body) = answer(&path(&mut stream));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {code} \r\nConnection: close\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            );
        }
    });
    address
}

/// Reads a whole request and returns its path.
fn path(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    first.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn status(code: u16, reason: &str, message: &str, kind: &str) -> (u16, String) {
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","details":{{"kind":"{kind}"}},"code":{code}}}"#
    );
    (code, body)
}

/// Runs a command with a kubeconfig of the server.
fn on(server: &str, name: &str, args: &[&str]) -> Run {
    let files = Files::new(&format!("connection-{name}"))
        .with(
            "kubeconfig",
            &NOWHERE.replace("https://127.0.0.1:1", server),
        )
        .with("operator.yaml", OPERATOR);
    run(&mut command(&files, args), b"")
}

/// Runs all commands on a server, in directories that begin with `name`. `why` has its own message
/// for this.
fn check(name: &str, server: &str, cause: &str, why: &str) {
    for (args, code, failed) in COMMANDS {
        let run = on(server, &format!("{name}-{}", args[0]), args).ended(code);
        let expect = if args[0] == "why" {
            why.to_owned()
        } else {
            format!("{failed}{cause}")
        };
        let run = run.mentioned(&[&expect]);
        for foreign in ["ServiceError", "ApiError", "Some("] {
            assert!(!run.stderr.contains(foreign), "{args:?}: {}", run.stderr);
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_named_as_the_cause() {
    check(
        "nowhere",
        "https://127.0.0.1:1",
        "Connection refused",
        "cannot reach the server: Connection refused",
    );
}

#[test]
fn a_wrong_token_is_named_as_the_cause() {
    let server = serve(|_| status(401, "Unauthorized", "Unauthorized", ""));
    check(
        "token",
        &server,
        "the cluster does not accept the credentials of the kubeconfig or pod: Unauthorized\n",
        "the server does not accept the login: Unauthorized\n",
    );
}

#[test]
fn why_says_which_operators_were_not_asked() {
    let server = serve(|path| match path {
        "/apis" => (
            200,
            r#"{"groups":[{"name":"shop.view.dcontroller.io"}]}"#.to_owned(),
        ),
        _ => status(404, "NotFound", "nothing derives pod/shop/web", "why"),
    });
    let not_asked =
        "Operators without views were not asked: on deltic's own port, name one with --operator";
    on(&server, "not-asked", &["why", "pod/shop/web"])
        .ended(1)
        .mentioned(&["error[not-found]: nothing derives pod/shop/web", not_asked]);
    let asked = ["why", "pod/shop/web", "--operator", "shop"];
    let asked = on(&server, "asked", &asked).ended(1);
    assert!(!asked.stderr.contains("not asked"), "{}", asked.stderr);
}

/// Runs `orphans` with this `KUBECONFIG`, as in a pod.
fn listed(kubeconfig: &str) -> Run {
    let files = Files::new("connection-listed")
        .with("good", NOWHERE)
        .with("broken", &NOWHERE.replace("clusters: [", "clusters: [[ "))
        .with("operator.yaml", DOUBLE);
    let mut command = command(&files, &["orphans"]);
    command
        .env("KUBECONFIG", kubeconfig)
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", "1");
    run(&mut command, b"")
}

#[test]
fn files_of_the_list_that_do_not_exist_are_skipped() {
    for list in ["good:missing", "missing:good", ":good"] {
        listed(list).ended(1).mentioned(&["context: nowhere\n"]);
    }
    listed("missing:gone").ended(2).mentioned(&[
        "no cluster found: there is no kubeconfig (cannot read missing: No such file",
    ]);
}

#[test]
fn a_kubeconfig_that_does_not_parse_is_an_error_in_one_line() {
    for list in ["broken", "broken:good", "good:broken"] {
        let run = listed(list).ended(2);
        let expect = "error[no-cluster]: cannot use the kubeconfig broken: ";
        assert!(run.stderr.starts_with(expect), "{}", run.stderr);
        let second = run.stderr.lines().nth(1);
        assert_eq!(second.map(str::trim), Some("|"), "{}", run.stderr);
        assert!(!run.stderr.contains("token"), "{}", run.stderr);
    }
    listed(".")
        .ended(2)
        .mentioned(&["cannot use the kubeconfig .: Is a directory"]);
}
