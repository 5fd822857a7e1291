//! `examples/native-reconciler` on a real cluster, on our controller and on kube's own.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::process::Command;

use cluster_tests::{Cluster, Process, eventually, native_reconciler, stop_deltic};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

/// A cluster, and a namespace with Deployments that need credentials.
struct Shop<'a> {
    cluster: &'a Cluster,
    namespace: String,
    secrets: Api<Secret>,
}

impl Shop<'_> {
    fn start(&self, flags: &[&str]) -> Process {
        let mut command = Command::new(native_reconciler());
        command.env("KUBECONFIG", self.cluster.kubeconfig());
        self.cluster.process(command.args(flags))
    }

    fn deploy(&self, name: &str) {
        let labels = json!({"app": name});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": name, "namespace": self.namespace,
                "labels": {"example.deltic.dev/credentials": "wanted"}
            },
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "c:1"}]}
            }}
        });
        self.cluster.apply(&deployment.to_string());
    }

    fn delete(&self, kind: &str, name: &str) {
        self.cluster
            .kubectl(&["delete", kind, name, "-n", &self.namespace]);
    }

    /// The Secret of a Deployment, if there is one.
    async fn secret(&self, name: &str) -> Option<Secret> {
        let name = format!("{name}-credentials");
        self.secrets.get_opt(&name).await.unwrap()
    }

    /// Waits for the Secret of a Deployment with this user.
    async fn with_user(&self, name: &str, user: &str) -> Secret {
        let what = format!("a Secret for {user}");
        eventually(&what, async || {
            let secret = self.secret(name).await?;
            (text(&secret, "user") == user).then_some(secret)
        })
        .await
    }

    async fn without(&self, name: &str) {
        let what = format!("no Secret for {name}");
        eventually(&what, async || {
            self.secret(name).await.is_none().then_some(())
        })
        .await;
    }
}

fn text(secret: &Secret, field: &str) -> String {
    let value = secret.data.as_ref().unwrap().get(field).unwrap();
    String::from_utf8(value.0.clone()).unwrap()
}

/// Checks the program with these flags, which select its controller.
async fn check(shop: &Shop<'_>, flags: &[&str]) {
    shop.deploy("web");
    let mut process = shop.start(flags);
    let first = shop.with_user("web", "web").await;

    // It repairs a Secret that it owns.
    let delete = DeleteParams::default();
    shop.secrets
        .delete("web-credentials", &delete)
        .await
        .unwrap();
    let second = shop.with_user("web", "web").await;
    assert_ne!(first.metadata.uid, second.metadata.uid);

    // It applies changes of the settings that it watches.
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "credentials", "namespace": shop.namespace},
        "data": {"domain": "example.com"}
    });
    shop.cluster.apply(&settings.to_string());
    let third = shop.with_user("web", "web@example.com").await;
    assert_eq!(text(&second, "password"), text(&third, "password"));

    // It generates a new password on request.
    process.input(&format!("{}/web\n", shop.namespace));
    eventually("a new password", async || {
        let secret = shop.secret("web").await?;
        (text(&secret, "password") != text(&third, "password")).then_some(())
    })
    .await;

    // The view object is deleted with its Deployment, and the Secret with the view object.
    shop.delete("deployment", "web");
    shop.without("web").await;
    shop.delete("configmap", "credentials");

    // Deletions while it does not run are found at the next start.
    shop.deploy("late");
    shop.with_user("late", "late").await;
    stop_deltic(process);
    shop.delete("deployment", "late");
    shop.deploy("next");
    let process = shop.start(flags);
    shop.with_user("next", "next").await;
    shop.without("late").await;
    shop.delete("deployment", "next");
    shop.without("next").await;
    stop_deltic(process);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_works_on_both_controllers() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("native");
    let shop = Shop {
        secrets: Api::namespaced(cluster.client(), &namespace),
        cluster,
        namespace,
    };
    check(&shop, &[]).await;
    check(&shop, &["--kube"]).await;
}
