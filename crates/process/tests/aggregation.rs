//! The registrations of views in the cluster's API, on the API server in memory.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::net::IpAddr;
use std::time::Duration;

use cluster::client::{Clients, Identity, Rate};
use cluster::lease::{self, Leadership};
use document::{Value, json};
use engine::background::Background;
use engine::native::ViewStore;
use metrics::Metrics;
use object::{LabelSelector, ObjectKey};
use process::aggregate::{Aggregation, CaBundle, Managed, ServiceRef, Settings};
use process::config::Config;
use process::run::run;
use simulation::api::kind::Kind;
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;
use simulation::fields::{set, unset};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_mins(3);

fn operator(name: &str) -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", name)
}

fn registration(operator: &str) -> ObjectKey {
    let name = format!("v1alpha1.{operator}.view.dcontroller.io");
    ObjectKey::new("apiregistration.k8s.io", "APIService", "", &name)
}

fn slice() -> ObjectKey {
    ObjectKey::new("discovery.k8s.io", "EndpointSlice", "ns", "deltic-views")
}

/// An Operator that yields a view.
fn with_view() -> Value {
    json!({"spec": {"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "ns"}}}],
        "target": {"kind": "Entry"},
    }]}})
}

/// One that yields objects of the cluster.
fn without_view() -> Value {
    let target = json!([{"apiGroup": "", "kind": "ConfigMap"}]);
    let mut controller = with_view()
        .get("spec")
        .get("controllers")
        .as_list()
        .unwrap()
        .to_vec();
    let changed = set(&controller.remove(0), &["targets"], target);
    let changed = unset(&changed, &["target"]);
    json!({"spec": {"controllers": [changed]}})
}

struct Cluster(Server);

struct Replica {
    caller: Caller,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Cluster {
    fn new() -> Self {
        Self(Server::new(Virtual::start(), 1))
    }

    fn put(&self, key: &ObjectKey, object: &Value) {
        let old = self.0.get(key).unwrap_or_else(|| json!({}));
        let object = set(&old, &["spec"], object.get("spec").clone());
        self.0.put(key, "someone", &object);
    }

    /// Starts a process that has no Lease, or takes part in an election.
    fn start(&self, name: &str, elect: bool) -> Replica {
        self.start_at(name, elect, "ns/deltic-views")
    }

    fn start_at(&self, name: &str, elect: bool, service: &str) -> Replica {
        self.start_with(name, elect, service, None)
    }

    /// Starts a process for the Operators with this label `team`.
    fn start_team(&self, team: &str, service: &str) -> Replica {
        let selector = LabelSelector::from_query(&format!("team={team}")).unwrap();
        self.start_with(team, false, service, Some(selector))
    }

    fn start_with(
        &self,
        name: &str,
        elect: bool,
        service: &str,
        selector: Option<LabelSelector>,
    ) -> Replica {
        let caller = Caller::new(name);
        let client = self.0.client(&caller);
        let (ended, has_ended) = oneshot::channel::<()>();
        let leadership = if elect {
            let settings = lease::Settings::new("ns", lease::NAME, name);
            let (leadership, elector) = lease::elect(&client, settings, Metrics::default());
            tokio::spawn(elector.run(async { drop(has_ended.await) }));
            leadership
        } else {
            Leadership::always()
        };
        let views = ViewStore::default();
        let clients = Clients::new(client.clone(), Rate::default(), leadership.clone());
        let settings = Settings {
            service: service.parse::<ServiceRef>().unwrap(),
            authority: CaBundle::Text("authority".to_owned()),
            endpoint: Some((address(name), 8443)),
            operators: Managed::Cluster(selector.clone()),
            replicated: elect,
        };
        let aggregation = Aggregation::start(
            &clients.of(&Identity::Own),
            views.views().served(),
            leadership.clone(),
            Background::default(),
            settings,
        );
        let (stop, stopped) = oneshot::channel::<()>();
        let config = Config {
            leadership,
            views,
            operator_selector: selector,
            ..Config::default()
        };
        let task = tokio::spawn(async move {
            run(client, config, async { drop(stopped.await) })
                .await
                .unwrap();
            aggregation.end().await;
            drop(ended);
        });
        Replica { caller, stop, task }
    }

    fn registrations(&self) -> Vec<String> {
        let kind = Kind::named("apiregistration.k8s.io", "APIService").unwrap();
        let all = self.0.all(kind);
        let all = all.iter().filter_map(|(_, object)| {
            let name = object.get("metadata").get("name").as_str()?;
            let name = name.strip_prefix("v1alpha1.")?;
            Some(name.strip_suffix(".view.dcontroller.io")?.to_owned())
        });
        all.collect()
    }

    /// The addresses of the Service.
    fn endpoints(&self) -> Vec<String> {
        let slice = self.0.get(&slice()).unwrap_or_default();
        let endpoints = slice.get("endpoints").as_list();
        let endpoints = endpoints.map(document::ListRef::to_vec).unwrap_or_default();
        let addresses = endpoints
            .iter()
            .map(|endpoint| endpoint.get("addresses").to_string());
        addresses.collect()
    }
}

/// The address of a replica.
fn address(name: &str) -> IpAddr {
    let number = u8::try_from(name.len()).unwrap();
    [192, 0, 2, number].into()
}

impl Replica {
    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }

