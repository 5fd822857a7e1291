//! `recreate: OnImmutable` deletes what cannot be changed, and nothing else.

use cluster_tests::{Installed, await_true, stop_deltic};
use serde_json::json;

use crate::{config_map, config_maps, controller, derived_name, find, operator, uid};

#[test]
fn only_an_immutable_object_is_created_again() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("immutable");
    let target = |kind: &str| json!({"apiGroup": "", "kind": kind, "recreate": "OnImmutable"});
    let immutable = json!([{"@project": {
        "metadata": derived_name("-copy"), "immutable": true, "data": {"k": "$.data.k"}
    }}]);
    let mut labelled = derived_name("-copy");
    labelled["labels"] = json!({"l": "$.data.l"});
    let labelled = json!([{"@project": {
        "metadata": labelled, "immutable": true, "data": {"k": "$.data.k"}
    }}]);
    let source = config_maps(&namespace, "source");
    let controllers = [
        controller("secrets", &source, &immutable, &target("Secret")),
        controller("labels", &source, &labelled, &target("ConfigMap")),
    ];
    installed.install(&operator("recreates", &controllers).to_string());
    let put = |k: &str, l: &str| {
        let source = config_map(&namespace, "source", "a", &json!({"k": k, "l": l}));
        cluster.apply(&source.to_string());
    };
    let find = |resource: &str| find(cluster, &namespace, resource, "a-copy");
    let like = [
        json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"k": "b25l"}, "immutable": true,
            "metadata": {"name": "a-copy", "namespace": namespace}
        }),
        config_map(&namespace, "other", "a-copy", &json!({"k": "one."})),
    ];
    let bystanders = cluster.bystanders("recreates", &like, 20);
    // None of these texts is base64, which would be written as it is.
    put("one.", "valid");
    let process = installed.deltic();
    installed.await_reason("recreates", "Ready");
    let (secret, configuration) = (find("secret"), find("configmap"));
    assert_eq!(secret["data"]["k"], "b25lLg==");

    put("two.", "valid");
    await_true("the Secret is created again", || {
        find("secret")["data"]["k"] == "dHdvLg=="
    });
    assert_ne!(uid(&find("secret")), uid(&secret));
    await_true("so is the config map", || {
        find("configmap")["data"]["k"] == "two."
    });
    assert_ne!(uid(&find("configmap")), uid(&configuration));
    installed.await_reason("recreates", "Ready");

    // With this label the server would not create it again.
    let (secret, configuration) = (find("secret"), find("configmap"));
    put("three.", "field is immutable!");
    await_true("the Secret is created again", || {
        find("secret")["data"]["k"] == "dGhyZWUu"
    });
    assert_ne!(uid(&find("secret")), uid(&secret));
    let message = installed.await_reason("recreates", "ReconciliationFailed");
    assert!(message.contains("field is immutable!"), "{message}");
    assert_eq!(find("configmap"), configuration);
    put("three.", "valid");
    installed.await_reason("recreates", "Ready");
    assert_eq!(find("configmap")["data"]["k"], "three.");
    bystanders.assert_untouched();
    stop_deltic(process);
}
