//! An account reads another Operator's view only if it may list and watch it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use document::{Value, json};
use kube::client::Body;
use process::config::Config;
use simulation::api::Caller;
use simulation::api::policy::AccessReview;
use simulation::faults::Fault;
use simulation::fields::merge_patch;
use tokio::time::sleep;

use crate::selectors::{producer, reader};
use crate::world::{Running, World, rest};

const REVIEWS: &str = "/subjectaccessreviews";
const USER: &str = "system:serviceaccount:ns:bot";

fn with_account(spec: &Value) -> Value {
    let account = json!({"serviceAccount": {"namespace": "ns", "name": "bot"}});
    merge_patch(spec, &account)
}

/// Whether the account may read the view `V` of `producer`, and how often that was asked.
#[derive(Clone, Default)]
struct Rules {
    granted: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    others: Arc<Mutex<Vec<AccessReview>>>,
}

impl Rules {
    fn of(world: &World, granted: bool) -> Self {
        let rules = Self::default();
        rules.grant(granted);
        let asked = rules.clone();
        world.server.with(|state| {
            state.access = Box::new(move |review| asked.answer(review));
        });
        rules
    }

    fn grant(&self, granted: bool) {
        self.granted.store(granted, Ordering::SeqCst);
    }

    fn answer(&self, review: &AccessReview) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let expected = AccessReview {
            user: USER.to_owned(),
            verb: review.verb.clone(),
            group: "producer.view.dcontroller.io".to_owned(),
            resource: "v".to_owned(),
            namespace: String::new(),
        };
        if *review != expected || !["list", "watch"].contains(&review.verb.as_str()) {
            self.others.lock().unwrap().push(review.clone());
        }
        self.granted.load(Ordering::SeqCst)
    }
}

/// A cluster with a pod, a producer, and a reader with an account.
fn world() -> World {
    let world = World::new();
    world.put_pod("1", "1");
    world.apply("producer", &producer());
    world.apply("reader", &with_account(&reader()));
    world
}

fn expect_refused(world: &World, maps: &[&str]) {
    assert_eq!(world.config_maps(), maps);
    let ready = world.ready("reader");
    assert!(ready.starts_with("False/"), "{ready}");
    for part in [
        USER,
        "list and watch v in group producer.view.dcontroller.io",
    ] {
        assert!(ready.contains(part), "{ready}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_without_the_permission_gets_nothing() {
    let world = world();
    let rules = Rules::of(&world, false);
    let process = world.start(Config::default());
    rest().await;
    expect_refused(&world, &[]);
    // The producer, and readers without an account, do not need it.
    assert!(world.is_ready("producer"), "{}", world.ready("producer"));
    world.apply("reader", &reader());
    rest().await;
    assert_eq!(world.config_maps(), ["1"]);
    assert_eq!(*rules.others.lock().unwrap(), []);
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_permission_is_noticed_within_30_seconds_and_so_is_its_loss() {
    let world = world();
    let rules = Rules::of(&world, false);
    let process = world.start(Config::default());
    rest().await;
    rules.grant(true);
    sleep(Duration::from_secs(40)).await;
    assert_eq!(world.config_maps(), ["1"]);
    assert!(world.is_ready("reader"), "{}", world.ready("reader"));
    rules.grant(false);
    sleep(Duration::from_secs(40)).await;
    // What is derived stays, and changes do not arrive.
    world.put_pod("2", "1");
    world.server.delete(&crate::world::pod("1"));
    rest().await;
    expect_refused(&world, &["1"]);
    rules.grant(true);
    sleep(Duration::from_secs(40)).await;
    assert_eq!(world.config_maps(), ["2"]);
    process.stop().await;
    assert_eq!(*rules.others.lock().unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_refused_reader_sweeps_nothing() {
    let world = world();
    let rules = Rules::of(&world, true);
    let process = world.start(Config::default());
    rest().await;
    assert_eq!(world.config_maps(), ["1"]);
    process.stop().await;
    rules.grant(false);
    let process = world.start(Config::default());
    rest().await;
    expect_refused(&world, &["1"]);
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_last_one_counts_for_a_while() {
    let world = world();
    let _rules = Rules::of(&world, true);
    let fault = |fault| {
        world
            .server
            .with(|state| state.faults.always(REVIEWS, fault));
    };
    let process = world.start(Config::default());
    rest().await;
    fault(Fault::Answer(500));
    sleep(Duration::from_mins(2)).await;
    world.put_pod("2", "1");
    rest().await;
    assert_eq!(world.config_maps(), ["1", "2"]);
    assert!(world.is_ready("reader"), "{}", world.ready("reader"));
    sleep(Duration::from_mins(5)).await;
    expect_refused(&world, &["1", "2"]);
    fault(Fault::None);
    sleep(Duration::from_secs(40)).await;
    assert!(world.is_ready("reader"), "{}", world.ready("reader"));
    process.stop().await;

    // A process that has never got an answer does not read.
    fault(Fault::Forbidden);
    world.put_pod("3", "1");
    let process = world.start(Config::default());
    rest().await;
    expect_refused(&world, &["1", "2"]);
    assert!(
        world
            .ready("reader")
            .contains("create of subjectaccessreviews")
    );
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn readers_with_one_account_share_the_answers() {
    let world = world();
    let rules = Rules::of(&world, true);
    for i in 0..50 {
        let name = format!("{{\"@concat\": [\"r{i}-\", \"$.metadata.name\"]}}");
        let spec = reader().to_string();
        let spec = spec.replacen("\"$.metadata.name\"", &name, 1);
        let spec = Value::from_json(spec.as_bytes()).unwrap();
        world.apply(&format!("r{i}"), &with_account(&spec));
    }
    let process = world.start(Config::default());
    sleep(Duration::from_mins(5)).await;
    assert_eq!(world.config_maps().len(), 51);
    let asked = rules.asked.load(Ordering::SeqCst);
    assert!((18..=24).contains(&asked), "{asked} reviews in 5 minutes");
    let opened = world.watches("STREAM", "/api/v1/configmaps");
    assert_eq!(opened, 1, "watches of the targets of 51 readers");
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_the_server_is_asked_counts_as_no_answer() {
    let world = world();
    let rules = Rules::of(&world, true);
    let fails = Arc::new(AtomicBool::new(true));
    let (inner, failing) = (world.server.client(&Caller::new("deltic")), fails.clone());
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (inner, fails) = (inner.clone(), failing.load(Ordering::SeqCst));
        async move {
            let asks = request.uri().path().ends_with(REVIEWS);
            assert!(!(asks && fails), "a bomb in a question");
            inner.send(request).await.map_err(tower::BoxError::from)
        }
    });
    let client = kube::Client::new(service, "default");
    let process = Running::start(client, Config::default());
    rest().await;
    expect_refused(&world, &[]);
    let ready = world.ready("reader");
    assert!(ready.contains("an error in deltic itself"), "{ready}");
    fails.store(false, Ordering::SeqCst);
    rest().await;
    assert_eq!(world.config_maps(), ["1"]);
    assert!(world.is_ready("reader"), "{}", world.ready("reader"));
    assert_eq!(*rules.others.lock().unwrap(), []);
    process.stop().await;
}