    fn kill(self) {
        self.caller.die();
        self.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_is_registered_while_its_operator_exists() {
    let cluster = Cluster::new();
    cluster.put(&operator("shop"), &with_view());
    cluster.put(&operator("plain"), &without_view());
    let process = cluster.start("one", false);
    sleep(SHORT).await;
    assert_eq!(cluster.registrations(), ["shop"]);
    let found = cluster.0.get(&registration("shop")).unwrap();
    let spec = found.get("spec");
    assert_eq!(
        spec.get("service"),
        &json!({"namespace": "ns", "name": "deltic-views", "port": 443})
    );
    assert_eq!(spec.get("caBundle").as_str(), Some("YXV0aG9yaXR5"));
    let uid = cluster.0.get(&operator("shop")).unwrap();
    let uid = uid.get("metadata").get("uid").clone();
    let owners = found
        .get("metadata")
        .get("ownerReferences")
        .as_list()
        .unwrap()
        .to_vec();
    assert_eq!(owners[0].get("uid"), &uid);

    // Another Operator comes, and the view of the first one goes and comes back.
    cluster.put(&operator("other"), &with_view());
    cluster.put(&operator("shop"), &without_view());
    sleep(SHORT).await;
    assert_eq!(cluster.registrations(), ["other"]);
    cluster.put(&operator("shop"), &with_view());
    sleep(SHORT).await;
    assert_eq!(cluster.registrations(), ["other", "shop"]);
    cluster.0.delete(&operator("other"));
    sleep(SHORT).await;
    assert_eq!(cluster.registrations(), ["shop"]);

    // An Operator that becomes invalid is still registered: requests get the reason.
    cluster.put(&operator("shop"), &json!({"spec": {"controllers": []}}));
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["shop"]);

    // What somebody else has changed or deleted is repaired.
    let broken = set(
        &cluster.0.get(&registration("shop")).unwrap(),
        &["spec", "caBundle"],
        "eA==".into(),
    );
    cluster.0.put(&registration("shop"), "someone", &broken);
    sleep(LONG).await;
    let repaired = cluster.0.get(&registration("shop")).unwrap();
    assert_eq!(
        repaired.get("spec").get("caBundle").as_str(),
        Some("YXV0aG9yaXR5")
    );
    cluster.0.delete(&registration("shop"));
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["shop"]);

    // Nobody takes over: a registration that nobody answers would delay the deletion of namespaces.
    process.stop().await;
    assert!(cluster.registrations().is_empty());
    assert!(cluster.endpoints().is_empty());
}

