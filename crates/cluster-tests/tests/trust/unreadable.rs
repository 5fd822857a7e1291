//! Custom resources that are nested too deeply to be read.

use cluster_tests::{Cluster, Installed, Process, await_true, stop_deltic};
use serde_json::{Value, json};

use crate::{config_map_target, controller, derived_name, find, operator, uid};

const GROUP: &str = "trust.deltic.dev";

fn define(cluster: &Cluster) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true
                }}
            }]
        }
    });
    cluster.apply(&definition.to_string());
    let resource = format!("things.{GROUP}");
    await_true("the kind is served", || {
        cluster.try_kubectl(&["get", "-A", &resource], "").is_ok()
    });
}

/// An object with this value 150 levels deep.
fn deep(value: &str) -> Value {
    (0..150).fold(json!(value), |inner, _| json!({"a": inner}))
}

/// Things and their copies in a namespace.
struct Things<'a> {
    installed: &'a Installed,
    namespace: String,
}

impl Things<'_> {
    fn put(&self, name: &str, value: &Value) {
        let thing = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Thing",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": {"value": value}
        });
        self.installed.cluster.apply(&thing.to_string());
    }

    fn copy(&self, name: &str) -> Value {
        let name = format!("{name}-copy");
        find(&self.installed.cluster, &self.namespace, "configmap", &name)
    }

    fn await_copy(&self, name: &str, value: &str) {
        await_true("the copy follows its thing", || {
            self.copy(name)["data"]["k"] == value
        });
    }

    /// Waits until this process has reported that a thing cannot be read, by its name, and checks
    /// that it is the only one in error.
    fn cannot_read(&self, process: &Process, name: &str) {
        let message = self
            .installed
            .await_reason("deep-things", "ReconciliationFailed");
        let subject = format!("for Thing {}/{name}: spec is nested deeper", self.namespace);
        assert!(message.contains("unreadable"), "{message}");
        assert!(message.contains(&subject), "{message}");
        // The status may be that of an earlier process.
        await_true("it is logged", || process.log().contains(&subject));
        let counts = &self.installed.controller("deep-things", "c")["counts"];
        assert_eq!(counts["errors"], 1, "{counts}");
    }
}

#[test]
fn a_thing_that_becomes_too_deep_keeps_its_copy() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("deep-things");
    define(cluster);
    let source = json!({"apiGroup": GROUP, "kind": "Thing", "namespace": namespace});
    let pipeline = json!([{"@project": {
        "metadata": derived_name("-copy"), "data": {"k": {"@string": "$.spec.value"}}
    }}]);
    let copy = controller("c", &source, &pipeline, &config_map_target());
    installed.install(&operator("deep-things", &[copy]).to_string());
    let like = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "old"},
        "metadata": {"name": "a-copy", "namespace": namespace}
    });
    let bystanders = cluster.bystanders("deep-things", &[like], 20);
    let things = Things {
        installed: &installed,
        namespace,
    };
    for name in ["a", "b", "c"] {
        things.put(name, &json!("old"));
    }
    let process = installed.deltic();
    for name in ["a", "b", "c"] {
        things.await_copy(name, "old");
    }
    installed.await_reason("deep-things", "Ready");
    let before = things.copy("a");

    things.put("a", &deep("one"));
    things.cannot_read(&process, "a");
    things.put("b", &json!("new"));
    things.await_copy("b", "new");
    stop_deltic(process);

    // Nobody knows what it was before. The copies of others are written and removed.
    things.put("a", &deep("two"));
    things.put("b", &json!("newer"));
    let resource = format!("things.{GROUP}");
    cluster.kubectl(&["delete", &resource, "c", "-n", &things.namespace]);
    let process = installed.deltic();
    things.await_copy("b", "newer");
    await_true("what is no longer derived is removed", || {
        things.copy("c").is_null()
    });
    things.cannot_read(&process, "a");
    assert_eq!(things.copy("a"), before);

    things.put("a", &json!("readable"));
    things.await_copy("a", "readable");
    assert_eq!(uid(&things.copy("a")), uid(&before));
    installed.await_reason("deep-things", "Ready");
    bystanders.assert_untouched();
    stop_deltic(process);
}
