//! Applies and deletes many objects concurrently; kubectl would do it one after the other.

use futures::StreamExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::cluster::Cluster;

/// How many requests are sent at once.
const CONCURRENCY: usize = 32;

/// A change of an object.
#[derive(Clone, Copy)]
enum Change {
    Apply,
    Delete,
}

/// These functions block the thread, so they are not for async tests.
impl Cluster {
    /// Applies objects server-side, taking over all fields; panics if one is refused.
    pub fn apply_many(&self, objects: &[Value]) {
        self.change_many(objects, Change::Apply);
    }

    /// Deletes objects; a missing one is no error.
    pub fn delete_many(&self, objects: &[Value]) {
        self.change_many(objects, Change::Delete);
    }

    fn change_many(&self, objects: &[Value], change: Change) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        runtime.block_on(async {
            let client = self.client();
            let changes = objects
                .iter()
                .map(|object| change_one(&client, object, change));
            let changes = futures::stream::iter(changes).buffer_unordered(CONCURRENCY);
            changes.collect::<()>().await;
        });
    }
}

async fn change_one(client: &kube::Client, object: &Value, change: Change) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let kind = GroupVersionKind::gvk(group, version, &text(&object["kind"]));
    let resource = ApiResource::from_gvk(&kind);
    let (namespace, name) = (
        text(&object["metadata"]["namespace"]),
        text(&object["metadata"]["name"]),
    );
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
    let answer = match change {
        Change::Apply => {
            let params = PatchParams::apply("test").force();
            api.patch(&name, &params, &Patch::Apply(object)).await.err()
        }
        Change::Delete => api.delete(&name, &DeleteParams::default()).await.err(),
    };
    match answer {
        None => {}
        Some(kube::Error::Api(status)) if status.code == 404 => {}
        Some(error) => panic!("{namespace}/{name}: {error}"),
    }
}
