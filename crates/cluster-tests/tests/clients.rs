//! Client libraries on views: kube for Rust and client-go, on deltic's own port and through the
//! cluster's API.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::path::Path;
use std::process::Command;

use cluster_tests::{
    Aggregated, Process, VIEWS as GROUP, await_true, eventually, stop_deltic, views_client,
};
use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt as _, watcher};

/// An informer of client-go.
struct Informer(Process);

impl Informer {
    fn start(aggregated: &Aggregated, kubeconfig: &Path) -> Self {
        let mut command = Command::new(views_client());
        command.arg("inform").arg(kubeconfig).args([GROUP, "entry"]);
        let process = aggregated.cluster().process(&mut command);
        await_true("the informer of client-go has synced", || {
            process.log().lines().any(|line| line == "synced")
        });
        Self(process)
    }

    fn says(&self, line: &str) {
        await_true(
            &format!("client-go says {line:?}: {}", self.0.log()),
            || self.0.log().lines().any(|said| said == line),
        );
    }

    /// Waits until the lister has exactly these objects.
    fn lists(&mut self, expect: &str) {
        let expect = format!("listed [{expect}]");
        await_true(&format!("the lister of client-go has {expect}"), || {
            self.0.input("list\n");
            self.0.log().lines().last() == Some(&expect)
        });
    }
}

/// A reflector of kube, which reads its first list as a stream.
async fn reflector(kubeconfig: &Path) -> Store<DynamicObject> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = kube::Client::try_from(config.unwrap()).unwrap();
    let kind = GroupVersionKind::gvk(GROUP, "v1alpha1", "Entry");
    let resource = ApiResource::from_gvk_with_plural(&kind, "entry");
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let writer = reflector::store::Writer::new(resource);
    let reader = writer.as_reader();
    let events = watcher(api, watcher::Config::default().streaming_lists());
    let events = events.default_backoff().reflect(writer);
    tokio::spawn(events.for_each(async |_| {}));
    reader
}

/// Waits until a reflector has exactly these objects.
async fn reflects(store: &Store<DynamicObject>, expect: &str) {
    eventually(&format!("kube has {expect}"), async || {
        let state = store.state();
        let mut found: Vec<String> = state
            .iter()
            .map(|object| {
                let (name, value) = (object.metadata.name.as_deref(), object.data["k"].as_str());
                let namespace = object.metadata.namespace.as_deref();
                let [namespace, name, value] = [namespace, name, value].map(Option::unwrap);
                format!("{namespace}/{name}={value}")
            })
            .collect();
        found.sort();
        (found.join(" ") == expect).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn informers_follow_views_through_both_doors() {
    let aggregated = Aggregated::new();
    aggregated.allow_own_port();
    let cluster = aggregated.cluster();
    let n = cluster.namespace("n");
    aggregated.cluster().source(&n, "a", "one");
    let mut deltic = aggregated.start(&[]);
    aggregated.await_entries(1);
    let doors = [cluster.kubeconfig(), aggregated.own_kubeconfig()];
    let mut informers = doors
        .each_ref()
        .map(|door| Informer::start(&aggregated, door));
    let stores = [reflector(&doors[0]).await, reflector(&doors[1]).await];
    for informer in &informers {
        informer.says(&format!("added {n}/a=one"));
    }
    for store in &stores {
        reflects(store, &format!("{n}/a=one")).await;
    }
    aggregated.cluster().source(&n, "a", "two");
    aggregated.cluster().source(&n, "b", "x");
    for informer in &informers {
        informer.says(&format!("updated {n}/a=two"));
        informer.says(&format!("added {n}/b=x"));
    }
    // While deltic is away, objects change. All versions that clients know are gone with it.
    deltic.kill();
    cluster.kubectl(&["delete", "configmap", "a", "-n", &n]);
    aggregated.cluster().source(&n, "b", "y");
    aggregated.cluster().source(&n, "c", "z");
    let again = aggregated.start(&[]);
    aggregated.await_entries(2);
    for informer in &mut informers {
        informer.lists(&format!("{n}/b=y {n}/c=z"));
        informer.says(&format!("deleted {n}/a=two"));
    }
    for store in &stores {
        reflects(store, &format!("{n}/b=y {n}/c=z")).await;
    }
    aggregated.cluster().source(&n, "c", "last");
    for informer in &informers {
        informer.says(&format!("updated {n}/c=last"));
    }
    for store in &stores {
        reflects(store, &format!("{n}/b=y {n}/c=last")).await;
    }
    stop_deltic(again);
}

/// deltic and client-go compete for one Lease: each waits for the other.
#[test]
fn client_go_and_deltic_elect_one_leader() {
    let aggregated = Aggregated::new();
    aggregated.allow_own_port();
    let cluster = aggregated.cluster();
    let elect = |identity: &str| {
        let mut command = Command::new(views_client());
        command.arg("elect").arg(cluster.kubeconfig());
        command.args(["deltic", "deltic", identity]);
        cluster.process(&mut command)
    };
    let says = |process: &Process, line: &str| {
        await_true(&format!("client-go says {line:?}"), || {
            process.log().lines().any(|said| said == line)
        });
    };
    let mut first = elect("go-client");
    says(&first, "leading");
    let deltic = aggregated.start(&["--leader-elect"]);
    let own = cluster_tests::await_some("deltic serves", || {
        deltic
            .log()
            .contains("serving views")
            .then(|| aggregated.own_kubeconfig())
    });
    let get = ["get", "--raw", &format!("/apis/{GROUP}/v1alpha1/entry")];
    await_true("a standby names the leader", || {
        let failed = cluster.kubectl_of(&own, &get, "").unwrap_err();
        failed
            .stderr
            .contains("this replica stands by; the leader is go-client")
    });
    let registration = "apiservice/v1alpha1.served.view.dcontroller.io";
    assert!(
        !aggregated.registered(registration),
        "only the leader registers views"
    );
    first.end_input();
    says(&first, "stopped");
    aggregated.await_entries(0);
    cluster.kubectl_of(&own, &get, "").unwrap();
    let second = elect("go-client-2");
    await_true("client-go sees who leads", || {
        second.log().contains("leader ")
    });
    // Another replica takes over, so the registration stays when deltic ends.
    stop_deltic(deltic);
    says(&second, "leading");
    assert!(aggregated.registered(registration));
}
