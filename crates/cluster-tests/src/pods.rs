//! Pods without nodes: the test writes the status that a kubelet would write.

use serde_json::json;

use crate::cluster::Cluster;

/// The node of all running pods.
const NODE: &str = "node";

impl Cluster {
    /// Creates a running pod with this address (`10.0.0.1`), ready or not.
    pub fn run_pod(
        &self,
        namespace: &str,
        name: &str,
        labels: &[(&str, &str)],
        ip: &str,
        ready: bool,
    ) {
        self.apply(
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}).to_string(),
        );
        let labels: serde_json::Map<_, _> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect();
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": namespace, "name": name, "labels": labels},
            "spec": {"nodeName": NODE, "containers": [{"name": "main", "image": "none"}]}
        });
        self.apply(&pod.to_string());
        self.set_pod(namespace, name, ip, ready);
    }

    /// Sets whether a pod is ready.
    pub fn set_pod(&self, namespace: &str, name: &str, ip: &str, ready: bool) {
        let ready = if ready { "True" } else { "False" };
        let status = json!({"status": {
            "phase": "Running",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": ready}]
        }});
        self.kubectl(&[
            "patch",
            "-n",
            namespace,
            "pod",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status.to_string(),
        ]);
    }
}
