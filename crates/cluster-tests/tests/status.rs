//! The status and Events of Operators: counts, errors, and how rarely they are written.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::time::{Duration, Instant};

use cluster_tests::{DELTIC, Installed, await_some, stop_deltic};
use serde_json::{Value, json};

/// An Operator that copies `ConfigMap`s; one without `data.k` is an error.
const COPY: &str = "
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {name: copy}
spec:
  controllers:
  - name: copy
    sources:
    - {apiGroup: '', kind: ConfigMap, labelSelector: {matchLabels: {role: source}}}
    pipeline:
    - '@project':
        metadata:
          name: {'@concat': [$.metadata.name, '-copy']}
          namespace: $.metadata.namespace
        data:
          k: {'@concat': [$.data.k, '!']}
    target: {apiGroup: '', kind: ConfigMap}
";

fn sources(namespace: &str, numbers: std::ops::Range<usize>, data: &Value) -> String {
    let items = numbers.map(|number| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": format!("c{number}"), "namespace": namespace, "labels": {"role": "source"}}
        })
    });
    let items: Vec<Value> = items.collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// The number of writes of the Operator's status.
fn status_writes(installed: &Installed) -> usize {
    let writes = installed.writes();
    let of_status = writes.iter().filter(|write| write.resource == "operators");
    let of_status = of_status.filter(|write| write.subresource == "status");
    of_status.count()
}

/// The number of writes of Events.
fn event_writes(installed: &Installed) -> usize {
    let writes = installed.cluster.audit();
    let events = writes.iter().filter(|write| write.user == DELTIC);
    events.filter(|write| write.resource == "events").count()
}

fn await_counts(installed: &Installed, objects: usize, targets: usize, errors: usize) -> Value {
    let expected = json!({"sources": 1, "objects": objects, "targets": targets, "errors": errors});
    await_some(&format!("the counts are {expected}"), || {
        let controller = installed.controller("copy", "copy");
        (controller["counts"] == expected).then_some(controller)
    })
}

#[test]
fn a_busy_operator_writes_its_status_rarely() {
    let installed = Installed::new(COPY, "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("busy");
    let like = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v!"},
        "metadata": {"name": "c1-copy", "namespace": namespace, "labels": {"role": "other"}}
    });
    let bystanders = cluster.bystanders("copy", &[like], 50);
    let process = installed.deltic();
    installed.await_reason("copy", "Ready");
    let (start, before) = (Instant::now(), status_writes(&installed));
    for round in 0..5 {
        cluster.apply(&sources(
            &namespace,
            0..200,
            &json!({"k": format!("v{round}")}),
        ));
    }
    installed.converge(&["configmaps"], "configmaps", "ConfigMap");
    await_counts(&installed, 200, 200, 0);
    let (took, written) = (start.elapsed(), status_writes(&installed) - before);
    let targets = installed.writes();
    let targets = targets
        .iter()
        .filter(|write| write.resource == "configmaps");
    assert!(targets.count() >= 400, "it was not busy");
    // Only counts change, which are written at most every 5 s.
    let most = 3 + usize::try_from(took.as_secs()).unwrap() / 5;
    assert!(written <= most, "{written} in {took:?}");

    // Errors: the newest ten are listed, all are counted, and few Events are sent.
    let events = event_writes(&installed);
    cluster.apply(&sources(&namespace, 200..260, &json!({"other": "x"})));
    let controller = await_counts(&installed, 260, 200, 60);
    let newest = controller["lastErrors"].as_array().unwrap();
    assert_eq!(newest.len(), 10);
    for error in newest {
        let error = error.as_str().unwrap();
        assert!(
            error.contains("@concat") && error.contains(&namespace),
            "{error}"
        );
    }
    let message = installed.await_reason("copy", "ReconciliationFailed");
    assert!(message.contains("60 errors"), "{message}");
    let sent = event_writes(&installed) - events;
    assert!((1..=30).contains(&sent), "{sent} Events about 60 errors");
    let live = cluster.get(&["events.events.k8s.io", "-n", "default"]);
    let about = live["items"].as_array().unwrap().iter();
    let about = about.filter(|event| event["regarding"]["name"] == "copy");
    assert!(about.clone().count() > 0);
    for event in about {
        assert_eq!(event["regarding"]["kind"], "Operator");
        assert_eq!(event["type"], "Warning");
    }

    // Corrected errors are no longer listed, and no further write follows.
    cluster.apply(&sources(&namespace, 200..260, &json!({"k": "right"})));
    let controller = await_counts(&installed, 260, 260, 0);
    assert_eq!(controller["lastErrors"], json!([]));
    installed.await_reason("copy", "Ready");
    installed.await_silence(Duration::from_secs(8));
    bystanders.assert_untouched();
    stop_deltic(process);
}
