//! `deltic top --once` and `deltic graph --live`, on metrics that the test serves.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};

use document::Value;

use crate::common::{Files, Run, deltic};

/// Metrics of an Operator whose controller has processed so many changes.
fn metrics(changes: usize) -> String {
    let of = "operator=\"shop\",controller=\"health\"";
    format!(
        "# TYPE deltic_build info\ndeltic_build_info{{version=\"0.1.0\"}} 1\n\
         leader_election_master_status 1\n\
         deltic_source_objects{{{of},source=\"Pod\"}} 12\n\
         deltic_source_synced{{{of},source=\"Pod\"}} 1\n\
         deltic_target_objects{{{of},target=\"Health\"}} 3\n\
         deltic_standing_errors{{{of}}} 2\n\
         deltic_source_changes_total{{{of}}} {changes}\n\
         workqueue_depth{{name=\"shop\"}} 4\n# EOF\n"
    )
}

/// Serves an answer made from the number of the request. Returns the address.
fn serve(answer: impl Fn(usize) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let requests = AtomicUsize::new(0);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let body = answer(requests.fetch_add(1, Ordering::Relaxed));
            let head = "HTTP/1.1 200 OK\r\nConnection: close";
            let length = body.len();
            let _ = write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        }
    });
    address
}

fn top(address: &str, more: &[&str]) -> Run {
    let args = [
        "top",
        "--once",
        "--interval",
        "0.5",
        "--kubeconfig",
        "missing",
        "--metrics-addr",
        address,
    ];
    deltic(&[&args[..], more].concat())
}

#[test]
fn metrics_alone_are_shown() {
    let address = serve(|request| metrics(100 + 50 * request));
    let run = top(&address, &[]).ended(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines[0].starts_with("OPERATOR  READY  CTRL  OBJECTS"),
        "{}",
        run.stdout
    );
    let cells: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(cells[..5], ["shop", "-", "1", "12", "3"]);
    // 50 changes in half a second, or a little more.
    let rate: f64 = cells[5].parse().unwrap();
    assert!((10.0..=101.0).contains(&rate), "{rate}");
    run.mentioned(&[
        "warning: no status: ",
        "missing",
        "; only metrics are shown",
    ]);
}

#[test]
fn json_has_everything() {
    let address = serve(|_| metrics(100));
    let run = top(&address, &["-o", "json"]).ended(0);
    let found: Value = run.stdout.parse().unwrap();
    let operator = found.get("operators").as_list().unwrap().get(0).unwrap();
    assert_eq!(operator.get("queue").as_int(), Some(4));
    let numbers = operator.get("numbers");
    assert_eq!(numbers.get("changesPerSecond").as_int(), Some(0));
    assert_eq!(numbers.get("errors").as_int(), Some(2));
    assert!(found.get("metrics").get("error").is_null());
    let missing = found.get("status").get("error").as_str().unwrap();
    assert!(missing.contains("missing"), "{missing}");
}

#[test]
fn what_cannot_be_read_is_said() {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = gone.local_addr().unwrap().to_string();
    drop(gone);
    top(&address, &[]).ended(1).mentioned(&[
        "neither metrics nor status can be read",
        "refused",
        "missing",
    ]);
    let other = serve(|_| "up 1\n# EOF\n".to_owned());
    top(&other, &[])
        .ended(1)
        .mentioned(&["the metrics there are not those of deltic"]);
    let cut = serve(|_| "up 1\n".to_owned());
    top(&cut, &[])
        .ended(1)
        .mentioned(&["the metrics are cut off"]);
    let page = serve(|_| "<html>".to_owned());
    top(&page, &[])
        .ended(1)
        .mentioned(&["line 1 of the metrics"]);
    let usage = ["top", "--once", "--interval", "0"];
    deltic(&usage)
        .ended(2)
        .mentioned(&["expected 0.2 to 3600 seconds"]);
    deltic(&["top", "--metrics-addr", "x"])
        .ended(2)
        .mentioned(&["expected HOST:PORT"]);
}

/// Without a terminal there is nothing to draw on.
#[test]
fn a_pipe_gets_one_table() {
    let address = serve(|_| metrics(1));
    let args = ["top", "--kubeconfig", "missing", "--metrics-addr", &address];
    let run = deltic(&args).ended(0);
    assert!(run.stdout.contains("shop"), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
}

const OPERATOR: &str = include_str!("../operators/shop.yaml");

#[test]
fn a_graph_has_the_numbers_of_a_running_deltic() {
    let address = serve(|_| metrics(1));
    let files = Files::new("graph-live").with("operator.yaml", OPERATOR);
    let live = [
        "--live",
        "--kubeconfig",
        "missing",
        "--metrics-addr",
        &address,
    ];
    let run = files.deltic(&[&["graph", "operator.yaml"], &live[..]].concat());
    let run = run.ended(0);
    for part in [
        "<b>12 objects</b>",
        "<b>3 objects</b>",
        "<b>0 changes/s, 2 errors</b>",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    run.mentioned(&["warning: no status: "]);
    let run = files.deltic(&[&["graph"], &live[..]].concat());
    run.ended(1)
        .mentioned(&["the Operators of the cluster cannot be read"]);
}