#[tokio::test(start_paused = true)]
async fn registrations_of_others_stay() {
    let cluster = Cluster::new();
    cluster.put(&operator("shop"), &with_view());
    cluster.put(&operator("taken"), &with_view());
    let foreign = json!({"spec": {"group": "taken.view.dcontroller.io", "version": "v1alpha1"}});
    cluster.0.put(&registration("taken"), "someone", &foreign);
    cluster.0.put(&registration("similar"), "someone", &foreign);
    // One of another process of deltic, for an Operator that does not exist here.
    let other = json!({
        "metadata": {
            "labels": {"dcontroller.io/aggregation": "views"},
            "annotations": {"dcontroller.io/served-by": "other/deltic-views"}
        },
        "spec": {"group": "theirs.view.dcontroller.io", "version": "v1alpha1"}
    });
    cluster.0.put(&registration("theirs"), "someone", &other);
    let before: Vec<_> = ["taken", "similar", "theirs"]
        .map(|name| cluster.0.get(&registration(name)))
        .into();
    let process = cluster.start("one", false);
    sleep(LONG).await;
    assert_eq!(
        cluster.registrations(),
        ["shop", "similar", "taken", "theirs"]
    );
    process.stop().await;
    let after: Vec<_> = ["taken", "similar", "theirs"]
        .map(|name| cluster.0.get(&registration(name)))
        .into();
    assert_eq!(after, before);
    assert_eq!(cluster.registrations(), ["similar", "taken", "theirs"]);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_process_adopts_its_registrations() {
    let cluster = Cluster::new();
    for name in ["shop", "gone", "broken"] {
        cluster.put(&operator(name), &with_view());
    }
    let first = cluster.start("one", false);
    sleep(SHORT).await;
    first.kill();
    let before = cluster.0.get(&registration("shop"));
    cluster.0.delete(&operator("gone"));
    cluster.put(&operator("broken"), &json!({"spec": {"controllers": []}}));
    assert_eq!(cluster.registrations(), ["broken", "gone", "shop"]);
    let second = cluster.start("two", false);
    sleep(SHORT).await;
    assert_eq!(
        cluster.0.get(&registration("shop")),
        before,
        "it is not written"
    );
    assert_eq!(cluster.registrations(), ["broken", "shop"]);
    // This process does not know the views of `broken`, so that it cannot serve the group.
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["shop"]);
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_replica_that_leads_is_the_endpoint() {
    let cluster = Cluster::new();
    cluster.put(&operator("shop"), &with_view());
    let one = cluster.start("1", true);
    sleep(SHORT).await;
    let two = cluster.start("22", true);
    sleep(LONG).await;
    assert_eq!(cluster.endpoints(), [r#"["192.0.2.1"]"#]);
    let before = cluster.0.get(&registration("shop"));
    one.stop().await;
    assert!(cluster.endpoints().is_empty());
    sleep(SHORT).await;
    assert_eq!(cluster.endpoints(), [r#"["192.0.2.2"]"#]);
    // The registration stays all the time: another replica takes over.
    assert_eq!(cluster.0.get(&registration("shop")), before);
    let three = cluster.start("333", true);
    sleep(SHORT).await;
    two.kill();
    sleep(LONG).await;
    assert_eq!(cluster.endpoints(), [r#"["192.0.2.3"]"#]);
    three.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_slice_of_others_stays() {
    let cluster = Cluster::new();
    cluster.put(&operator("shop"), &with_view());
    let foreign = json!({"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.9"]}]});
    cluster.0.put(&slice(), "someone", &foreign);
    let process = cluster.start("one", false);
    sleep(LONG).await;
    assert_eq!(cluster.endpoints(), [r#"["192.0.2.9"]"#]);
    assert_eq!(cluster.registrations(), ["shop"]);
    process.stop().await;
    assert_eq!(cluster.endpoints(), [r#"["192.0.2.9"]"#]);
}

#[tokio::test(start_paused = true)]
async fn processes_with_selectors_leave_each_others_registrations_alone() {
    let cluster = Cluster::new();
    let label = |name: &str, team: &str| {
        let path = ["metadata", "labels", "team"];
        cluster
            .0
            .set(&operator(name), "someone", &path, team.into());
    };
    for (name, team) in [("shop", "a"), ("stock", "bb")] {
        cluster.put(&operator(name), &with_view());
        label(name, team);
    }
    let service = "ns/deltic-views";
    let one = cluster.start_team("a", service);
    sleep(SHORT).await;
    let two = cluster.start_team("bb", service);
    sleep(SHORT).await;
    let registered = || ["shop", "stock"].map(|name| cluster.0.get(&registration(name)));
    let before = registered();
    assert!(before.iter().all(Option::is_some));
    sleep(LONG).await;
    assert_eq!(registered(), before, "they are not written");

    // A process takes only its own along.
    two.stop().await;
    assert_eq!(cluster.registrations(), ["shop"]);
    let two = cluster.start_team("bb", service);
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["shop", "stock"]);

    // An Operator moves, and one is deleted.
    label("shop", "bb");
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["shop", "stock"]);
    cluster.0.delete(&operator("stock"));
    sleep(SHORT).await;
    assert_eq!(cluster.registrations(), ["shop"]);
    one.stop().await;
    assert_eq!(cluster.registrations(), ["shop"]);

    // It moves to a process with another Service.
    let three = cluster.start_team("ccc", "ns/other-views");
    label("shop", "ccc");
    sleep(LONG).await;
    let served = cluster.0.get(&registration("shop")).unwrap();
    let service = served.get("spec").get("service").get("name").clone();
    assert_eq!(service.as_str(), Some("other-views"));
    two.stop().await;
    three.stop().await;
}

#[tokio::test(start_paused = true)]
async fn registrations_that_nobody_answers_are_removed() {
    let cluster = Cluster::new();
    cluster.put(&operator("shop"), &with_view());
    let service = "ns/deltic-views";
    // The process gets a selector that excludes the Operator.
    let before = cluster.start_at("before", true, service);
    sleep(LONG).await;
    before.stop().await;
    let after = cluster.start_team("a", service);
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["shop"], "somebody may serve it");
    let status = json!([{"type": "Available", "status": "False"}]);
    let path = ["status", "conditions"];
    cluster
        .0
        .set(&registration("shop"), "apiserver", &path, status);
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["shop"], "it may come back");
    sleep(5 * LONG).await;
    assert_eq!(cluster.registrations(), Vec::<String>::new());
    after.stop().await;
}

#[tokio::test(start_paused = true)]
async fn registrations_of_operators_from_files_stay() {
    let cluster = Cluster::new();
    cluster.put(&operator("shop"), &with_view());
    let process = cluster.start_at("cluster", false, "ns/deltic-views");
    sleep(LONG).await;
    let shop = cluster.0.get(&registration("shop")).unwrap();
    let of_files = unset(&shop, &["metadata", "ownerReferences"]);
    let of_files = set(
        &of_files,
        &["spec", "group"],
        "files.view.dcontroller.io".into(),
    );
    cluster.0.put(&registration("files"), "files", &of_files);
    sleep(LONG).await;
    assert_eq!(cluster.registrations(), ["files", "shop"]);
    process.stop().await;
    assert_eq!(cluster.registrations(), ["files"]);
}
